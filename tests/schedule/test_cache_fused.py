"""cache_write around fused loops of tiles: the addresses are digits, each of which the kernel has to find."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted, agree
from verified_tir import Schedule

MATMUL = """
@T.prim_func
def matmul(A: T.Buffer((8, 6), "int32"), B: T.Buffer((6, 12), "int32"), C: T.Buffer((8, 12), "int32")):
    for i, j, k in T.grid(8, 12, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize("rows", [(2, 4), (4, 2), (2, 2, 2)])
@pytest.mark.parametrize("columns", [(3, 4), (12,), (2, 3, 2)])
def test_fused_tiles_need_no_copy_in(rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
    def steps(s: Schedule) -> None:
        i, j, k = s.loops("C")
        outer_i, *inner_i = s.split(i, rows)
        outer_j, *inner_j = s.split(j, columns)
        s.reorder(outer_i, outer_j, *inner_i, *inner_j, k)
        s.fuse(outer_i, outer_j)
        s.cache_write("C", 0, "local")

    s = accepted(MATMUL, steps)
    assert s.blocks == ["C", "C_local_back"]  # and none that fills the copy
    agree(s)


PARTS = """
@T.prim_func
def parts(A: T.Buffer((8, 12), "int32"), C: T.Buffer((8, 12), "int32")):
    for f, i, j in T.grid({tiles}, 4, {width}):
        with T.block("C"):
            C[f // 3 * 4 + i, f % 3 * 4 + j] = A[f // 3 * 4 + i, f % 3 * 4 + j]
"""


@pytest.mark.parametrize(("tiles", "width", "filled"), [(6, 4, False), (5, 4, True), (6, 3, True)])
def test_what_no_tile_writes_is_copied_in(tiles: int, width: int, filled: bool) -> None:
    s = accepted(PARTS.format(tiles=tiles, width=width), lambda s: s.cache_write("C", 0, "local"))
    assert s.blocks == [*(["C_local"] if filled else []), "C", "C_local_back"]
    agree(s)
