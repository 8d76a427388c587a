"""Schedules in TVM's words: numbers of buffers, and copies as the blocks that copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.schedule.schedule_support import accepted, agree, not_applicable
from verified_tir import Schedule

MATMUL = """
@T.prim_func
def matmul(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def text(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1] + "\n"


@pytest.mark.parametrize(
    ("number", "decomposed", "name"),
    [(0, False, "A"), (1, False, "B"), (2, False, "C"), (0, True, "C"), (1, True, "A"), (2, True, "B")],
)
def test_what_a_block_initialises_is_not_among_its_reads(number: int, decomposed: bool, name: str) -> None:
    """As TVM 0.27 counts: in a block with T.init the accumulator is not a read, in one without it is."""

    def steps(s: Schedule) -> None:
        if decomposed:
            s.decompose_reduction("C", "k")
        s.transform_layout("C", ("read", number), lambda i, j: [j, i])

    transposed = accepted(MATMUL, steps)

    assert len(transposed.theorem.relation) == 1 and transposed.theorem.relation[0].after.name == name


def test_copies_stand_for_the_blocks_that_copy() -> None:
    s = Schedule(MATMUL)
    block: Any = s.get_sblock("C")
    i, j, k = s.get_loops(block)
    i_0, i_1 = s.split(i, [None, 4])
    j_0, j_1 = s.split(j, [None, 4])
    k_0, k_1 = s.split(k, [None, 2])
    s.reorder(i_0, j_0, k_0, k_1, i_1, j_1)
    written: Any = s.cache_write(block, 0, "local")
    s.reverse_compute_at(written, j_0)
    read: Any = s.cache_read(block, 0, "shared")
    s.compute_at(read, k_0)
    again: Any = s.cache_read(read, 0, "global")  # what the block reads that fills the first copy
    s.compute_inline(again)
    assert [v.name for v in s.get_loops(written)] == ["i_0", "j_0", "ax0", "ax1"]
    assert [v.name for v in s.loops(read)] == ["i_0", "j_0", "k_0", "ax0", "ax1"]
    s.vectorize(s.get_loops(written)[-1])
    s.set_scope(read, 0, "local")
    agree(s)
    assert (
        text(s)
        == """\
    for i_0, j_0 in T.grid(2, 2):
        C_local = T.alloc_buffer((4, 4), "float32", scope="local")
        for k_0 in range(4):
            A_shared = T.alloc_buffer((4, 2), "float32", scope="local")
            for ax0, ax1 in T.grid(4, 2):
                with T.sblock("A_shared"):
                    A_shared[ax0, ax1] = A[ax0 + 4 * i_0, ax1 + 2 * k_0]
            for k_1, i_1, j_1 in T.grid(2, 4, 4):
                with T.sblock("C"):
                    if k_0 * 2 + k_1 == 0:
                        C_local[i_1, j_1] = T.float32(0.0)
                    C_local[i_1, j_1] = C_local[i_1, j_1] + A_shared[i_1, k_1] * B[k_0 * 2 + k_1, j_0 * 4 + j_1]
        for ax0 in range(4):
            for ax1 in T.vectorized(4):
                with T.sblock("C_local_back"):
                    C[4 * i_0 + ax0, 4 * j_0 + ax1] = C_local[ax0, ax1]
"""
    )


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda s: s.get_loops(s.buffer("A")), "a block is given by its name, not by the buffer A"),
        (lambda s: s.compute_at(s.buffer("A"), "i"), "not by the buffer A"),
        (lambda s: s.compute_at("C", s.buffer("C")), "the loop"),
        (
            lambda s: s.transform_layout("C", ("read", 3), lambda i, j: [j, i]),
            "no read buffer number 3; it reads A, B, C",
        ),
    ],
)
def test_other_buffers_are_no_blocks(step: Callable[[Any], object], words: str) -> None:
    not_applicable(MATMUL, step, words)


def test_what_only_tvm_means_is_taken_and_changes_nothing() -> None:
    def steps(s: Schedule) -> None:
        i, j, _ = s.loops("C")
        i_0, i_1 = s.split(i, [None, 4], preserve_unit_iters=False)
        s.split(loop=j, factors=[None, 2], preserve_unit_iters=True)
        fused = s.fuse(i_0, i_1, preserve_unit_iters=False)
        s.cache_write("C", 0, "local")
        s.reverse_compute_at("C_local_back", fused, preserve_unit_loops=False)
        s.cache_read("C", 0, "local")
        s.compute_at("A_local", fused, preserve_unit_loops=False)

    def plain(s: Schedule) -> None:
        i, j, _ = s.loops("C")
        i_0, i_1 = s.split(i, [None, 4])
        s.split(j, [None, 2])
        fused = s.fuse(i_0, i_1)
        s.cache_write("C", 0, "local")
        s.reverse_compute_at("C_local_back", fused)
        s.cache_read("C", 0, "local")
        s.compute_at("A_local", fused)

    assert text(accepted(MATMUL, steps)) == text(accepted(MATMUL, plain))


def test_blocks_have_the_names_that_tvm_gives_them_too() -> None:
    """What copies back bears in TVM the name of the copy; and the rest of a reduction that of the block and _update."""

    def steps(s: Schedule) -> None:
        i, _, k = s.loops("C")
        s.cache_write("C", 0, "local")
        s.reverse_compute_at("C_local", i)
        s.vectorize(s.get_loops("C_local")[-1])
        s.decompose_reduction("C", k)
        s.annotate("C_update", "note", 1)

    def ours(s: Schedule) -> None:
        i, _, k = s.loops("C")
        s.cache_write("C", 0, "local")
        s.reverse_compute_at("C_local_back", i)
        s.vectorize(s.get_loops("C_local_back")[-1])
        s.decompose_reduction("C", k)
        s.annotate("C", "note", 1)

    assert text(accepted(MATMUL, steps)) == text(accepted(MATMUL, ours))
    s = accepted(MATMUL, ours)
    assert (s.get_block("C_local"), s.get_block("C_update")) == ("C_local_back", "C")
    s.transform_layout("C_update", ("read", 0), lambda i, k: [k, i])
    assert s.cache_read("C_update", "B", "local").name == "B_local"
    assert not s.can_decompose_padding("C_update", s.loops("C")[0])
    not_applicable(MATMUL, lambda s: s.annotate("C_update", "note", 1), "called 'C_update'")


def test_annotations_are_notes() -> None:
    """They are printed, kept through later steps, replaced and taken away; the program means the same."""
    s = Schedule(MATMUL)
    i, _, k = s.loops("C")
    s.annotate(i, "pragma_auto_unroll_max_step", 16)
    s.annotate(block_or_loop="C", ann_key="note", ann_val="hot")
    s.annotate("C", "note", "very hot")
    s.decompose_reduction("C", k)
    assert '"pragma_auto_unroll_max_step": 16' in s.script()
    assert s.script().count("hot") >= 1 and '"hot"' not in s.script()
    agree(s)
    assert all(not step.obligations for step in s.steps if step.name == "annotate")
    s.unannotate(i, "pragma_auto_unroll_max_step")
    assert "pragma" not in s.script()


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda s: s.annotate("x", "a", 1), "there is no loop called 'x'"),
        (lambda s: s.annotate("i", "a", {1, 2}), "a text, a number, or a list or dictionary of such, not {1, 2}"),
        (lambda s: s.unannotate("i", "a"), "there is no annotation 'a' here"),
    ],
)
def test_annotations_that_are_none(step: Callable[[Any], object], words: str) -> None:
    not_applicable(MATMUL, step, words)
