"""Formulas: hash-consed terms of a small many-sorted logic.

Sorts are ``Bool``, ``Int`` (mathematical integers) and the IEEE formats.  Terms print as SMT-LIB
(``verified_tir.logic.smtlib``); the functions here build them and fold constants, nothing more.  ``div`` and ``mod``
are SMT-LIB's (Euclidean, and a function even at zero); :func:`floordiv` and friends are what programs mean.

Equality on floats is ``=``, identity of values: one NaN, and two different zeros.  IEEE ``==`` is ``fp.eq``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final
from weakref import WeakValueDictionary

from verified_tir.ir.dtype import FLOATS
from verified_tir.ir.floats import exponent_bits, significand_bits
from verified_tir.ir.node import ENTERED
from verified_tir.ir.outside import shown

BOOL: Final = "Bool"
INT: Final = "Int"
FLOAT_SORTS: Final = {form.sort: (exponent_bits(dtype), significand_bits(dtype)) for dtype, form in FLOATS.items()}

SORTS: Final = frozenset({BOOL, INT, *FLOAT_SORTS})
BITWISE: Final = frozenset({"bvand", "bvor", "bvxor"})
ROUNDINGS: Final = tuple([f"fp.roundToIntegral {mode}" for mode in ("RNE", "RNA", "RTZ", "RTP", "RTN")])

Payload = int | str | tuple[object, ...] | None

_TABLE: WeakValueDictionary[tuple[object, ...], Term] = WeakValueDictionary()


class Term:
    """A term.  ``payload`` is a constant's value (float constants: their bits), or the name of a variable or function.

    Terms are interned: equal terms are the same object.  Build them with the functions of this module.  Nothing that is
    proved rests on it: a term that is there twice (one that a finalizer brought back) is equal to itself, not less.
    """

    __slots__ = ("__weakref__", "args", "op", "payload", "sort")

    op: str
    args: tuple[Term, ...]
    sort: str
    payload: Payload

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("terms do not change, and have no copies")

    def __repr__(self) -> str:
        return shown(self)


def _plain(payload: object) -> bool:
    """Whether a payload is made of plain types only, whose equality cannot be overridden."""
    kind = type(payload)
    if kind is tuple:
        return all(map(_plain, payload))  # type: ignore[call-overload]
    return kind is str or kind is int or payload is None or kind is Term


def make(op: str, args: tuple[Term, ...], sort: str, payload: Payload = None) -> Term:
    """The interned term; no folding.

    :raises TypeError: if it does not mean by its text, in SMT-LIB, what the functions here take it to mean.
    """
    found = _TABLE.get((op, args, sort, payload))
    if found is not None:
        return found
    exact = type(args) is tuple and all([type(a) is Term for a in args])  # noqa: C419 (a list is faster)
    if not (exact and type(op) is type(sort) is str and _plain(payload)):
        raise TypeError("a term is made of a name, terms, a sort and a payload of plain values")
    if not _has_meaning(op, args, sort, payload):
        raise TypeError(f"there is no such term: {op!r} with {payload!r}, of sort {sort!r}, of {args}")
    return _new(op, args, sort, payload)


def _new(op: str, args: tuple[Term, ...], sort: str, payload: Payload) -> Term:
    """The term, which no other thread finds before it is whole; one that another has entered meanwhile, if any."""
    t = object.__new__(Term)
    for field, value in (("op", op), ("args", args), ("sort", sort), ("payload", payload)):
        object.__setattr__(t, field, value)
    with ENTERED:
        return _TABLE.setdefault((op, args, sort, payload), t)


def _constant(sort: str, value: int) -> Term:
    return _TABLE.get(("const", (), sort, value)) or _new("const", (), sort, value)


_SIGNATURES: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "not": ((BOOL, BOOL),), "=>": ((BOOL, BOOL, BOOL),), **dict.fromkeys(("<=", "<"), ((BOOL, INT, INT),)),
    "=": tuple((BOOL, s, s) for s in SORTS), "ite": tuple((s, BOOL, s, s) for s in SORTS),
    **dict.fromkeys(("+", "-", "*", "div", "mod", *BITWISE), ((INT, INT, INT),)),
    **dict.fromkeys(("fp.add", "fp.sub", "fp.mul", "fp.div"), tuple((s, s, s) for s in FLOAT_SORTS)),
    **dict.fromkeys(("fp.sqrt", "fp.abs", *ROUNDINGS), tuple((s, s) for s in FLOAT_SORTS)),
    "fp.fma": tuple((s, s, s, s) for s in FLOAT_SORTS),
    **dict.fromkeys(("fp.eq", "fp.lt", "fp.leq"), tuple((BOOL, s, s) for s in FLOAT_SORTS)),
    **dict.fromkeys(("fp.isNaN", "fp.isInfinite", "fp.isNegative", "fp.isZero"), tuple((BOOL, s) for s in FLOAT_SORTS)),
    "fp.from_fp": tuple((s, t) for s in FLOAT_SORTS for t in FLOAT_SORTS),
    **dict.fromkeys(("fp.from_int", "fp.from_bits"), tuple((s, INT) for s in FLOAT_SORTS)),
    **dict.fromkeys(("fp.to_int", "fp.to_bits"), tuple((INT, s) for s in FLOAT_SORTS)),
}  # fmt: skip
"""The sorts of an operation's result and operands."""


def _has_meaning(op: str, args: tuple[Term, ...], sort: str, payload: object) -> bool:
    """Whether the logic has this operation on operands of these sorts, with a name that can be printed.

    Z3 would take a Bool for an Int where we do not mean it to, and read a name as whatever has this name in a text; and
    a variable of the wrong sort that stands for a term (``generalise``) has less values than the term, or others.
    Constants are made elsewhere: there is one of each value.
    """
    sorts = (sort, *[a.sort for a in args])
    if op in ("var", "app"):
        return sort in SORTS
    if not (type(payload) is int and payload > 0 if op in BITWISE else payload is None):
        return False
    return set(sorts) == {BOOL} if op in ("and", "or") else sorts in _SIGNATURES.get(op, ())


TRUE: Final = _constant(BOOL, 1)
FALSE: Final = _constant(BOOL, 0)


def integer(value: int) -> Term:
    return _constant(INT, int(value))  # a bool or a numpy integer would print as something else


ZERO: Final = integer(0)
ONE: Final = integer(1)


def boolean(value: bool) -> Term:
    return TRUE if value else FALSE


def floating(sort: str, bits: int) -> Term:
    """The float with these bits.  Every NaN is the same value, written as the quiet one without sign or payload."""
    exponent, significand = FLOAT_SORTS[sort]
    assert 0 <= bits < 1 << (exponent + significand), (sort, bits)
    infinity = ((1 << exponent) - 1) << (significand - 1)
    is_nan = bits % (1 << (exponent + significand - 1)) > infinity
    return _constant(sort, infinity | 1 << (significand - 2) if is_nan else bits)


def not_a_number(sort: str) -> Term:
    return floating(sort, (1 << sum(FLOAT_SORTS[sort])) - 1)


def negative_zero(sort: str) -> Term:
    return floating(sort, 1 << (sum(FLOAT_SORTS[sort]) - 1))


def var(name: str, sort: str) -> Term:
    """A free constant of the logic; one name has one sort."""
    return make("var", (), sort, name)


def app(function: str, args: tuple[Term, ...], sort: str) -> Term:
    """An uninterpreted function applied."""
    return make("app", args, sort, function) if args else var(function, sort)


def value_of(t: Term) -> int:
    """The value of a constant (bits for a float)."""
    assert t.op == "const" and isinstance(t.payload, int)
    return t.payload


def subterms(*roots: Term) -> Iterator[Term]:
    """Every subterm once, in the order of first occurrence."""
    seen: set[Term] = set()
    stack = list(reversed(roots))
    while stack:
        t = stack.pop()
        if t in seen:
            continue
        seen.add(t)
        yield t
        stack.extend(reversed(t.args))


# -- Bool ----------------------------------------------------------------------------------------------------------


def not_(a: Term) -> Term:
    if a.op == "const":
        return boolean(a is FALSE)
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
    return make(op, tuple(flat), BOOL) if len(flat) > 1 else next(iter(flat), neutral)


def implies(a: Term, b: Term) -> Term:
    if a is TRUE or b is TRUE:
        return b
    if a is FALSE:
        return TRUE
    return not_(a) if b is FALSE else make("=>", (a, b), BOOL)


def ite(c: Term, a: Term, b: Term) -> Term:
    if c is FALSE:
        return b
    return a if c is TRUE or a is b else make("ite", (c, a, b), a.sort)


def eq(a: Term, b: Term) -> Term:
    """Identity of values."""
    assert a.sort == b.sort, (a, b)
    if a is b:
        return TRUE
    if a.op == "const" and b.op == "const":
        return boolean(a.payload == b.payload)
    if a.sort == BOOL and "const" in (a.op, b.op):
        known, other = (a, b) if a.op == "const" else (b, a)
        return other if known is TRUE else not_(other)
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
    return mul(integer(-1), a)


def sub(a: Term, b: Term) -> Term:
    if a is b:
        return ZERO
    if b.op == "const":
        return add(a, integer(-value_of(b)))
    return make("-", (a, b), INT)


def mul(a: Term, b: Term) -> Term:
    if b.op == "const":
        a, b = b, a
    if a.op == "const":
        k = value_of(a)
        if b.op == "const":
            return integer(k * value_of(b))
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
    if a.op == b.op == "const" and value_of(b) > 0:
        return integer(value_of(a) // value_of(b))
    return a if b is ONE else make("div", (a, b), INT)


def euclid_mod(a: Term, b: Term) -> Term:
    """SMT-LIB ``mod``."""
    if a.op == b.op == "const" and value_of(b) > 0:
        return integer(value_of(a) % value_of(b))
    return ZERO if b is ONE else make("mod", (a, b), INT)


def floordiv(a: Term, b: Term) -> Term:
    """Rounds to minus infinity, for either sign of the divisor (Euclidean division does so for positive ones)."""
    return ite(lt(ZERO, b), euclid_div(a, b), euclid_div(neg(a), neg(b)))


def floormod(a: Term, b: Term) -> Term:
    """Has the divisor's sign."""
    return ite(lt(ZERO, b), euclid_mod(a, b), neg(euclid_mod(neg(a), neg(b))))


def truncdiv(a: Term, b: Term) -> Term:
    """Rounds to zero.  Euclidean division of a non-negative number does so for either sign of the divisor."""
    return ite(le(ZERO, a), euclid_div(a, b), neg(euclid_div(neg(a), b)))


def truncmod(a: Term, b: Term) -> Term:
    """Has the dividend's sign."""
    return ite(le(ZERO, a), euclid_mod(a, b), neg(euclid_mod(neg(a), b)))


def wrap(a: Term, bits: int, signed: bool) -> Term:
    """``a`` modulo 2**bits, in the type's range."""
    if not signed:
        return euclid_mod(a, integer(1 << bits))
    half = integer(1 << (bits - 1))
    return sub(euclid_mod(add(a, half), integer(1 << bits)), half)


def bitwise(op: str, bits: int, a: Term, b: Term) -> Term:
    """``bvand``, ``bvor``, ``bvxor`` of two integers taken modulo 2**bits; the result is non-negative."""
    return make(op, (a, b), INT, bits)


# -- floats ---------------------------------------------------------------------------------------------------------


def fp(op: str, sort: str, *args: Term) -> Term:
    """A float operation by its SMT-LIB name (``fp.add``, ``fp.lt``, ``fp.isNaN``, …; rounding is to even), or a
    conversion: ``fp.roundToIntegral`` with its mode, ``fp.from_fp``, ``fp.from_int``, ``fp.to_int`` (towards zero),
    ``fp.from_bits``, ``fp.to_bits``.
    """
    return make(op, args, sort)


# -- traversal -----------------------------------------------------------------------------------------------------


_BUILDERS: dict[str, Callable[..., Term]] = {
    "not": not_, "and": and_, "or": or_, "=>": implies, "ite": ite, "=": eq, "+": add, "-": sub, "*": mul,
    "<=": le, "<": lt, "div": euclid_div, "mod": euclid_mod,
}  # fmt: skip


def rebuild(t: Term, build: Callable[[Term, tuple[Any, ...]], Any], memo: dict[Term, Any]) -> Any:
    """Rebuild a term bottom-up: ``build`` gets each subterm and the results for its operands, from left to right.

    :param memo: what is made of terms.  What has no operands remains as it is, unless it stands there.
    """
    stack = [t]
    while stack:
        u = stack[-1]
        if u in memo or not u.args:
            stack.pop()
        elif pending := [a for a in u.args if a.args and a not in memo]:
            stack.extend(reversed(pending))
        else:
            memo[u] = build(u, tuple([memo.get(a, a) for a in u.args]))
    return memo.get(t, t)


def fold(t: Term, args: tuple[Term, ...]) -> Term:
    """``t`` with other operands, simplified."""
    if args == t.args:
        return t
    builder = _BUILDERS.get(t.op)
    return builder(*args) if builder else make(t.op, args, t.sort, t.payload)


def replace(t: Term, mapping: Mapping[Term, Term], memo: dict[Term, Term] | None = None) -> Term:
    """``t`` with terms replaced by terms, folded again.  What was put in is not searched for more to replace.

    :param memo: what terms became when they were replaced by the same mapping before.
    """
    memo = {} if memo is None else memo
    memo.update(mapping)
    made: Term = rebuild(t, fold, memo)
    return made
