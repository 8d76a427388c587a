"""What the operators of Relax are here, where a module of Relax is read: only those are that compute what TVM does.

Many names are operators of both, and not all of them mean the same: NaN and -0.0, the sign of a remainder, attributes
that are not said.  A graph's own text, which has the same form, means the operators of this package.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import TensorType

SAME = frozenset({
    "abs", "add", "astype", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "broadcast_to", "ceil", "concat",
    "cos", "cosh", "equal", "erf", "exp", "expand_dims", "floor", "greater", "greater_equal", "isnan", "less",
    "layout_transform", "less_equal", "log", "logical_and", "logical_not", "logical_or", "matmul", "mean", "multiply",
    "negative", "nn.avg_pool2d", "nn.conv2d", "nn.conv2d_transpose", "nn.gelu", "nn.gelu_tanh", "nn.layer_norm",
    "nn.leaky_relu", "nn.log_softmax", "nn.silu", "nn.softmax", "permute_dims", "power", "prod", "reshape", "rsqrt",
    "sigmoid", "sin", "sinh", "split", "sqrt", "squeeze", "subtract", "sum", "tan", "tanh", "where",
})  # fmt: skip
"""Operators that Relax has under the same names, with attributes of the same meaning, up to how numbers are rounded."""

COMPARING = frozenset({"clip", "max", "maximum", "min", "minimum", "nn.max_pool2d", "nn.relu", "sign"})
"""Operators that make of NaN and -0.0 what comparisons do: ``by_comparison`` here."""

_READ = SAME | COMPARING | {
    "acos", "acosh", "argmax", "argmin", "asin", "asinh", "atan", "atanh", "cumsum", "divide", "flatten",
    "gather_elements", "isinf", "mod", "nn.pad", "nn.softplus", "round", "strided_slice", "take", "tile",
}  # fmt: skip
"""Operators that are read; those that are not the same are made so."""

_OTHERWISE = {
    "nn.batch_norm": "it has three results there, and takes mean and variance from its input unless training=False",
    "nn.dropout": "it has two results there",
    "nn.prelu": "the slope belongs to an axis there, and is broadcast here",
    "topk": "its places are of int32 there unless dtype says otherwise, and of int64 here",
}
"""Why operators of the same name are not the same."""

_OF_INTEGERS = {
    "argmax": "it finds another place there if there is a NaN",
    "argmin": "it finds another place there if there is a NaN",
    "cumsum": "sums may be -0.0 there, and begin with 0.0 here",
    "mod": "the remainder of floats is not known here",
}
"""Operators that are the same of integers only, and why."""

_NO_AXIS = "without an axis it is that of all elements, which is not known here"

_HEAD = re.compile(r"^\s*#?\s*from tvm\.script import relax as R\b|^\s*with R\.dataflow\(\)", re.MULTILINE)


def is_relax(text: str, in_class: bool) -> bool:
    """Whether a text is Relax: a class that is a module, a dataflow block, or the line with which TVM begins."""
    return in_class or _HEAD.search(text) is not None


def read_as(op: str, types: Sequence[TensorType], attrs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The operator here, and its attributes, that computes what an operator of Relax does.

    :raises GraphError: if it is not known that one does.
    """
    if op not in _READ:
        why = _OTHERWISE.get(op, "no operator here is known to compute what it does in TVM")
        raise GraphError(f"{op} of Relax: {why}; {_REMEDY}")
    said = dict(attrs)
    is_float = any("float" in t.dtype for t in types)
    if is_float and op in _OF_INTEGERS:
        raise GraphError(f"{op} of Relax, of floats: {_OF_INTEGERS[op]}; {_REMEDY}")
    match op:
        case "flatten":
            return "reshape", {**said, "shape": (-1,)}
        case "mod":
            said["truncated"] = True
        case "argmax" | "argmin":
            if said.get("axis") is None:
                raise GraphError(f"{op} of Relax: {_NO_AXIS}")
            said.setdefault("keepdims", False)
        case "take" | "cumsum":
            if said.get("axis") is None and types and len(types[0].dims) != 1:
                raise GraphError(f"{op} of Relax: {_NO_AXIS}")
            said["axis"] = 0 if said.get("axis") is None else said["axis"]
        case "nn.pad" if said.get("pad_mode", "constant") not in ("constant", "reflect"):
            raise GraphError(f"nn.pad of Relax: TVM computes other values than {said['pad_mode']!r} says; {_REMEDY}")
        case "nn.max_pool2d" | "nn.avg_pool2d":
            said.setdefault("pool_size", (1, 1))
    if op in COMPARING and is_float:
        said["by_comparison"] = True
    return op, said


_REMEDY = "relax.transform.LegalizeOps() makes it a call of a program, which is read"


__all__ = ["COMPARING", "SAME", "is_relax", "read_as"]
