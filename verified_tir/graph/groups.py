"""Sums over groups of channels that do not fall on whole vectors.

    t[16 * k // P …]         136 channels in groups of 34: vectors of 16 channels would take parts of two groups, which
    x[(16 * k + l) // P …]   read different elements

The sums get a buffer of their own, in which each group begins a vector and is filled up to whole ones, and so do
constants that are read along the channels.  The loops over channels become one over groups, one over vectors of a group
and one over lanes.  At the end the sums are copied to where they belong, a few side by side at a time.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

from verified_tir.graph.nests import LANES, Nest, extent, nests
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Binary, Expr, IntImm, Var
from verified_tir.ir.poly import as_poly
from verified_tir.ir.visit import walk
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule


@final
@dataclass(frozen=True, slots=True)
class Groups:
    """Loops that count channels, the outer one in steps of the inner one's extent, and how many make a group."""

    loops: tuple[Var, ...]
    tile: int
    size: int


def groups_of(nest: Nest) -> Groups | None:
    """The groups along which a sum reads other elements; ``None`` if there are none or several sizes of them."""
    stored = {x.var: extent(x) for x in nest.loops if x.var in nest.stored}
    found: set[tuple[tuple[Var, ...], int, int]] = set()
    for e in (n for x in nest.loads for i in x.indices for n in walk(i)):
        match e:
            case Binary(op="floordiv", a=a, b=IntImm(value=size)) if (loops := _counted(a, stored)) is not None:
                whole = math.prod(stored[v] for v in loops)
                if 1 < size < whole:
                    found.add((loops, stored[loops[-1]] if len(loops) > 1 else 1, size))
    return Groups(*found.pop()) if len(found) == 1 else None


def _counted(e: Expr, extents: dict[Var, int]) -> tuple[Var, ...] | None:
    """The variables of ``v``, or of ``n * u + v`` where v goes up to n."""
    poly = as_poly(e)
    atoms = [a for a in poly.atoms() if isinstance(a, Var) and a in extents]
    if len(atoms) == 1 and poly.same(as_poly(atoms[0])):
        return (atoms[0],)
    for u, v in ((a, b) for a in atoms for b in atoms if a is not b):
        if poly.same(as_poly(u).scale(extents[v]) + as_poly(v)):
            return u, v
    return None


def apart(s: Schedule, nest: Nest, constants: Collection[str], lanes: int) -> None:
    """Give each group of a sum whole vectors, if it has none."""
    groups = groups_of(nest)
    if groups is None or nest.update is None:
        return
    if groups.tile > 1 and groups.size % groups.tile == 0:  # groups of whole blocks
        s.split(groups.loops[0], [None, groups.size // groups.tile])
        s.simplify()
        return
    lanes = next((n for n in reversed(LANES) if groups.size <= n), lanes)
    if groups.size % lanes == 0:
        return  # they are whole vectors once the loop is split
    sums = s.cache_write(nest.block, 0, "global").name
    s.transform_layout(sums, _apart(nest.store.indices, groups, lanes))
    moved: set[str] = set()
    for x in nest.loads:
        if x.buffer.name in constants and x.buffer.name not in moved and set(groups.loops) & {*x.indices}:
            moved.add(x.buffer.name)
            s.transform_layout(x.buffer.name, _apart(x.indices, groups, lanes), pad_value=0)
    _loops(s, nest, groups, lanes)
    _side_by_side(s, f"{sums}_back", math.gcd(groups.size, groups.tile))


def _apart(indices: tuple[Expr, ...], groups: Groups, lanes: int) -> IndexMap:
    """The map of a buffer with these indices that puts each group into vectors of its own, lanes last."""
    places = [next(k for k, i in enumerate(indices) if i is v) for v in groups.loops]

    def moved(*i: Any) -> list[Any]:
        channel = i[places[0]] if len(places) == 1 else i[places[0]] * groups.tile + i[places[1]]
        within = channel % groups.size
        parts = {places[0]: [channel // groups.size, within // lanes]}
        others = [parts.get(k, [v]) for k, v in enumerate(i) if k not in places[1:]]
        return [*(v for part in others for v in part), within % lanes]

    return IndexMap.from_func(moved, len(indices))


def _loops(s: Schedule, nest: Nest, groups: Groups, lanes: int) -> None:
    """One loop over groups, one over their vectors and one over lanes."""
    channels = groups.loops[0]
    if len(groups.loops) > 1:
        s.reorder(*groups.loops, *(x.var for x in nest.loops if x.var not in groups.loops and x.var in nest.stored))
        channels = s.fuse(*groups.loops)
        s.simplify()
        if nest.guards:
            with suppress(ScheduleError):  # groups may end within the last block
                s.reduce_loop_extents()
        channels = next(v for v in s.loops(nest.block) if v.name == channels.name)
    _, channel = s.split(channels, [None, groups.size])
    s.split(channel, [None, lanes])
    s.simplify()


def _side_by_side(s: Schedule, block: str, count: int) -> None:
    """Copy as many elements at a time as follow each other in both layouts."""
    if count not in LANES:
        return
    last = next(x for x in nests(s.func) if x.block == block).loops[-1]
    if extent(last) > count:
        s.split(last.var, [None, count])
        s.simplify()
