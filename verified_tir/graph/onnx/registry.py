"""Which ONNX operators are known, and what they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.operators import OPERATORS
from verified_tir.graph.operators.reduction import HALVES

Conversion = Callable[[Converter], Value | Sequence[Value]]
CONVERSIONS: dict[str, Conversion] = {}
"""A function for each ONNX operator: it adds nodes to the graph and gives the values of the results."""


def conversion(*names: str) -> Callable[[Conversion], Conversion]:
    """Register the decorated function as the conversion of these operators."""

    def register(function: Conversion) -> Conversion:
        CONVERSIONS.update(dict.fromkeys(names, function))
        return function

    return register


def same_operators(names: Mapping[str, str]) -> None:
    """Register ONNX operators that are operators of graphs, with the same operands and attributes of the same names."""
    for theirs, ours in names.items():
        CONVERSIONS[theirs] = partial(_same, ours)


def with_room(function: Conversion) -> Conversion:
    """A conversion that computes sums: those of floats of 16 bits are of what is in float32, and rounded once, at the
    end (as in numpy and onnxruntime)."""

    @wraps(function)
    def converted(c: Converter) -> Value | Sequence[Value]:
        dtype = c.type_of(0)
        if dtype not in HALVES:
            return function(c)
        c.room = True
        made = function(c)
        return c.cast(made, dtype) if isinstance(made, Value) else [c.cast(v, dtype) for v in made]

    return converted


RENAMED = {"select_last": "select_last_index", "negative": "detect_negative", "positive": "detect_positive"}
"""What ONNX calls attributes of operators of graphs that have another name there."""


def _same(name: str, c: Converter) -> Value:
    theirs = {a: RENAMED.get(a, a) for a in OPERATORS[name].attributes}
    return c.op(name, *c.values(), **{a: c.attributes[b] for a, b in theirs.items() if b in c.schema.attributes})
