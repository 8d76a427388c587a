"""How the loops of a convolution become fast: sums in registers, weights in the order in which they are read.

The sums of a tile (some places of a row, times some vectors of channels) stay in registers while the terms are added
(Georganas et al., Anatomy of High-Performance Deep Learning Convolutions on SIMD Architectures, 2018).  A vector of
weights serves all places of the tile, an element of the data all its channels.  The terms of each sum stay in order.

Where each group has one channel (depthwise) vectors run along groups, or in NCHW along places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import IntImm, Var
from verified_tir.library.convolution_programs import Problem
from verified_tir.schedule.schedule import Schedule

SUMS = 24
"""Vectors of sums at the most; a few registers are left for operands."""

PLACES = 14
"""Places of a row in a tile at the most."""

NEAR = 2**18
"""Weights of so many elements stay in the second cache while a row of places is computed."""

TERMS = ("r", "c", "i")
"""The loops over terms of a sum."""

WITHIN = ("x_1", "x_2", "o_1", "o_2", "u_1", "y_1")
"""The loops of a result within a tile."""


@final
@dataclass(frozen=True, slots=True)
class Tile:
    """What stays in registers: places of a row, vectors of channels, and elements of a vector."""

    places: int
    vectors: int
    lanes: int

    @property
    def channels(self) -> int:
        """Channels of a tile."""
        return self.vectors * self.lanes


def tile_of(channels: int, width: int, lanes: int) -> Tile:
    """The tile that leaves the fewest lanes and places unused; the larger of equals.

    The number of vectors depends on the channels only, so that packed weights fit images of all sizes.
    """
    whole = -(-channels // lanes)
    vectors = min((2, 3, 1), key=lambda v: -(-whole // v) * v)
    most = min(PLACES, SUMS // vectors, max(1, width))
    places = min(range(most, 0, -1), key=lambda n: -(-width // n) * (n + 1))
    return Tile(places, vectors, lanes)


def tile_of_places(outputs: int, places: tuple[int, int], lanes: int) -> Tile:
    """The tile where places lie side by side: ``places`` counts its channels, or its rows if there is one channel.

    It has no more rows than the result: nothing would be missing from a tile that goes beyond the only one.
    """
    high, wide = places
    whole = -(-wide // lanes)
    if outputs == 1:
        return Tile(min(4, high), min(2, whole), lanes)
    vectors = min((2, 3, 1), key=lambda v: -(-whole // v) * v)
    return Tile(min(outputs, 8), vectors, lanes)


def channels_in_vectors(s: Schedule, p: Problem, tile: Tile, *, parallel: bool) -> None:
    """A register tile of places and channels."""
    step, lanes = tile.channels, tile.lanes
    s.transform_layout(
        "W", lambda u, o, i, r, c: [u, o // step, r, c, i, o % step // lanes, o % lanes], pad_value=0,
        shape=[p.groups, up(p.outputs, step) // step, *p.kernel, p.inputs, tile.vectors, lanes],
    )  # fmt: skip
    room_for_whole_tiles(s, p, tile, columns=tile.places)
    b, y, x, u, o = s.loops("result")
    x, place = s.split(x, [None, tile.places])
    o, vector, lane = s.split(o, [None, tile.vectors, lanes])
    few = p.outputs * p.inputs * p.kernel[0] * p.kernel[1] <= NEAR
    tiles(s, [b, u, y, o, x] if few else [b, u, o, y, x], [place, vector, lane], parallel=parallel)
    high, wide = p.places
    shape = [p.batch, high, up(wide, tile.places), p.groups, up(p.outputs, step) // lanes, lanes]
    s.transform_layout("S", lambda b, y, x, u, o: [b, y, x, u, o // lanes, o % lanes], shape=shape)
    s.split(named(s, "sums", "o"), [None, lanes])
    keep_sums_in_registers(s)
    sum_in_vectors(s, whole=not (p.outputs % lanes or wide % tile.places))


def groups_in_vectors(s: Schedule, p: Problem, tile: Tile, *, parallel: bool) -> None:
    """Each group has one channel (depthwise, pooling): a register tile of places and one vector of groups."""
    lanes, (high, wide) = tile.lanes, p.places
    if "W" in {b.name for b in s.buffers}:
        shape = [up(p.groups, lanes) // lanes, *p.kernel, lanes]
        s.transform_layout("W", lambda u, o, i, r, c: [u // lanes, r, c, u % lanes], pad_value=0, shape=shape)
    copied = room_for_whole_tiles(s, p, tile, columns=tile.places, groups=lanes)
    b, y, x, u, *o = s.loops("result")
    x, place = s.split(x, [None, tile.places])
    u, lane = s.split(u, [None, lanes])
    tiles(s, [b, u, y, x], [place, *o, lane], parallel=parallel)
    shape = [p.batch, high, up(wide, tile.places), up(p.groups, lanes) // lanes, lanes]
    s.transform_layout("S", lambda b, y, x, u, *o: [b, y, x, u // lanes, u % lanes], shape=shape)
    s.split(named(s, "sums", "u"), [None, lanes])
    keep_sums_in_registers(s)
    sum_in_vectors(s, whole=not (p.groups % lanes or wide % tile.places))
    around = [v for v in s.loops("result") if v.name == "u_0"]
    if copied and around and "P_padding" not in s.blocks:
        s.compute_at("padded", around[0])
        s.simplify()
        s.vectorize(s.loops("padded")[-1])


def places_in_vectors(s: Schedule, p: Problem, tile: Tile, *, parallel: bool) -> None:
    """Places lie side by side (NCHW): a register tile of channels, or rows if there is one, and vectors of places."""
    lanes, step, (high, wide) = tile.lanes, tile.vectors * tile.lanes, p.places
    rows, channels = (tile.places, 1) if p.outputs == 1 else (1, tile.places)
    if "W" in {b.name for b in s.buffers}:
        s.transform_layout("W", lambda u, o, i, r, c: [u, o // channels, r, c, i, o % channels], pad_value=0)
    room_for_whole_tiles(s, p, tile, columns=step, rows=rows)
    b, y, x, u, *o = s.loops("result")
    y, row = s.split(y, [None, rows])
    x, vector, lane = s.split(x, [None, tile.vectors, lanes])
    shape = [p.batch, p.groups, up(high, rows), up(wide, step) // lanes, lanes]
    if o:
        outer, channel = s.split(o[0], [None, channels])
        tiles(s, [b, u, y, x, outer], [row, channel, vector, lane], parallel=parallel)
        shape.insert(2, up(p.outputs, channels))
    else:
        tiles(s, [b, u, y, x], [row, vector, lane], parallel=parallel)
    s.transform_layout("S", lambda b, y, x, u, *o: [b, u, *o, y, x // lanes, x % lanes], shape=shape)
    vector, lane = s.split(named(s, "sums", "x"), [None, lanes])
    s.reorder(*(v for v in s.loops("sums") if v.name in ("u", "o")), vector, lane)
    keep_sums_in_registers(s)
    sum_in_vectors(s, whole=not (high % rows or wide % step or p.outputs % channels))


# -- steps -------------------------------------------------------------------------------------------------------------


def room_for_whole_tiles(s: Schedule, p: Problem, tile: Tile, columns: int, rows: int = 1, groups: int = 1) -> bool:
    """Read the data where they are if tiles need nothing around them, else a copy with room for the last tile.

    There are zeros in that room: sums of what chance left there could be very slow.  Tells whether there is a copy.
    """
    high, wide = p.places
    missing = {"y": -high % rows * p.strides[0], "x": -wide % columns * p.strides[1], "u": -p.groups % groups}
    loops = [v.name for v in s.loops("padded")]
    shape = [n + missing.get(v, 0) for n, v in zip(shape_of(s, "P"), loops, strict=True)]
    if p.padding == (0, 0) and shape == shape_of(s, "P"):
        s.compute_inline("padded")
        return False
    if shape != shape_of(s, "P"):
        s.transform_layout("P", IndexMap.from_func(lambda *i: [*i], len(shape)), pad_value=0, shape=shape)
    along = [v for v, n in zip(s.loops("padded"), shape, strict=True) if n > 1]
    if along:
        _, lane = s.split(along[-1], [None, tile.lanes])
        s.vectorize(lane)
    return True


def up(n: int, step: int) -> int:
    """The next multiple of a step."""
    return -(-n // step) * step


def shape_of(s: Schedule, buffer: str) -> list[int]:
    """The extents of a buffer, which are numbers here."""
    return [n.value for n in s.buffer(buffer).shape if isinstance(n, IntImm)]


def tiles(s: Schedule, around: Sequence[Var], within: Sequence[Var], *, parallel: bool) -> None:
    """Loops over tiles, all but the last in parallel if there are threads, around those within a tile."""
    s.reorder(*around, *within)
    if parallel:
        s.parallel(s.fuse(*around[:-1]))


def named(s: Schedule, block: str, name: str) -> Var:
    """The loop of a block with a name."""
    return next(v for v in s.loops(block) if v.name == name)


def keep_sums_in_registers(s: Schedule) -> None:
    """The sums of a tile where they are used, and only those."""
    s.simplify()
    around = [v for v in s.loops("result") if v.name not in WITHIN]
    if around:
        s.compute_at("sums", around[-1])
    s.set_scope("S", "local")
    s.simplify()


def sum_in_vectors(s: Schedule, *, whole: bool) -> None:
    """Term by term, all sums of a tile; the terms of a window of one channel are written out.

    :param whole: whether there is all of the last tile; what is missing is computed in registers, and not stored.
    """
    terms = [v for v in within_tile(s, "sums") if v.name in TERMS]
    if terms:
        s.reorder(*terms, *(v for v in within_tile(s, "sums") if v not in terms))
        s.decompose_reduction("sums", terms[0])
        s.simplify()
    blocks = [b for b in ("sums", "sums_init", "result") if b in s.blocks]
    if not whole:
        for block in blocks[:-1]:
            s.remove_branching_through_overcompute(block=block)
        s.simplify()
    for block in blocks:
        *others, lane = [v for v in within_tile(s, block) if v.name not in TERMS]
        for v in others:
            s.unroll(v)
        s.vectorize(lane)
    terms = [v for v in s.loops("sums") if v.name in TERMS]
    if all(v.name != "i" for v in terms):
        for v in terms:
            s.unroll(v)


def within_tile(s: Schedule, block: str) -> list[Var]:
    """The loops of a block that are not loops over tiles."""
    first, second = s.loops("result"), s.loops("sums")
    return [v for v in s.loops(block) if v not in first or v not in second]
