"""Terms: the hash-consed nodes of the logic, their sorts, constants, variables and applications.

``verified_tir.logic.formula`` builds everything else from :func:`make`, folding constants on the way; it exports these
names too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from verified_tir.ir.weak_table import WeakTable

BOOL: Final = "Bool"
INT: Final = "Int"
FLOAT_SORTS: Final[dict[str, tuple[int, int]]] = {"F16": (5, 11), "BF16": (8, 8), "F32": (8, 24), "F64": (11, 53)}

BITWISE: Final = frozenset({"bvand", "bvor", "bvxor"})

Payload = int | str | tuple[str, ...] | tuple[int, ...] | None

_TABLE: WeakTable[Term] = WeakTable()


class Term:
    """A term.  ``payload`` is a constant's value (float constants: their bits), or the name of a variable or function.

    Terms are interned: equal terms are the same object.  Build them with the functions of this module.

    :ivar has_float: whether a float occurs in it.
    :ivar has_bits: whether it combines integers bit by bit.
    """

    __slots__ = ("__weakref__", "_names", "args", "has_bits", "has_float", "op", "payload", "sort")

    op: str
    args: tuple[Term, ...]
    sort: str
    payload: Payload
    has_float: bool
    has_bits: bool
    _names: frozenset[tuple[Payload, str]]

    def __repr__(self) -> str:
        from verified_tir.logic.smtlib import show

        return show(self)


def make(op: str, args: tuple[Term, ...], sort: str, payload: Payload = None) -> Term:
    """The interned term; no folding."""
    key = (op, args, sort, payload)
    found = _TABLE.get(key)
    if found is not None:
        return found
    assert _well_sorted(op, args, sort), (op, args, sort)
    t = Term()
    t.op, t.args, t.sort, t.payload = op, args, sort, payload
    t.has_float, t.has_bits = sort in FLOAT_SORTS, op in BITWISE
    for a in args:
        t.has_float |= a.has_float
        t.has_bits |= a.has_bits
    _TABLE.put(key, t)
    return t


_OPERANDS: Final = {
    "not": BOOL, "and": BOOL, "or": BOOL, "=>": BOOL, "+": INT, "-": INT, "*": INT, "<=": INT, "<": INT, "div": INT,
    "mod": INT, "bvand": INT, "bvor": INT, "bvxor": INT, "fp.from_int": INT, "fp.from_bits": INT,
}  # fmt: skip
_ROUNDED: Final = frozenset({"fp.add", "fp.sub", "fp.mul", "fp.div", "fp.fma", "fp.sqrt", "fp.abs"})


def _well_sorted(op: str, args: tuple[Term, ...], sort: str) -> bool:
    """Z3 would take a Bool for an Int where we do not mean it to."""
    if not args or op == "app":
        return True
    if op == "ite":
        return args[0].sort == BOOL and args[1].sort == args[2].sort == sort
    wanted = _OPERANDS.get(op, sort if op in _ROUNDED else args[0].sort)
    return all([a.sort == wanted for a in args])  # noqa: C419 (a list is faster)


TRUE: Final = make("const", (), BOOL, 1)
FALSE: Final = make("const", (), BOOL, 0)


def integer(value: int) -> Term:
    return make("const", (), INT, int(value))  # a bool or a numpy integer would print as something else


def boolean(value: bool) -> Term:
    return TRUE if value else FALSE


def floating(sort: str, bits: int) -> Term:
    """The float with these bits (every NaN is the same value)."""
    exponent, significand = FLOAT_SORTS[sort]
    assert 0 <= bits < 1 << (exponent + significand), (sort, bits)
    field = (1 << (significand - 1)) - 1
    if (bits >> (significand - 1)) & ((1 << exponent) - 1) == (1 << exponent) - 1 and bits & field:
        return not_a_number(sort)
    return make("const", (), sort, bits)


def not_a_number(sort: str) -> Term:
    """The NaN, written as the quiet one without sign or payload."""
    exponent, significand = FLOAT_SORTS[sort]
    return make("const", (), sort, ((1 << exponent) - 1) << (significand - 1) | 1 << (significand - 2))


def var(name: str, sort: str) -> Term:
    """A free constant of the logic; one name has one sort."""
    return make("var", (), sort, name)


def app(function: str, args: tuple[Term, ...], sort: str) -> Term:
    """An uninterpreted function applied."""
    return make("app", args, sort, function) if args else var(function, sort)


def is_const(t: Term) -> bool:
    return t.op == "const"


def value_of(t: Term) -> int:
    """The value of a constant (bits for a float)."""
    assert t.op == "const" and isinstance(t.payload, int)
    return t.payload


def names_in(t: Term) -> frozenset[tuple[Payload, str]]:
    """The variables and functions that occur in a term, each with its sort; the term keeps them."""
    try:
        return t._names
    except AttributeError:
        t._names = frozenset([(s.payload, s.sort) for s in subterms(t) if s.op in ("var", "app")])
        return t._names


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
