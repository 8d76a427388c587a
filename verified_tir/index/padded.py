"""A padded index map as three simple ones: elements put in a line where they must be, padding around, a bijection.

    i ↦ [(i + 3) // 4, (i + 3) % 4] on [14]     is     pad (3, 3) to [20], then the bijection z ↦ [z // 4, z % 4]

The inverse of the map, read at the places of padding, says which indices they would have: those around the box.  Where
padding fills up what several dimensions make together (a plane in tiles), these are fused first.  A search: what comes
out is proved where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from verified_tir.index.evaluate import evaluate, open_grid
from verified_tir.index.map import IndexMap, IndexMapError
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.visit import substitute


@final
@dataclass(frozen=True, slots=True)
class Padded:
    """``bijection`` after padding of ``widths`` (before and after each dimension) after ``fused`` (``None``: nothing is
    fused); ``box`` is the shape between ``fused`` and the padding."""

    fused: IndexMap | None
    box: tuple[int, ...]
    widths: tuple[tuple[int, int], ...]
    bijection: IndexMap

    @property
    def padded(self) -> tuple[int, ...]:
        """The shape between the padding and the bijection."""
        return tuple(n + a + b for n, (a, b) in zip(self.box, self.widths, strict=True))


def padded_box(index_map: IndexMap, shape: Sequence[int], target: Sequence[int]) -> Padded:
    """The map from ``shape`` into ``target``, taken apart.

    :raises IndexMapError: if its padding is not of that form.
    """
    found = _around(index_map, shape, target)
    if found is not None:
        return Padded(None, tuple(shape), *found)
    fused = _fused(index_map, shape)
    if fused is not None:
        line, box = fused
        found = _around(index_map.compose(line.inverse(shape)), box, target)
        if found is not None:
            return Padded(line, box, *found)
    raise IndexMapError(
        f"{index_map} fills {tuple(target)} from {tuple(shape)} in no way that is padding and then a bijection"
    )


def _around(
    index_map: IndexMap, shape: Sequence[int], target: Sequence[int]
) -> tuple[tuple[tuple[int, int], ...], IndexMap] | None:
    """Padding around the box and a bijection of the larger box."""
    inverse = index_map.inverse(shape)
    values = evaluate(inverse.outputs, dict(zip(inverse.inputs, open_grid(target), strict=True)))
    widths = tuple(
        (max(0, -int(np.min(v))), max(0, int(np.max(v)) + 1 - n)) for v, n in zip(values, shape, strict=True)
    )
    larger = tuple(n + a + b for n, (a, b) in zip(shape, widths, strict=True))
    if int(np.prod(larger, dtype=object)) != int(np.prod(target, dtype=object)):
        return None
    old = index_map.inputs
    moved: dict[Var, Expr] = {v: v - a if a else v for v, (a, _) in zip(old, widths, strict=True)}
    inner = IndexMap(old, tuple(substitute(e, moved) for e in index_map.outputs)).simplified(larger)
    try:
        if inner.constant_shape(larger) != tuple(target):
            return None
        inner.inverse(larger)
    except IndexMapError:
        return None
    return widths, inner


def _fused(index_map: IndexMap, shape: Sequence[int]) -> tuple[IndexMap, tuple[int, ...]] | None:
    """A map that fuses the dimensions that the map uses together, and the shape that it gives."""
    groups = [part.axes for part in index_map.on(shape).components]
    if all(len(g) <= 1 for g in groups):
        return None
    outputs: list[Expr] = []
    box: list[int] = []
    for axes in sorted(groups):
        if not axes:
            continue
        total: Expr = index_map.inputs[axes[0]]
        for a in axes[1:]:
            total = total * shape[a] + index_map.inputs[a]
        outputs.append(total)
        box.append(int(np.prod([shape[a] for a in axes], dtype=object)))
    return IndexMap(index_map.inputs, tuple(outputs)), tuple(box)
