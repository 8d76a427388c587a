"""Random ONNX models, most of them legal, some changed in one place so that they nearly are."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.fuzz.onnx_models import layers, shapes  # noqa: F401 (drawings are registered)
from tests.fuzz.onnx_models.case import OnnxModel, OnnxNode
from tests.fuzz.onnx_models.draft import Draft, inferred
from tests.fuzz.onnx_models.operators import NOT_DRAWN, draw_node
from verified_tir.testing.drawing import Picker

OPSETS = (21, 13, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 22, 23, 24, 25, 26)
LAYOUTS = ("NCHW4c", "NHWC", "NCHW2c", "NCHW16c")
USUAL = ("Conv", "MaxPool", "AveragePool", "Relu", "Add", "Mul", "Concat", "Transpose", "Reshape", "Slice", "Pad",
         "MatMul", "Cast", "Split", "BatchNormalization")  # fmt: skip
"""Operators that layouts and fusion are about."""


@cache
def operators(opset: int) -> list[str]:
    """The operators of an opset that are read: those known, those that ONNX defines by others, and shapes."""
    from onnx import defs

    from verified_tir.graph.onnx.convert import CONVERSIONS
    from verified_tir.graph.onnx.load import REFUSED

    found = []
    for name in sorted({s.name for s in defs.get_all_schemas() if not s.domain}):
        try:
            s: Any = defs.get_schema(name, opset, "")
        except defs.SchemaError:
            continue
        by_others = bool(s.function_opset_versions or s.context_dependent_function_opset_versions)
        known = name in CONVERSIONS or by_others or name in ("Shape", "Size")
        if known and not s.deprecated and name not in NOT_DRAWN and name not in REFUSED:
            found.append(name)
    return found


def onnx_models(least: int = 5, most: int = 15, only: str = "") -> SearchStrategy[OnnxModel]:
    """Random models with so many nodes, and what they are run on.

    :param only: an operator that each node is of.
    """
    return _models(least, most, only)


@st.composite
def _models(draw: DrawFn, least: int, most: int, only: str) -> OnnxModel:
    pick = Picker(draw)
    opset = pick.among([n for n in OPSETS if not only or only in operators(n)])
    d = Draft(pick, opset)
    known = operators(opset)
    offset = pick.integer(0, 1 << 16)
    usual = [n for n in USUAL if n in known]

    def node() -> None:
        spread = known[(offset + 7919 * pick.integer(0, 1 << 16)) % len(known)]  # small numbers are drawn most often
        draw_node(d, only or (pick.among(usual) if pick.rarely(3) else spread))

    def rest(left: int) -> None:
        pick.statement(node)
        if left > 1:
            pick.body(lambda: rest(left - 1))

    if pick.flip():
        d.new("float32", (1, pick.one(4, 3, 6, 8), pick.one(4, 5, 2), pick.one(4, 3, 1)), constant=False)
    rest(pick.integer(least, most))
    if pick.rarely(8):
        d.nodes[-1] = _changed(d, d.nodes[-1])
        d.types |= {n: dtype for n, (dtype, _) in inferred(d, d.nodes[-1]).items()}
    return OnnxModel(
        opset, tuple(d.nodes), d.inputs, d.constants, d.types, pick.one(*LAYOUTS),
        pick.one("always", "large", "always", "never"), pick.flip(),
    )  # fmt: skip


def _changed(d: Draft, node: OnnxNode) -> OnnxNode:
    """A node with another attribute, or other operands, which may not be legal."""
    pick = d.pick
    operands, attributes = list(node.operands), dict(node.attributes)
    what = pick.one("attribute", "operand", "constant", "less", "more", "unknown")
    if what == "attribute" and attributes:
        name = pick.among(sorted(attributes))
        attributes[name] = _other(pick, attributes[name])
    elif what == "operand" and operands:
        operands[pick.integer(0, len(operands) - 1)] = pick.among(d.values).name
    elif what == "constant":
        given = [k for k, n in enumerate(operands) if n in d.constants and d.constants[n].dtype.kind in "iu"]
        if given:
            k = pick.among(given)
            a = d.constants[operands[k]].copy()
            if a.size:
                a.reshape(-1)[pick.integer(0, a.size - 1)] = pick.one(7, 1, 0, 100)
            operands[k] = d.given(a).name
    elif what == "less" and len(operands) > 1:
        operands.pop()
    elif what == "more":
        operands.append(pick.among(d.values).name)
    else:
        attributes[pick.one("axis", "keepdims", "mode", "axes")] = pick.one(1, 0, [1], "linear")
    return OnnxNode(node.op, tuple(operands), node.results, attributes)


def _other(pick: Picker, value: Any) -> Any:
    if isinstance(value, int):
        return pick.one(value + 1, value - 1, 7, -7, 1 << 40)
    if isinstance(value, float):
        return pick.one(-value, 0.0, float("nan"), float("inf"))
    if isinstance(value, str):
        return pick.one("", value + "x", value.lower())
    if isinstance(value, list) and value:
        k = pick.integer(0, len(value) - 1)
        return pick.one([*value[:k], _other(pick, value[k]), *value[k + 1 :]], value[:k], [*value, value[k]])
    return value


__all__ = ["onnx_models", "operators"]
