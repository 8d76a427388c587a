"""Sizes that are known when a graph runs: extents are numbers, or expressions of named symbols.

A symbol is an int32 variable; there is one for each name, since the name is what a graph's caller says (``batch=4``).
It may be 0.  A size is an integer or an expression in one normal form: a polynomial whose atoms are symbols, quotients,
remainders and the lesser or greater of two.  So equal polynomials are one object, and two sizes are known to be equal
if they are identical.  Whether others are equal depends on the symbols, and nobody may rely on either answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.index.bounds import Bounds
from verified_tir.index.text import index_text
from verified_tir.ir.dtype import INT32, INT64
from verified_tir.ir.expr import Binary, BinaryOp, Cast, Expr, IntImm, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.poly import Monomial, Poly, as_poly
from verified_tir.ir.sugar import binary
from verified_tir.ir.visit import free_vars, substitute

Dim: TypeAlias = "int | Expr"
"""An extent: a number, or an expression in normal form that is none."""

MOST = 2**31 - 2**16
"""No symbol is larger (docs/semantics.md)."""

TERMS = 64
"""No size has more, multiplied out."""

_symbols: WeakValueDictionary[str, Var] = WeakValueDictionary()


def symbol(name: str) -> Var:
    """The size of that name.

    :raises GraphError: if the text of a graph could not say it.
    """
    if not name.isidentifier() or not name.isascii() or name in ("R", "T", "float", "min", "max"):
        raise GraphError(f"the size {name!r} has no name that can be written; it is an identifier")
    found = _symbols.get(name)
    if found is None:
        found = _symbols[name] = Var.fresh(name, INT32)
    return found


# -- normal form -------------------------------------------------------------------------------------------------------


def normal(size: Dim) -> Dim:
    """The size in normal form.

    :raises GraphError: if it has other operators than sizes have, or numbers that are not int32.
    """
    if not isinstance(size, Expr):
        return int(size)
    poly = _poly(size)
    number = poly.constant
    return number if number is not None else _rendered(poly)


def _poly(size: Expr) -> Poly:
    match size:
        case IntImm(value=number):
            return Poly.of(number)
        case Var(dtype=dtype) if dtype is INT32:
            return Poly.atom(size)
        case Binary(op="add" | "sub" | "mul" | "floordiv" | "floormod" | "min" | "max" as op, a=a, b=b):
            made = _combined(op, _poly(a), _poly(b))
            if len(made.terms) > TERMS:
                raise GraphError(f"a size has {TERMS} terms at the most")
            return made
    raise GraphError(f"sizes are sums, products, quotients, the lesser or greater of two, and no {type(size).__name__}")


def _combined(op: BinaryOp, a: Poly, b: Poly) -> Poly:
    match op:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "min" | "max":
            return _lesser(op, a, b)
    return _quotient(op, a, b)


def _quotient(op: BinaryOp, a: Poly, by: Poly) -> Poly:
    """a // by or a % by, both floor; what ``by`` divides leaves the quotient (where it is 0 there is none anyway)."""
    number = by.constant
    if number is not None and number <= 0:
        raise GraphError(f"a size is divided by positive numbers only, not by {number}")
    whole, rest = Poly({}), a
    if number is not None:
        whole = Poly({m: k // number for m, k in a.terms.items() if k % number == 0})
        rest = Poly({m: k for m, k in a.terms.items() if k % number})
        if (left := rest.constant) is not None:
            return whole + left // number if op == "floordiv" else Poly.of(left % number)
    elif (exact := a.exact(by)) is not None:
        return exact if op == "floordiv" else Poly({})
    part = Poly.atom(binary(op, _rendered(rest), _rendered(by)))
    return whole + part if op == "floordiv" else part


def _lesser(op: BinaryOp, a: Poly, b: Poly) -> Poly:
    """The lesser or greater of two."""
    if _never_negative(b - a):
        return a if op == "min" else b
    if _never_negative(a - b):
        return b if op == "min" else a
    first, second = sorted((_rendered(a), _rendered(b)), key=dim_text)
    return Poly.atom(binary(op, first, second))


def _place(term: tuple[Monomial, int]) -> tuple[bool, bool, int, int, str]:
    m, k = term
    return k < 0, not m, -len(m), -abs(k), " * ".join(sorted(map(dim_text, m)))


def _rendered(poly: Poly) -> Expr:
    """Positive terms first, numbers behind others; in a product the number comes last.

    The order is that of the texts, and so the same wherever a text is read.  And no part of ``b * s * 4`` is too large
    if the whole counts elements: where s is 0, ``b * 4`` may be.
    """
    found: Expr | None = None
    try:
        for m, k in sorted(poly.terms.items(), key=_place):
            factors: list[Expr] = sorted(m, key=dim_text)
            number = k if found is None else abs(k)
            if number != 1 or not factors:
                factors.append(IntImm(INT32, number))
            term = reduce(lambda x, y: binary("mul", x, y), factors)
            found = term if found is None else binary("add" if k > 0 else "sub", found, term)
    except IRError as problem:
        raise GraphError(f"the numbers of a size are int32: {problem}") from None
    return IntImm(INT32, 0) if found is None else found


def product(sizes: Iterable[Dim]) -> Dim:
    """The product."""
    found: Dim = 1
    for s in sizes:
        found = found * s
    return normal(found)


def smaller(a: Dim, b: Dim) -> Dim:
    """The lesser of two sizes."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else normal(binary("min", a, b))


def greater(a: Dim, b: Dim) -> Dim:
    """The greater of two sizes."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else normal(binary("max", a, b))


def divided(a: Dim, b: Dim) -> Dim | None:
    """The quotient, if it is a polynomial: what times b is a, whatever the symbols are."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    whole = as_poly(_expr(a)).exact(as_poly(_expr(b)))
    return None if whole is None or b == 0 else normal(_rendered(whole))


def _expr(size: Dim) -> Expr:
    return size if isinstance(size, Expr) else IntImm(INT32, size)


# -- what is known of sizes ------------------------------------------------------------------------------------------


def same(a: Dim, b: Dim) -> bool:
    """Whether two sizes are equal, whatever the symbols are; if not, they may be equal for some."""
    return normal(a) == normal(b)


def never_negative(size: Dim) -> bool:
    """Whether a size is known not to be negative."""
    return size >= 0 if isinstance(size, int) else _never_negative(_poly(size))


def always_apart(a: Dim, b: Dim) -> bool:
    """Whether two sizes are known to differ, whatever the symbols are."""
    return never_negative(a - b - 1) or never_negative(b - a - 1)


def _never_negative(poly: Poly) -> bool:
    symbols = [v for a in poly.atoms() for v in free_vars(a)]
    return Bounds({}, map(Poly.atom, symbols)).nonneg(poly)


def symbols_of(sizes: Iterable[Dim]) -> list[Var]:
    """The symbols, in the order of their first mention."""
    return list(dict.fromkeys(v for s in sizes if isinstance(s, Expr) for v in free_vars(s)))


def hidden(sizes: Iterable[Dim]) -> list[Var]:
    """The symbols that are none of the sizes themselves, but only parts of some."""
    every = list(sizes)
    return [v for v in symbols_of(every) if v not in every]


def estimate(size: Dim) -> int:
    """A number for a size, where what costs less is chosen: each symbol counts as 8."""
    return size if isinstance(size, int) else value(size, dict.fromkeys(symbols_of([size]), 8))


def remedy(sizes: Iterable[Dim]) -> str:
    """What to give so that the sizes are numbers."""
    return "give the size: " + ", ".join(f"--shape {v.name}=4" for v in symbols_of(sizes))


def hint(sizes: Iterable[Dim]) -> str:
    """What ends a message about sizes: how to give those that are open."""
    every = list(sizes)
    return f"; {remedy(every)}" if symbols_of(every) else ""


def numbers(shape: Sequence[Dim], what: str) -> tuple[int, ...]:
    """The shape, if it is numbers.

    :raises GraphError: if it is open; the message names the symbols.
    """
    found = tuple(e for e in shape if not isinstance(e, Expr))
    if len(found) != len(shape):
        raise GraphError(f"the shape {shape_text(shape)} of {what} is open, and must be numbers here; {remedy(shape)}")
    return found


# -- values ------------------------------------------------------------------------------------------------------------


def value(size: Dim, symbols: Mapping[Var, int]) -> int:
    """The number that a size is.

    :raises GraphError: if a symbol has no value, or something is divided by 0.
    """
    match size:
        case int():
            return size
        case IntImm(value=number):
            return number
        case Var():
            if size not in symbols:
                raise GraphError(f"the size {size.name} is not known")
            return symbols[size]
        case Binary(op=op, a=a, b=b) if op in _VALUES:
            x, y = value(a, symbols), value(b, symbols)
            if y == 0 and op.startswith("floor"):
                raise GraphError(f"{dim_text(size)} divides by 0")
            return _VALUES[op](x, y)
    raise GraphError(f"{dim_text(size)} is not a size")


_VALUES: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "floordiv": lambda x, y: x // y,
    "floormod": lambda x, y: x % y, "min": min, "max": max,
}  # fmt: skip


def replaced(size: Dim, by: Mapping[Var, Dim]) -> Dim:
    """The size with others in place of symbols."""
    return normal(substitute(size, {v: _expr(d) for v, d in by.items()})) if isinstance(size, Expr) else size


def solved(pairs: Sequence[tuple[Dim, Dim]]) -> dict[Var, Dim] | tuple[Dim, Dim]:
    """What the symbols on the left are, so that each pair is equal; the first pair that is not.

    A symbol is what it is paired with where it stands alone; so it must, somewhere.
    """
    found: dict[Var, Dim] = {}
    for left, right in pairs:
        if isinstance(left, Var):
            found.setdefault(left, right)
    for left, right in pairs:
        if any(v not in found for v in symbols_of([left])) or not same(replaced(left, found), right):
            return left, right
    return found


def widened(size: Expr) -> Expr:
    """The size as an int64, in which products of two symbols have room."""
    match size:
        case IntImm(value=number):
            return IntImm(INT64, number)
        case Var():
            return Cast(INT64, size)
        case Binary(op=op, a=a, b=b):
            return binary(op, widened(a), widened(b))
    raise GraphError(f"{dim_text(size)} is not a size")


def narrowed(size: Dim, symbols: dict[Var, Var]) -> Dim:
    """The size with symbols of int32 in place of those of int64, as TVM's programs have them, in normal form.

    :param symbols: the stand-ins, of which new ones are added.
    :raises GraphError: as :func:`normal`.
    """

    def go(e: Expr) -> Expr:
        match e:
            case Var(dtype=dtype) if dtype is INT64:
                return symbols.setdefault(e, Var.fresh(e.name, INT32))
            case IntImm(value=number) if e.dtype is INT64 and number < MOST:
                return IntImm(INT32, number)
            case Binary(op=op, a=a, b=b):
                return binary(op, go(a), go(b))
        return e

    return normal(go(size)) if isinstance(size, Expr) else normal(size)


# -- texts -------------------------------------------------------------------------------------------------------------


def dim_text(size: Dim) -> str:
    """The size as Python writes it."""
    return index_text(size) if isinstance(size, Expr) else str(size)


def shape_text(shape: Sequence[Dim]) -> str:
    """A shape as Python writes it."""
    return f"({', '.join(map(dim_text, shape))}{',' if len(shape) == 1 else ''})"


def dim_of(given: object) -> Dim:
    """A number or an expression of symbols as a size.

    :raises GraphError: if it is none.
    """
    if isinstance(given, Expr):
        return normal(given)
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return int(given)
    raise GraphError(f"a shape holds numbers and sizes, not {given!r}")
