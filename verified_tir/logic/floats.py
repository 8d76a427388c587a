"""Float obligations, split into an integer part and an IEEE lemma.

Z3 decides pure float questions quickly and mixed ones slowly.  A question with floats is therefore first asked with all
operations on floats taken for unknown ones, where equal operands give equal results (``congruence``): that suffices for
goals without floats, and wherever the same is computed of the same.  Else a goal about floats whose givens are of the
form ``P ⟹ Q`` with P free of floats is proved in three moves:

1. every such P that follows from the integer givens makes its Q a given, and so does ``P or Q`` if ``not P`` follows;
2. given equations ``x = t`` of floats replace x by t, and boolean terms known to be true become true;
3. what is left is generalised (every maximal term that is no float operation becomes a variable), and that lemma is
   asked once: its canonical text is the same wherever it occurs.

Each move only weakens what is known or asks for more: in 1 what follows from the givens is added to them; in 2 equals
are put for equals; in 3 a claim about all values of the leaves implies the one about theirs, and hypotheses are
dropped.  So a proof here is a proof of the goal.  A failure says nothing: the caller then asks the whole question.
"""

from __future__ import annotations

from typing import Protocol

from verified_tir.logic import formula as f
from verified_tir.logic.congruence import uninterpreted
from verified_tir.logic.formula import FLOAT_SORTS, Term, subterms
from verified_tir.logic.smtlib import Script, query
from verified_tir.logic.verdict import Proved, Verdict


class Prover(Protocol):
    """Whoever answers the questions that a float obligation is split into."""

    def prove(self, given: tuple[Term, ...], goal: Term) -> Verdict:
        """Whether the goal follows."""
        ...

    def ask(self, script: Script) -> Verdict:
        """One query, as a whole."""
        ...


def prove_by_lemma(solver: Prover, given: tuple[Term, ...], goal: Term) -> Proved | None:
    """A proof by congruence or by the three moves, or ``None``."""
    verdict = solver.prove(*uninterpreted(given, goal))
    if isinstance(verdict, Proved):
        return Proved(how="congruence") if goal.has_float else verdict
    if not goal.has_float:
        return None
    known = _discharge(solver, tuple(g for g in given if not g.has_float), given)
    hypotheses = [h for h in known if h.has_float]
    facts = {h: f.TRUE for h in known if not h.has_float and h.op != "const"}
    for h in list(facts):
        if h.op == "not":
            facts[h.args[0]] = f.FALSE
    for _ in range(3):
        equations = _equations(hypotheses)
        if not equations and not facts:
            break
        memo: dict[Term, Term] = {}
        mapping = {**facts, **equations}
        goal = f.replace(goal, mapping, memo)
        hypotheses = [h if _is_equation(h) else f.replace(h, mapping, memo) for h in hypotheses]
    if goal is f.TRUE:
        return Proved(how="lemma")
    rest = [h for h in hypotheses if not _is_equation(h)]
    lemma = None
    for conversions_too in (True, False):  # first a lemma about floats alone
        weaker, lemma = lemma, _generalise(rest, goal, conversions_too)
        if lemma != weaker and isinstance(solver.ask(query(*lemma)), Proved):
            return Proved(how="lemma")
    return None


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
            needed = f.not_(f.or_(*[a for a in h.args if not a.has_float]))
            rest = f.or_(*[a for a in h.args if a.has_float])
        else:
            known.append(h)
            continue
        follows = needed in plain or isinstance(solver.prove(plain, needed), Proved)
        (pending if follows else known).append(rest if follows else h)
    return known


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
                leaves[t] = f.var(f"leaf{len(leaves)}", t.sort)
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
    return tuple(f.replace(h, leaves, memo) for h in chosen), f.replace(goal, leaves, memo)


def _converts_an_integer(t: Term) -> bool:
    return t.op in ("fp.from_int", "fp.from_bits") and t.args[0].op != "const"
