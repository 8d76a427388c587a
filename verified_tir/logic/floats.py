"""Float obligations, split into an integer part and an IEEE lemma.

Z3 decides pure float questions quickly and mixed ones slowly.  A goal without floats is therefore tried first from the
givens in which whatever depends on floats stands for any truth value or number; and an equation whose sides differ only
in integers beneath the same operations follows from the integers' being equal (congruence).  Else a goal about floats
whose givens are of the form ``P ⟹ Q`` with P free of floats is proved in three moves:

1. every such P that follows from the integer givens makes its Q a given, and so does ``P or Q`` if ``not P`` follows;
2. given equations ``x = t`` of floats replace x by t, and boolean terms known to be true become true;
3. what is left is generalised (every maximal term that is no float operation becomes a variable), and that lemma is
   asked once: its canonical text is the same wherever it occurs.

If that fails, and before it where there are products in the lemma, all operations on floats are taken for unknown ones,
and equal operands give equal results (``congruence``).

Each move only weakens what is known, so a proof here is a proof of the goal.  A failure says nothing: the caller then
asks the whole question.
"""

from __future__ import annotations

from typing import Final, Protocol

from verified_tir.logic.congruence import uninterpreted
from verified_tir.logic.formula import (
    FALSE,
    FLOAT_SORTS,
    INT,
    TRUE,
    Term,
    and_,
    eq,
    make,
    not_,
    or_,
    replace,
    subterms,
    var,
)
from verified_tir.logic.smtlib import Script, query
from verified_tir.logic.verdict import Proved, Verdict

_PRODUCTS: Final = frozenset({"fp.mul", "fp.div", "fp.fma", "fp.sqrt"})


class Prover(Protocol):
    """Whoever answers the questions that a float obligation is split into."""

    def prove(self, given: tuple[Term, ...], goal: Term) -> Verdict:
        """Whether the goal follows."""
        ...

    def ask(self, script: Script) -> Verdict:
        """One query, as a whole."""
        ...


def prove_by_lemma(solver: Prover, given: tuple[Term, ...], goal: Term) -> Proved | None:
    """A proof by congruence or by the three moves above, or ``None``."""
    plain, original = tuple(g for g in given if not g.has_float), goal
    if not goal.has_float:
        verdict = solver.prove(abstracted(given), goal)
        return verdict if isinstance(verdict, Proved) else None
    integers = congruent(goal)
    if integers is not None and isinstance(verdict := solver.prove(plain, and_(*integers)), Proved):
        return Proved(how="congruence")
    known = _discharge(solver, plain, given)
    hypotheses = [h for h in known if h.has_float]
    facts = {h: TRUE for h in known if not h.has_float and h.op != "const"}
    for h in list(facts):
        if h.op == "not":
            facts[h.args[0]] = FALSE
    for _ in range(3):
        equations = _equations(hypotheses)
        if not equations and not facts:
            break
        memo: dict[Term, Term] = {}
        mapping = {**facts, **equations}
        goal = replace(goal, mapping, memo)
        hypotheses = [h if _is_equation(h) else replace(h, mapping, memo) for h in hypotheses]
    if goal is TRUE:
        return Proved(how="lemma")
    rest = [h for h in hypotheses if not _is_equation(h)]
    lemma, tried = None, False
    for conversions_too in (True, False):  # first a lemma about floats alone
        weaker, lemma = lemma, _generalise(rest, goal, conversions_too)
        if lemma == weaker:
            break
        # Bits of products and quotients take seconds where a lemma is false; that the same comes of the same is cheap.
        if weaker is None and any(t.op in _PRODUCTS for t in subterms(*lemma[0], lemma[1])):
            tried = True
            if (proved := _same_of_the_same(solver, given, original)) is not None:
                return proved
        verdict = solver.ask(query(*lemma))
        if isinstance(verdict, Proved):
            return Proved(how="lemma")
    return None if tried else _same_of_the_same(solver, given, original)


def _same_of_the_same(solver: Prover, given: tuple[Term, ...], goal: Term) -> Proved | None:
    """A proof that takes the operations on floats for any functions."""
    verdict = solver.prove(*uninterpreted(given, goal))
    return Proved(how="congruence") if isinstance(verdict, Proved) else None


def _discharge(solver: Prover, plain: tuple[Term, ...], given: tuple[Term, ...]) -> list[Term]:
    """The givens, part by part, without the premises that follow from the integer givens, and without the alternatives
    that these exclude."""
    known: list[Term] = []
    pending = list(reversed(given))
    while pending:
        h = pending.pop()
        if h.op == "and":
            pending.extend(reversed(h.args))
            continue
        if h.op == "=>" and not h.args[0].has_float:
            needed, rest = h.args
        elif h.op == "or" and h.has_float and not all(a.has_float for a in h.args):
            needed = not_(or_(*[a for a in h.args if not a.has_float]))
            rest = or_(*[a for a in h.args if a.has_float])
        else:
            known.append(h)
            continue
        follows = needed in plain or isinstance(solver.prove(plain, needed), Proved)
        (pending if follows else known).append(rest if follows else h)
    return known


def abstracted(given: tuple[Term, ...]) -> tuple[Term, ...]:
    """The givens, weaker: each part that is computed from floats, a comparison or a conversion, is a variable.

    The same part is the same variable everywhere, so that a condition and its negation still contradict each other.
    """
    leaves: dict[Term, Term] = {}
    seen: set[Term] = set()
    stack = [g for g in given if g.has_float]
    while stack:
        t = stack.pop()
        if t in seen or not t.has_float:
            continue
        seen.add(t)
        if any(a.sort in FLOAT_SORTS for a in t.args):
            leaves[t] = make("var", (), t.sort, ("float", str(len(leaves))))
        else:
            stack.extend(reversed(t.args))
    memo: dict[Term, Term] = {}
    return tuple(replace(g, leaves, memo) for g in given)


def congruent(goal: Term) -> list[Term] | None:
    """Equations of integers from which an equation follows, by applying the same operations to both sides.

    ``None`` if the goal is no equation, or its sides differ in an operation above all integers.
    """
    if goal.op != "=":
        return None
    pending, seen = [goal.args], {goal.args}
    found: list[Term] = []
    while pending:
        a, b = pending.pop()
        if a is b:
            continue
        same = a.op == b.op and a.payload == b.payload and a.sort == b.sort and len(a.args) == len(b.args)
        if a.sort == INT and b.sort == INT and not (a.has_float or b.has_float):
            found.append(eq(a, b))
        elif not same or not a.args:
            return None
        else:
            for pair in zip(a.args, b.args, strict=True):
                if pair not in seen:
                    seen.add(pair)
                    pending.append(pair)
    return found


def _is_equation(h: Term) -> bool:
    return h.op == "=" and h.args[0].sort in FLOAT_SORTS and _direct(h) is not None


def _direct(h: Term) -> tuple[Term, Term] | None:
    a, b = h.args
    if a.op in ("var", "app") and a not in set(subterms(b)):
        return a, b
    if b.op in ("var", "app") and b not in set(subterms(a)):
        return b, a
    return None


def _equations(hypotheses: list[Term]) -> dict[Term, Term]:
    found: dict[Term, Term] = {}
    for h in hypotheses:
        if _is_equation(h):
            pair = _direct(h)
            if pair is not None:
                found.setdefault(*pair)
    return found


def _generalise(hypotheses: list[Term], goal: Term, conversions_too: bool) -> tuple[tuple[Term, ...], Term]:
    """Float leaves become variables; boolean leaves without floats too; hypotheses that share nothing are dropped.

    ``conversions_too``: a float made from an integer is a leaf itself, and not the integer in it.
    """
    leaves: dict[Term, Term] = {}
    seen: set[Term] = set()

    def visit(root: Term) -> None:
        stack = [root]
        while stack:
            t = stack.pop()
            if t in seen or t.op == "const":
                continue
            seen.add(t)
            if t.op in ("app", "var") or not t.has_float or (conversions_too and _converts_an_integer(t)):
                leaves[t] = var(f"leaf{len(leaves)}", t.sort)
            else:
                stack.extend(reversed(t.args))

    visit(goal)
    pending = list(hypotheses)
    chosen: list[Term] = []
    while True:
        reach = {t for t in leaves if t.sort in FLOAT_SORTS}
        near = [h for h in pending if reach & set(subterms(h))]
        if not near:
            break
        for h in near:
            visit(h)
            pending.remove(h)
        chosen.extend(near)
    memo: dict[Term, Term] = {}
    return tuple(replace(h, leaves, memo) for h in chosen), replace(goal, leaves, memo)


def _converts_an_integer(t: Term) -> bool:
    return t.op in ("fp.from_int", "fp.from_bits") and t.args[0].op != "const"
