"""The difference of two integer expressions, when it is a constant.

``C[b * 16 : b * 16 + 16]`` names 16 lanes: the text says so only as a difference.  Expressions are taken apart into
sums of atoms; interning makes "the same atom" an identity test.
"""

from __future__ import annotations

from verified_tir.ir.expr import Binary, Expr, IntImm


def constant_difference(a: Expr, b: Expr) -> int | None:
    """``a - b`` if it is a constant as a polynomial of degree one over atoms, else ``None``."""
    terms: dict[Expr | None, int] = {}
    _collect(a, 1, terms)
    _collect(b, -1, terms)
    constant = terms.pop(None, 0)
    return None if any(terms.values()) else constant


def _collect(e: Expr, factor: int, terms: dict[Expr | None, int]) -> None:
    """Add ``factor * e`` to the sum; the key ``None`` holds the constant."""
    match e:
        case IntImm(value=v):
            terms[None] = terms.get(None, 0) + factor * v
        case Binary(op="add", a=x, b=y):
            _collect(x, factor, terms)
            _collect(y, factor, terms)
        case Binary(op="sub", a=x, b=y):
            _collect(x, factor, terms)
            _collect(y, -factor, terms)
        case Binary(op="mul", a=x, b=IntImm(value=v)) | Binary(op="mul", a=IntImm(value=v), b=x):
            _collect(x, factor * v, terms)
        case _:
            terms[e] = terms.get(e, 0) + factor


def extent_between(start: Expr, stop: Expr) -> Expr:
    """The extent of ``start : stop``, as small an expression as the text allows.

    ``x : x + e`` has extent ``e`` itself, so printing a range and reading it again keeps it; a difference that is
    constant becomes that constant; anything else is written out.
    """
    match stop:
        case Binary(op="add", a=a, b=b) if a is start:
            return b
    known = constant_difference(stop, start)
    if known is not None and stop.dtype.min_value <= known <= stop.dtype.max_value:
        return IntImm(stop.dtype, known)
    return stop - start
