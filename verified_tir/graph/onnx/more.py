"""More ONNX operators: places, triangles, quantised numbers, and what is made of operators that there are."""

from __future__ import annotations

import numpy as np

from verified_tir.graph.element_types import SMALL
from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.registry import conversion
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import dim_text, greater, normal, numbers


@conversion("ArgMax", "ArgMin")
def _argument(c: Converter) -> Value:
    a = c.attributes
    return c.op(
        c.node.op_type.lower(), c.value(0), axis=a.get("axis", 0), keepdims=bool(a.get("keepdims", 1)),
        select_last=bool(a.get("select_last_index", 0)),
    )  # fmt: skip


def together(c: Converter, x: Value, axis: int) -> Value:
    """All dimensions from the axis on together, as operators before opset 13 take them; those before it likewise."""
    return c.op("flatten", x, axis=axis)


@conversion("Hardmax")
def _hardmax(c: Converter) -> Value:
    x = c.value(0)
    axis = axis_of(c.attributes.get("axis", 1 if c.opset < 13 else -1), max(1, x.rank))
    flat = x
    if c.opset < 13:  # all dimensions from the axis on together
        flat, axis = together(c, x, axis), 1
    (size,) = numbers(flat.dims[axis : axis + 1], f"{flat.name} along its axis {axis}")
    places = np.arange(size, dtype=np.int64).reshape([-1 if k == axis else 1 for k in range(flat.rank)])
    here = c.op("equal", c.op("argmax", flat, axis=axis), c.builder.constant(places, "places"))
    found = c.op("astype", here, dtype=x.dtype)
    return found if flat is x else c.op("reshape", found, shape=x.dims)


@conversion("CumSum")
def _cumsum(c: Converter) -> Value:
    a = c.attributes
    return c.op(
        "cumsum", c.value(0), axis=int(c.number(1, "axis")), exclusive=bool(a.get("exclusive", 0)),
        reverse=bool(a.get("reverse", 0)),
    )  # fmt: skip


@conversion("ConstantOfShape")
def _constant_of_shape(c: Converter) -> Value:
    value = np.asarray(c.attributes.get("value", np.zeros(1, np.float32))).reshape(())
    return c.op("broadcast_to", c.builder.constant(value, "value"), shape=tuple(c.sizes(0, "shape") or ()))


@conversion("Range")
def _range(c: Converter) -> Value:
    dtype = c.type_of(0)
    if np.dtype(dtype).kind not in "iu":
        return _floats_in_range(c, dtype)
    ((start,), (limit,), (step,)) = (
        c.sizes(k, what, number=True) or [] for k, what in enumerate(("start", "limit", "delta"))
    )
    if not isinstance(step, int) or step == 0:
        raise c.fail(f"its delta is a number that is not 0, not {dim_text(step)}")
    if step < 0:
        start, limit = -start, -limit
    count = greater(normal((limit - start + abs(step) - 1) // abs(step)), 0)
    first = normal(start if step > 0 else -start)
    return c.op("arange", *c.reader.shown([first]), start=first, step=step, count=count, dtype=dtype)


def _floats_in_range(c: Converter, dtype: str) -> Value:
    """Numbers from a first one on, as many as there are up to the limit, computed in float64 and rounded."""
    start, limit, step = (float(c.number(k, what)) for k, what in enumerate(("start", "limit", "delta")))
    count = np.ceil((limit - start) / step) if step else np.inf
    if not count < 2**31:
        raise c.fail(f"there are no numbers from {start} to {limit} that are {step} apart")
    return c.builder.constant((start + np.arange(max(0, int(count))) * step).astype(dtype), "range")


@conversion("Tile")
def _tile(c: Converter) -> Value:
    return c.op("tile", c.value(0), repeats=tuple(c.numbers(1, "repeats") or ()))


@conversion("Trilu")
def _trilu(c: Converter) -> Value:
    k = c.number(1, "diagonal")
    return c.op("trilu", c.value(0), k=0 if k is None else int(k), upper=bool(c.attributes.get("upper", 1)))


@conversion("Shrink")
def _shrink(c: Converter) -> Value:
    x, dtype = c.value(0), c.value(0).dtype
    edge, bias = (np.asarray(c.attributes.get(n, d)).astype(dtype) for n, d in (("lambd", 0.5), ("bias", 0.0)))
    least, most, more, zero = (c.builder.constant(a, "number") for a in (-edge, edge, bias, np.zeros((), dtype)))
    inside = c.op("where", c.op("greater", x, most), c.op("subtract", x, more), zero)
    return c.op("where", c.op("less", x, least), c.op("add", x, more), inside)


@conversion("InstanceNormalization")
def _instance_norm(c: Converter) -> Value:
    x = c.value(0)
    if x.rank < 3:
        raise c.fail(f"it takes x[n, c, …], not {x.rank} dimensions")
    axes = tuple(range(2, x.rank))
    own = (x.dims[1], *(1 for _ in axes))
    scale, bias = (c.op("reshape", c.value(k), shape=own) for k in (1, 2))
    epsilon = c.builder.constant(np.asarray(c.attributes.get("epsilon", 1e-5), x.dtype), "epsilon")
    centred = c.op("subtract", x, c.op("mean", x, axis=axes, keepdims=True))
    variance = c.op("mean", c.op("multiply", centred, centred), axis=axes, keepdims=True)
    normal = c.op("divide", centred, c.op("sqrt", c.op("add", variance, epsilon)))
    return c.op("add", c.op("multiply", normal, scale), bias)


def cast(c: Converter, v: Value, dtype: str, saturate: bool = True) -> Value:
    """The elements in another type, small ones by their own operator; the same if they are of it."""
    if v.dtype == dtype:
        return v
    if v.dtype in SMALL or dtype in SMALL:
        made = c.op("convert", v, from_dtype=v.dtype, dtype=dtype, saturate=saturate)
    else:
        made = c.op("astype", v, dtype=dtype)
    return made


def product(c: Converter, a: Value, b: Value) -> Value:
    """The product of two matrices, or several; a vector on the left is a row, one on the right a column."""
    if not a.rank or not b.rank:
        raise c.fail("scalars are not matrices")
    left = c.op("expand_dims", a, axis=(0,)) if a.rank == 1 else a
    right = c.op("expand_dims", b, axis=(1,)) if b.rank == 1 else b
    made = c.op("matmul", left, right)
    gone = (*([-2] if left is not a else []), *([-1] if right is not b else []))
    return c.op("squeeze", made, axis=gone) if gone else made
