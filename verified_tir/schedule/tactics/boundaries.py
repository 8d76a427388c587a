"""Where to cut a loop's range so that a condition in it is always true, or always false, on one side."""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.index.bounds import Bounds
from verified_tir.index.fold import size
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.expr import Binary, Expr, IntImm
from verified_tir.ir.poly import Poly, as_poly, render
from verified_tir.ir.stmt import For
from verified_tir.ir.sugar import binary
from verified_tir.ir.visit import walk


def boundaries(loop: For, condition: Expr, inner: tuple[For, ...] = ()) -> Iterator[Expr]:
    """Where to cut a loop: the condition is the same for all iterations on one side of each."""
    for mid in changes(loop, condition, inner):
        yield from clamped(loop, mid)


def changes(loop: For, condition: Expr, inner: tuple[For, ...] = ()) -> Iterator[Expr]:
    """Where a condition changes its value, for some iteration of the inner loops; perhaps outside of the loop's range.

    ``p == 0`` is false as soon as the least value of p, or of -p, is positive.
    """
    if not any(n is loop.var for n in walk(condition)):
        return
    match condition:
        case Binary(op="lt", a=a, b=b) | Binary(op="gt", a=b, b=a) if a.dtype is loop.var.dtype:
            yield from _sign_change(loop, as_poly(b) - as_poly(a) - 1, inner)
        case Binary(op="le", a=a, b=b) | Binary(op="ge", a=b, b=a) if a.dtype is loop.var.dtype:
            yield from _sign_change(loop, as_poly(b) - as_poly(a), inner)
        case Binary(op="eq" | "ne", a=a, b=b) if a.dtype is loop.var.dtype:
            yield from _sign_change(loop, as_poly(b) - as_poly(a) - 1, inner)
            yield from _sign_change(loop, as_poly(a) - as_poly(b) - 1, inner)


def _sign_change(loop: For, p: Poly, inner: tuple[For, ...]) -> Iterator[Expr]:
    """The i at which the least value of p (over the inner loops) becomes or ceases to be ≥ 0."""
    least = Bounds({s.var: (s.min, s.extent) for s in inner}).lower(p)
    if least is None:
        return
    found = least.coefficient(loop.var)
    if found is None or any(n is loop.var for a in least.atoms() if a is not loop.var for n in walk(a)):
        return
    k, rest = found[0].constant, found[1]
    if not k:
        return
    dtype = loop.var.dtype
    if k > 0:  # i ≥ ⌈-rest / k⌉
        mid = binary("floordiv", render(rest.scale(-1) + (k - 1), dtype), IntImm(dtype, k))
    else:  # i ≤ ⌊rest / -k⌋
        mid = binary("floordiv", render(rest - k, dtype), IntImm(dtype, -k))
    yield Simplifier(Bounds({})).expr(mid)


def clamped(loop: For, mid: Expr) -> Iterator[Expr]:
    """``mid`` itself, and clamped to the loop's range; nothing if it is one of the range's ends."""
    simplifier = Simplifier(Bounds({}))
    low, high = loop.min, simplifier.expr(loop.min + loop.extent)
    if mid is low or mid is high:
        return
    match low, mid, high:
        case IntImm(value=a), IntImm(value=x), IntImm(value=b) if not a < x < b:
            return
    yield mid
    within = [binary("max", low, mid), binary("min", mid, high), binary("max", low, binary("min", mid, high))]
    yield from sorted((simplifier.expr(e) for e in within), key=size)
