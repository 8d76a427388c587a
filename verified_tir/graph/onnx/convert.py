"""ONNX operators as operators of graphs, for opsets 7 to 21 as far as the operators changed in them."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import ml_dtypes
import numpy as np

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx import indexing, normalisation, products, quantised, recurrent, resize, shapes, windows
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.registry import CONVERSIONS, conversion, same_operators, with_room
from verified_tir.graph.operators.shape import axis_of

same_operators({
    "Relu": "nn.relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Erf": "erf",
    "Abs": "abs", "Neg": "negative", "Floor": "floor", "Ceil": "ceil", "Not": "logical_not", "Add": "add",
    "Sub": "subtract", "Mul": "multiply", "Div": "divide", "Less": "less", "Greater": "greater",
    "LessOrEqual": "less_equal", "GreaterOrEqual": "greater_equal", "Equal": "equal", "And": "logical_and",
    "Or": "logical_or", "Where": "where", "PRelu": "nn.prelu", "Identity": "identity", "Softplus": "nn.softplus",
    "Round": "round", "Sign": "sign", "Sin": "sin", "Cos": "cos", "HardSwish": "nn.hard_swish", "Tan": "tan",
    "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "IsNaN": "isnan", "Xor": "bitwise_xor",
    "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "BitwiseNot": "bitwise_not",
    "Asin": "asin", "Acos": "acos", "Asinh": "asinh", "Acosh": "acosh", "Atanh": "atanh", "Elu": "nn.elu",
    "Celu": "nn.celu", "LeakyRelu": "nn.leaky_relu", "HardSigmoid": "nn.hard_sigmoid", "LRN": "nn.lrn",
    "GlobalAveragePool": "nn.global_avg_pool2d", "GlobalMaxPool": "nn.global_max_pool2d", "Flatten": "flatten",
    "GatherElements": "gather_elements", "Einsum": "einsum", "ArgMax": "argmax",
    "ArgMin": "argmin", "IsInf": "isinf",
})  # fmt: skip
for _name in ("Einsum", "GlobalAveragePool", "LRN"):
    CONVERSIONS[_name] = with_room(CONVERSIONS[_name])


# -- elements ----------------------------------------------------------------------------------------------------------


_CHAINS = {"Sum": "add", "Mean": "add", "Max": "maximum", "Min": "minimum"}


@conversion(*_CHAINS)
def _chain(c: Converter) -> Value:
    """Operands taken together one after the other; their mean is a part of their sum."""
    values = c.values()
    found = reduce(partial(c.op, _CHAINS[c.node.op_type]), values)
    if c.node.op_type != "Mean":
        return found
    return c.op("divide", found, c.builder.constant(np.asarray(len(values), found.dtype), "count"))


@conversion("Clip")
def _clip(c: Converter) -> Value:
    """The bounds that are left out are the ends of the type; before opset 11 those of float32, whatever the type is."""
    x = c.value(0)
    if c.opset < 11:
        return c.op("clip", x, min=c.attributes["min"], max=c.attributes["max"])
    integers = np.dtype(x.dtype).kind in "iu"
    ends: Any = ml_dtypes.iinfo(x.dtype) if integers else ml_dtypes.finfo(x.dtype)  # type: ignore[no-untyped-call]
    given = c.number(1, "least value"), c.number(2, "greatest value")
    least, most = (
        (int if integers else float)(e) if n is None else n for n, e in zip(given, (ends.min, ends.max), strict=True)
    )
    return c.op("clip", x, min=least, max=most)


@conversion("Gelu")
def _gelu(c: Converter) -> Value:
    mode = c.attributes.get("approximate", "none")
    if mode not in ("none", "tanh"):
        raise c.fail(f"approximate is none or tanh, not {mode}")
    return c.op("nn.gelu" if mode == "none" else "nn.gelu_tanh", c.value(0))


@conversion("Shrink")
def _shrink(c: Converter) -> Value:
    x, dtype = c.value(0), c.value(0).dtype
    edge, bias = (np.asarray(c.attributes.get(n, d)).astype(dtype) for n, d in (("lambd", 0.5), ("bias", 0.0)))
    least, most, more, zero = (c.builder.constant(a, "number") for a in (-edge, edge, bias, np.zeros((), dtype)))
    inside = c.op("where", c.op("greater", x, most), c.op("subtract", x, more), zero)
    return c.op("where", c.op("less", x, least), c.op("add", x, more), inside)


@conversion("Pow")
def _power(c: Converter) -> Value:
    x, y = c.value(0), c.value(1)
    if np.dtype(x.dtype).kind in "iu" and np.dtype(y.dtype).kind in "iu":
        return c.op("integer_power", x, y)
    if y.dtype == x.dtype:
        return c.op("power", x, y)
    wide = [c.op("astype", v, dtype="float64") for v in (x, y)]  # a float32 has no room for an odd 16777217
    return c.op("astype", c.op("power", *wide), dtype=x.dtype)


@conversion("Reciprocal")
def _reciprocal(c: Converter) -> Value:
    x = c.value(0)
    return c.op("divide", c.constant(1, x.dtype, "one"), x)


@conversion("Dropout")
def _dropout(c: Converter) -> Value | list[Value]:
    c.attributes.get("seed")  # nothing is drawn
    x, rate = c.value(0), float(c.attributes.get("ratio", 0.5))
    ratio = c.number(1, "ratio")
    if c.number(2, "training mode") and (rate if ratio is None else ratio) != 0:
        raise c.fail("training is not known here")
    made = c.op("nn.dropout", x, rate=rate)
    if not c.several:
        return made
    kind = bool if c.opset >= 10 else x.dtype
    every = c.builder.constant(np.ones((1,) * x.rank, kind), "kept")
    return [made, c.op("broadcast_to", every, shape=x.dims)]


@conversion("Cast", "CastLike")
def _cast(c: Converter) -> Value:
    x, saturate = c.value(0), c.attributes.get("saturate", True)
    mode = c.attributes.get("round_mode", "up")
    like = c.node.op_type == "CastLike"
    dtype = c.type_of(1) if like else c.reader.dtype(c.attributes["to"], c.name)
    if dtype == "float8_e8m0fnu" and mode != "up":
        raise c.fail(f"powers of two are rounded up here, not {mode}")
    return c.op("identity", x) if dtype == x.dtype else c.cast(x, dtype, saturate)


# -- reductions --------------------------------------------------------------------------------------------------------


def _reduced_axes(c: Converter, x: Value) -> tuple[tuple[int, ...], bool] | None:
    """The axes that go away, and whether they stay with extent 1; ``None`` if there are none."""
    axes = c.numbers(1, "axes", number=True)
    keep, noop = c.attributes.get("keepdims", True), c.attributes.get("noop_with_empty_axes", False)
    if not axes:
        if noop:
            return None
        axes = list(range(x.rank))
    if len({axis_of(a, x.rank) for a in axes}) != len(axes):
        raise c.fail(f"an axis stands twice in {axes}")
    return tuple(axes), keep


_REDUCED = {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod"}


@conversion(*_REDUCED)
def _reduce(c: Converter) -> Value:
    name, x = _REDUCED[c.node.op_type], c.value(0)
    found = _reduced_axes(c, x)
    if found is None:
        return x
    axes, keep = found
    if x.dtype == "bool":  # the greatest of bools is whether one is true
        made = c.op(name, c.op("astype", x, dtype="int8"), axis=axes, keepdims=keep)
        if name == "max":
            return c.op("greater", made, c.builder.constant(np.int8(0), "zero"))
        return c.op("astype", made, dtype="bool")
    return c.op(name, x, axis=axes, keepdims=keep)


@conversion("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceSumSquare")
def _reduce_of_each(c: Converter) -> Value:
    """A sum of what is made of each element, and what is made of the sum; the root of integers in float32, as in ONNX's
    definition."""
    op, x = c.node.op_type, c.value(0)
    found = _reduced_axes(c, x)
    each: Value = x
    if op == "ReduceL1":
        each = c.op("abs", x)
    elif op != "ReduceLogSum":
        each = c.op("multiply", x, x)
    total: Value = each if found is None else c.op("sum", each, axis=found[0], keepdims=found[1])
    if op == "ReduceL2":
        wide = "float64" if x.dtype == "float64" else "float32"
        return c.cast(c.op("sqrt", c.cast(total, wide)), x.dtype)
    if op == "ReduceLogSum":
        return c.op("log", total)
    return total


@conversion("ReduceLogSumExp")
def _log_sum_exp(c: Converter) -> Value:
    """In float64, as in ONNX's definition, and less the greatest element: its exponential may be too large."""
    x = c.value(0)
    found = _reduced_axes(c, x)
    if found is None:
        return x
    axes, keep = found
    wide = c.cast(x, "float64")
    most = c.op("max", wide, axis=axes, keepdims=True)
    zero = c.builder.constant(np.zeros(()), "zero")
    finite = c.op("equal", c.op("subtract", most, most), zero)  # of what is not, the difference is NaN
    most = c.op("where", finite, most, zero)
    total = c.op("sum", c.op("exp", c.op("subtract", wide, most)), axis=axes, keepdims=True)
    made = c.op("add", c.op("log", total), most)
    if not keep:
        made = c.op("squeeze", made, axis=axes)
    return c.cast(made, x.dtype)


__all__ = [
    "CONVERSIONS", "indexing", "normalisation", "products", "quantised", "recurrent", "resize", "shapes", "windows",
]  # fmt: skip
