"""Floats as uninterpreted things: what follows from equal operands alone.

Every float becomes an integer that stands for it, every operation on floats an uninterpreted function, every load that
gives a float one that gives an integer.  Equality of floats is equality of bits here (see ``formula``), so it becomes
equality.  There are finitely many floats of each sort, so they can be numbered: a model of the givens and the negated
goal would be one of what they become.  If that has none, the goal follows.  No variable or function of a program is
called as these are: its name is a text, and theirs are tuples.

Z3 decides the result quickly, however the integers in the addresses of loads are computed.
"""

from __future__ import annotations

from verified_tir.logic.formula import FLOAT_SORTS, INT, Term, eq, ite, make, replace, subterms


def uninterpreted(given: tuple[Term, ...], goal: Term) -> tuple[tuple[Term, ...], Term]:
    """The givens and the goal without floats."""
    memo: dict[Term, Term] = {}
    for root in (*given, goal):
        for t in reversed(list(subterms(root))):
            _abstract(t, memo)
    return tuple(memo[g] for g in given), memo[goal]


def _abstract(t: Term, memo: dict[Term, Term]) -> Term:
    """What one term becomes; recursion goes as deep as terms are nested."""
    if t in memo:
        return memo[t]
    if not t.has_float:
        memo[t] = t
        return t
    args = tuple([_abstract(a, memo) for a in t.args])
    sort = INT if t.sort in FLOAT_SORTS else t.sort
    over_floats = t.sort in FLOAT_SORTS or any(a.sort in FLOAT_SORTS for a in t.args)
    match t.op:
        case "=":
            found = eq(*args)
        case "ite":
            found = ite(*args)
        case "var":
            found = make("var", (), INT, ("float", t.sort, str(t.payload)))
        case "const":
            found = make("var", (), INT, ("float constant", t.sort, str(t.payload)))
        case _ if over_floats:
            found = make("app", args, sort, (t.op, str(t.payload), t.sort, *(a.sort for a in t.args)))
        case _:
            found = replace(t, dict(zip(t.args, args, strict=True)))
    memo[t] = found
    return found
