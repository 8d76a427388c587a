"""partition, peel, remove_loop, and the kinds of loops: parallel, vectorize, unroll, bind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.schedule.schedule_programs import program
from tests.schedule.schedule_support import Steps, accepted, agree, not_applicable, refused
from verified_tir import Refuted, Schedule
from verified_tir.ir.sugar import const

Golden = Callable[[str, str], None]


# -- partition ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "loop", "mid"),
    [
        ("relu_1d", "i", 5),
        ("relu_1d", "i", 0),
        ("relu_1d", "i", 14),
        ("offset", "i", 7),
        ("offset", "i", 3),
        ("offset_2d", "j", 5),
        ("wide", "i", 9),
        ("matmul", "k", 3),
        ("matmul_loops", "j", 4),
        ("softmax", "i", 2),
        ("prefix_sum", "i", 6),
        ("concat", "i", 5),
    ],
)
def test_partitions_keep_the_result(name: str, loop: str, mid: int) -> None:
    s = Schedule(program(name))
    first, second = s.partition(loop, mid)
    assert first.name == second.name == loop
    assert {first, second} <= set(s.loops())
    agree(s)


def test_bounds_of_a_partition_are_folded(golden: Golden) -> None:
    s = accepted("offset", lambda s: s.partition("i", 7))
    assert "range(3, 7)" in s.script()
    assert "range(7, 14)" in s.script()
    golden("partition.txt", s.script())


def test_a_partition_at_a_symbolic_point(golden: Golden) -> None:
    """The main loop of whole vectors of four, and what is left."""

    def steps(s: Schedule) -> None:
        n = s.symbol("n")
        main, rest = s.partition("i", n // 4 * 4)
        _, lanes = s.split(main, [None, 4])
        s.vectorize(lanes)
        s.unroll(rest)

    s = accepted("symbolic_1d", steps)
    golden("partition_symbolic.txt", s.script())
    assert "range(n // 4 * 4, n)" in s.script().replace("T.unroll", "range")


def test_partition_decides_the_branches_of_both_parts(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        s.partition("i", 5)
        s.simplify()

    s = accepted("concat", steps)
    assert "if" not in s.script()
    golden("partition_concat.txt", s.script())


def test_a_partition_of_a_triangle_at_an_outer_variable() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((6, 6), "float32"), B: T.Buffer((6, 6), "float32")):
    for i in range(6):
        for j in range(6):
            if j <= i:
                B[i, j] = A[i, j]
"""

    def steps(s: Schedule) -> None:
        i, j = s.loops()
        s.partition(j, i + 1)
        s.simplify()

    s = accepted(text, steps)
    assert s.script().endswith("for j in range(i + 1):\n            B[i, j] = A[i, j]")


def test_a_partition_outside_a_symbolic_range_is_refused() -> None:
    refusal = refused("symbolic_1d", lambda s: s.partition("i", 4), "every new iteration is an old one of (i)")
    assert refusal.counterexample["n"] < 4


@pytest.mark.parametrize(
    ("name", "steps", "words"),
    [
        ("offset", lambda s: s.partition("i", 2), "2 lies outside the range of i, which is from 3 to 14"),
        ("offset", lambda s: s.partition("i", 15), "15 lies outside the range of i"),
        ("offset", lambda s: s.partition("i", "n"), "not at 'n'"),
        ("offset", lambda s: s.partition("i", 2**40), "does not fit int32"),
        ("wide", lambda s: s.partition("i", const(3, "int32")), "the middle has type int32, the loop int64"),
        ("symbolic_1d", lambda s: s.symbol("m"), "there is no symbol called 'm'; there are n"),
    ],
)
def test_a_partition_that_makes_no_sense(name: str, steps: Steps, words: str) -> None:
    not_applicable(name, steps, words)


# -- peel --------------------------------------------------------------------------------------------------------------


@pytest.mark.sample(6)
@pytest.mark.parametrize("end", [False, True])
@pytest.mark.parametrize(
    ("name", "loop"),
    [("relu_1d", "i"), ("offset", "i"), ("matmul", "k"), ("softmax", "k"), ("wide", "j"), ("scale_3d", "j"),
     ("cached_sum", "j"), ("one", "i"), ("stencil", "t"), ("transpose_in_place", "i")],
)  # fmt: skip
def test_peels_keep_the_result(name: str, loop: str, end: bool) -> None:
    s = Schedule(program(name))
    handle = next(v for v in s.loops() if v.name == loop)
    rest = s.peel(handle, end=end)
    assert rest in s.loops()
    s.unroll(handle)  # handles stay with the loop that is left
    agree(s)


def test_both_ends_peeled(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        s.peel("i")
        s.peel("i", end=True)

    s = accepted("offset", steps)
    golden("peel_both_ends.txt", s.script())
    assert "B[3] = A[0] + A[5]" in s.script()
    assert "B[13] = A[10] + A[15]" in s.script()
    assert "range(4, 13)" in s.script()


def test_handles_below_a_peeled_loop_stay_with_the_rest() -> None:
    s = Schedule(program("scale_3d"))
    i, j, k = s.loops()
    s.peel(i)
    s.reorder(k, j)
    text = s.script()
    assert "for j, k in T.grid(4, 5):" in text  # the peeled iteration
    assert "T.grid(2, 4)" not in text and "k, j" in text  # the rest
    agree(s)


@pytest.mark.parametrize("end", [False, True])
def test_peeling_a_loop_that_may_be_empty_is_refused(end: bool) -> None:
    refusal = refused("symbolic_1d", lambda s: s.peel("i", end=end), "every new iteration is an old one of (i)")
    assert refusal.counterexample is not None and refusal.counterexample["n"] == 0


def test_peeling_a_loop_that_never_runs() -> None:
    def steps(s: Schedule) -> None:
        _, second = s.partition("i", 14)
        s.peel(second)

    not_applicable("relu_1d", steps, "the loop over i makes no iteration")


# -- remove_loop -------------------------------------------------------------------------------------------------------


def test_a_loop_whose_iterations_do_the_same_is_removed(golden: Golden) -> None:
    s = accepted("idempotent", lambda s: s.remove_loop("r"))
    assert len(s.loops()) == 1
    golden("remove_loop.txt", s.script())


def test_a_loop_of_one_iteration_is_removed() -> None:
    s = accepted("one", lambda s: s.remove_loop("j"))
    assert "B[i] = A[i, 0]" in s.script()


@pytest.mark.parametrize(
    ("name", "loop", "claim"),
    [
        ("idempotent", "i", "the erased store to B wrote the bits that were there already"),
        ("in_place", "i", "the erased store to A wrote"),
        ("row_sum", "j", "the erased store to B wrote"),
        ("symbolic_1d", "i", "every new iteration is an old one of (i)"),
        ("carried", "i", "the erased store to B wrote"),
    ],
)
def test_a_loop_whose_iterations_differ_stays(name: str, loop: str, claim: str) -> None:
    refused(name, lambda s: s.remove_loop(loop), claim)


def test_what_the_solver_cannot_decide_is_run() -> None:
    """With too small a budget nothing is known of the sum; running both programs shows that they differ."""
    s = Schedule(program("horner"), budget=300)
    with pytest.raises(Refuted, match="the solver could not decide it, but the programs differ when run") as refused:
        s.remove_loop("k")
    assert refused.value.confirmed


# -- kinds -------------------------------------------------------------------------------------------------------------


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "loop"),
    [("relu_1d", "i"), ("add_2d", "j"), ("stencil", "x"), ("matmul", "i"), ("softmax", "i"), ("gather", "i"),
     ("triangle", "i"), ("transpose", "j"), ("matmul_symbolic", "j"), ("conv2d_nhwc", "h"), ("wide", "i")],
)  # fmt: skip
def test_loops_whose_iterations_are_independent(name: str, loop: str) -> None:
    for mark in ("parallel", "vectorize", "unroll"):
        s = Schedule(program(name))
        getattr(s, mark)(loop)
        agree(s)
    s = Schedule(program(name))
    s.bind(loop, "threadIdx.x")
    assert 'thread="threadIdx.x"' in s.script()


@pytest.mark.parametrize(
    ("name", "loop", "words"),
    [
        ("stencil", "t", "no two of its iterations write and read the same element of A"),
        ("matmul", "k", "the same element of C"),
        ("prefix_sum", "i", "the same element of B"),
        ("scatter", "i", "no two of its iterations write and write the same element of B"),
        ("transpose_in_place", "i", "the same element of t"),
        ("scratch", "i", "the same element of t"),
        ("total", "i", "the same element of C"),
    ],
)
def test_loops_whose_iterations_meet(name: str, loop: str, words: str) -> None:
    for mark in ("parallel", "vectorize"):
        refusal = refused(name, lambda s, mark=mark: getattr(s, mark)(loop), words)
        assert refusal.replay is not None
        assert "race" in refusal.replay.message or "meet" in refusal.replay.message or "lane" in refusal.replay.message


def test_a_licence_is_asked_for_again_after_every_step() -> None:
    """A loop may be parallel until the body shares something between its iterations."""
    text = """
@T.prim_func
def f(A: T.Buffer((6, 4), "float32"), B: T.Buffer((6, 4), "float32")):
    for i in range(6):
        t = T.alloc_buffer((4,), "float32")
        for j in range(4):
            t[j] = A[i, j]
        for j in range(4):
            B[i, j] = t[3 - j]
"""
    accepted(text, lambda s: s.parallel("i"))
    refused("scratch", lambda s: s.parallel("i"), "the same element of t")

    def sunk(s: Schedule) -> None:
        s.sink_allocation("t")
        s.parallel("i")

    accepted("scratch", sunk)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (lambda s: s.bind("i", "threadIdx"), "there is no thread axis 'threadIdx'"),
        (lambda s: s.bind("i", ""), "there is no thread axis ''"),
        (lambda s: s.parallel("z"), "there is no loop called 'z'; the loops are i, j"),
    ],
)
def test_a_mark_that_makes_no_sense(steps: Steps, words: str) -> None:
    not_applicable("add_2d", steps, words)
