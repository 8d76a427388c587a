"""ONNX operators that normalise: by statistics of the elements, or so that they add up to 1."""

from __future__ import annotations

import numpy as np

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.registry import conversion, with_room
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import numbers


@conversion("BatchNormalization")
def _batch_norm(c: Converter) -> Value:
    c.attributes.get("momentum")  # a matter of training
    if c.attributes.get("spatial", 1) != 1:
        raise c.fail("statistics for each place, spatial=0, are not known here")
    if c.attributes.get("training_mode", 0) or (c.opset < 14 and any(c.node.output[1:])):
        raise c.fail("training is not known here")
    return c.op("nn.batch_norm", *c.values(), epsilon=float(c.attributes.get("epsilon", 1e-5)))


@conversion("LayerNormalization")
def _layer_norm(c: Converter) -> Value | list[Value]:
    x, scale = c.value(0), c.value(1)
    axis = axis_of(c.attributes.get("axis", -1), x.rank)
    axes, epsilon = tuple(range(axis, x.rank)), float(c.attributes.get("epsilon", 1e-5))
    stash = c.reader.dtype(c.attributes.get("stash_type", 1), "stash_type")
    bias = c.value(2) if c.has(2) else None
    whole = scale.dims == x.dims[axis:] and (bias is None or bias.dims == scale.dims)
    if stash == x.dtype and not c.several and whole:
        zero = c.builder.constant(np.zeros(scale.shape, scale.dtype), "bias") if bias is None else bias
        return c.op("nn.layer_norm", x, scale, zero, axes=axes, epsilon=epsilon)
    mean, inverse, made = _normalised(c, x, axes, epsilon, stash)
    made = c.op("multiply", made if stash == x.dtype else c.op("astype", made, dtype=x.dtype), scale)
    return [made if bias is None else c.op("add", made, bias), mean, inverse]


def _normalised(
    c: Converter, x: Value, axes: tuple[int, ...], epsilon: float, stash: str
) -> tuple[Value, Value, Value]:
    """Mean, inverse deviation, and what has mean 0 and variance 1, computed in the type ``stash``."""
    wide = x if x.dtype == stash else c.op("astype", x, dtype=stash)
    mean = c.op("mean", wide, axis=axes, keepdims=True)
    centred = c.op("subtract", wide, mean)
    variance = c.op("mean", c.op("multiply", centred, centred), axis=axes, keepdims=True)
    root = c.op("sqrt", c.op("add", variance, c.constant(epsilon, stash, "epsilon")))
    inverse = c.op("divide", c.constant(1, stash, "one"), root)
    return mean, inverse, c.op("multiply", centred, inverse)


@conversion("Softmax", "LogSoftmax")
def _softmax(c: Converter) -> Value:
    x = c.value(0)
    name = "nn.softmax" if c.node.op_type == "Softmax" else "nn.log_softmax"
    axis = axis_of(c.attributes.get("axis", 1 if c.opset < 13 else -1), max(1, x.rank))
    if c.opset >= 13 or axis == x.rank - 1:
        return c.op(name, x, axis=axis)
    flat = c.op("flatten", x, axis=axis)  # all dimensions from the axis on together, and those before it
    return c.op("reshape", c.op(name, flat, axis=1), shape=x.dims)


@conversion("Hardmax")
def _hardmax(c: Converter) -> Value:
    x = c.value(0)
    axis = axis_of(c.attributes.get("axis", 1 if c.opset < 13 else -1), max(1, x.rank))
    flat = x
    if c.opset < 13:  # all dimensions from the axis on together
        flat, axis = c.op("flatten", x, axis=axis), 1
    (size,) = numbers(flat.dims[axis : axis + 1], f"{flat.name} along its axis {axis}")
    places = np.arange(size, dtype=np.int64).reshape([-1 if k == axis else 1 for k in range(flat.rank)])
    here = c.op("equal", c.op("argmax", flat, axis=axis), c.builder.constant(places, "places"))
    found = c.op("astype", here, dtype=x.dtype)
    return found if flat is x else c.op("reshape", found, shape=x.dims)


@conversion("InstanceNormalization")
@with_room
def _instance_norm(c: Converter) -> Value:
    x = c.value(0)
    if x.rank < 3:
        raise c.fail(f"it takes x[n, c, …], not {x.rank} dimensions")
    axes = tuple(range(2, x.rank))
    own = (x.dims[1], *(1 for _ in axes))
    scale, bias = (c.op("reshape", c.value(k), shape=own) for k in (1, 2))
    epsilon = c.constant(c.attributes.get("epsilon", 1e-5), x.dtype, "epsilon")
    centred = c.op("subtract", x, c.op("mean", x, axis=axes, keepdims=True))
    variance = c.op("mean", c.op("multiply", centred, centred), axis=axes, keepdims=True)
    normal = c.op("divide", centred, c.op("sqrt", c.op("add", variance, epsilon)))
    return c.op("add", c.op("multiply", normal, scale), bias)
