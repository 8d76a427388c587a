"""Which ONNX operators are known, and what they become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verified_tir.graph.onnx.converter import Converter

Conversion = Callable[[Converter], Any]
CONVERSIONS: dict[str, Conversion] = {}
"""A function for each ONNX operator: it adds nodes to the graph and gives the values of the results."""


def conversion(*names: str) -> Callable[[Conversion], Conversion]:
    """Register the decorated function as the conversion of these operators."""

    def register(function: Conversion) -> Conversion:
        CONVERSIONS.update(dict.fromkeys(names, function))
        return function

    return register


__all__ = ["CONVERSIONS", "Conversion", "conversion"]
