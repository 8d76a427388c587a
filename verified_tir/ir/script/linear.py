"""The difference of two integer expressions, when it is a constant.

``C[b * 16 : b * 16 + 16]`` names 16 lanes: the text says so only as a difference.  Expressions are taken apart into
sums of atoms; interning makes "the same atom" an identity test.
"""

from __future__ import annotations

from verified_tir.ir.calls import is_pure
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Binary, Call, Expr, IntImm, LetExpr, Undef
from verified_tir.ir.visit import walk


def constant_difference(a: Expr, b: Expr) -> int | None:
    """``a - b`` if it is a constant as a polynomial of degree one over atoms, else ``None``.

    Atoms cancel only if evaluating them twice gives the same value.
    """
    terms: dict[Expr | None, int] = {}
    _collect(a, 1, terms)
    _collect(b, -1, terms)
    constant = terms.pop(None, 0)
    if any(terms.values()) or not all(is_stable(e) for e in terms if e is not None):
        return None
    return constant


def same_value(a: Expr, b: Expr) -> bool:
    """Whether two integer expressions, each evaluated once, surely have one value."""
    return constant_difference(a, b) == 0


def is_multiple(e: Expr, factor: int) -> bool | None:
    """Whether the integer is a multiple of ``factor``; ``None`` if its linear form does not say."""
    terms: dict[Expr | None, int] = {}
    _collect(e, 1, terms)
    constant = terms.pop(None, 0)
    if any(k % factor for k in terms.values()):
        return None
    return constant % factor == 0


def is_stable(e: Expr) -> bool:
    """Whether two evaluations of the expression, side by side, surely give one value, and reading keeps them alike.

    Undef and opaque calls may differ each time; a let binds another variable each time it is read.
    """
    return is_pure_value(e) and not any(isinstance(n, LetExpr) for n in walk(e))


def is_pure_value(e: Expr) -> bool:
    """Whether two evaluations of the expression, side by side, surely give one value and do nothing else."""
    return not any(isinstance(n, Undef) or (isinstance(n, Call) and not is_pure(n.op)) for n in walk(e))


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
        case Binary(op="add", a=a, b=b) if a is start or structural_equal(a, start):  # lets are bound anew each time
            return b
    known = constant_difference(stop, start)
    if known is not None and stop.dtype.min_value <= known <= stop.dtype.max_value:
        return IntImm(stop.dtype, known)
    return stop - start
