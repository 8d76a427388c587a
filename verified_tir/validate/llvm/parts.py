"""Integers taken apart and put together: what is copied by other widths stays what it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from verified_tir.validate.llvm.graph import UNDEF, Graph, Lane, integer


@final
class Parts:
    """Integers taken apart and put together."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._parts: dict[tuple[Lane, int], tuple[Lane, ...]] = {}
        self._whole: dict[tuple[Lane, ...], Lane] = {}

    def split(self, lane: Lane, bits: int, part: int) -> tuple[Lane, ...]:
        """The parts of ``bits`` bits, ``part`` each, the lowest first."""
        count = bits // part
        if count == 1:
            return (lane,)
        if lane == UNDEF:
            return (UNDEF,) * count
        if lane >= 0:
            mask = (1 << part) - 1
            return tuple([(lane >> (k * part)) & mask for k in range(count)])
        found = self._parts.get((lane, part))
        if found is None:
            found = self._finer(lane, bits, part) or self._made(lane, bits, part, count)
            self._parts[lane, part] = found
            self._whole[found] = lane
        return found

    def _finer(self, lane: Lane, bits: int, part: int) -> tuple[Lane, ...] | None:
        """By way of parts that are known and larger."""
        for larger in (32, 16, 8):
            if part < larger < bits and (lane, larger) in self._parts:
                return tuple([p for piece in self._parts[lane, larger] for p in self.split(piece, larger, part)])
        return None

    def _made(self, lane: Lane, bits: int, part: int, count: int) -> tuple[Lane, ...]:
        g, wide = self.graph, integer(bits, "uint")
        narrow = integer(part, "uint")
        number = g.reinterpret(lane, wide) if g.dtypes[~lane].is_float else lane
        return tuple(
            [g.cast(wide, narrow, g.binary("shr", wide, number, k * part) if k else number) for k in range(count)]
        )

    def join(self, parts: Sequence[Lane], part: int) -> Lane:
        """The number with these parts, the lowest first; undefined if one of them is."""
        if len(parts) == 1:
            return parts[0]
        if all(p >= 0 for p in parts):
            return sum(p << (k * part) for k, p in enumerate(parts))
        if UNDEF in parts:
            return UNDEF
        key = tuple(parts)
        found = self._whole.get(key)
        if found is None:
            found = self._joined(parts, part)
            self._parts[found, part] = key
            self._whole[key] = found
        return found

    def _joined(self, parts: Sequence[Lane], part: int) -> Lane:
        g, bits = self.graph, part * len(parts)
        wide, narrow = integer(bits, "uint"), integer(part, "uint")
        total: Lane = 0
        for k, p in enumerate(parts):
            number = g.reinterpret(p, narrow) if p < 0 else p
            moved = g.cast(narrow, wide, number) if number < 0 else number
            if k:
                moved = g.binary("shl", wide, moved, k * part) if moved < 0 else moved << (k * part)
            total = g.binary("bitor", wide, total, moved) if total else moved
        return total
