"""ONNX operators on quantised numbers: integers with a scale and a zero, which stand for floats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from verified_tir.graph.element_types import INTEGERS
from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.products import product
from verified_tir.graph.onnx.registry import conversion
from verified_tir.graph.onnx.windows import convolution
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import Dim, numbers, shape_text


def _along(c: Converter, v: Value, shape: Sequence[Dim], axis: int) -> Value:
    """A number for each place along an axis, one for all, or one for each block along the axis, as it is broadcast."""
    block = int(c.attributes.get("block_size", 0))
    if block:
        shape = numbers(shape, "what is quantised in blocks")
        count = -(-shape[axis] // block) if block > 0 else 0
        if list(v.shape) != [count if k == axis else n for k, n in enumerate(shape)]:
            raise c.fail(
                f"blocks of {block} along axis {axis} of {list(shape)} have no scales of shape {list(v.shape)}"
            )
        places = c.builder.constant(np.arange(shape[axis], dtype=np.int64) // block, "blocks")
        return c.op("take", v, places, axis=axis)
    if v.type.size == 1 and v.rank <= 1:
        return c.op("reshape", v, shape=())
    if v.rank != 1:
        raise c.fail(f"scales are one number, or as many as there are along an axis, and not of shape {list(v.shape)}")
    return c.op("reshape", v, shape=tuple(v.shape[0] if k == axis else 1 for k in range(len(shape))))


def _axis(c: Converter, x: Value) -> int:
    """The axis along which scales are given, if there are several; of a vector there is one.

    :raises GraphError: if there are not as many zeros as scales.
    """
    axis, scale = int(c.attributes.get("axis", 1)), c.value(1)
    if c.has(2) and c.value(2).dims != scale.dims and not c.value(2).type.size == scale.type.size == 1:
        raise c.fail(f"scales have the shape {shape_text(scale.dims)}, and zeros {shape_text(c.value(2).dims)}")
    if x.rank > 1 or ("axis" in c.attributes and scale.rank and scale.type.size > 1):
        return axis_of(axis, x.rank)
    return 0


@conversion("DequantizeLinear")
def _dequantise(c: Converter) -> Value:
    x, scale = c.value(0), c.value(1)
    given = c.attributes.get("output_dtype", 0)
    dtype = c.reader.dtype(given, c.name) if given else scale.dtype
    axis = _axis(c, x)
    whole = "float32" if x.dtype.startswith("float") else "int32"
    wide = c.cast(x, whole)
    if c.has(2):
        wide = c.op("subtract", wide, _along(c, c.cast(c.value(2), whole), x.dims, axis))
    made = c.op("multiply", c.cast(wide, "float32"), _along(c, c.cast(scale, "float32"), x.dims, axis))
    return c.cast(made, dtype)


@conversion("QuantizeLinear")
def _quantise(c: Converter) -> Value:
    x, scale = c.value(0), c.value(1)
    precision = _precision(c, scale)
    given, saturate = c.attributes.get("output_dtype", 0), c.attributes.get("saturate", True)
    zero = c.value(2) if c.has(2) else None
    dtype = zero.dtype if zero is not None else c.reader.dtype(given, c.name) if given else "uint8"
    axis = _axis(c, x)
    x, scale = (c.cast(c.cast(v, precision), "float32") for v in (x, scale))
    scaled = c.op("divide", x, _along(c, scale, x.dims, axis))
    scaled = c.cast(c.cast(scaled, precision), "float32")
    moved = None if zero is None else _along(c, c.cast(zero, "float32"), x.dims, axis)
    return _quantised(c, scaled, moved, dtype, saturate)


def _precision(c: Converter, scale: Value) -> str:
    """The type in which a number is divided by its scale: that of the scale, from opset 23 on; float32 before."""
    given = c.attributes.get("precision", 0)
    if given:
        return str(c.reader.dtype(given, c.name))
    return scale.dtype if c.opset >= 23 and scale.dtype.endswith("16") else "float32"


def _quantised(c: Converter, x: Value, zero: Value | None, dtype: str, saturate: bool = True) -> Value:
    """A float32, rounded to even and moved by the zero, in an integer type that it is kept within."""
    if dtype.startswith("float"):
        moved = x if zero is None else c.op("add", x, zero)
        return c.op("convert", moved, from_dtype="float32", dtype=dtype, saturate=saturate)
    rounded = c.op("round", x)
    moved = rounded if zero is None else c.op("add", rounded, zero)
    if dtype in INTEGERS:  # their conversion does not keep it within
        low = 0 if dtype.startswith("u") else -(1 << INTEGERS[dtype] - 1)
        moved = c.op("clip", moved, min=float(low), max=float(low + (1 << INTEGERS[dtype]) - 1))
    return c.cast(moved, dtype)


def _without_zero(c: Converter, v: Value, zero: int, shape: Sequence[int] | None = None) -> Value:
    """An operand as int32 (floats as float32), less its zero, if it has one: one number, or those of ``shape``."""
    dtype = "float32" if v.dtype.startswith("float") else "int32"
    wide = c.cast(v, dtype)
    if not c.has(zero):
        return wide
    z = c.cast(c.value(zero), dtype)
    if z.type.size != 1 and shape is None:
        raise c.fail("it has one zero for the whole")
    shape = () if z.type.size == 1 else tuple(shape or ())
    return c.op("subtract", wide, z if z.dims == shape else c.op("reshape", z, shape=shape))


@conversion("MatMulInteger")
def _matmul_integer(c: Converter) -> Value:
    rows, columns = (c.value(k).shape if c.has(k) else () for k in (2, 3))
    a = _without_zero(c, c.value(0), 2, (*rows, 1) if len(rows) == 1 else rows)
    return product(c, a, _without_zero(c, c.value(1), 3, columns))


def _rescaled(c: Converter, total: Value, scales: Sequence[Value], zero: Value) -> Value:
    """Sums of products in int32 or float32, as quantised numbers of the zero's type."""
    a, b, y = (c.cast(s, "float32") for s in scales)
    factor = c.op("divide", c.op("multiply", a, b), y)
    wide = c.op("multiply", c.cast(total, "float32"), factor)
    return _quantised(c, wide, c.cast(c.op("reshape", zero, shape=()), "float32"), zero.dtype)


def _scale(c: Converter, k: int, shape: Sequence[int] | None = None) -> Value:
    """A scale: one number, or as many as ``shape`` says."""
    v = c.value(k)
    if v.type.size != 1 and shape is None:
        raise c.fail(f"operand {k} is one number here, not {v.type.size}")
    return c.op("reshape", v, shape=() if v.type.size == 1 else tuple(shape or ()))


@conversion("QLinearMatMul")
def _qlinear_matmul(c: Converter) -> Value:
    a, b = _without_zero(c, c.value(0), 2), _without_zero(c, c.value(3), 5)
    if a.dtype != b.dtype:
        a, b = c.cast(a, "float32"), c.cast(b, "float32")
    return _rescaled(c, product(c, a, b), [_scale(c, k) for k in (1, 4, 6)], c.value(7))


def _for_channels(w: Value) -> tuple[int, ...]:
    """The shape in which there is a number for each channel of a result, as weights are multiplied by them."""
    return w.shape[0], *(1 for _ in w.shape[1:])


@conversion("QLinearConv")
def _qlinear_conv(c: Converter) -> Value:
    x, w = _without_zero(c, c.value(0), 2), c.value(3)
    own = _without_zero(c, w, 5, _for_channels(w))
    total = convolution(c, x, own, *([c.value(8)] if c.has(8) else []))
    return _rescaled(c, total, [_scale(c, 1), _scale(c, 4, _for_channels(w)[:-1]), _scale(c, 6)], c.value(7))


@conversion("ConvInteger")
def _conv_integer(c: Converter) -> Value:
    x, w = _without_zero(c, c.value(0), 2), c.value(1)
    return convolution(c, x, _without_zero(c, w, 3, _for_channels(w)))
