"""How Relax names the operands and attributes of operators, and how graphs here do.

Relax prints every attribute, those with the usual value too; here only those are kept that an operator has.  What an
operator here cannot be is refused: nothing is dropped that means something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import TensorType
from verified_tir.graph.operators import OPERATORS

_OPERANDS = {"broadcast_to": ("shape",), "clip": ("min", "max"), "reshape": ("shape",)}
"""Attributes that are operands in Relax, behind the tensors."""

_POSITIONAL = _OPERANDS | {
    "crop": ("start_indices", "slice_sizes", "cropped_value"), "layout_transform": ("index_map", "pad_value"),
    "pad": ("pad_width", "pad_value"), "astype": ("dtype",), "concat": ("axis",), "expand_dims": ("axis",),
    "nn.leaky_relu": ("alpha",),
    "nn.softmax": ("axis",), "permute_dims": ("axes",), "split": ("indices_or_sections", "axis"),
    "squeeze": ("axis",), "strided_slice": ("axes", "begin", "end", "strides"), "take": ("axis",),
    **dict.fromkeys(("sum", "prod", "max", "min", "mean"), ("axis", "keepdims")),
}  # fmt: skip
"""Attributes that may be given without their name."""

_RENAMED = {"split": {"indices_or_sections": "sections"}}

_OPERATORS = {"nn.leakyrelu": "nn.leaky_relu"}
"""Operators of Relax that have another name here."""

_USUAL: dict[str, dict[str, Sequence[Any]]] = {
    "nn.conv2d_transpose": {"data_layout": ["NCHW"], "kernel_layout": ["IOHW"], "out_layout": ["NCHW", "", None]},
    "nn.max_pool2d": {"count_include_pad": [False, True]},
    "nn.avg_pool2d": {"dilation": [[1, 1], (1, 1), 1]},
    "nn.layer_norm": {"center": [True], "scale": [True]},
    "layout_transform": {"axis_separators": [None, [], ()], "input_axis_separators": [None, [], ()]},
    "take": {"mode": ["fast"]},
    "cumsum": {"dtype": [None, "", "void"]},
    "nn.softplus": {"beta": [1.0], "threshold": [20.0]},
    "strided_slice": {"assume_inbound": [False]},
}  # fmt: skip
"""Attributes that operators here do not have, with the values that mean what the operator here does."""


def relax_name(op: str) -> str:
    """The name of an operator here in Relax."""
    return next((theirs for theirs, mine in _OPERATORS.items() if mine == op), op)


def our_name(op: str) -> str:
    """The name here of an operator of Relax."""
    return _OPERATORS.get(op, op)


def operand_names(op: str) -> tuple[str, ...]:
    """The attributes that are operands in Relax, behind the tensors."""
    return _OPERANDS.get(op, ())


def positional(op: str) -> tuple[str, ...]:
    """The attributes that may stand behind an operator's tensors, in their order."""
    return _POSITIONAL.get(op, ())


def ours(op: str, types: Sequence[TensorType], attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an operator of Relax, as the operator here takes them.

    :raises GraphError: if one says something that the operator here does not do.
    """
    known = OPERATORS[op].attributes if op in OPERATORS else {}
    found: dict[str, Any] = {}
    for key, value in attrs.items():
        name = _RENAMED.get(op, {}).get(key, key)
        usual = value in _USUAL.get(op, {}).get(key, ())
        if key == "out_dtype":
            usual = value in ("void", "", None) or (bool(types) and value == types[0].dtype)
        if key == "out_layout" and value is None:  # that of the data
            continue
        if name in known:
            found[name] = [value] if _is_list(op, name) and isinstance(value, int) else value
        elif usual:
            continue
        elif key in _USUAL.get(op, {}) or key == "out_dtype":
            only = _USUAL.get(op, {}).get(key, ["void"])[0]
            raise GraphError(f"{op} here has {key}={only!r} only, not {value!r}")
        else:
            found[name] = value  # refused by the operator, which says what it has
    return found


def theirs(op: str, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an operator here, under Relax's names."""
    back = {mine: name for name, mine in _RENAMED.get(op, {}).items()}
    return {back.get(key, key): value for key, value in attrs.items()}


def _is_list(op: str, name: str) -> bool:
    """Whether an attribute is a list of axes, of which Relax writes a single one as a number."""
    return name in ("axis", "axes") and op in ("sum", "prod", "max", "min", "mean", "squeeze", "expand_dims")


__all__ = ["operand_names", "our_name", "ours", "positional", "relax_name", "theirs"]
