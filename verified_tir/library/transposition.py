"""Transposition of matrices, in tiles that are turned in registers.

A tile has as many rows and columns as a vector has lanes.  It is read row by row, and copied a few times.  Each copy
has another layout: the k-th exchanges the last k bits of row and column, so that the last one is the tile turned.  Each
vector of a copy takes its lanes from two vectors of the one before, by one instruction.
"""

from __future__ import annotations

from functools import partial

from verified_tir.codegen.target import Target
from verified_tir.ir.expr import Expr, Var
from verified_tir.library.kernel import Array, Kernel, calls, destination, extents, lanes_of, operand, specialised
from verified_tir.library.vectors import VECTORS_AND_REST, machine_for
from verified_tir.schedule.schedule import Schedule
from verified_tir.script import tir as T

TYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64")
"""The types that are transposed."""

BLOCK = 4
"""Tiles, in each direction, that are turned before going on: their lines stay in the cache."""


def turned_in_registers(s: Schedule, *, lanes: int, rows: int, columns: int) -> None:
    """Whole tiles in registers, what is left at two edges element by element."""
    if min(rows, columns) < lanes:
        return
    block = without_edges(s, lanes, rows, columns)
    i, j = s.loops(block)
    row, i_inside = s.split(i, [None, lanes])
    column, j_inside = s.split(j, [None, lanes])
    s.reorder(row, column, j_inside, i_inside)
    exchanged_bit_by_bit(s, block, column, lanes)
    s.vectorize(i_inside)
    s.unroll(j_inside)
    in_blocks(s, row, column)


def without_edges(s: Schedule, lanes: int, rows: int, columns: int) -> str:
    """Cut off the last rows and columns; gives the block of the rest, which is made of whole tiles."""
    block = "turn"
    for loop, extent in ((1, columns), (0, rows)):
        if extent % lanes:
            s.loop_partition(s.loops(block)[loop], [extent // lanes * lanes, None])
            block = s.blocks[0]
            if loop == 1:
                s.fission(s.loops(block)[0])
    return block


def exchanged_bit_by_bit(s: Schedule, block: str, tile: Var, lanes: int) -> None:
    """Copies of each tile in registers, each with one more bit of row and column exchanged."""
    source = "A"
    for bits in range(lanes.bit_length()):
        name = f"tile_{bits}"
        s.cache_read(block, source, "local", *([tile] if bits == 0 else []), name=name)
        source = name
    for bits in range(1, lanes.bit_length()):
        s.transform_layout(f"tile_{bits}", partial(_exchanged, 1 << bits))
        s.sequential_buffer_access(f"tile_{bits}")
    for bits in range(lanes.bit_length()):
        *_, row, column = s.loops(f"tile_{bits}")
        s.vectorize(column)
        s.unroll(row)


def _exchanged(size: int, i: Expr, j: Expr) -> list[Expr]:
    """Both indices with their remainders modulo ``size`` exchanged."""
    return [i // size * size + j % size, j // size * size + i % size]


def in_blocks(s: Schedule, row: Var, column: Var) -> None:
    """Blocks of tiles, those of one row of blocks on one thread."""
    rows, row = s.split(row, [None, BLOCK])
    columns, column = s.split(column, [None, BLOCK])
    s.reorder(rows, columns, row, column)
    s.parallel(rows)


@specialised
def transpose_kernel(rows: int, columns: int, dtype: str = "float32", *, target: Target | None = None) -> Kernel:
    """The transposition of a matrix."""
    rows, columns = extents("transpose", "rows and columns", rows, columns)

    @T.prim_func
    def transpose(a: T.handle, b: T.handle) -> None:
        A = T.match_buffer(a, (rows, columns), dtype)
        B = T.match_buffer(b, (columns, rows), dtype)
        for i in range(rows):
            for j in range(columns):
                with T.block("turn"):
                    B[j, i] = A[i, j]

    strategy = partial(turned_in_registers, lanes=lanes_of(target, dtype), rows=rows, columns=columns)
    return Kernel(transpose, strategy, lowering=VECTORS_AND_REST, target=target)


@calls(transpose_kernel)
def transpose(a: object, *, out: Array | None = None, threads: int | None = None) -> Array:
    """A matrix with rows and columns exchanged, in memory of its own.

    :param a: a matrix of 32 or 64 bits an element.
    :param out: where the result is written; a new array unless given.
    :param threads: how many threads work on it; all that the process may use unless given.
    """
    array = operand("transpose", "a", a, rank=2, dtypes=TYPES)
    result = destination("transpose", out, array.shape[::-1], array.dtype, (array,))
    if array.size:
        target = machine_for(array, threads)
        rows, columns = array.shape
        transpose_kernel(rows, columns, array.dtype.name, target=target)(array, result)
    return result
