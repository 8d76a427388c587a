"""ONNX operators as operators of graphs, for opsets 7 to 21 as far as the operators changed in them."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import ml_dtypes
import numpy as np

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx import indexing, quantised, recurrent
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.more import cast, together
from verified_tir.graph.onnx.registry import CONVERSIONS, conversion
from verified_tir.graph.onnx.resize import resize, upsample
from verified_tir.graph.onnx.windows import conv, conv_transpose, pool
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import Dim, normal, numbers, shape_text

CONVERSIONS.update({
    "Conv": conv, "ConvTranspose": conv_transpose, "MaxPool": pool, "AveragePool": pool, "Resize": resize,
    "Upsample": upsample,
})  # fmt: skip


def _plain(onnx_name: str, name: str) -> None:
    CONVERSIONS[onnx_name] = lambda c: c.op(name, *c.values())


for _theirs, _ours in {
    "Relu": "nn.relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Erf": "erf",
    "Abs": "abs", "Neg": "negative", "Floor": "floor", "Ceil": "ceil", "Not": "logical_not", "Add": "add",
    "Sub": "subtract", "Mul": "multiply", "Div": "divide", "Less": "less", "Greater": "greater",
    "LessOrEqual": "less_equal", "GreaterOrEqual": "greater_equal", "Equal": "equal", "And": "logical_and",
    "Or": "logical_or", "Where": "where", "PRelu": "nn.prelu", "Identity": "identity", "Softplus": "nn.softplus",
    "Round": "round", "Sign": "sign", "Sin": "sin", "Cos": "cos", "HardSwish": "nn.hard_swish",
    "GlobalAveragePool": "nn.global_avg_pool2d", "GlobalMaxPool": "nn.global_max_pool2d",
}.items():  # fmt: skip
    _plain(_theirs, _ours)


# -- products ----------------------------------------------------------------------------------------------------------


def _wide(c: Converter, v: Value) -> Value:
    """A factor with room for sums: those of 16 bits are computed in 32, as numpy and onnxruntime do."""
    return cast(c, v, "float32") if v.dtype in ("float16", "bfloat16") else v


@conversion("MatMul")
def _matmul(c: Converter) -> Value:
    a, b = c.value(0), c.value(1)
    if not a.rank or not b.rank:
        raise c.fail("numbers are no matrices")
    left = c.op("expand_dims", a, axis=(0,)) if a.rank == 1 else a
    right = c.op("expand_dims", b, axis=(1,)) if b.rank == 1 else b
    made = cast(c, c.op("matmul", *(_wide(c, v) for v in (left, right))), a.dtype)
    gone = (*([-2] if left is not a else []), *([-1] if right is not b else []))
    if gone:
        made = c.op("squeeze", made, axis=gone)
    return made


@conversion("Gemm")
def _gemm(c: Converter) -> Value:
    a, b = _wide(c, c.value(0)), _wide(c, c.value(1))
    alpha, beta = c.attributes.get("alpha", 1.0), c.attributes.get("beta", 1.0)
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if np.dtype(a.dtype).kind in "iu" and factor != int(factor):
            raise c.fail(f"{name} is {factor}, and its elements are {a.dtype}")
    at, bt = bool(c.attributes.get("transA", 0)), bool(c.attributes.get("transB", 0))
    y: Value = c.op("nn.dense", a, b) if bt and not at else c.op("matmul", a, b, transpose_a=at, transpose_b=bt)
    if alpha != 1.0:
        y = c.op("multiply", y, c.builder.constant(np.asarray(alpha, y.dtype), "alpha"))
    if c.has(2) and beta != 0.0:  # nothing is added then, not even 0 times infinity
        bias = _wide(c, c.value(2))
        if beta != 1.0:
            bias = c.op("multiply", bias, c.builder.constant(np.asarray(beta, bias.dtype), "beta"))
        y = c.op("add", y, bias)
    return cast(c, y, c.value(0).dtype)


# -- elements ----------------------------------------------------------------------------------------------------------


def _chain(c: Converter, name: str) -> Value:
    first, *rest = c.values()
    for other in rest:
        first = c.op(name, first, other)
    return first


for _theirs, _ours in {"Sum": "add", "Max": "maximum", "Min": "minimum"}.items():
    CONVERSIONS[_theirs] = lambda c, name=_ours: _chain(c, name)  # type: ignore[misc]


def _number(x: Any) -> int | float:
    """A bound of a type as a number of Python's."""
    return x if isinstance(x, int) else float(x)


@conversion("Clip")
def _clip(c: Converter) -> Value:
    x = c.value(0)
    bounds: Any = ml_dtypes.iinfo if np.dtype(x.dtype).kind in "iu" else ml_dtypes.finfo
    info = bounds(x.dtype)
    low, high = c.number(1, "least value"), c.number(2, "greatest value")
    least = c.attributes.get("min", _number(info.min)) if low is None else low
    greatest = c.attributes.get("max", _number(info.max)) if high is None else high
    made: Value = c.op("clip", x, min=least, max=greatest)
    return made


@conversion("LeakyRelu")
def _leaky_relu(c: Converter) -> Value:
    made: Value = c.op("nn.leaky_relu", c.value(0), alpha=c.attributes.get("alpha", 0.01))
    return made


@conversion("Gelu")
def _gelu(c: Converter) -> Value:
    mode = c.attributes.get("approximate", "none")
    if mode not in ("none", "tanh"):
        raise c.fail(f"approximate is none or tanh, not {mode}")
    made: Value = c.op("nn.gelu" if mode == "none" else "nn.gelu_tanh", c.value(0))
    return made


@conversion("Elu")
def _elu(c: Converter) -> Value:
    made: Value = c.op("nn.elu", c.value(0), alpha=c.attributes.get("alpha", 1.0))
    return made


@conversion("Celu")
def _celu(c: Converter) -> Value:
    made: Value = c.op("nn.celu", c.value(0), alpha=c.attributes.get("alpha", 1.0))
    return made


@conversion("HardSigmoid")
def _hard_sigmoid(c: Converter) -> Value:
    a = c.attributes
    made: Value = c.op("nn.hard_sigmoid", c.value(0), alpha=a.get("alpha", 0.2), beta=a.get("beta", 0.5))
    return made


@conversion("Pow")
def _power(c: Converter) -> Value:
    x, y = c.value(0), c.value(1)
    made: Value
    if np.dtype(x.dtype).kind in "iu" and np.dtype(y.dtype).kind in "iu":
        made = c.op("integer_power", x, y)
        return made
    if y.dtype == x.dtype:
        made = c.op("power", x, y)
        return made
    wide = [c.op("astype", v, dtype="float64") for v in (x, y)]  # a float32 has no room for an odd 16777217
    made = c.op("astype", c.op("power", *wide), dtype=x.dtype)
    return made


@conversion("Reciprocal")
def _reciprocal(c: Converter) -> Value:
    x = c.value(0)
    made: Value = c.op("divide", c.builder.constant(np.asarray(1, x.dtype), "one"), x)
    return made


@conversion("Dropout")
def _dropout(c: Converter) -> Any:
    c.attributes.get("seed")  # nothing is drawn
    x, rate = c.value(0), float(c.attributes.get("ratio", 0.5))
    ratio = c.number(1, "ratio")
    if c.number(2, "training mode") and (rate if ratio is None else ratio) != 0:
        raise c.fail("training is not known here")
    made: Value = c.op("nn.dropout", x, rate=rate)
    if not c.several:
        return made
    kind = bool if c.opset >= 10 else x.dtype
    every = c.builder.constant(np.ones((1,) * x.rank, kind), "kept")
    return [made, c.op("broadcast_to", every, shape=x.dims)]


@conversion("Cast", "CastLike")
def _cast(c: Converter) -> Value:
    x, saturate = c.value(0), bool(c.attributes.get("saturate", 1))
    mode = c.attributes.get("round_mode", "up")
    like = c.node.op_type == "CastLike"
    dtype = c.type_of(1) if like else c.reader.dtype(c.attributes["to"], c.name)
    if dtype == "float8_e8m0fnu" and mode != "up":
        raise c.fail(f"powers of two are rounded up here, not {mode}")
    made: Value = c.op("identity", x) if dtype == x.dtype else cast(c, x, dtype, saturate)
    return made


@conversion("BatchNormalization")
def _batch_norm(c: Converter) -> Value:
    c.attributes.get("momentum")  # a matter of training
    if c.attributes.get("spatial", 1) != 1:
        raise c.fail("statistics for each place, spatial=0, are not known here")
    if c.attributes.get("training_mode", 0) or (c.opset < 14 and any(c.node.output[1:])):
        raise c.fail("training is not known here")
    made: Value = c.op("nn.batch_norm", *c.values(), epsilon=float(c.attributes.get("epsilon", 1e-5)))
    return made


@conversion("LayerNormalization")
def _layer_norm(c: Converter) -> Any:
    x, scale = c.value(0), c.value(1)
    axis = axis_of(c.attributes.get("axis", -1), x.rank)
    axes, epsilon = tuple(range(axis, x.rank)), float(c.attributes.get("epsilon", 1e-5))
    stash = c.reader.dtype(c.attributes.get("stash_type", 1), "stash_type")
    bias = c.value(2) if c.has(2) else None
    made: Value
    if stash == x.dtype and not c.several and scale.dims == x.dims[axis:]:
        zero = c.builder.constant(np.zeros(scale.shape, scale.dtype), "bias") if bias is None else bias
        made = c.op("nn.layer_norm", x, scale, zero, axes=axes, epsilon=epsilon)
        return made
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
    root = c.op("sqrt", c.op("add", variance, c.builder.constant(np.asarray(epsilon, stash), "epsilon")))
    inverse = c.op("divide", c.builder.constant(np.asarray(1, stash), "one"), root)
    return mean, inverse, c.op("multiply", centred, inverse)


@conversion("LRN")
def _lrn(c: Converter) -> Value:
    a = c.attributes
    made: Value = c.op(
        "nn.lrn", c.value(0), size=a["size"], alpha=float(a.get("alpha", 1e-4)), beta=float(a.get("beta", 0.75)),
        bias=float(a.get("bias", 1.0)),
    )  # fmt: skip
    return made


@conversion("Softmax", "LogSoftmax")
def _softmax(c: Converter) -> Value:
    x = c.value(0)
    name = "nn.softmax" if c.node.op_type == "Softmax" else "nn.log_softmax"
    axis = c.attributes.get("axis", 1 if c.opset < 13 else -1) % max(1, x.rank)
    made: Value
    if c.opset >= 13 or axis == x.rank - 1:
        made = c.op(name, x, axis=axis)
        return made
    made = c.op("reshape", c.op(name, together(c, x, axis), axis=1), shape=x.dims)
    return made


# -- shapes ------------------------------------------------------------------------------------------------------------


TOGETHER = 32
"""So many parts are put together at once."""


@conversion("Concat")
def _concat(c: Converter) -> Value:
    parts = c.values()
    while len(parts) > TOGETHER:  # an element of many parts is a choice that is nested as deep as there are parts
        groups = [parts[k : k + TOGETHER] for k in range(0, len(parts), TOGETHER)]
        parts = [c.op("concat", *some, axis=c.attributes["axis"]) if len(some) > 1 else some[0] for some in groups]
    made: Value = c.op("concat", *parts, axis=c.attributes["axis"])
    return made


@conversion("Split")
def _split(c: Converter) -> Any:
    x = c.value(0)
    axis = c.attributes.get("axis", 0)
    parts = c.sizes(1, "split")
    count = len(c.node.output)
    if c.attributes.get("num_outputs", count) != count:
        raise c.fail(f"it has {count} results, and num_outputs is {c.attributes['num_outputs']}")
    if parts is None:
        (size,) = numbers(x.dims[axis:][:1], f"{x.name} along its axis {axis}")
        each = -(-size // count)
        parts = [min(each, size - k * each) for k in range(count)]
    return c.op("split", x, sections=tuple(map(normal, accumulate(parts[:-1]))), axis=axis)


@conversion("Slice")
def _slice(c: Converter) -> Value:
    x = c.value(0)
    starts, ends = c.sizes(1, "starts"), c.sizes(2, "ends")
    assert starts is not None and ends is not None
    axes = c.numbers(3, "axes") or list(range(len(starts)))
    steps = c.numbers(4, "steps") or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise c.fail(
            f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} steps do not go together"
        )
    if len({axis_of(a, x.rank) for a in axes}) != len(axes):
        raise c.fail(f"an axis stands twice in {axes}")
    begin = [_clamped(b, x.dims[a], s) for b, a, s in zip(starts, axes, steps, strict=True)]
    made: Value = c.op("strided_slice", x, axes=tuple(axes), begin=tuple(begin), end=tuple(ends), strides=tuple(steps))
    return made


def _clamped(start: Dim, size: Dim, step: int) -> Dim:
    """Where a slice begins: going backwards from below the first element, at that, and not nowhere as in Python."""
    if step > 0 or not isinstance(start, int) or not isinstance(size, int):
        return start
    return max(start, -size)


@conversion("Reshape")
def _reshape(c: Converter) -> Value:
    x, shape = c.value(0), c.sizes(1, "shape")
    assert shape is not None
    made: Value
    if c.attributes.get("allowzero", 0) and 0 in shape:
        if -1 in shape or x.type.size:
            raise c.fail(f"{shape_text(x.dims)} cannot take the shape {shape_text(shape)}")
        made = c.op("empty", x, shape=tuple(shape))
        return made
    made = c.op("reshape", x, shape=tuple(shape))
    return made


@conversion("Flatten")
def _flatten(c: Converter) -> Value:
    made: Value = c.op("flatten", c.value(0), axis=c.attributes.get("axis", 1))
    return made


@conversion("Transpose")
def _transpose(c: Converter) -> Value:
    axes = c.attributes.get("perm")
    made: Value = c.op("permute_dims", c.value(0), axes=None if axes is None else tuple(axes))
    return made


@conversion("Squeeze", "Unsqueeze")
def _squeeze(c: Converter) -> Value:
    axes = c.numbers(1, "axes")
    rank = c.value(0).rank
    if axes is not None:
        all_of = rank if c.node.op_type == "Squeeze" else rank + len(axes)
        if len({axis_of(a, all_of) for a in axes}) != len(axes):
            raise c.fail(f"an axis stands twice in {axes}")
    name = "squeeze" if c.node.op_type == "Squeeze" else "expand_dims"
    made: Value = c.op(name, c.value(0), axis=None if axes is None else tuple(axes))
    return made


@conversion("Expand")
def _expand(c: Converter) -> Value:
    from verified_tir.graph.operators.elementwise import broadcast_shape

    x, shape = c.value(0), c.sizes(1, "shape")
    assert shape is not None
    made: Value = c.op("broadcast_to", x, shape=tuple(broadcast_shape(x.dims, shape)))
    return made


@conversion("Gather")
def _gather(c: Converter) -> Value:
    x, axis = c.value(0), c.attributes.get("axis", 0)
    known = c.reader.arrays.get(c.node.input[1])
    size = x.dims[axis_of(axis, x.rank)]
    if isinstance(size, int) and known is not None and known.size and not (-size <= known.min() and known.max() < size):
        raise c.fail(f"its indices are {known.min()} to {known.max()}, and there are {size} elements")
    if size == 0 and 0 not in c.value(1).dims:
        raise c.fail("there are no elements to be taken")
    made: Value = c.op("take", x, c.value(1), axis=axis)
    return made


@conversion("Pad")
def _pad(c: Converter) -> Value:
    x, pads = c.value(0), c.numbers(1, "pads")
    assert pads is not None
    rank = x.rank
    found = c.numbers(3, "axes")
    axes = list(range(rank)) if found is None else [axis_of(a, rank) for a in found]
    if len(pads) != 2 * len(axes) or len(set(axes)) != len(axes):
        raise c.fail(f"pads are two numbers for each axis of {axes}, each of which stands once; they are {pads}")
    some, pads = pads, [0] * (2 * rank)
    for k, axis in enumerate(axes):
        pads[axis], pads[axis + rank] = some[k], some[k + len(axes)]
    value = c.number(2, "value")
    fill = float(c.attributes.get("value", 0.0)) if value is None else value
    width = tuple(pads[k + side * rank] for k in range(rank) for side in (0, 1))
    made: Value = c.op("nn.pad", x, pad_width=width, pad_value=fill, pad_mode=c.attributes.get("mode", "constant"))
    return made


# -- reductions --------------------------------------------------------------------------------------------------------


def _reduce(c: Converter, name: str) -> Value:
    axes = c.numbers(1, "axes")
    keep, noop = bool(c.attributes.get("keepdims", 1)), bool(c.attributes.get("noop_with_empty_axes", 0))
    x = c.value(0)
    if not axes:
        if noop:
            return x
        axes = list(range(x.rank))
    if len({axis_of(a, x.rank) for a in axes}) != len(axes):
        raise c.fail(f"an axis stands twice in {axes}")
    made: Value
    if x.dtype == "bool":  # the greatest of bools is whether one is true
        made = c.op(name, c.op("astype", x, dtype="int8"), axis=tuple(axes), keepdims=keep)
        if name == "max":
            made = c.op("greater", made, c.builder.constant(np.int8(0), "zero"))
            return made
        made = c.op("astype", made, dtype="bool")
        return made
    made = c.op(name, x, axis=tuple(axes), keepdims=keep)
    return made


for _theirs, _ours in {
    "ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod",
}.items():  # fmt: skip
    CONVERSIONS[_theirs] = lambda c, name=_ours: _reduce(c, name)  # type: ignore[misc]

__all__ = ["CONVERSIONS", "indexing", "quantised", "recurrent"]
