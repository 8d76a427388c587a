"""A program on tensors in other layouts, proved to compute the same.

The buffers are moved by the kernel's rules (``Schedule.transform_layout``), and the loops of each nest follow the
layout of what it stores.  The theorem says under which maps the new program computes what the old one did; where maps
pad, what the padding of the inputs must hold, and that the results' padding is left undefined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from verified_tir.graph.infer import is_identity, local_buffers
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Block, Store
from verified_tir.ir.visit import walk
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.index_map import IndexMap
from verified_tir.schedule.schedule import Schedule


@final
@dataclass(frozen=True, slots=True)
class Relaid:
    """The program after the change, its theorem, steps that were left out, with the reason, and the steps taken."""

    func: PrimFunc
    theorem: Refines
    left_out: tuple[str, ...]
    schedule: Schedule


def relayout(func: PrimFunc, maps: Mapping[Buffer, IndexMap]) -> Relaid:
    """The program with its buffers in the given layouts.

    :raises ScheduleError: if a parameter cannot be moved; a local buffer, or loops that do not follow, are left as they
        are and reported.
    """
    s = Schedule(func)
    left_out: list[str] = []
    moved: list[str] = []
    for b in [*func.buffers, *local_buffers(func)]:
        index_map = maps.get(b)
        if index_map is None or is_identity(index_map):
            continue
        try:
            s.transform_layout(b.name, index_map)
        except ScheduleError as refused:
            if b in func.buffers:
                raise
            left_out.append(f"{b.name}: {refused.summary()}")
            continue
        moved.append(b.name)
    for block in s.blocks:
        stored = _stored(s.func, block)
        if stored is not None and stored.name in moved:
            try:
                s.sequential_buffer_access(stored, block)
            except ScheduleError as refused:
                left_out.append(f"loops of {block}: {refused.summary()}")
    s.simplify()
    return Relaid(s.func, s.theorem, tuple(left_out), s)


def _stored(func: PrimFunc, block: str) -> Buffer | None:
    """The buffer that a block stores to."""
    for n in walk(func.body):
        if isinstance(n, Block) and n.name == block:
            return next((x.buffer for x in walk(n.body) if isinstance(x, Store)), None)
    return None
