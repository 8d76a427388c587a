"""ONNX operators with windows: convolutions and pooling, over one or two dimensions.

One dimension is treated as two, the first of which has extent 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.load import Converter


def _pair(c: Converter, name: str, default: int, rank: int) -> tuple[int, int]:
    """An attribute with a number for each dimension, as two numbers."""
    found = list(c.attributes.get(name, [default] * rank))
    if len(found) != rank:
        raise c.fail(f"{name} has {rank} numbers, one for each dimension of a window, not {found}")
    least = 0 if name == "output_padding" else 1
    if any(n < least for n in found):
        raise c.fail(f"{name} is {least} at least, not {found}")
    return (default, found[0]) if rank == 1 else (found[0], found[1])


def _rank(c: Converter, x: Value) -> int:
    rank = len(x.shape) - 2
    if rank not in (1, 2):
        raise c.fail(f"windows over one or two dimensions are known here, not over {max(rank, 0)}")
    return rank


def _wide(c: Converter, v: Value) -> Value:
    """A tensor of three dimensions with one more, of extent 1, before the last."""
    if len(v.shape) != 3:
        return v
    made: Value = c.op("expand_dims", v, axis=(2,))
    return made


def _narrow(c: Converter, v: Value, rank: int) -> Value:
    if rank == 2:
        return v
    made: Value = c.op("squeeze", v, axis=(2,))
    return made


def _padding(c: Converter, size: Sequence[int], kernel: tuple[int, int], rank: int) -> tuple[int, int, int, int]:
    """Top, left, bottom, right, also where ``auto_pad`` leaves them to be computed."""
    mode = c.attributes.get("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = list(c.attributes.get("pads", [0] * (2 * rank)))
        if len(pads) != 2 * rank:
            raise c.fail(f"pads has two numbers for each dimension of a window, not {pads}")
        return (0, pads[0], 0, pads[1]) if rank == 1 else (pads[0], pads[1], pads[2], pads[3])
    if mode == "VALID":
        return 0, 0, 0, 0
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise c.fail(f"auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER, not {mode}")
    strides, dilations = _pair(c, "strides", 1, rank), _pair(c, "dilations", 1, rank)
    more = []
    for n, k, s, d in zip(size[-2:], kernel, strides, dilations, strict=True):
        more.append(max(0, (-(-n // s) - 1) * s + d * (k - 1) + 1 - n))
    before = [m // 2 if mode == "SAME_UPPER" else m - m // 2 for m in more]
    return before[0], before[1], more[0] - before[0], more[1] - before[1]


def _operands(c: Converter) -> tuple[int, list[Value]]:
    """The rank of the windows, and image, weights and bias, with two dimensions at the end."""
    x, w = c.value(0), c.value(1)
    rank = _rank(c, x)
    if len(w.shape) != rank + 2:
        raise c.fail(f"weights have {rank + 2} dimensions, as the input has, not {len(w.shape)}")
    shape = list(w.shape[2:])
    if list(c.attributes.get("kernel_shape", shape)) != shape:
        raise c.fail(f"kernel_shape is that of the weights, {shape}, not {list(c.attributes['kernel_shape'])}")
    return rank, [_wide(c, x), _wide(c, w), *([c.value(2)] if c.has(2) else [])]


def conv(c: Converter) -> Value:
    """Conv."""
    rank, (x, w, *bias) = _operands(c)
    made: Value = c.op(
        "nn.conv2d", x, w, *bias, strides=_pair(c, "strides", 1, rank), dilation=_pair(c, "dilations", 1, rank),
        padding=_padding(c, x.shape, (w.shape[2], w.shape[3]), rank), groups=c.attributes.get("group", 1),
    )  # fmt: skip
    return _narrow(c, made, rank)


def conv_transpose(c: Converter) -> Value:
    """ConvTranspose."""
    if "output_shape" in c.attributes or c.attributes.get("auto_pad", "NOTSET") != "NOTSET":
        raise c.fail("output_shape and auto_pad are not known here; give pads")
    rank, (x, w, *bias) = _operands(c)
    made: Value = c.op(
        "nn.conv2d_transpose", x, w, *bias, strides=_pair(c, "strides", 1, rank),
        dilation=_pair(c, "dilations", 1, rank), padding=_padding(c, x.shape, (w.shape[2], w.shape[3]), rank),
        output_padding=_pair(c, "output_padding", 0, rank), groups=c.attributes.get("group", 1),
    )  # fmt: skip
    return _narrow(c, made, rank)


def pool(c: Converter) -> Value:
    """MaxPool and AveragePool."""
    x = c.value(0)
    rank = _rank(c, x)
    wide = _wide(c, x)
    kernel = _pair(c, "kernel_shape", 1, rank)
    dilation = _pair(c, "dilations", 1, rank)
    attrs: dict[str, Any] = {
        "pool_size": kernel, "strides": _pair(c, "strides", 1, rank), "padding": _padding(c, wide.shape, kernel, rank),
        "ceil_mode": bool(c.attributes.get("ceil_mode", 0)),
    }  # fmt: skip
    if c.node.op_type == "MaxPool":
        c.attributes.get("storage_order")  # says how places are numbered, which are not given here
        return _narrow(c, c.op("nn.max_pool2d", wide, **attrs, dilation=dilation), rank)
    if dilation != (1, 1):
        raise c.fail("averages over dilated windows are not known here")
    whole = bool(c.attributes.get("count_include_pad", 0))
    return _narrow(c, c.op("nn.avg_pool2d", wide, **attrs, count_include_pad=whole), rank)
