"""Maxima and averages over windows: of x[n, c, …], or in the form that layouts know, of x[n, c, h, w]."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.arranged import arranged, computed
from verified_tir.graph.operators.elementwise import batch_and_rest, dims, extents
from verified_tir.graph.operators.reduction import REDUCERS, reduced
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.operators.shape import surrounded
from verified_tir.graph.operators.windows import Windows, over_two, windows_over
from verified_tir.graph.sizes import Dim
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.reduction import CommReducer, least_value
from verified_tir.te.tensor import Tensor

MAX = CommReducer(lambda so_far, x: T.max(x, so_far), least_value, "max")  # a NaN is passed over


# -- maxima ------------------------------------------------------------------------------------------------------------


@operator("nn.max_pool")
def max_pool(
    x: Tensor, *, pool_size: Sequence[int], strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilation: Sequence[int], ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """Greatest element of each window of x[n, c, …]; padding never wins, nor does NaN (as in onnxruntime)."""
    return _greatest("max_pool", x, windows_over(x, pool_size, strides, padding, dilation, ceil_mode))


@operator("nn.max_pool2d")
def max_pool2d(
    x: Tensor, *, pool_size: Sequence[int], strides: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1), ceil_mode: bool = False, layout: str = "NCHW", out_layout: str = "",
    by_comparison: bool = False,
) -> Tensor:  # fmt: skip
    """Greatest element of each window of x[n, c, h, w]; padding never wins, nor does NaN (as in onnxruntime).

    ``layout`` and ``out_layout`` (the same unless said) are other orders.  With ``by_comparison``, as in TVM, the
    padding is the least finite value, and a NaN counts where it is the last element of a window.
    """
    x = arranged(x, layout, "NCHW")
    _image(x)
    windows = windows_over(x, pool_size, **over_two("max_pool2d", strides, padding, dilation), ceil=ceil_mode)
    reducer, least = (te.max, te.min_value) if by_comparison else (MAX, least_value)
    return _greatest("max_pool2d", x, windows, out_layout or layout, reducer, least)


def _greatest(
    name: str, x: Tensor, windows: Windows, layout: str = "", reducer: CommReducer = MAX,
    least: Callable[[str], Expr] = least_value,
) -> Tensor:  # fmt: skip
    big, axes = surrounded(x, windows.before, windows.after, least(x.dtype)), windows.axes()

    def element(b: Var, c: Var, *i: Var) -> te.Reduce:
        return reducer(big[(b, c, *windows.places(i, axes))], axis=axes)

    shape = windows.shape(*dims(x)[:2])
    return computed(shape, element, name, layout) if layout else te.compute(shape, element, name=name)


@operator("nn.max_pool_places")
def max_pool_places(
    x: Tensor, *, pool_size: Sequence[int], strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilation: Sequence[int], ceil_mode: bool = False, column_major: bool = False,
) -> Tensor:  # fmt: skip
    """Where the greatest element of each window stands in x, counted row by row (or column by column, within each n and
    c); the first of several in the order of rows, and -1 if none is a number."""
    size = extents(x)
    windows = windows_over(x, pool_size, strides, padding, dilation, ceil_mode)
    best, axes = _greatest("max_pool", x, windows), windows.axes()
    none = math.prod(size)
    if none >= 2**31:
        raise GraphError(f"{none} elements are not counted here")

    def first(b: Var, c: Var, *i: Var) -> te.Reduce:
        place = [v - p for v, p in zip(windows.places(i, axes), windows.before, strict=True)]
        inside = te.all(*(q for v, n in zip(place, size[2:], strict=True) for q in (v >= 0, v < n)))
        flat: Expr = b * size[1] + c
        for v, n in zip(place, size[2:], strict=True):
            flat = flat * n + v
        here = te.all(inside, x[(b, c, *place)].equal(best[(b, c, *i)]))
        return te.min(T.if_then_else(here, flat, const(none)), axis=axes)

    shape = windows.shape(*size[:2])
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


# -- averages ----------------------------------------------------------------------------------------------------------


@operator("nn.avg_pool")
def avg_pool(
    x: Tensor, *, pool_size: Sequence[int], strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilation: Sequence[int], ceil_mode: bool = False, count_include_pad: bool = False,
) -> Tensor:  # fmt: skip
    """Average of each window of x[n, c, …]: of the elements in it, or with the padding."""
    windows = windows_over(x, pool_size, strides, padding, dilation, ceil_mode)
    total, axes = _sums(x, windows), windows.axes()

    def counted(*i: Var) -> te.Reduce:
        inside: list[Expr] = []
        for v, n, p, q in zip(windows.places(i, axes), windows.size, *padding, strict=True):
            inside += [v < p + n + q] if count_include_pad else [v >= p, v < p + n]
        return te.sum(T.if_then_else(te.all(*inside), const(1, x.dtype), const(0, x.dtype)), axis=axes)

    count = te.compute(windows.shape(), counted, name="pool_count")
    return te.compute(total.shape, lambda b, c, *i: total(b, c, *i) / count(*i), name="avg_pool")


@operator("nn.avg_pool2d")
def avg_pool2d(
    x: Tensor, *, pool_size: Sequence[int], strides: Sequence[int] = (1, 1), padding: Sequence[int] = (0, 0, 0, 0),
    ceil_mode: bool = False, count_include_pad: bool = False, layout: str = "NCHW", out_layout: str = "",
) -> Tensor:  # fmt: skip
    """Average of each window of x[n, c, h, w]: of the elements in it, or with the padding.

    ``layout`` and ``out_layout`` (the same unless said) are other orders.
    """
    x = arranged(x, layout, "NCHW")
    _image(x)
    given: dict[str, Any] = over_two("avg_pool2d", strides, padding)
    windows = windows_over(x, pool_size, **given, ceil=ceil_mode)
    before, after = given["padding"]
    total = _sums(x, windows)

    def along(i: Var, k: int) -> Expr:
        """How many elements of the window count."""
        first, size = i * windows.strides[k] - before[k], windows.size[k]
        low, high = (-before[k], size + after[k]) if count_include_pad else (0, size)
        found = T.min(first + windows.kernel[k], const(high)) - T.max(first, const(low))
        last = (windows.counts[k] - 1) * windows.strides[k] - before[k]
        beyond = windows.kernel[k] - before[k] < low or last > high  # then some windows lie within the padding
        return T.max(found, const(0)) if beyond else found

    reached = windows.after == after
    whole = reached and (count_include_pad or not any((*before, *after)))

    def average(b: Var, k: Var, i: Var, j: Var) -> Expr:
        count = const(math.prod(pool_size), x.dtype) if whole else T.cast(along(i, 0) * along(j, 1), x.dtype)
        return total(b, k, i, j) / count

    return computed(total.shape, average, "avg_pool2d", out_layout or layout)


def _sums(x: Tensor, windows: Windows) -> Tensor:
    big, axes = surrounded(x, windows.before, windows.after, const(0, x.dtype)), windows.axes()

    def element(b: Var, c: Var, *i: Var) -> te.Reduce:
        return te.sum(big[(b, c, *windows.places(i, axes))], axis=axes)

    return te.compute(windows.shape(*dims(x)[:2]), element, name="pool_sum")


# -- all of an image ---------------------------------------------------------------------------------------------------


@operator("nn.global_avg_pool2d")
def global_avg_pool2d(x: Tensor) -> Tensor:
    """Average over height and width; both become 1."""
    n, c, h, w = _image(x)
    rh, rw = te.reduce_axis((0, h), "rh"), te.reduce_axis((0, w), "rw")
    total = te.compute((n, c, 1, 1), lambda b, k, i, j: te.sum(x[b, k, rh, rw], axis=[rh, rw]), name="pool_sum")
    count = const(h * w, x.dtype)
    return te.compute(total.shape, lambda *i: total(*i) / count, name="global_avg_pool2d")


@operator("nn.global_max_pool2d")
def global_max_pool2d(x: Tensor) -> Tensor:
    """Greatest element over height and width, NaN if one is; both become 1."""
    _image(x)
    return reduced(x, REDUCERS["max"], [2, 3], True, name="global_max_pool2d")


def _image(x: Tensor) -> tuple[Dim, int, int, int]:
    if x.ndim != 4:
        raise GraphError(f"pooling takes x[n, c, h, w], not {x.ndim} dimensions")
    n, (c, h, w) = batch_and_rest(x)
    return n, c, h, w
