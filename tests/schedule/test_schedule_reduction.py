"""decompose_reduction: the initialisation in a nest of its own, at any level, after other steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.schedule.schedule_programs import program
from tests.schedule.schedule_support import Steps, accepted, agree, not_applicable, refused
from verified_tir import Schedule

Golden = Callable[[str, str], None]


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("name", "block", "loop"),
    [
        ("matmul", "C", "k"),
        ("matmul", "C", "j"),
        ("matmul", "C", "i"),
        ("matmul_int8", "C", "j"),
        ("matmul_symbolic_k", "C", "k"),
        ("matmul_symbolic_k", "C", "i"),
        ("two_matmuls", "second", 0),
        ("conv1d_dilated", "B", "i"),
        ("conv2d_nhwc", "B", "rh"),
        ("conv2d_nhwc", "B", "w"),
        ("conv2d_nchw_stride2", "B", "rc"),
        ("max_pool", "B", "r"),
        ("row_sum_block", "B", "i"),
        ("layer_norm", "var", 1),
        ("wide_sum", "B", "j"),
    ],
)
def test_decompositions_keep_the_result(name: str, block: str, loop: str | int) -> None:
    s = Schedule(program(name))
    handles = s.loops(block)
    where = handles[loop] if isinstance(loop, int) else next(v for v in handles if v.name == loop)
    assert s.decompose_reduction(block, where) == f"{block}_init"
    names = [b for b in s.blocks if b.startswith(block)]
    assert names == [f"{block}_init", block]
    assert [v.name for v in s.loops(block)] == [v.name for v in handles]
    s.unroll(handles[-1])  # handles stay with the update
    agree(s)


def test_a_decomposition_reads_as_tvm_writes_it(golden: Golden) -> None:
    golden("decompose_outer.txt", accepted("matmul", lambda s: s.decompose_reduction("C", "i")).script())
    golden("decompose_inner.txt", accepted("matmul", lambda s: s.decompose_reduction("C", "k")).script())


def tiled(s: Schedule) -> list[object]:
    i, j, k = s.loops("C")
    i0, i1 = s.split(i, [None, 2])
    j0, j1 = s.split(j, [None, 4])
    k0, k1 = s.split(k, [None, 3])
    s.reorder(i0, j0, k0, i1, j1, k1)
    return [i0, j0, k0, i1, j1, k1]


@pytest.mark.nightly
@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_tiled_product_at_every_level_outside_the_reduction(level: int, golden: Golden) -> None:
    s = Schedule(program("matmul"))
    loops = tiled(s)
    s.decompose_reduction("C", loops[level])  # type: ignore[arg-type]
    agree(s)
    golden(f"decompose_tiled_{level}.txt", s.script())


def test_under_a_guard_and_with_fused_loops() -> None:
    guarded = (
        program("matmul")
        .replace("        with T.block", "        if i + j < 9:\n          with T.block")
        .replace("            vi, vj", "              vi, vj")
        .replace("            with T.init", "              with T.init")
    )
    guarded = guarded.replace("                C[vi, vj] = T.float32(0)", "                  C[vi, vj] = T.float32(0)")
    guarded = guarded.replace("            C[vi, vj] = C", "              C[vi, vj] = C")
    accepted(guarded, lambda s: s.decompose_reduction("C", "i"))
    accepted("matmul", lambda s: s.decompose_reduction("C", s.fuse("i", "j")))
    accepted("matmul", lambda s: (s.fuse("j", "k"), s.decompose_reduction("C", "i")))
    accepted("conv2d_nhwc", lambda s: s.decompose_reduction("B", s.fuse("rh", "rw", "rc")))


def test_a_reduction_outermost() -> None:
    accepted("matmul", lambda s: (s.reorder("k", "i", "j"), s.decompose_reduction("C", "k")))


def test_a_reduction_with_a_symbolic_split() -> None:
    def steps(s: Schedule) -> None:
        s.split("k", [None, 3])
        s.split("i", [None, 2])
        s.decompose_reduction("C", "i_0")

    accepted("matmul_symbolic_k", steps)


def test_a_decomposed_sum_is_vectorized() -> None:
    def steps(s: Schedule) -> None:
        name = s.decompose_reduction("C", "i")
        s.vectorize(s.loops(name)[-1])
        i, j, k = s.loops("C")
        s.reorder(i, k, j)
        s.vectorize(j)

    accepted("matmul", steps)


def test_a_reduction_that_may_be_empty_is_refused() -> None:
    """With l = 0 the original leaves C alone; decomposed it would be zeroed."""
    refusal = refused(
        "matmul_symbolic", lambda s: s.decompose_reduction("C", "k"), "every new iteration is an old one of (k)"
    )
    assert refusal.counterexample["l"] == 0
    assert refusal.replay is not None
    assert "C[0, 0]" in refusal.replay.message


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    ("name", "steps", "words"),
    [
        ("conv2d_nhwc", lambda s: s.decompose_reduction("B", "rw"), "stands inside a loop of the reduction (rh)"),
        ("matmul", lambda s: (s.reorder("k", "i"), s.decompose_reduction("C", "i")), "a loop of the reduction (k)"),
        ("relu_1d", lambda s: s.decompose_reduction("relu", "i"), "has no initialisation under a condition"),
        ("matmul", lambda s: s.decompose_reduction("D", "i"), "there is no block called 'D'; the blocks are C"),
        ("row_sum", lambda s: s.decompose_reduction("B", "i"), "the program has no block"),
        ("two_matmuls", lambda s: s.decompose_reduction("first", s.loops("second")[0]), "does not stand inside"),
        ("matmul", lambda s: s.decompose_reduction(None, "i"), "a block is given by its name, not by None"),
        ("two_matmuls", lambda s: s.decompose_reduction("first", "i"), "there are 2 loops called 'i'"),
    ],
)
def test_a_decomposition_that_makes_no_sense(name: str, steps: Steps, words: str) -> None:
    not_applicable(name, steps, words)


def test_past_copies_that_are_allocated_between() -> None:
    """As TVM's schedules do it: what the reduction reads is copied first, then the initialisation is taken out."""

    def steps(s: Schedule) -> None:
        i, j, k = s.loops("C")
        k_0, _ = s.split(k, [None, 2])
        s.reorder(k_0, i, j)
        for number in (0, 1):
            copy: Any = s.cache_read("C", number, "shared")
            s.compute_at(copy, k_0)
        s.decompose_reduction("C", k_0)

    s = accepted(
        """
@T.prim_func
def matmul(A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j, k in T.grid(4, 4, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
        steps,
    )
    agree(s)
    assert (
        s.script().split("):\n", 1)[1]
        == """\
    for i_init, j_init in T.grid(4, 4):
        with T.sblock("C_init"):
            C[i_init, j_init] = T.float32(0.0)
    for k_0 in range(3):
        B_shared = T.alloc_buffer((2, 4), "float32", scope="shared")
        for ax0, ax1 in T.grid(2, 4):
            with T.sblock("B_shared"):
                B_shared[ax0, ax1] = B[ax0 + 2 * k_0, ax1]
        A_shared = T.alloc_buffer((4, 2), "float32", scope="shared")
        for ax0, ax1 in T.grid(4, 2):
            with T.sblock("A_shared"):
                A_shared[ax0, ax1] = A[ax0, ax1 + 2 * k_0]
        for i, j, k_1 in T.grid(4, 4, 2):
            with T.sblock("C"):
                C[i, j] = C[i, j] + A_shared[i, k_1] * B_shared[k_1, j]"""
    )


BETWEEN = """
@T.prim_func
def sums(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.alloc_buffer((1,), "float32") as t:
            t[0] = {stored}
            with T.block("C"):
                if k == 0:
                    C[i] = {start}
                C[i] = C[i] * 2.0 + t[0]
"""


def test_no_decomposition_past_what_the_initialisation_meets() -> None:
    def steps(s: Schedule) -> object:
        return s.decompose_reduction("C", "k")

    agree(accepted(BETWEEN.format(stored="A[i, k]", start="0.0"), steps))
    reads_before = BETWEEN.format(stored="A[i, k] + C[i]", start="0.0")
    refused(reads_before, steps, "no dependence between")
    starts_with_copy = BETWEEN.format(stored="A[i, k]", start="t[0]")
    refused(starts_with_copy, steps, "no dependence between the write and the read of t")
