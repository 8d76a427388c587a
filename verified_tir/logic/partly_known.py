"""Products and bitwise operations of unknown integers as functions that are known in part.

Nonlinear arithmetic is hard, bits among integers are harder, and where two programs compute the same of the same
numbers nothing of either is needed: equal operands have equal results.  So each such operation becomes an application
of a function, about which a few things are said: the same in either order; what 0, 1 and -1 (for bits: none and all)
do; for bits, what two equal operands give, and the range.  The operation itself is such a function; so a goal that
follows for all of them follows for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.logic.formula import (
    BITWISE,
    INT,
    Term,
    and_,
    app,
    between,
    eq,
    euclid_mod,
    implies,
    integer,
    mul,
    neg,
    or_,
    replace,
    subterms,
)


def partly_known(given: tuple[Term, ...], goal: Term) -> tuple[tuple[Term, ...], Term]:
    """The givens and the goal with hard operations as applications, and what is known of these among the givens."""
    memo: dict[Term, Term] = {}
    known: dict[Term, None] = {}
    for t in sorted((t for t in subterms(*given, goal) if is_hard(t)), key=_height):
        a, b = (replace(x, {}, memo) for x in t.args)
        if t.op == "*" and "const" in (a.op, b.op):
            memo[t] = mul(a, b)
            continue
        name = "product" if t.op == "*" else f"{t.op} {t.payload}"
        memo[t] = found = app(name, (a, b), INT)
        known[eq(found, app(name, (b, a), INT))] = None
        said = _of_product(found, a, b) if t.op == "*" else _of_bits(t.op, int(str(t.payload)), found, a, b)
        known.update(dict.fromkeys(said))
    changed = tuple(replace(g, {}, memo) for g in given)
    return (*changed, *known), replace(goal, {}, memo)


def _of_product(found: Term, a: Term, b: Term) -> Iterator[Term]:
    zero, one, minus = integer(0), integer(1), integer(-1)
    yield implies(or_(eq(a, zero), eq(b, zero)), eq(found, zero))
    for x, y in ((a, b), (b, a)):
        yield and_(implies(eq(x, one), eq(found, y)), implies(eq(x, minus), eq(found, neg(y))))


def _of_bits(op: str, bits: int, found: Term, a: Term, b: Term) -> Iterator[Term]:
    """Operands count modulo 2**bits; the result lies between 0 and that."""
    none, every, end = integer(0), integer(2**bits - 1), integer(2**bits)
    left, right = euclid_mod(a, end), euclid_mod(b, end)
    yield between(none, found, end)
    yield implies(eq(left, right), eq(found, none if op == "bvxor" else left))
    for x, y in ((left, right), (right, left)):
        if op == "bvand":
            yield and_(implies(eq(x, none), eq(found, none)), implies(eq(x, every), eq(found, y)))
        else:
            yield implies(eq(x, none), eq(found, y))
            if op == "bvor":
                yield implies(eq(x, every), eq(found, every))


def is_hard(t: Term) -> bool:
    """Whether integers are multiplied of which none is a number, or combined bit by bit."""
    return (t.op == "*" and all(a.op != "const" for a in t.args)) or t.op in BITWISE


def _height(t: Term) -> int:
    """How many such operations stand beneath a term, itself included: those inside come first."""
    return sum(1 for s in subterms(t) if is_hard(s))
