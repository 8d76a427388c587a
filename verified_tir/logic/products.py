"""Products of unknown integers as a function that is known in part.

Nonlinear arithmetic is hard, and where two programs multiply the same numbers nothing of it is needed: equal operands
have equal products.  So each product becomes an application of one function of two integers, and what is said of it is
that it is 0 where an operand is, the other operand (or its negative) where one is 1 (or -1), and the same in both
orders.  Multiplication is such a function; so a goal that follows for all of them follows for multiplication.
"""

from __future__ import annotations

from verified_tir.logic.formula import INT, Term, and_, app, eq, implies, integer, mul, neg, or_, replace, subterms

NAME = "product"


def has_products(*roots: Term) -> bool:
    """Whether two integers are multiplied of which none is a number."""
    return any(_is_product(t) for t in subterms(*roots))


def without_products(given: tuple[Term, ...], goal: Term) -> tuple[tuple[Term, ...], Term]:
    """The givens and the goal with products as applications, and what is known of these among the givens."""
    memo: dict[Term, Term] = {}
    known: dict[Term, None] = {}
    products = [t for t in subterms(*given, goal) if _is_product(t)]
    for t in sorted(products, key=_height):
        a, b = (replace(x, {}, memo) for x in t.args)
        if "const" in (a.op, b.op):
            memo[t] = mul(a, b)
            continue
        memo[t] = found = app(NAME, (a, b), INT)
        known[eq(found, app(NAME, (b, a), INT))] = None
        zero, one, minus = integer(0), integer(1), integer(-1)
        known[implies(or_(eq(a, zero), eq(b, zero)), eq(found, zero))] = None
        for x, y in ((a, b), (b, a)):
            known[and_(implies(eq(x, one), eq(found, y)), implies(eq(x, minus), eq(found, neg(y))))] = None
    changed = tuple(replace(g, {}, memo) for g in given)
    return (*changed, *known), replace(goal, {}, memo)


def _is_product(t: Term) -> bool:
    return t.op == "*" and all(a.op != "const" for a in t.args)


def _height(t: Term) -> int:
    """How many products stand beneath a term, itself included: those inside come first."""
    return sum(1 for s in subterms(t) if _is_product(s))
