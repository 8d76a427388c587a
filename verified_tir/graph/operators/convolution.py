"""Convolutions and matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.elementwise import batch_and_rest, broadcast_shape, dims, extents
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.sizes import Dim, dim_text, remedy, shape_text, symbols_of
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.te.tensor import Tensor


def window_attributes(
    what: str, strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> tuple[tuple[int, int], tuple[int, int, int, int], tuple[int, int]]:
    """Two strides, four paddings (top, left, bottom, right), two dilations; one number or two stand for all.

    :raises GraphError: if there are others.
    """

    def many(name: str, given: Sequence[int] | int, count: int, least: int) -> list[int]:
        found = [given] * count if isinstance(given, int) else list(given)
        if count == 4 and len(found) == 2:
            found = [*found, *found]
        found = found * count if len(found) == 1 else found
        if len(found) != count or any(n < least for n in found):
            raise GraphError(f"{name} of {what} is {count} numbers, {least} at least, not {given}")
        return found

    s, p, d = many("strides", strides, 2, 1), many("padding", padding, 4, 0), many("dilation", dilation, 2, 1)
    return (s[0], s[1]), (p[0], p[1], p[2], p[3]), (d[0], d[1])


def padded(x: Tensor, padding: Sequence[int], value: float = 0.0, name: str = "padded") -> Tensor:
    """The last two dimensions with ``value`` around them; the tensor itself if there is nothing to add."""
    top, left, bottom, right = padding
    if not any(padding):
        return x
    n, c, h, w = dims(x)

    def element(b: Var, k: Var, i: Var, j: Var) -> Expr:
        inside = [cond for cond, needed in (
            (i >= top, top), (i < top + h, bottom), (j >= left, left), (j < left + w, right)) if needed]  # fmt: skip
        return te.if_then_else(te.all(*inside), x[b, k, i - top, j - left], const(value, x.dtype))

    return te.compute((n, c, h + top + bottom, w + left + right), element, name=name)


def window_extent(size: int, kernel: int, stride: int, dilation: int, what: str) -> int:
    """How often a window fits.

    :raises GraphError: if it does not fit once.
    """
    reach = dilation * (kernel - 1) + 1
    if size < reach:
        raise GraphError(f"a window of {reach} does not fit in {size} elements ({what})")
    return (size - reach) // stride + 1


def biased(x: Tensor, bias: Tensor | None) -> Tensor:
    """x[n, c, …] with a number added for each channel."""
    if bias is None:
        return x
    if dims(bias) != dims(x)[1:2]:
        raise GraphError(f"a bias of shape {shape_text(dims(bias))} does not fit {dim_text(dims(x)[1])} channels")
    return te.compute(x.shape, lambda b, k, *at: x(b, k, *at) + bias(k), name="bias_add")


@operator("nn.conv2d")
def conv2d(
    x: Tensor,
    w: Tensor,
    bias: Tensor | None = None,
    *,
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> Tensor:
    """Convolution of x[n, c, h, w] with w[o, c / groups, kh, kw], in ``groups`` groups of channels."""
    (sh, sw), pads, (dh, dw) = window_attributes("conv2d", strides, padding, dilation)
    n, (c, h, v) = batch_and_rest(x, 4, "x has 4 dimensions")
    o, i, kh, kw = _rank(w, 4, "w")
    if groups < 1 or c % groups or o % groups or i != c // groups:
        raise GraphError(f"{c} channels in {groups} groups do not fit weights of shape {extents(w)}")
    big = padded(x, pads)
    oh = window_extent(h + pads[0] + pads[2], kh, sh, dh, "height")
    ow = window_extent(v + pads[1] + pads[3], kw, sw, dw, "width")
    rc, rh, rw = te.reduce_axis((0, i), "rc"), te.reduce_axis((0, kh), "rh"), te.reduce_axis((0, kw), "rw")

    def channel(k: Var) -> Expr:
        return rc if groups == 1 else k // (o // groups) * i + rc

    result = te.compute(
        (n, o, oh, ow),
        lambda b, k, y, z: te.sum(
            big[b, channel(k), y * sh + rh * dh, z * sw + rw * dw] * w[k, rc, rh, rw], axis=[rc, rh, rw]
        ),
        name="conv2d",
    )
    return biased(result, bias)


@operator("matmul")
def matmul(a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Product of the last two dimensions, with the others broadcast, as numpy's ``matmul``."""
    sa, sb = dims(a), dims(b)
    if len(sa) < 2 or len(sb) < 2:
        raise GraphError(f"matmul takes matrices, not shapes {shape_text(sa)} and {shape_text(sb)}")
    (m, ka), (kb, n) = (sa[:-3:-1] if transpose_a else sa[-2:]), (sb[:-3:-1] if transpose_b else sb[-2:])
    if ka != kb:
        first, second = (" x ".join(map(dim_text, s)) for s in ((m, ka), (kb, n)))
        equal = f", and {dim_text(ka)} may not be {dim_text(kb)}; {remedy((ka, kb))}" if symbols_of((ka, kb)) else ""
        raise GraphError(f"a matrix of {first} is multiplied by one of {second}{equal}")
    batch = broadcast_shape(sa[:-2], sb[:-2])
    k = te.reduce_axis((0, ka), "k")

    def element(t: Tensor, size: list[Dim], outer: Sequence[Var], row: Expr, column: Expr) -> Expr:
        own = outer[len(outer) - (len(size) - 2) :]
        inside = tuple(const(0) if e == 1 else i for e, i in zip(size[:-2], own, strict=True))
        return t[(*inside, row, column)]

    def term(*i: Var) -> te.Reduce:
        *outer, y, z = i
        left = element(a, sa, outer, k, y) if transpose_a else element(a, sa, outer, y, k)
        right = element(b, sb, outer, z, k) if transpose_b else element(b, sb, outer, k, z)
        return te.sum(left * right, axis=k)

    return te.compute((*batch, m, n), term, name="matmul")


@operator("nn.dense")
def dense(x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    """x[n, k] times the transpose of w[m, k], plus bias[m]."""
    for t in (x, w):
        if t.ndim != 2:
            raise GraphError(f"{t.name} has 2 dimensions, not {t.ndim}")
    (n, k), (m, kw) = dims(x), dims(w)
    if k != kw:
        raise GraphError(f"rows of {dim_text(k)} elements are multiplied by rows of {dim_text(kw)}")
    r = te.reduce_axis((0, k), "k")
    y = te.compute((n, m), lambda i, j: te.sum(x[i, r] * w[j, r], axis=r), name="dense")
    return y if bias is None else te.compute((n, m), lambda i, j: y[i, j] + bias[j], name="bias_add")


def _rank(t: Tensor, rank: int, name: str) -> list[int]:
    size = extents(t)
    if len(size) != rank:
        raise GraphError(f"{name} has {rank} dimensions, not {len(size)}")
    return size
