"""Windows over any number of dimensions: convolution and pooling of x[n, c, …].

Over two dimensions ``convolution`` and ``pooling`` say the same, in the form that schedules and layouts know; what is
transposed has one form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.convolution import biased, window_attributes
from verified_tir.graph.operators.elementwise import batch_and_rest, dims, extents
from verified_tir.graph.operators.pooling import MAX, window_count
from verified_tir.graph.operators.reduction import FIRST
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.sizes import numbers
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.tensor import Tensor


def _attributes(rank: int, given: Sequence[Sequence[int]]) -> None:
    """:raises GraphError: if there is not one number, positive or 0 for paddings, for each dimension."""
    for some, least in zip(given, (1, 1, 1, 0, 0), strict=True):
        if len(some) != rank or any(n < least for n in some):
            raise GraphError(f"windows over {rank} dimensions take as many numbers, {least} at least, not {some}")


def surrounded(x: Tensor, before: Sequence[int], after: Sequence[int], value: float) -> Tensor:
    """The last dimensions with ``value`` around them; the tensor itself if there is nothing to add."""
    if not any((*before, *after)):
        return x
    size = dims(x)
    first = len(size) - len(before)

    def element(*i: Var) -> Expr:
        inside: list[Expr] = []
        for v, n, p, q in zip(i[first:], size[first:], before, after, strict=True):
            inside += ([v >= p] if p else []) + ([v < p + n] if q else [])
        own = (*i[:first], *(v - p for v, p in zip(i[first:], before, strict=True)))
        return T.if_then_else(te.all(*inside), x[own], const(value, x.dtype))

    shape = [*size[:first], *(n + p + q for n, p, q in zip(size[first:], before, after, strict=True))]
    return te.compute(shape, element, name="padded")


def _windows(x: Tensor, pool: Sequence[int], strides: Sequence[int], dilation: Sequence[int],
             before: Sequence[int], after: Sequence[int], ceil: bool) -> list[tuple[int, int]]:  # fmt: skip
    """For each dimension how often the window stands, and by how much the last one sticks out."""
    size = numbers(dims(x)[2:], f"the dimensions of {x.name} behind the second")
    if x.ndim < 3:
        raise GraphError(f"windows go over x[n, c, …], not over {x.ndim} dimensions")
    _attributes(len(size), (pool, strides, dilation, before, after))
    every = zip(size, pool, strides, dilation, before, after, strict=True)
    return [window_count(n, d * (k - 1) + 1, s, ceil, p, q) for n, k, s, d, p, q in every]


@operator("nn.max_pool")
def max_pool(
    x: Tensor, *, pool_size: Sequence[int], strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilation: Sequence[int], ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """Greatest element of each window of x[n, c, …]; padding never wins, nor does NaN (as in onnxruntime)."""
    before, after = padding
    found = _windows(x, pool_size, strides, dilation, before, after, ceil_mode)
    least = float("-inf") if x.buffer.dtype.is_float else x.buffer.dtype.min_value
    big = surrounded(x, before, [q + more for q, (_, more) in zip(after, found, strict=True)], least)
    axes = [te.reduce_axis((0, k), f"r{j}") for j, k in enumerate(pool_size)]

    def element(b: Var, c: Var, *i: Var) -> te.Reduce:
        place = [v * s + r * d for v, s, r, d in zip(i, strides, axes, dilation, strict=True)]
        return MAX(big[(b, c, *place)], axis=axes)

    return te.compute([*dims(x)[:2], *(n for n, _ in found)], element, name="max_pool")


@operator("nn.max_pool_places")
def max_pool_places(
    x: Tensor, *, pool_size: Sequence[int], strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilation: Sequence[int], ceil_mode: bool = False, column_major: bool = False,
) -> Tensor:  # fmt: skip
    """Where the greatest element of each window stands in x, counted row by row (or column by column, within each n and
    c); the first of several in the order of rows, and -1 if none is a number."""
    size = extents(x)
    before, after = padding
    found = _windows(x, pool_size, strides, dilation, before, after, ceil_mode)
    best = max_pool(x, pool_size=pool_size, strides=strides, padding=padding, dilation=dilation, ceil_mode=ceil_mode)
    axes = [te.reduce_axis((0, k), f"r{j}") for j, k in enumerate(pool_size)]
    none = math.prod(size)
    if none >= 2**31:
        raise GraphError(f"{none} elements are not counted here")

    def first(b: Var, c: Var, *i: Var) -> te.Reduce:
        place = [v * s + r * d - p for v, s, r, d, p in zip(i, strides, axes, dilation, before, strict=True)]
        inside = te.all(*(q for v, n in zip(place, size[2:], strict=True) for q in (v >= 0, v < n)))
        flat: Expr = b * size[1] + c
        for v, n in zip(place, size[2:], strict=True):
            flat = flat * n + v
        here = te.all(inside, x[(b, c, *place)].equal(best[(b, c, *i)]))
        return FIRST(T.if_then_else(here, flat, const(none)), axis=axes)

    shape = [*size[:2], *(n for n, _ in found)]
    rows = te.compute(shape, first, name="first_greatest")

    def numbered(*i: Var) -> Expr:
        flat: Expr = rows[i]
        within = math.prod(size[2:])
        if column_major:
            rest, columns, step = flat % within, const(0), 1
            for k in range(2, len(size)):
                columns = columns + rest // math.prod(size[k + 1 :]) % size[k] * step
                step *= size[k]
            found = flat // within * within + columns
        else:
            found = flat
        return T.cast(T.Select(flat.equal(none), const(-1), found), "int64")

    return te.compute(shape, numbered, name="max_pool_places")


@operator("nn.avg_pool")
def avg_pool(
    x: Tensor, *, pool_size: Sequence[int], strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilation: Sequence[int], ceil_mode: bool = False, count_include_pad: bool = False,
) -> Tensor:  # fmt: skip
    """Average of each window of x[n, c, …]: of the elements in it, or with the padding."""
    before, after = padding
    found = _windows(x, pool_size, strides, dilation, before, after, ceil_mode)
    big = surrounded(x, before, [q + more for q, (_, more) in zip(after, found, strict=True)], 0.0)
    shape = [*dims(x)[:2], *(n for n, _ in found)]
    axes = [te.reduce_axis((0, k), f"r{j}") for j, k in enumerate(pool_size)]

    def place(i: Sequence[Var]) -> list[Expr]:
        return [v * s + r * d for v, s, r, d in zip(i, strides, axes, dilation, strict=True)]

    total = te.compute(shape, lambda b, c, *i: te.sum(big[(b, c, *place(i))], axis=axes), name="pool_sum")

    def counted(*i: Var) -> te.Reduce:
        inside: list[Expr] = []
        for v, n, p, q in zip(place(i), dims(x)[2:], before, after, strict=True):
            inside += [v < p + n + q] if count_include_pad else [v >= p, v < p + n]
        return te.sum(T.if_then_else(te.all(*inside), const(1, x.dtype), const(0, x.dtype)), axis=axes)

    count = te.compute(shape[2:], counted, name="pool_count")
    return te.compute(shape, lambda b, c, *i: total[(b, c, *i)] / count[i], name="avg_pool")


@operator("nn.conv")
def conv(
    x: Tensor, w: Tensor, bias: Tensor | None = None, *, strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilation: Sequence[int], groups: int = 1,
) -> Tensor:  # fmt: skip
    """Convolution of x[n, c, …] with w[o, c / groups, …], in ``groups`` groups of channels."""
    before, after = padding
    n, weights = dims(x)[0], extents(w)
    if x.ndim != len(weights):
        raise GraphError(f"{x.ndim} dimensions are convolved with weights of {len(weights)}")
    (c,), (o, i, *kernel) = numbers(dims(x)[1:2], "the channels"), weights
    if groups < 1 or c % groups or o % groups or i != c // groups:
        raise GraphError(f"{c} channels in {groups} groups do not fit weights of shape {weights}")
    found = _windows(x, kernel, strides, dilation, before, after, False)
    big = surrounded(x, before, after, 0.0)
    inner = te.reduce_axis((0, i), "rc")
    axes = [te.reduce_axis((0, k), f"r{j}") for j, k in enumerate(kernel)]

    def element(b: Var, k: Var, *at: Var) -> te.Reduce:
        channel = inner if groups == 1 else k // (o // groups) * i + inner
        place = [v * s + r * d for v, s, r, d in zip(at, strides, axes, dilation, strict=True)]
        return te.sum(big[(b, channel, *place)] * w[(k, inner, *axes)], axis=[inner, *axes])

    return biased(te.compute([n, o, *(m for m, _ in found)], element, name="conv"), bias)


@operator("nn.conv_transpose")
def conv_transpose(
    x: Tensor, w: Tensor, bias: Tensor | None = None, *, strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilation: Sequence[int], output_padding: Sequence[int], groups: int = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of ``conv``: x[n, c, …] with w[c, o / groups, …]."""
    before, after = padding
    n, (c, *size) = batch_and_rest(x, x.ndim, "")
    i, per, *kernel = extents(w)
    _attributes(len(size), (kernel, strides, dilation, before, after))
    if len(size) != len(kernel) or groups < 1 or c % groups or i != c:
        raise GraphError(f"{c} channels in {groups} groups do not fit weights of shape {extents(w)}")
    every = zip(size, kernel, strides, dilation, before, after, output_padding, strict=True)
    shape = [(m - 1) * s + d * (k - 1) + 1 - p - q + more for m, k, s, d, p, q, more in every]
    if any(m < 0 for m in shape):
        raise GraphError(f"the result has the shape {shape}")
    inner = te.reduce_axis((0, c // groups), "rc")
    axes = [te.reduce_axis((0, k), f"r{j}") for j, k in enumerate(kernel)]

    def element(b: Var, k: Var, *at: Var) -> te.Reduce:
        channel = inner if groups == 1 else k // per * (c // groups) + inner
        stretched = [v + p - r * d for v, p, r, d in zip(at, before, axes, dilation, strict=True)]
        fits = [t for v, m, s in zip(stretched, size, strides, strict=True)
                for t in (v >= 0, v < m * s, (v % s).equal(0))]  # fmt: skip
        place = [v // s for v, s in zip(stretched, strides, strict=True)]
        product = x[(b, channel, *place)] * w[(channel, k % per if groups > 1 else k, *axes)]
        return te.sum(T.if_then_else(te.all(*fits), product, const(0, x.dtype)), axis=[inner, *axes])

    return biased(te.compute([n, per * groups, *shape], element, name="conv_transpose"), bias)


@operator("nn.conv2d_transpose")
def conv2d_transpose(
    x: Tensor, w: Tensor, bias: Tensor | None = None, *, strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0), dilation: Sequence[int] = (1, 1), output_padding: Sequence[int] = (0, 0),
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of ``conv2d``: x[n, c, h, w] with w[c, o / groups, kh, kw]."""
    s, (top, left, bottom, right), d = window_attributes("conv2d_transpose", strides, padding, dilation)
    batch_and_rest(x, 4, "x has 4 dimensions")
    return conv_transpose(
        x, w, bias, strides=s, padding=((top, left), (bottom, right)), dilation=d, output_padding=output_padding,
        groups=groups,
    )  # fmt: skip


__all__ = ["avg_pool", "conv", "conv2d_transpose", "conv_transpose", "max_pool", "max_pool_places", "surrounded"]
