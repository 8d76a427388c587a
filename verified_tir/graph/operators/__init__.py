"""The operators of graphs, by Relax's names, and what they mean: tensor expressions."""

from __future__ import annotations

from verified_tir.graph.operators import convolution, elementwise, layout, places, pooling, reduction, shape, windows
from verified_tir.graph.operators.registry import OPERATORS, Operator, find, legalize, operator, result_types

__all__ = [
    "OPERATORS", "Operator", "convolution", "elementwise", "find", "layout", "legalize", "operator", "places",
    "pooling", "reduction", "result_types", "shape", "windows",
]  # fmt: skip
