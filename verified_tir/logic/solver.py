"""Z3, asked through SMT-LIB text.

Work is bounded by Z3's resource counter and not by time, so verdicts do not depend on the machine.  The counter's
meaning depends on a context's history; therefore an ``unknown`` is asked once more in a fresh context with fixed
seeds, and that verdict counts.

Verdicts are cached by the canonical text of the query together with the solver's version.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, final

from verified_tir.logic.formula import BOOL, FALSE, INT, TRUE, Term, and_, integer, le, not_a_number, subterms, value_of
from verified_tir.logic.smtlib import Script, query
from verified_tir.logic.verdict import Model, Proved, Refuted, Unknown, Verdict

INTEGER_BUDGET = 3_000_000
FLOAT_BUDGET = 30_000_000


@final
@dataclass(slots=True)
class Statistics:
    """Counts of what was asked, for reports and benchmarks."""

    queries: int = 0
    cached: int = 0
    trivial: int = 0
    seconds: float = 0.0


@final
@dataclass(slots=True)
class Solver:
    """A Z3 session with its cache.  Not for use from several threads at once.

    :param budget: resource limit of an integer query; float queries get ten times as much.
    """

    budget: int = INTEGER_BUDGET
    statistics: Statistics = field(default_factory=Statistics)
    _cache: dict[str, tuple[str, Any]] = field(default_factory=dict)
    _z3: Any = None
    _incremental: Any = None
    _quick: bool = False

    def prove(
        self, given: tuple[Term, ...], goal: Term, small: tuple[Term, ...] = (), *, quick: bool = False
    ) -> Verdict:
        """Whether ``goal`` follows from ``given``; a refutation is sought with the terms ``small`` small first.

        ``quick`` leaves a question about floats unknown where the lemma of ``floats`` does not prove it.
        """
        start = time.perf_counter()
        outer, self._quick = self._quick, quick
        try:
            return self._prove(given, goal, small)
        finally:
            self._quick = outer
            self.statistics.seconds += time.perf_counter() - start

    def consistent(self, given: tuple[Term, ...]) -> bool | None:
        """Whether the givens can all be true (``None``: not known)."""
        match self.prove(given, FALSE):
            case Proved():
                return False
            case Refuted():
                return True
            case Unknown():
                return None

    def _prove(self, given: tuple[Term, ...], goal: Term, small: tuple[Term, ...]) -> Verdict:
        given = tuple(dict.fromkeys(g for g in given if g is not TRUE))
        if goal is TRUE or goal in given or FALSE in given:
            self.statistics.trivial += 1
            return Proved(0.0, "trivial")
        if goal.op == "and":
            return self._prove_conjunction(given, goal, small)
        if goal.op == "=>":
            return self._prove((*given, goal.args[0]), goal.args[1], small)
        near = relevant(given, goal)
        verdict = self._decide(near, goal)
        if isinstance(verdict, Proved) or (isinstance(verdict, Refuted) and len(near) == len(given) and not small):
            return verdict
        if len(near) < len(given):
            verdict = self._decide(given, goal)
        if isinstance(verdict, Refuted) and small:
            verdict = self._smaller(given, goal, small) or verdict
        return verdict

    def _prove_conjunction(self, given: tuple[Term, ...], goal: Term, small: tuple[Term, ...]) -> Verdict:
        if not goal.has_float:
            near = relevant(given, goal)
            verdict = self._decide(near, goal)
            if isinstance(verdict, Proved):
                return verdict
        seconds = 0.0
        for part in goal.args:
            verdict = self._prove(given, part, small)
            if not isinstance(verdict, Proved):
                return verdict
            seconds += verdict.seconds
        return Proved(seconds)

    def _smaller(self, given: tuple[Term, ...], goal: Term, small: tuple[Term, ...]) -> Refuted | None:
        for bound in (4, 8, 16, 64):
            limits = tuple(and_(le(integer(-bound), t), le(t, integer(bound))) for t in small)
            verdict = self._decide((*given, *limits), goal)
            if isinstance(verdict, Refuted):
                return verdict
        return None

    def _decide(self, given: tuple[Term, ...], goal: Term) -> Verdict:
        has_float = goal.has_float or any(g.has_float for g in given)
        if has_float:
            from verified_tir.logic.floats import prove_by_lemma

            proved = prove_by_lemma(self, given, goal)
            if proved is not None:
                return proved
            if self._quick and goal.has_float:
                return Unknown("no float lemma applies")
        return self.ask(query(given, goal), has_float)

    def ask(self, script: Script, has_float: bool) -> Verdict:
        """One query to Z3, or its cached verdict."""
        found = self._cache.get(script.text)
        if found is None:
            start = time.perf_counter()
            self.statistics.queries += 1
            answer = self._check(script, has_float, fresh=False)
            if answer[0] == "unknown":
                answer = self._check(script, has_float, fresh=True)
            seconds = time.perf_counter() - start
            found = self._cache[script.text] = answer
        else:
            self.statistics.cached += 1
            seconds = 0.0
        kind, payload = found
        if kind == "unsat":
            return Proved(seconds, "z3")
        if kind == "unknown":
            return Unknown(payload, seconds)
        values, sorts = {}, {}
        for short, value in payload.items():
            name, sort = script.names[short]
            values[name], sorts[name] = value, sort
        return Refuted(Model(values, sorts), seconds)

    def _check(self, script: Script, has_float: bool, *, fresh: bool) -> tuple[str, Any]:
        z3 = self._load()
        # A question that mixes floats and integers seldom ends when it does not end soon.
        budget = self.budget * (FLOAT_BUDGET // INTEGER_BUDGET) if script.only_floats else self.budget
        incremental = not fresh and not has_float  # bit-blasting floats incrementally is ten times slower
        if not incremental:
            context = z3.Context() if fresh else z3.main_ctx()
            solver = z3.SolverFor("QF_FP", ctx=context) if script.only_floats else z3.Solver(ctx=context)
            solver.set("random_seed", 0)
        else:
            if self._incremental is None:
                self._incremental = z3.SimpleSolver()
            solver, context = self._incremental, z3.main_ctx()
        solver.set("rlimit", budget)
        solver.set("ctrl_c", False)  # an interrupt is Python's, not an "unknown"; it comes when the query ends
        if incremental:
            solver.push()
        try:
            solver.add(z3.parse_smt2_string(script.text, ctx=context))
            result = solver.check()
            if result == z3.unsat:
                return "unsat", None
            if result == z3.sat:
                return "sat", _values(z3, solver.model(), script)
            return "unknown", solver.reason_unknown()
        except z3.Z3Exception as problem:
            return "unknown", str(problem)
        finally:
            if incremental:
                solver.pop()

    def _load(self) -> Any:
        if self._z3 is None:
            import z3

            self._z3 = z3
        return self._z3


def _values(z3: Any, model: Any, script: Script) -> dict[str, int]:
    """Values of the nullary names of the query; functions are left out."""
    found: dict[str, int] = {}
    for declaration in model.decls():
        short = declaration.name()
        if declaration.arity() or short not in script.names:
            continue
        value = model[declaration]
        sort = script.names[short][1]
        if sort == INT:
            found[short] = value.as_long()
        elif sort == BOOL:
            found[short] = int(z3.is_true(value))
        elif value.isNaN():
            found[short] = value_of(not_a_number(sort))  # Z3 gives a NaN no bits
        else:
            found[short] = z3.simplify(z3.fpToIEEEBV(value, value.ctx)).as_long()
    return found


def relevant(given: tuple[Term, ...], goal: Term) -> tuple[Term, ...]:
    """The givens connected to the goal through shared variables and functions.  Dropping the others loses no proof
    that does not rest on a contradiction among them."""
    names = [{(t.payload, t.sort) for t in subterms(g) if t.op in ("var", "app")} for g in given]
    reached = {(t.payload, t.sort) for t in subterms(goal) if t.op in ("var", "app")}
    chosen = [False] * len(given)
    grew = True
    while grew:
        grew = False
        for k, own in enumerate(names):
            if not chosen[k] and (own & reached or not own):
                chosen[k] = grew = True
                reached |= own
    return tuple(g for g, c in zip(given, chosen, strict=True) if c)


def symbols(*terms: Term) -> list[Term]:
    """The free integer variables of the terms, in order of occurrence."""
    return [t for t in subterms(*terms) if t.op == "var" and t.sort == INT]
