"""More ONNX operators: places, triangles, quantised numbers, and what is made of operators that there are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from verified_tir.graph.element_types import SMALL
from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.load import Converter
from verified_tir.graph.operators.shape import axis_of

Conversion = Callable[[Converter], Any]
MORE: dict[str, Conversion] = {}
"""A conversion for each operator (see ``convert``)."""


def _known(*names: str) -> Callable[[Conversion], Conversion]:
    def register(function: Conversion) -> Conversion:
        MORE.update(dict.fromkeys(names, function))
        return function

    return register


for _theirs, _ours in {"Tan": "tan", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "IsNaN": "isnan"}.items():
    MORE[_theirs] = lambda c, name=_ours: c.op(name, c.value(0))  # type: ignore[misc]


@_known("ArgMax", "ArgMin")
def _argument(c: Converter) -> Any:
    a = c.attributes
    return c.op(
        c.node.op_type.lower(), c.value(0), axis=a.get("axis", 0), keepdims=bool(a.get("keepdims", 1)),
        select_last=bool(a.get("select_last_index", 0)),
    )  # fmt: skip


def together(c: Converter, x: Value, axis: int) -> Value:
    """All dimensions from the axis on together, as operators before opset 13 take them; those before it likewise."""
    rows = math.prod(x.shape[:axis])
    made: Value = c.op("reshape", x, shape=(rows, x.type.size // max(1, rows)))
    return made


@_known("Hardmax")
def _hardmax(c: Converter) -> Any:
    x = c.value(0)
    axis = axis_of(c.attributes.get("axis", 1 if c.opset < 13 else -1), max(1, len(x.shape)))
    flat = x
    if c.opset < 13:  # all dimensions from the axis on together
        flat, axis = together(c, x, axis), 1
    places = np.arange(flat.shape[axis], dtype=np.int64).reshape(
        [-1 if k == axis else 1 for k in range(len(flat.shape))]
    )
    here = c.op("equal", c.op("argmax", flat, axis=axis), c.builder.constant(places, "places"))
    found = c.op("astype", here, dtype=x.dtype)
    return found if flat is x else c.op("reshape", found, shape=x.shape)


@_known("CumSum")
def _cumsum(c: Converter) -> Any:
    axis = c.array(1, "axis")
    assert axis is not None
    a = c.attributes
    return c.op(
        "cumsum", c.value(0), axis=int(axis.item()), exclusive=bool(a.get("exclusive", 0)),
        reverse=bool(a.get("reverse", 0)),
    )  # fmt: skip


@_known("GatherElements")
def _gather_elements(c: Converter) -> Any:
    return c.op("gather_elements", c.value(0), c.value(1), axis=c.attributes.get("axis", 0))


@_known("Tile")
def _tile(c: Converter) -> Any:
    return c.op("tile", c.value(0), repeats=tuple(c.numbers(1, "repeats") or ()))


@_known("Trilu")
def _trilu(c: Converter) -> Any:
    k = c.array(1, "diagonal")
    return c.op("trilu", c.value(0), k=0 if k is None else int(k.item()), upper=bool(c.attributes.get("upper", 1)))


@_known("Mean")
def _mean(c: Converter) -> Any:
    first, *rest = c.values()
    count = len(rest) + 1
    for other in rest:
        first = c.op("add", first, other)
    return c.op("divide", first, c.builder.constant(np.asarray(count, first.dtype), "count"))


@_known("InstanceNormalization")
def _instance_norm(c: Converter) -> Any:
    x = c.value(0)
    if len(x.shape) < 3:
        raise c.fail(f"it takes x[n, c, …], not {len(x.shape)} dimensions")
    axes = tuple(range(2, len(x.shape)))
    own = (x.shape[1], *(1 for _ in axes))
    scale, bias = (c.op("reshape", c.value(k), shape=own) for k in (1, 2))
    epsilon = c.builder.constant(np.asarray(c.attributes.get("epsilon", 1e-5), x.dtype), "epsilon")
    centred = c.op("subtract", x, c.op("mean", x, axis=axes, keepdims=True))
    variance = c.op("mean", c.op("multiply", centred, centred), axis=axes, keepdims=True)
    normal = c.op("divide", centred, c.op("sqrt", c.op("add", variance, epsilon)))
    return c.op("add", c.op("multiply", normal, scale), bias)


# -- quantised numbers -------------------------------------------------------------------------------------------------


def _along(c: Converter, v: Value, rank: int, axis: int) -> Value:
    """A number for each place along an axis, or one for all, as it is broadcast; others are blocks."""
    if v.type.size == 1 and len(v.shape) <= 1:
        made: Value = c.op("reshape", v, shape=())
        return made
    if len(v.shape) != 1:
        raise c.fail("scales for blocks are not known here, but for the whole or an axis")
    made = c.op("reshape", v, shape=tuple(v.shape[0] if k == axis else 1 for k in range(rank)))
    return made


def _axis(c: Converter, x: Value) -> int:
    """The axis along which scales are given, if there are several."""
    axis = int(c.attributes.get("axis", 1))
    return axis_of(axis, len(x.shape)) if len(x.shape) > 1 else 0


def cast(c: Converter, v: Value, dtype: str, saturate: bool = True) -> Value:
    """The elements in another type, small ones by their own operator."""
    made: Value
    if v.dtype in SMALL or dtype in SMALL:
        made = c.op("convert", v, from_dtype=v.dtype, dtype=dtype, saturate=saturate)
    else:
        made = c.op("astype", v, dtype=dtype)
    return made


def _as(c: Converter, v: Value, dtype: str) -> Value:
    if v.dtype == dtype:
        return v
    return cast(c, v, dtype)


@_known("DequantizeLinear")
def _dequantise(c: Converter) -> Any:
    x, scale = c.value(0), c.value(1)
    if c.attributes.get("block_size", 0):
        raise c.fail("scales for blocks are not known here")
    given = c.attributes.get("output_dtype", 0)
    dtype = c.reader.dtype(given, c.name) if given else scale.dtype
    axis = _axis(c, x)
    whole = "float32" if x.dtype.startswith("float") else "int32"
    wide = _as(c, x, whole)
    if c.has(2):
        wide = c.op("subtract", wide, _along(c, _as(c, c.value(2), whole), len(x.shape), axis))
    made = c.op("multiply", _as(c, wide, "float32"), _along(c, _as(c, scale, "float32"), len(x.shape), axis))
    return _as(c, made, dtype)


_RANGES = {"uint2": (0, 3), "int2": (-2, 1), "uint4": (0, 15), "int4": (-8, 7)}


@_known("QuantizeLinear")
def _quantise(c: Converter) -> Any:
    x, scale = c.value(0), c.value(1)
    if c.attributes.get("block_size", 0) or c.attributes.get("precision", 0):
        raise c.fail("scales for blocks, and precisions, are not known here")
    given, saturate = c.attributes.get("output_dtype", 0), bool(c.attributes.get("saturate", 1))
    zero = c.value(2) if c.has(2) else None
    dtype = zero.dtype if zero is not None else c.reader.dtype(given, c.name) if given else "uint8"
    axis = _axis(c, x)
    return _quantised(c, c.op("divide", _as(c, x, "float32"), _along(c, _as(c, scale, "float32"), len(x.shape), axis)),
                      None if zero is None else _along(c, _as(c, zero, "float32"), len(x.shape), axis),
                      dtype, saturate)  # fmt: skip


def _quantised(c: Converter, x: Value, zero: Value | None, dtype: str, saturate: bool = True) -> Value:
    """A float32, rounded to even and moved by the zero, in an integer type that it is kept within."""
    made: Value
    if dtype.startswith("float"):
        moved = x if zero is None else c.op("add", x, zero)
        made = c.op("convert", moved, from_dtype="float32", dtype=dtype, saturate=saturate)
        return made
    rounded = c.op("round", x)
    moved = rounded if zero is None else c.op("add", rounded, zero)
    low, high = _RANGES[dtype] if dtype in _RANGES else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return _as(c, c.op("clip", moved, min=float(low), max=float(high)), dtype)


@_known("MatMulInteger")
def _matmul_integer(c: Converter) -> Any:
    a, b = (_as(c, c.value(k), "int32") for k in (0, 1))
    if c.has(2):
        zero = _as(c, c.value(2), "int32")
        one = zero.type.size == 1
        shape = () if one else (zero.shape[0], 1) if len(zero.shape) == 1 else zero.shape
        a = c.op("subtract", a, c.op("reshape", zero, shape=shape))
    if c.has(3):
        zero = _as(c, c.value(3), "int32")
        b = c.op("subtract", b, c.op("reshape", zero, shape=()) if zero.type.size == 1 else zero)
    return c.op("matmul", a, b)


__all__ = ["MORE", "cast", "together"]
