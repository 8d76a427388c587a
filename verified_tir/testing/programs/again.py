"""The same element again: what was read or written before is read or written once more, where that can be said.

Much that a compiler gets wrong is about two accesses to one element and what lies between them: a value that is
remembered too long, a store that seems to be dead.  Indices that are drawn twice are seldom the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Expr, Load, Var
from verified_tir.ir.visit import free_vars, walk
from verified_tir.testing.programs.sketch import Cells, Place, Sketch

LATEST = 8
"""So many accesses are remembered."""


@final
@dataclass(frozen=True, slots=True)
class Access:
    """An element, with the variables and buffers that its indices mention; its own buffer comes first."""

    load: Load
    variables: frozenset[Var]
    cells: tuple[Cells, ...]


def remember(s: Sketch, cells: Cells, indices: tuple[Expr, ...]) -> Load:
    """The element, which may be drawn again from now on."""
    load = Load(cells.buffer, indices)
    mentioned = {n for e in indices for n in walk(e) if isinstance(n, Buffer)}
    others = tuple(c for c in s.cells if c.buffer in mentioned)
    variables = frozenset(v for e in indices for v in free_vars(e)) - {c.buffer.data for c in others}
    s.accesses = [*s.accesses[1 - LATEST :], Access(load, variables, (cells, *others))]
    return load


def again(s: Sketch, place: Place, known: list[Cells], dtype: DType | None = None) -> list[Access]:
    """Elements of some buffers that can be named at a place, the last one first."""
    here = {v for r in place.indices for v in free_vars(r.expr)} | {*place.values, *s.symbols, *s.scalars}
    found = {
        a.load: a
        for a in s.accesses[::-1]
        if a.cells[0] in known
        and (dtype is None or a.load.dtype is dtype)
        and a.variables <= here
        and not any(c.hidden for c in a.cells)
    }
    return list(found.values())


__all__ = ["Access", "again", "remember"]
