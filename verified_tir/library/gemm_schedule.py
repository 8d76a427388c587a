"""The schedule of a matrix product, as functions that do one thing each.

::

    for j, k of blocks                       blocks_of_columns, blocks_of_terms
      pack a block of B in panels            packed_panels
      for i, j of tiles                      tiled
        a tile of sums in registers          sums_in_registers
        for k of the block: update the tile, unrolled and in vectors

The order of the terms of each sum is that of the program, so results have its bits.  Edges, where tiles do not divide
the matrices, become nests of their own with smaller tiles; nothing in a loop asks where it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from verified_tir.ir.expr import Var
from verified_tir.library.gemm_tiles import UNROLLED, Tiles
from verified_tir.schedule.schedule import Schedule


@final
@dataclass(frozen=True, slots=True)
class Nest:
    """A nest of the product: the names of its blocks, and how many rows, columns and terms it has.

    ``zero`` is missing where the sums go on, ``finish`` where they are not complete, or nothing is done with them.
    """

    sum: str
    zero: str | None
    finish: str | None
    rows: int
    columns: int
    terms: int

    def part(self, suffix: str, **sizes: int) -> Nest:
        """The nest of a part of a loop around all blocks."""
        zero, finish = (b and b + suffix for b in (self.zero, self.finish))
        return replace(self, sum=self.sum + suffix, zero=zero, finish=finish, **sizes)


def product(s: Schedule, tiles: Tiles, *, finish: bool = False, transposed: bool = False, threads: int = 1) -> None:
    """Schedule ``for i, j: zero, for k: sum, finish``.

    :param finish: whether there is a block of this name.
    :param transposed: whether B is indexed by columns first.
    :param threads: loops over tiles and panels are parallel if there are several.
    """
    whole = Nest("sum", "zero", "finish" if finish else None, tiles.rows, tiles.columns, tiles.depth)
    nests = [part for columns in edge_of_columns(s, whole, tiles) for part in edge_of_terms(s, columns, tiles)]
    loops = [blocked(s, nest, tiles) for nest in nests]
    if tiles.packed:
        for nest, around in zip(nests, loops, strict=True):
            packed_panels(s, nest, tiles, around, transposed=transposed, threads=threads)
    for nest in nests:
        for part in edge_of_rows(s, nest, tiles):
            tile = tiled(s, part, tiles, threads=threads)
            sums_in_registers(s, part, tile)
            in_vectors(s, part, tiles)
    s.simplify()


# -- edges -------------------------------------------------------------------------------------------------------------


def edge_of_columns(s: Schedule, nest: Nest, tiles: Tiles) -> list[Nest]:
    """The columns that fill panels, and those that are left, in nests one after the other."""
    rest = nest.columns % tiles.width
    if rest in (0, nest.columns):
        return [nest]
    i, j = s.loops(nest.sum)[:2]
    s.loop_partition(j, [nest.columns - rest, rest])
    parts = [nest.part(f"_{j.name}0", columns=nest.columns - rest), nest.part(f"_{j.name}1", columns=rest)]
    s.fission(i, after=s.loops(parts[0].sum)[1])
    return parts


def edge_of_terms(s: Schedule, nest: Nest, tiles: Tiles) -> list[Nest]:
    """The first terms, with the zeros; blocks of equal length; and the last block by itself if something is done with
    the sums.  The first block takes what blocks do not divide."""
    first = (nest.terms - 1) % tiles.deep + 1
    lengths = [first, nest.terms - first]
    if nest.finish and lengths[1] > tiles.deep:
        lengths[1:] = [lengths[1] - tiles.deep, tiles.deep]
    if lengths[1] == 0:
        return [nest]
    i, _, k = s.loops(nest.sum)
    s.loop_partition(k, lengths)
    parts = [
        Nest(f"{nest.sum}_{k.name}{n}", nest.zero if n == 0 else None, nest.finish if n == len(lengths) - 1 else None,
             nest.rows, nest.columns, length)
        for n, length in enumerate(lengths)
    ]  # fmt: skip
    for part in parts[:-1]:
        s.fission(s.loops(part.sum)[0] if part is not parts[0] else i, after=s.loops(part.sum)[-1])
    return parts


def edge_of_rows(s: Schedule, nest: Nest, tiles: Tiles) -> list[Nest]:
    """The rows that fill tiles, and those that are left."""
    rest = nest.rows % tiles.height
    if rest == 0:
        return [nest]
    i = _row(s, nest)
    s.loop_partition(i, [nest.rows - rest, rest])
    return [nest.part(f"_{i.name}0", rows=nest.rows - rest), nest.part(f"_{i.name}1", rows=rest)]


# -- caches ------------------------------------------------------------------------------------------------------------


def blocked(s: Schedule, nest: Nest, tiles: Tiles) -> Var:
    """Blocks of columns and of terms outermost; gives the loop in which a block of B stays the same."""
    i, j, k = s.loops(nest.sum)
    width = min(tiles.width, nest.columns)
    j_block, j_panel, j_lane = s.split(j, [None, min(tiles.block, nest.columns) // width, width])
    if nest.terms <= tiles.deep:
        s.reorder(j_block, i, j_panel, j_lane)
        return j_block
    k_block, k_term = s.split(k, [None, tiles.deep])
    s.reorder(j_block, k_block, i, j_panel, j_lane, k_term)
    return k_block


def packed_panels(s: Schedule, nest: Nest, tiles: Tiles, around: Var, *, transposed: bool, threads: int) -> None:
    """A copy of a block of B, in which the rows of a panel lie side by side."""
    width = min(tiles.width, nest.columns)
    copy = s.cache_read(nest.sum, "B", "global", around, name=f"B_{nest.sum}")
    if transposed:
        s.transform_layout(copy, lambda j, k: [j // width, k, j % width])
        j, k = s.loops(copy)[-2:]
    else:
        s.transform_layout(copy, lambda k, j: [j // width, k, j % width])
        k, j = s.loops(copy)[-2:]
    panel, lane = s.split(j, [None, width])
    s.reorder(panel, k, lane)
    whole_vectors(s, lane, width, tiles.lanes)
    if threads > 1:
        s.parallel(panel)


# -- registers ---------------------------------------------------------------------------------------------------------


def _row(s: Schedule, nest: Nest) -> Var:
    """The loop over the rows of a nest that is blocked: those over panels, lanes and terms stand inside of it."""
    return s.loops(nest.sum)[-4]


def tiled(s: Schedule, nest: Nest, tiles: Tiles, *, threads: int) -> Var:
    """Tiles of some rows and a panel's columns; gives the loop over the tiles of a row of tiles."""
    i, panel, lane, _ = s.loops(nest.sum)[-4:]
    i_tile, i_row = s.split(i, [None, min(tiles.height, nest.rows)])
    s.reorder(i_tile, panel, i_row, lane)
    if threads > 1:
        s.parallel(i_tile)
    return panel


def sums_in_registers(s: Schedule, nest: Nest, panel: Var) -> None:
    """A tile works on a copy of its part of C; its zeros, its terms and what is done with its sums stand one after the
    other."""
    row = s.loops(nest.sum)[-3]
    if nest.zero:
        s.fission(row, after=nest.zero)
    if nest.finish:
        row = s.loops(nest.sum)[-3]
        s.fission(row, after=s.loops(nest.sum)[-1])
    s.cache_write(nest.sum, "C", "local", panel, name=f"C_{nest.sum}")


def in_vectors(s: Schedule, nest: Nest, tiles: Tiles) -> None:
    """The terms outermost, some of them unrolled; rows unrolled; and columns in vectors."""
    row, lane, k = s.loops(nest.sum)[-3:]
    s.reorder(k, row, lane)
    sums, terms = [nest.sum], min(nest.terms, tiles.deep)
    if 0 < terms % UNROLLED < terms:
        k, rest = s.loop_partition(k, [None, terms % UNROLLED])
        s.unroll(rest)
        sums = [f"{nest.sum}_{v.name}" for v in (k, rest)]
    if terms > UNROLLED:
        _, few = s.split(k, [None, UNROLLED])
        s.unroll(few)
    copies = [b for b in (f"C_{nest.sum}", f"C_{nest.sum}_back") if b in s.blocks]
    for block in filter(None, (nest.zero, *sums, nest.finish, *copies)):
        row, lane = s.loops(block)[-2:]
        s.unroll(row)
        whole_vectors(s, lane, min(tiles.width, nest.columns), tiles.lanes)


def whole_vectors(s: Schedule, lane: Var, width: int, lanes: int) -> None:
    """A vector of some times as many elements as registers have; what is left of it in one that is smaller."""
    rest = width % lanes
    if rest in (0, width):
        s.vectorize(lane)
        return
    for part in s.loop_partition(lane, [width - rest, rest]):
        s.vectorize(part)
