"""Windows over height and width: maxima and averages."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.convolution import padded, window_attributes
from verified_tir.graph.operators.elementwise import batch_and_rest
from verified_tir.graph.operators.reduction import REDUCERS
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.sizes import Dim
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.reduction import CommReducer, least_value
from verified_tir.te.tensor import Tensor

MAX = CommReducer(lambda so_far, x: T.max(x, so_far), least_value, "max")  # a NaN is passed over


def window_count(size: int, kernel: int, stride: int, ceil: bool, before: int, after: int) -> tuple[int, int]:
    """How often the window stands, and by how much the last one sticks out."""
    room = size + before + after - kernel
    if room < 0:
        raise GraphError(f"a window of {kernel} does not fit in {size + before + after} elements")
    count = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= size + before:
        count -= 1  # a window that begins in the padding behind is none
    return count, max(0, (count - 1) * stride + kernel - (size + before + after))


@operator("nn.max_pool2d")
def max_pool2d(
    x: Tensor,
    *,
    pool_size: Sequence[int],
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    dilation: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
) -> Tensor:
    """Greatest element of each window of x[n, c, h, w]; padding never wins, nor does NaN (as in onnxruntime)."""
    (sh, sw), (top, left, bottom, right), (dh, dw) = window_attributes("max_pool2d", strides, padding, dilation)
    n, c, h, w = _image(x)
    kh, kw = pool_size
    oh, more_h = window_count(h, dh * (kh - 1) + 1, sh, ceil_mode, top, bottom)
    ow, more_w = window_count(w, dw * (kw - 1) + 1, sw, ceil_mode, left, right)
    least = float("-inf") if x.buffer.dtype.is_float else x.buffer.dtype.min_value
    big = padded(x, (top, left, bottom + more_h, right + more_w), least)
    rh, rw = te.reduce_axis((0, kh), "rh"), te.reduce_axis((0, kw), "rw")
    return te.compute(
        (n, c, oh, ow),
        lambda b, k, i, j: MAX(big[b, k, i * sh + rh * dh, j * sw + rw * dw], axis=[rh, rw]),
        name="max_pool2d",
    )


@operator("nn.avg_pool2d")
def avg_pool2d(
    x: Tensor,
    *,
    pool_size: Sequence[int],
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Tensor:
    """Average of each window of x[n, c, h, w]: of the elements in it, or with the padding."""
    (sh, sw), (top, left, bottom, right), _ = window_attributes("avg_pool2d", strides, padding, (1, 1))
    n, c, h, w = _image(x)
    kh, kw = pool_size
    oh, more_h = window_count(h, kh, sh, ceil_mode, top, bottom)
    ow, more_w = window_count(w, kw, sw, ceil_mode, left, right)
    big = padded(x, (top, left, bottom + more_h, right + more_w), 0)
    rh, rw = te.reduce_axis((0, kh), "rh"), te.reduce_axis((0, kw), "rw")
    total = te.compute(
        (n, c, oh, ow),
        lambda b, k, i, j: te.sum(big[b, k, i * sh + rh, j * sw + rw], axis=[rh, rw]),
        name="pool_sum",
    )

    def along(i: Var, size: int, kernel: int, stride: int, before: int, after: int) -> Expr:
        """How many elements of the window count."""
        first, end = i * stride - before, i * stride - before + kernel
        low, high = (-before, size + after) if count_include_pad else (0, size)
        return T.min(end, const(high)) - T.max(first, const(low))

    whole = not any((top, left, bottom, right, more_h, more_w)) or (count_include_pad and not (more_h or more_w))

    def average(b: Var, k: Var, i: Var, j: Var) -> Expr:
        if whole:
            count: Expr = const(kh * kw, x.dtype)
        else:
            found = along(i, h, kh, sh, top, bottom) * along(j, w, kw, sw, left, right)
            count = T.cast(found, x.dtype)
        return total[b, k, i, j] / count

    return te.compute((n, c, oh, ow), average, name="avg_pool2d")


@operator("nn.global_avg_pool2d")
def global_avg_pool2d(x: Tensor) -> Tensor:
    """Average over height and width; both become 1."""
    n, c, h, w = _image(x)
    rh, rw = te.reduce_axis((0, h), "rh"), te.reduce_axis((0, w), "rw")
    total = te.compute((n, c, 1, 1), lambda b, k, i, j: te.sum(x[b, k, rh, rw], axis=[rh, rw]), name="pool_sum")
    count = const(h * w, x.dtype)
    return te.compute((n, c, 1, 1), lambda b, k, i, j: total[b, k, i, j] / count, name="global_avg_pool2d")


@operator("nn.global_max_pool2d")
def global_max_pool2d(x: Tensor) -> Tensor:
    """Greatest element over height and width, NaN if one is; both become 1."""
    n, c, h, w = _image(x)
    rh, rw = te.reduce_axis((0, h), "rh"), te.reduce_axis((0, w), "rw")
    return te.compute(
        (n, c, 1, 1), lambda b, k, i, j: REDUCERS["max"](x[b, k, rh, rw], axis=[rh, rw]), name="global_max_pool2d"
    )


def _image(x: Tensor) -> tuple[Dim, int, int, int]:
    n, (c, h, w) = batch_and_rest(x, 4, "pooling takes x[n, c, h, w]")
    return n, c, h, w
