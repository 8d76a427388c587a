"""What can be wrong with an index map, as exceptions; each carries the concrete points that show it."""

from __future__ import annotations

from collections.abc import Mapping

from verified_tir.index.text import tuple_text
from verified_tir.ir.expr import Var
from verified_tir.ir.node import IRError


class IndexMapError(IRError):
    """An index map that cannot be built or used as asked."""


class NotInjective(IndexMapError):
    """Two inputs of the box have one output.

    ``first`` and ``second`` are the inputs, ``output`` their common image, ``symbols`` the values of the shape symbols
    for which this happens (empty for a constant shape).
    """

    def __init__(
        self, first: tuple[int, ...], second: tuple[int, ...], output: tuple[int, ...], symbols: Mapping[Var, int]
    ) -> None:
        self.first, self.second, self.output, self.symbols = first, second, output, dict(symbols)
        super().__init__(
            f"the map sends both {tuple_text(first)} and {tuple_text(second)} to {tuple_text(output)}{_when(symbols)}"
        )


class NotInvertible(IndexMapError):
    """No inverse was found, or none that could be checked; ``reason`` says why.  The map may still be injective."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"no inverse could be established: {reason}")


class NegativeIndex(IndexMapError):
    """An input of the box has a negative output in dimension ``axis``."""

    def __init__(self, axis: int, point: tuple[int, ...], value: int, symbols: Mapping[Var, int]) -> None:
        self.axis, self.point, self.value, self.symbols = axis, point, value, dict(symbols)
        super().__init__(f"output {axis} of the map is {value} at {tuple_text(point)}{_when(symbols)}")


class UnknownBounds(IndexMapError):
    """No upper bound of an output was found, or it could not be shown that an output is never negative."""


def _when(symbols: Mapping[Var, int]) -> str:
    if not symbols:
        return ""
    return " when " + ", ".join(f"{v.name} = {value}" for v, value in symbols.items())
