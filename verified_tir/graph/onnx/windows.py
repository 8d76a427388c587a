"""ONNX operators with windows: convolutions and pooling, over any number of dimensions.

Over one or two dimensions the operators are those that schedules and layouts know; one dimension is treated as two, the
first of which has extent 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.registry import conversion, with_room
from verified_tir.graph.sizes import numbers


def _numbers(c: Converter, name: str, default: int, rank: int) -> list[int]:
    """An attribute with a number for each dimension."""
    found = [int(n) for n in c.attributes.get(name, [default] * rank)]
    if len(found) != rank:
        raise c.fail(f"{name} has {rank} numbers, one for each dimension of a window, not {found}")
    least = 0 if name == "output_padding" else 1
    if any(n < least for n in found):
        raise c.fail(f"{name} is {least} at least, not {found}")
    return found


def _rank(c: Converter, x: Value) -> int:
    rank = x.rank - 2
    if rank < 1:
        raise c.fail(f"windows go over dimensions after the first two, and there are {x.rank}")
    return rank


_OVER_TWO = {
    "nn.conv": "nn.conv2d", "nn.conv_transpose": "nn.conv2d_transpose", "nn.max_pool": "nn.max_pool2d",
    "nn.avg_pool": "nn.avg_pool2d",
}  # fmt: skip


def _windows(
    c: Converter, name: str, operands: Sequence[Value], each: Mapping[str, Sequence[int]],
    padding: tuple[list[int], list[int]], **others: Any,
) -> Value:  # fmt: skip
    """An operator; over one dimension, or two, as that over two.

    :param each: attributes with a number for each dimension.
    """
    rank = operands[0].rank - 2
    if rank > 2:
        return c.op(name, *operands, **each, padding=padding, **others)
    before, after = padding
    if rank == 1:  # over one more, of extent 1, with nothing around it
        operands = [c.op("expand_dims", v, axis=(2,)) if v.rank == 3 else v for v in operands]
        each = {n: (0 if n == "output_padding" else 1, *some) for n, some in each.items()}
        before, after = [0, *before], [0, *after]
    two = {n: tuple(some) for n, some in each.items()}
    made = c.op(_OVER_TWO[name], *operands, **two, padding=(*before, *after), **others)
    return made if rank == 2 else c.op("squeeze", made, axis=(2,))


def _extents(x: Value) -> tuple[int, ...]:
    """The extents that windows go over."""
    return numbers(x.dims[2:], f"{x.name} behind its first two dimensions")


def _padding(c: Converter, x: Value, kernel: Sequence[int]) -> tuple[list[int], list[int]]:
    """What is before and after each dimension, also where ``auto_pad`` leaves it to be computed."""
    rank = len(kernel)
    mode = c.attributes.get("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = [int(n) for n in c.attributes.get("pads", [0] * (2 * rank))]
        if len(pads) != 2 * rank or min(pads) < 0:
            raise c.fail(f"pads has two numbers for each dimension of a window, 0 at least, not {pads}")
        return pads[:rank], pads[rank:]
    if mode == "VALID":
        return [0] * rank, [0] * rank
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise c.fail(f"auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER, not {mode}")
    strides, dilations = _numbers(c, "strides", 1, rank), _numbers(c, "dilations", 1, rank)
    more = []
    for n, k, s, d in zip(_extents(x), kernel, strides, dilations, strict=True):
        more.append(max(0, (-(-n // s) - 1) * s + d * (k - 1) + 1 - n))
    return _halves(more, mode)


def _halves(more: Sequence[int], mode: str) -> tuple[list[int], list[int]]:
    """Elements around each dimension, the odd one behind, or in front with ``SAME_LOWER``."""
    before = [m - m // 2 if mode == "SAME_LOWER" else m // 2 for m in more]
    return before, [m - b for m, b in zip(more, before, strict=True)]


def _shape_of_weights(c: Converter, x: Value, w: Value) -> int:
    """The rank of the windows."""
    rank = _rank(c, x)
    if w.rank != rank + 2:
        raise c.fail(f"weights have {rank + 2} dimensions, as the input has, not {w.rank}")
    shape = list(w.shape[2:])
    if list(c.attributes.get("kernel_shape", shape)) != shape:
        raise c.fail(f"kernel_shape is that of the weights, {shape}, not {list(c.attributes['kernel_shape'])}")
    return rank


@conversion("Conv")
@with_room
def _conv(c: Converter) -> Value:
    return convolution(c, *c.values())


def convolution(c: Converter, x: Value, w: Value, *bias: Value) -> Value:
    """The convolution of an image with weights, with the node's attributes."""
    rank = _shape_of_weights(c, x, w)
    each = {"strides": _numbers(c, "strides", 1, rank), "dilation": _numbers(c, "dilations", 1, rank)}
    pads = _padding(c, x, w.shape[2:])
    return _windows(c, "nn.conv", (x, w, *bias), each, pads, groups=int(c.attributes["group"]))


@conversion("ConvTranspose")
@with_room
def _conv_transpose(c: Converter) -> Value:
    x, w, *bias = c.values()
    rank = _shape_of_weights(c, x, w)
    strides, dilation = _numbers(c, "strides", 1, rank), _numbers(c, "dilations", 1, rank)
    more = _numbers(c, "output_padding", 0, rank)
    for k, (p, most) in enumerate(zip(more, map(max, strides, dilation), strict=True)):
        if p >= most:
            raise c.fail(f"output_padding is less than stride or dilation, {most}, not {p}, in dimension {k}")
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    mode, wanted = c.attributes.get("auto_pad", "NOTSET"), c.attributes.get("output_shape")
    if wanted is not None or mode in ("SAME_UPPER", "SAME_LOWER"):
        c.attributes.get("pads")  # they follow from the shape
        goal = [n * s for n, s in zip(_extents(x), strides, strict=True)] if wanted is None else list(wanted)[-rank:]
        every = zip(_extents(x), strides, more, reach, goal, strict=True)
        total = [s * (n - 1) + p + r - g for n, s, p, r, g in every]
        more = [p + max(0, -t) for p, t in zip(more, total, strict=True)]
        # here the odd element is in front, unless the upper ones are the same (ONNX's formula for output_shape)
        pads = _halves([max(0, t) for t in total], "SAME_UPPER" if mode == "SAME_UPPER" else "SAME_LOWER")
    else:
        pads = _padding(c, x, w.shape[2:])
    each = {"strides": strides, "dilation": dilation, "output_padding": more}
    return _windows(c, "nn.conv_transpose", (x, w, *bias), each, pads, groups=int(c.attributes["group"]))


@conversion("MaxPool")
def _pool(c: Converter) -> Value | list[Value]:
    x = c.value(0)
    rank = _rank(c, x)
    kernel = _numbers(c, "kernel_shape", 1, rank)
    strides, dilation = _numbers(c, "strides", 1, rank), _numbers(c, "dilations", 1, rank)
    pads, ceil = _padding(c, x, kernel), c.attributes.get("ceil_mode", False)
    each = {"pool_size": kernel, "strides": strides, "dilation": dilation}
    if c.node.op_type == "MaxPool":
        by_columns = c.attributes.get("storage_order", False)
        best = _windows(c, "nn.max_pool", (x,), each, pads, ceil_mode=ceil)
        if not c.several:
            return best
        return [best, c.op("nn.max_pool_places", x, **each, padding=pads, ceil_mode=ceil, column_major=by_columns)]
    counted: dict[str, Any] = {"ceil_mode": ceil, "count_include_pad": bool(c.attributes["count_include_pad"])}
    if any(d != 1 for d in dilation):
        return c.op("nn.avg_pool", x, **each, padding=pads, **counted)
    if rank <= 2:
        del each["dilation"]
    return _windows(c, "nn.avg_pool", (x,), each, pads, **counted)


conversion("AveragePool")(with_room(_pool))
