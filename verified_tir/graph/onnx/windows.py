"""ONNX operators with windows: convolutions and pooling, over any number of dimensions.

Over one or two dimensions the operators are those that schedules and layouts know; one dimension is treated as two, the
first of which has extent 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
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


def _two(numbers: Sequence[int], default: int = 1) -> tuple[int, int]:
    """Numbers for one dimension or two, for two."""
    return (default, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])


def _four(pads: tuple[list[int], list[int]]) -> tuple[int, int, int, int]:
    """Top, left, bottom, right."""
    (top, left), (bottom, right) = (_two(p, 0) for p in pads)
    return top, left, bottom, right


def _rank(c: Converter, x: Value) -> int:
    rank = x.rank - 2
    if rank < 1:
        raise c.fail(f"windows go over dimensions after the first two, and there are {x.rank}")
    return rank


def _wide(c: Converter, v: Value) -> Value:
    """A tensor of three dimensions with one more, of extent 1, before the last."""
    if v.rank != 3:
        return v
    return c.op("expand_dims", v, axis=(2,))


def _narrow(c: Converter, v: Value, rank: int) -> Value:
    if rank == 2:
        return v
    return c.op("squeeze", v, axis=(2,))


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


def conv(c: Converter) -> Value:
    """Conv."""
    return convolution(c, c.value(0), c.value(1), [c.value(2)] if c.has(2) else [])


def convolution(c: Converter, x: Value, w: Value, bias: Sequence[Value]) -> Value:
    """The convolution of an image with weights, with the node's attributes."""
    rank = _shape_of_weights(c, x, w)
    strides, dilation = _numbers(c, "strides", 1, rank), _numbers(c, "dilations", 1, rank)
    pads, groups = _padding(c, x, w.shape[2:]), int(c.attributes.get("group", 1))
    if rank > 2:
        return c.op("nn.conv", x, w, *bias, strides=strides, dilation=dilation, padding=pads, groups=groups)
    made = c.op(
        "nn.conv2d", _wide(c, x), _wide(c, w), *bias, strides=_two(strides), dilation=_two(dilation),
        padding=_four(pads), groups=groups,
    )  # fmt: skip
    return _narrow(c, made, rank)


def conv_transpose(c: Converter) -> Value:
    """ConvTranspose."""
    x, w, bias = c.value(0), c.value(1), [c.value(2)] if c.has(2) else []
    rank = _shape_of_weights(c, x, w)
    strides, dilation = _numbers(c, "strides", 1, rank), _numbers(c, "dilations", 1, rank)
    more = _numbers(c, "output_padding", 0, rank)
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
    groups = int(c.attributes.get("group", 1))
    if rank > 2:
        return c.op("nn.conv_transpose", x, w, *bias, strides=strides, dilation=dilation, padding=pads,
                    output_padding=more, groups=groups)  # fmt: skip
    made = c.op(
        "nn.conv2d_transpose", _wide(c, x), _wide(c, w), *bias, strides=_two(strides), dilation=_two(dilation),
        padding=_four(pads), output_padding=_two(more, 0), groups=groups,
    )  # fmt: skip
    return _narrow(c, made, rank)


def pool(c: Converter) -> Value | list[Value]:
    """MaxPool and AveragePool."""
    x = c.value(0)
    rank = _rank(c, x)
    kernel = _numbers(c, "kernel_shape", 1, rank)
    strides, dilation = _numbers(c, "strides", 1, rank), _numbers(c, "dilations", 1, rank)
    pads, ceil = _padding(c, x, kernel), bool(c.attributes.get("ceil_mode", 0))
    whole: dict[str, Any] = {
        "pool_size": kernel, "strides": strides, "padding": pads, "dilation": dilation, "ceil_mode": ceil,
    }  # fmt: skip
    flat: dict[str, Any] = {
        "pool_size": _two(kernel), "strides": _two(strides), "padding": _four(pads), "ceil_mode": ceil,
    }  # fmt: skip
    if c.node.op_type == "MaxPool":
        by_columns = bool(c.attributes.get("storage_order", 0))
        if rank > 2:
            best = c.op("nn.max_pool", x, **whole)
        else:
            best = _narrow(c, c.op("nn.max_pool2d", _wide(c, x), **flat, dilation=_two(dilation)), rank)
        if not c.several:
            return best
        return [best, c.op("nn.max_pool_places", x, **whole, column_major=by_columns)]
    padded = bool(c.attributes.get("count_include_pad", 0))
    if rank > 2 or any(d != 1 for d in dilation):
        return c.op("nn.avg_pool", x, **whole, count_include_pad=padded)
    return _narrow(c, c.op("nn.avg_pool2d", _wide(c, x), **flat, count_include_pad=padded), rank)


__all__ = ["conv", "conv_transpose", "convolution", "pool"]
