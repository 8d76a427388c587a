"""Formulas: hash-consed terms of a small many-sorted logic.

Sorts are ``Bool``, ``Int`` (mathematical integers) and the IEEE formats.  Terms print as SMT-LIB
(``verified_tir.logic.smtlib``); the functions here build them and fold constants, nothing more.  ``div`` and ``mod``
are SMT-LIB's (Euclidean, and a function even at zero); :func:`floordiv` and friends are what programs mean.

Equality on floats is ``=``, identity of values: one NaN, and two different zeros.  IEEE ``==`` is :func:`fp_eq`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from verified_tir.logic.float_terms import convert, fp, fp_eq, fp_round, fp_test, negative_zero, positive_zero
from verified_tir.logic.term import (
    BOOL,
    FALSE,
    FLOAT_SORTS,
    INT,
    TRUE,
    Payload,
    Term,
    app,
    boolean,
    floating,
    integer,
    is_const,
    make,
    not_a_number,
    subterms,
    value_of,
    var,
)

__all__ = [
    "BOOL", "FALSE", "FLOAT_SORTS", "INT", "TRUE", "Payload", "Term", "add", "and_", "app", "between", "bitwise",
    "boolean", "convert", "eq", "euclid_div", "euclid_mod", "floating", "floordiv", "floormod", "fp", "fp_eq",
    "fp_round", "fp_test", "implies", "integer", "is_const", "ite", "le", "lt", "make", "mul", "ne", "neg",
    "negative_zero", "not_", "not_a_number", "or_", "positive_zero", "replace", "sub", "subterms", "truncdiv",
    "truncmod", "value_of", "var", "wrap",
]  # fmt: skip

# -- Bool ----------------------------------------------------------------------------------------------------------


def not_(a: Term) -> Term:
    if a.op == "const":
        return FALSE if a is TRUE else TRUE
    if a.op == "not":
        return a.args[0]
    if a.op == "<=":
        return lt(a.args[1], a.args[0])
    if a.op == "<":
        return le(a.args[1], a.args[0])
    return make("not", (a,), BOOL)


def and_(*args: Term) -> Term:
    return _junction("and", args, TRUE, FALSE)


def or_(*args: Term) -> Term:
    return _junction("or", args, FALSE, TRUE)


def _junction(op: str, args: Iterable[Term], neutral: Term, absorbing: Term) -> Term:
    flat: dict[Term, None] = {}
    for a in args:
        for part in a.args if a.op == op else (a,):
            if part is absorbing:
                return absorbing
            if part is not neutral:
                flat[part] = None
    for part in flat:
        if part.op == "not" and part.args[0] in flat:
            return absorbing
    if not flat:
        return neutral
    parts = tuple(flat)
    return parts[0] if len(parts) == 1 else make(op, parts, BOOL)


def implies(a: Term, b: Term) -> Term:
    if a is TRUE or b is TRUE:
        return b
    if a is FALSE:
        return TRUE
    if b is FALSE:
        return not_(a)
    if a is b:
        return TRUE
    return make("=>", (a, b), BOOL)


def ite(c: Term, a: Term, b: Term) -> Term:
    if c is TRUE or a is b:
        return a
    if c is FALSE:
        return b
    if a is TRUE and b is FALSE:
        return c
    return make("ite", (c, a, b), a.sort)


def eq(a: Term, b: Term) -> Term:
    """Identity of values."""
    assert a.sort == b.sort, (a, b)
    if a is b:
        return TRUE
    if a.op == "const" and b.op == "const":
        return FALSE
    if a.sort == BOOL:
        if a.op == "const":
            return b if a is TRUE else not_(b)
        if b.op == "const":
            return a if b is TRUE else not_(a)
    return make("=", (a, b), BOOL)


def ne(a: Term, b: Term) -> Term:
    return not_(eq(a, b))


# -- Int -----------------------------------------------------------------------------------------------------------


def add(a: Term, b: Term) -> Term:
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        k = value_of(b)
        if a.op == "const":
            return integer(value_of(a) + k)
        if k == 0:
            return a
        if a.op == "+" and a.args[1].op == "const":
            return add(a.args[0], integer(value_of(a.args[1]) + k))
    return make("+", (a, b), INT)


def neg(a: Term) -> Term:
    return integer(-value_of(a)) if a.op == "const" else mul(integer(-1), a)


def sub(a: Term, b: Term) -> Term:
    if a is b:
        return integer(0)
    if b.op == "const":
        return add(a, integer(-value_of(b)))
    if a.op == "+" and a.args[0] is b:
        return a.args[1]
    if a.op == "+" and a.args[1] is b:
        return a.args[0]
    return make("-", (a, b), INT)


def mul(a: Term, b: Term) -> Term:
    if b.op == "const":
        a, b = b, a
    if a.op == "const":
        k = value_of(a)
        if b.op == "const":
            return integer(k * value_of(b))
        if k == 0:
            return integer(0)
        if k == 1:
            return b
    return make("*", (a, b), INT)


def le(a: Term, b: Term) -> Term:
    if a is b:
        return TRUE
    if a.op == "const" and b.op == "const":
        return boolean(value_of(a) <= value_of(b))
    return make("<=", (a, b), BOOL)


def lt(a: Term, b: Term) -> Term:
    if a is b:
        return FALSE
    if a.op == "const" and b.op == "const":
        return boolean(value_of(a) < value_of(b))
    return make("<", (a, b), BOOL)


def between(lo: Term, x: Term, hi: Term) -> Term:
    """``lo <= x < hi``."""
    return and_(le(lo, x), lt(x, hi))


def euclid_div(a: Term, b: Term) -> Term:
    """SMT-LIB ``div``; the divisor must not be zero for the result to mean anything."""
    if b.op == "const" and value_of(b) > 0:
        k = value_of(b)
        if k == 1:
            return a
        if a.op == "const":
            return integer(value_of(a) // k)
    return make("div", (a, b), INT)


def euclid_mod(a: Term, b: Term) -> Term:
    """SMT-LIB ``mod``."""
    if b.op == "const" and value_of(b) > 0:
        k = value_of(b)
        if k == 1:
            return integer(0)
        if a.op == "const":
            return integer(value_of(a) % k)
    return make("mod", (a, b), INT)


def floordiv(a: Term, b: Term) -> Term:
    """Rounds to minus infinity, for either sign of the divisor (Euclidean division does so for positive ones)."""
    if b.op == "const":
        return euclid_div(a, b) if value_of(b) > 0 else euclid_div(neg(a), neg(b))
    return ite(lt(integer(0), b), euclid_div(a, b), euclid_div(neg(a), neg(b)))


def floormod(a: Term, b: Term) -> Term:
    """Has the divisor's sign."""
    if b.op == "const":
        return euclid_mod(a, b) if value_of(b) > 0 else neg(euclid_mod(neg(a), neg(b)))
    return ite(lt(integer(0), b), euclid_mod(a, b), neg(euclid_mod(neg(a), neg(b))))


def truncdiv(a: Term, b: Term) -> Term:
    """Rounds to zero.  Euclidean division of a non-negative number does so for either sign of the divisor."""
    return ite(le(integer(0), a), euclid_div(a, b), neg(euclid_div(neg(a), b)))


def truncmod(a: Term, b: Term) -> Term:
    """Has the dividend's sign."""
    return ite(le(integer(0), a), euclid_mod(a, b), neg(euclid_mod(neg(a), b)))


def wrap(a: Term, bits: int, signed: bool) -> Term:
    """``a`` modulo 2**bits, in the type's range."""
    if a.op == "const":
        v = value_of(a) % (1 << bits)
        return integer(v - (1 << bits) if signed and v >> (bits - 1) else v)
    if not signed:
        return euclid_mod(a, integer(1 << bits))
    half = integer(1 << (bits - 1))
    return sub(euclid_mod(add(a, half), integer(1 << bits)), half)


def bitwise(op: str, bits: int, a: Term, b: Term) -> Term:
    """``bvand``, ``bvor``, ``bvxor`` of two integers taken modulo 2**bits; the result is non-negative."""
    return make(op, (a, b), INT, bits)


# -- traversal -----------------------------------------------------------------------------------------------------


_BUILDERS: dict[str, Callable[..., Term]] = {
    "not": not_, "and": and_, "or": or_, "=>": implies, "ite": ite, "=": eq, "+": add, "-": sub, "*": mul,
    "<=": le, "<": lt, "div": euclid_div, "mod": euclid_mod,
}  # fmt: skip


def replace(t: Term, mapping: dict[Term, Term], memo: dict[Term, Term] | None = None) -> Term:
    """``t`` with terms replaced by terms, folded again.  What was put in is not searched for more to replace."""
    memo = {} if memo is None else memo
    stack = [t]
    while stack:
        u = stack[-1]
        if u in memo:
            stack.pop()
        elif u in mapping or not u.args:
            memo[u] = mapping.get(u, u)
        elif pending := [a for a in u.args if a not in memo]:
            stack.extend(pending)
        else:
            args = tuple([memo[a] for a in u.args])
            memo[u] = u if args == u.args else _rebuild(u, args)
    return memo[t]


def _rebuild(t: Term, args: tuple[Term, ...]) -> Term:
    builder = _BUILDERS.get(t.op)
    return builder(*args) if builder else make(t.op, args, t.sort, t.payload)
