"""Products and bitwise operations of unknown integers as functions that are known in part.

Nonlinear arithmetic is hard, bits among integers are harder, and where two programs compute the same of the same
numbers nothing of either is needed: equal operands have equal results.  So each such operation becomes an application
of a function, about which a few things are said: the same in either order; what 0, 1 and -1 (for bits: none and all)
do; for bits, what two equal operands give, and the range.  The operation itself is such a function; so a goal that
follows for all of them follows for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.logic import formula as f
from verified_tir.logic.formula import BITWISE, Term, subterms


def partly_known(given: tuple[Term, ...], goal: Term) -> tuple[tuple[Term, ...], Term]:
    """The givens and the goal with hard operations as applications, and what is known of these among the givens."""
    memo: dict[Term, Term] = {}
    known: dict[Term, None] = {}
    for t in sorted((t for t in subterms(*given, goal) if is_hard(t)), key=_height):
        a, b = (f.replace(x, {}, memo) for x in t.args)
        if t.op == "*" and "const" in (a.op, b.op):
            memo[t] = f.mul(a, b)
            continue
        name = t.op, str(t.payload)  # no function of a program is called that: its name is a text
        memo[t] = found = f.make("app", (a, b), f.INT, name)
        known[f.eq(found, f.make("app", (b, a), f.INT, name))] = None
        said = _of_product(found, a, b) if t.op == "*" else _of_bits(t.op, int(str(t.payload)), found, a, b)
        known.update(dict.fromkeys(said))
    changed = tuple(f.replace(g, {}, memo) for g in given)
    return (*changed, *known), f.replace(goal, {}, memo)


def _of_product(found: Term, a: Term, b: Term) -> Iterator[Term]:
    zero, one, minus = f.integer(0), f.integer(1), f.integer(-1)
    yield f.implies(f.or_(f.eq(a, zero), f.eq(b, zero)), f.eq(found, zero))
    for x, y in ((a, b), (b, a)):
        yield f.and_(f.implies(f.eq(x, one), f.eq(found, y)), f.implies(f.eq(x, minus), f.eq(found, f.neg(y))))


def _of_bits(op: str, bits: int, found: Term, a: Term, b: Term) -> Iterator[Term]:
    """Operands count modulo 2**bits; the result lies between 0 and that."""
    none, every, end = f.integer(0), f.integer(2**bits - 1), f.integer(2**bits)
    left, right = f.euclid_mod(a, end), f.euclid_mod(b, end)
    yield f.between(none, found, end)
    yield f.implies(f.eq(left, right), f.eq(found, none if op == "bvxor" else left))
    for x, y in ((left, right), (right, left)):
        if op == "bvand":
            yield f.and_(f.implies(f.eq(x, none), f.eq(found, none)), f.implies(f.eq(x, every), f.eq(found, y)))
        else:
            yield f.implies(f.eq(x, none), f.eq(found, y))
            if op == "bvor":
                yield f.implies(f.eq(x, every), f.eq(found, every))


def is_hard(t: Term) -> bool:
    """Whether integers are multiplied of which none is a number, or combined bit by bit."""
    return (t.op == "*" and all(a.op != "const" for a in t.args)) or t.op in BITWISE


def _height(t: Term) -> int:
    """How many such operations stand beneath a term, itself included: those inside come first."""
    return sum(1 for s in subterms(t) if is_hard(s))
