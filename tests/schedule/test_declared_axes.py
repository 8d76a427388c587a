"""Iteration variables are counted as a block declares them, as TVM does, whatever the order of the loops."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable
from verified_tir import Schedule

COPY = """
@T.prim_func
def f(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(8, 4):
        with T.block("C"):
            {axes}
            C[vi, vj] = A[vi, vj] + T.float32(1)
"""
DECLARED = COPY.format(axes='vj, vi = T.axis.remap("SS", [j, i])')
USUAL = COPY.format(axes='vi, vj = T.axis.remap("SS", [i, j])')
MATMUL = """
@T.prim_func
def f(A: T.Buffer((6, 5), "int32"), B: T.Buffer((5, 7), "int32"), C: T.Buffer((6, 7), "int32")):
    for i, j, k in T.grid(6, 7, 5):
        with T.block("C"):
            vk, vi, vj = T.axis.remap("RSS", [k, i, j])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

ORDERS: list[tuple[str, Steps]] = [
    (DECLARED, lambda s: None),
    (DECLARED, lambda s: s.reorder("j", "i")),
    (USUAL, lambda s: s.reorder_block_iter_var("C", [1, 0])),
    (USUAL, lambda s: (s.reorder("j", "i"), s.reorder_block_iter_var("C", [1, 0]))),
    (DECLARED, lambda s: (s.reorder_block_iter_var("C", [1, 0]), s.reorder_block_iter_var("C", [1, 0]))),
]
PLAIN: list[tuple[str, Steps]] = [
    (USUAL, lambda s: None),
    (USUAL, lambda s: s.reorder("j", "i")),
    (DECLARED, lambda s: s.reorder_block_iter_var("C", [1, 0])),
]
ALL = [*((*case, True) for case in ORDERS), *((*case, False) for case in PLAIN)]


@pytest.mark.parametrize(("program", "first", "transposed"), ALL)
def test_copies_are_indexed_in_the_declared_order(program: str, first: Steps, transposed: bool) -> None:
    shape, index = ("(4, 8)", "[j, i]") if transposed else ("(8, 4)", "[i, j]")

    s = accepted(program, lambda s: (first(s), s.reindex("C", ("read", 0))))
    assert f"A_reindex = T.alloc_buffer({shape}" in s.script() and f"A_reindex{index} + " in s.script()

    s = accepted(program, lambda s: (first(s), s.reindex_cache_read("C", 0, "local", lambda a, b: (a, b))))
    assert f"A_local = T.alloc_buffer({shape}" in s.script() and f"A_local{index} + " in s.script()

    s = accepted(program, lambda s: (first(s), s.reindex_cache_write("C", 0, "local", lambda a, b: (a, b))))
    assert f"C_local = T.alloc_buffer({shape}" in s.script() and f"C_local{index} = " in s.script()


@pytest.mark.parametrize(("program", "first", "transposed"), ALL)
def test_maps_take_the_declared_order(program: str, first: Steps, transposed: bool) -> None:
    extents = [4, 8] if transposed else [8, 4]

    def steps(s: Schedule) -> None:
        first(s)
        s.transform_block_layout("C", lambda a, b: [a, b])
        s.reorder(*reversed(s.loops("C")))
        s.reindex("C", ("read", 0))

    s = accepted(program, steps)

    assert f"for ax0, ax1 in T.grid({extents[0]}, {extents[1]})" in s.script()
    assert f"A_reindex = T.alloc_buffer(({extents[0]}, {extents[1]})" in s.script()


def test_padding_is_by_the_declared_order() -> None:
    s = accepted(MATMUL, lambda s: s.pad_einsum("C", [8, 1, 1]))
    assert "T.grid(6, 7, 8)" in s.script()
    s = accepted(MATMUL, lambda s: (s.reorder("k", "j", "i"), s.pad_einsum("C", [1, 4, 1])))
    assert "T.grid(5, 7, 8)" in s.script()


def test_parts_of_a_loop_stand_where_it_stood() -> None:
    s = accepted(DECLARED, lambda s: (s.split("i", [2, 4]), s.reindex("C", ("read", 0))))
    assert "A_reindex = T.alloc_buffer((4, 2, 4)" in s.script() and "A_reindex[j, i_0, i_1]" in s.script()


def again(s: Schedule) -> None:
    """Other loops than those of which the order of the block's variables is known."""
    s.split(s.fuse("i", "j"), [8, 4])
    s.reindex("C", ("read", 0))


def test_an_order_that_is_not_known_is_refused() -> None:
    not_applicable(DECLARED, again, "block C declares its iteration variables in another order (j, i)")
    assert "A_reindex = T.alloc_buffer((8, 4)" in accepted(USUAL, again).script()


def test_partial_sums_count_the_factored_loop_first() -> None:
    s = accepted(
        MATMUL.replace("vk, vi, vj =", "vj, vk, vi =").replace('RSS", [k, i, j]', 'SRS", [j, k, i]'), rfactored
    )
    assert 'with T.alloc_buffer((5, 6), "int32") as A_reindex' in s.script()
    assert "C_rf_reindex = T.alloc_buffer((5, 7, 6)" in s.script()


def rfactored(s: Schedule) -> None:
    s.rfactor("k")
    s.reindex("C_rf", "A")
    s.reindex("C", "C_rf")
