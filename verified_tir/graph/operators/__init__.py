"""The operators of graphs, by Relax's names, and what they mean: tensor expressions."""

from __future__ import annotations

from verified_tir.graph.operators import (
    bits,
    convolution,
    counts,
    elementwise,
    layout,
    places,
    pooling,
    reduction,
    scatter,
    shape,
    windows,
)  # fmt: skip
from verified_tir.graph.operators.registry import OPERATORS, Operator, find, legalize, operator, result_types

__all__ = [
    "OPERATORS", "Operator", "bits", "convolution", "counts", "elementwise", "find", "layout", "legalize", "operator",
    "places", "pooling", "reduction", "result_types", "scatter", "shape", "windows",
]  # fmt: skip
