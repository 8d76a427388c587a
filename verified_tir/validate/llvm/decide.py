"""Deciding about pairs of terms that are not the same.

LLVM changes a few operators deep inside long computations.  So the terms beneath a pair are swept from the inputs
upwards (A. Kuehlmann, F. Krohm, "Equivalence checking using cuts and heaps", 1997): where a term of LLVM's has the
values of one of the program's on some inputs, a solver is asked whether they are equal, given only the terms that
both have in common right beneath; if so, the one stands for the other from there on.  Questions of one form are asked
once (their text is the same).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, final

from verified_tir.logic.smtlib import Script
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved
from verified_tir.validate.compare import Gap
from verified_tir.validate.decide import Decision
from verified_tir.validate.llvm.bits import Question, View
from verified_tir.validate.llvm.forms import Forms
from verified_tir.validate.llvm.simulate import Signature, Simulation
from verified_tir.validate.normal import Normaliser, TooLarge
from verified_tir.validate.terms import UNDEF_ID, Terms, beneath

LARGEST_CONE: Final = 300
LARGEST_SWEEP: Final = 20_000
DEEPEST_CUT: Final = 40
MOST_QUESTIONS: Final = 400
MOST_FAILURES: Final = 12
"""Questions about float arithmetic that may fail before only those are asked to which it is no more than functions."""
MOST_CANDIDATES: Final = 3
MOST_GIVEN: Final = 12


@final
class Judge:
    """Whether LLVM's terms refine the program's, given that the program has no undefined behaviour (``undefined``)."""

    def __init__(self, terms: Terms, solver: Solver, undefined: Mapping[tuple[int, int], str]) -> None:
        self.terms, self.solver = terms, solver
        self.forms = Forms(terms)
        self.simulation = Simulation(terms)
        self.undefined = list(undefined)
        self.normal = Normaliser(terms, undefined, reals=False)
        self.answers: dict[str, bool] = {}
        self._failures = 0
        self._shapes: dict[object, bool] = {}

    def refines(self, program: int, llvm: int) -> bool:
        """Whether, wherever the program's term is defined, LLVM's has its bits."""
        if program in (llvm, UNDEF_ID) or self.forms.of(program) == self.forms.of(llvm) or self._normal(program, llvm):
            return True
        if self.undefined:  # what is known of inputs is no part of a form
            return self._looked_into(program, llvm)
        shape = self._shape(program, llvm)
        if shape not in self._shapes:
            self._shapes[shape] = self._looked_into(program, llvm)
        return self._shapes[shape]

    def _shape(self, *roots: int) -> object:
        """What terms are but for the names of their inputs: other terms of that form have the same answer."""
        terms, numbers, rows = self.terms, dict[int, int](), list[object]()
        for root in roots:
            beneath = self._beneath(root)
            if beneath is None:
                return roots
            for term in beneath:
                if term not in numbers:
                    numbers[term] = len(numbers)
                    code, first = int(terms.columns[0, term]), int(terms.columns[1, term])
                    below = tuple([numbers[k] for k in terms.below(term)])
                    known = first if self._is_constant(term) else -1
                    rows.append((code, known, int(terms.flags[term]), below))
            rows.append(numbers[root])
        return tuple(rows)

    def _looked_into(self, program: int, llvm: int) -> bool:
        beneath, above = self._beneath(program), self._beneath(llvm)
        if llvm == UNDEF_ID or beneath is None or above is None:
            return False
        self.simulation.run((program, llvm))
        if not self.simulation.agree(program, llvm) and not self.undefined:
            return False
        self._sweep(beneath, above)
        a, b = self.forms.of(program), self.forms.of(llvm)
        return a == b or self._proved(a, b)

    def _normal(self, a: int, b: int) -> bool:
        try:
            return self.normal.normal(a) == self.normal.normal(b)
        except TooLarge:
            return False

    # -------------------------------------------------------------------------------------------------- sweep

    def _beneath(self, root: int) -> list[int] | None:
        """The terms beneath one and itself, operands first; ``None`` if they are too many."""
        found = beneath([root], self.terms.below, LARGEST_SWEEP)
        return found if len(found) <= LARGEST_SWEEP else None

    def _sweep(self, program: Sequence[int], llvm: Sequence[int]) -> None:
        """Let terms of the program's stand for those of LLVM's that equal them."""
        own = set(program)
        alike: dict[Signature, list[int]] = {}
        for term in program:
            if self._is_worth(term):
                alike.setdefault(self.simulation.signature(term), []).append(self.forms.of(term))
        representatives = {self.forms.of(term) for term in program}
        others = [term for term in llvm if term not in own]
        self.forms.forget(others)
        for term in others:
            here = self.forms.of(term)
            if here in representatives or not self._is_worth(term):
                continue
            candidates = dict.fromkeys(alike.get(self.simulation.signature(term), ()))
            for candidate in list(candidates)[:MOST_CANDIDATES]:
                if self._proved(candidate, here, "llvm"):
                    self.forms.merge(term, candidate)
                    break

    def _is_worth(self, term: int) -> bool:
        return bool(self.terms.below(term))

    # ------------------------------------------------------------------------------------------------- solver

    def _proved(self, a: int, b: int, view: View = "program") -> bool:
        """Whether b is defined where a is, with its value: with what is beneath both cut off, then with everything."""
        shared = self._shared(a, b)
        if shared is not None:
            if self._ask_both(a, b, shared, [], view):
                return True
        cone = self._cone(a, b)
        if len(cone) > LARGEST_CONE or (view == "llvm" and len(cone) > DEEPEST_CUT):
            return False
        given = self._relevant(a, b)
        return self._ask_both(a, b, (), given, view)

    def _ask_both(self, a: int, b: int, cut: Iterable[int], given: Sequence[tuple[int, int]], view: View) -> bool:
        """First with hard operators as functions that nothing is known about."""
        cut = frozenset(cut)
        for abstract in (True, False):
            if not abstract and self._scales(cut, a, b):
                return False
            question = Question(self.terms, self.forms.operands, cut, abstract=abstract)
            if self._ask(question.refines(a, b, given, view), hard=question.hard):
                return True
        return False

    def _ask(self, script: Script, *, hard: bool = False) -> bool:
        found = self.answers.get(script.text)
        if found is None:
            if len(self.answers) >= MOST_QUESTIONS or (hard and self._failures >= MOST_FAILURES):
                return False
            found = self.answers[script.text] = isinstance(self.solver.ask(script), Proved)
            self._failures += hard and not found
        return found

    def never(self, guard: int, condition: int) -> bool:
        """Whether undefined behaviour of LLVM's is undefined behaviour of the program too, or does not occur."""
        guard, condition = self.forms.of(guard), self.forms.of(condition)
        if len(self._cone(guard, condition)) > LARGEST_CONE:
            return False
        given = self._relevant(guard, condition)
        return any(
            self._ask(Question(self.terms, self.forms.operands, abstract=abstract).never(guard, condition, given))
            for abstract in ((True,) if self._scales(frozenset(), guard, condition) else (True, False))
        )

    def _scales(self, cut: Collection[int], *roots: int) -> bool:
        """Whether terms depend on an ``ldexp`` above a cut, of which the solver knows nothing: then it is of no use to
        know everything of the polynomial beneath, which takes a solver longer than anybody waits."""
        inside = beneath(roots, lambda k: () if k in cut else self.forms.operands(k))
        return any(self.terms.op_of(k) == "ldexp" for k in inside if k not in cut)

    def _relevant(self, *roots: int) -> list[tuple[int, int]]:
        """What the program may not do, as far as it is about the same inputs."""
        inside = {k for k in self._cone(*roots) if not self._is_constant(k)}
        found: list[tuple[int, int]] = []
        for guard, condition in self.undefined:
            pair = self.forms.of(guard), self.forms.of(condition)
            if len(found) == MOST_GIVEN:
                break
            cone = self._cone(*pair)
            if len(cone) <= LARGEST_CONE and any(k in inside for k in cone):
                found.append(pair)
        return found

    def _cone(self, *roots: int) -> list[int]:
        """The terms beneath some; more than the limit are not listed."""
        return beneath(roots, self.forms.operands, LARGEST_CONE)

    def _shared(self, a: int, b: int) -> set[int] | None:
        """The terms that occur beneath both, nearest to the roots; ``None`` if there is too much above them."""
        one, other = self._near(a), self._near(b)
        common = {k for k in one & other if not self._is_constant(k) and k != UNDEF_ID}
        above: set[int] = set()
        cut: set[int] = set()
        stack = [a, b]
        while stack:
            term = stack.pop()
            if term in common:
                cut.add(term)
            elif term not in above:
                above.add(term)
                stack.extend(self.forms.operands(term))
                if len(above) > DEEPEST_CUT:
                    return None
        return cut

    def _is_constant(self, term: int) -> bool:
        return self.terms.op_of(term) == "const"

    def _near(self, root: int) -> set[int]:
        """The terms beneath one, level by level, up to a number."""
        seen, level = {root}, [root]
        while level and len(seen) < 10 * DEEPEST_CUT:
            level = [*dict.fromkeys(k for term in level for k in self.forms.operands(term) if k not in seen)]
            seen.update(level)
        return seen


def decide(judge: Judge, gap: Gap, extra: Iterable[tuple[tuple[int, int], str]]) -> Decision:
    """What can be shown of all pairs, and of LLVM's own undefined behaviour."""
    how = {"same term": gap.same, "undef before": gap.undefined}
    left: dict[str, int] = {}
    for (program, llvm), owners in gap.pairs.items():
        if not left and judge.refines(program, llvm):  # after one that is open the others change nothing
            how["proved on bits"] = how.get("proved on bits", 0) + sum(owners.values())
        else:
            for name, count in owners.items():
                left[name] = left.get(name, 0) + count
    reason = ""
    if left:
        counts = ", ".join(f"{count} elements of {name}" for name, count in left.items())
        reason = f"{counts} are other terms, not all of them shown to be equal, and no input shows a difference"
    else:
        doubtful = [what for pair, what in extra if not judge.never(*pair)]
        if doubtful:
            reason = f"the machine code may have undefined behaviour that the program does not have ({doubtful[0]})"
    return Decision(how, (), reason)
