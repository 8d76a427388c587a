"""fission, merge_loops, sink_allocation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.schedule.schedule_programs import program
from tests.schedule.schedule_support import Steps, accepted, agree, not_applicable, refused
from verified_tir import Schedule

Golden = Callable[[str, str], None]


# -- fission -----------------------------------------------------------------------------------------------------------


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("name", "loop", "position"),
    [
        ("three_statements", "i", 1),
        ("three_statements", "i", 2),
        ("matmul_loops", "j", 1),
        ("matmul_loops", "i", 1),
        ("mean_pool", "j", 1),
        ("mean_pool", "j", 2),
        ("mean_pool", "i", 2),
        ("softmax", "i", 1),
        ("softmax", "i", 2),
        ("softmax", "i", 3),
        ("softmax", "i", 4),
        ("matmul", "k", 1),
        ("matmul", "i", 1),
        ("depthwise", "c", 1),
        ("row_sum_symbolic", "i", 1),
        ("gather", "i", 1),
    ],
)
def test_fissions_keep_the_result(name: str, loop: str, position: int) -> None:
    s = Schedule(program(name))
    first, second = s.fission(loop, position)
    assert first.name == second.name == loop
    loops = s.loops()
    assert loops.index(first) < loops.index(second)
    agree(s)


def test_fission_at_every_position_and_back(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        rest, last = s.fission("i", 2)
        first, second = s.fission(rest, 1)
        assert len(s.loops()) == 3
        merged = s.merge_loops(s.merge_loops(first, second), last)
        assert s.loops() == [merged]
        s.unroll(second)  # the handle of a merged loop means the merged loop

    s = accepted("three_statements", steps)
    golden("fission_and_back.txt", s.script())


def test_fission_after_a_block_or_loop_at_any_depth(golden: Golden) -> None:
    s = accepted("mean_pool", lambda s: s.fission("i", after="r"))
    golden("fission_after_loop.txt", s.script())
    text = program("three_statements").replace("        C[i] =", '        with T.block("double"):\n            C[i] =')
    accepted(text, lambda s: s.fission("i", after="double"))
    by_position = accepted("mean_pool", lambda s: s.fission("j", 2))
    after_handle = accepted("mean_pool", lambda s: s.fission("j", after=s.loops()[2]))
    assert by_position.script() == after_handle.script()


def test_handles_go_with_their_statements() -> None:
    s = Schedule(program("softmax"))
    i, _, k, l = s.loops()
    first, second = s.fission(i, 3)
    s.split(k, [None, 2])
    s.split(l, [None, 2])
    assert s.loops()[0] is first
    s.parallel(i)  # the loop itself stays with the first part
    s.unroll(second)
    text = s.script()
    assert text.index("T.parallel(3)") < text.index("T.unroll(3)") < text.index("k_0") < text.index("l_0")
    agree(s)


def test_a_label_that_is_split_gets_two_names() -> None:
    s = accepted("matmul", lambda s: s.fission("k", 1))
    assert s.blocks == ["C_0", "C"]


@pytest.mark.parametrize(
    ("name", "loop", "claim"),
    [
        ("carried", "i", "no dependence between the write and the write of B"),
        ("transpose_in_place", "j", "no dependence between the read and the write of t"),
        ("scratch_carried", "i", "no dependence between the read and the write of t"),
        ("scratch", "i", "no dependence between the read and the write of t"),
    ],
)
def test_a_fission_across_a_dependence(name: str, loop: str, claim: str) -> None:
    refused(name, lambda s: s.fission(loop), claim)


@pytest.mark.parametrize(
    ("name", "steps", "words"),
    [
        ("three_statements", lambda s: s.fission("i", 3), "position is from 1 to 2, not 3"),
        ("three_statements", lambda s: s.fission("i", 0), "position is from 1 to 2, not 0"),
        ("three_statements", lambda s: s.fission("i", True), "not True"),
        ("relu_1d", lambda s: s.fission("i"), "the loop over i holds one statement only"),
        ("mean_pool", lambda s: s.fission("i", 1, after="r"), "not both"),
        ("softmax", lambda s: s.fission("i", after="l"), "nothing comes after l in the loop over i"),
        ("softmax", lambda s: s.fission("j", after="k"), "k does not stand inside the loop over j"),
        ("softmax", lambda s: s.fission("i", after="z"), "there is no loop called 'z'"),
        ("softmax", lambda s: s.fission("i", after="i"), "i does not stand inside the loop over i"),
    ],
)
def test_a_fission_that_makes_no_sense(name: str, steps: Steps, words: str) -> None:
    not_applicable(name, steps, words)


def test_a_buffer_in_the_way_of_a_fission() -> None:
    def steps(s: Schedule) -> None:
        s.sink_allocation("t")
        s.fission("i")

    not_applicable("scratch", steps, "the loop over i holds one statement only")


# -- merge_loops -------------------------------------------------------------------------------------------------------


MERGEABLE = """
@T.prim_func
def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((5, 6), "float32"), C: T.Buffer((5, 6), "float32")):
    for i in range(5):
        for j in range(6):
            B[i, j] = A[i, j] + T.float32(1)
        for k in range({extent}):
            C[i, k] = B[i, {read}] * T.float32(2)
    for l in range(5):
        C[l, 0] = C[l, 0] + B[l, 0]
"""


def test_merging_at_any_level(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        s.merge_loops("j", "k")
        s.merge_loops("i", "l")

    golden("merge_loops.txt", accepted(MERGEABLE.format(extent=6, read="k"), steps).script())


def test_merging_loops_of_adjoining_ranges() -> None:
    def steps(s: Schedule) -> None:
        first, second = s.partition("i", 5)
        merged = s.merge_loops(first, second)
        s.split(merged, [None, 7])

    s = accepted("relu_1d", steps)
    assert "T.grid(2, 7)" in s.script()


@pytest.mark.parametrize(
    ("extent", "read", "claim"),
    [
        (6, "5 - k", "no dependence between the write and the read of B"),
        (5, "k", "iteration"),
    ],
)
def test_a_merge_that_changes_the_result(extent: int, read: str, claim: str) -> None:
    refused(MERGEABLE.format(extent=extent, read=read), lambda s: s.merge_loops("j", "k"), claim)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (lambda s: s.merge_loops("j", "j"), "a loop cannot be merged with itself"),
        (lambda s: s.merge_loops("k", "j"), "does not follow the first directly: it comes before the first"),
        (lambda s: s.merge_loops("j", "l"), "the loops over j and l do not stand in one sequence"),
        (lambda s: s.merge_loops("i", "j"), "the loops over i and j do not stand in one sequence"),
        (lambda s: s.merge_loops("i", "x"), "there is no loop called 'x'; the loops are i, j, k, l"),
    ],
)
def test_a_merge_that_makes_no_sense(steps: Steps, words: str) -> None:
    not_applicable(MERGEABLE.format(extent=6, read="k"), steps, words)


def test_loops_with_something_between_them() -> None:
    not_applicable("softmax", lambda s: s.merge_loops("j", "k"), "1 statements stand between them")


# -- sink_allocation ---------------------------------------------------------------------------------------------------


def test_sinking_a_buffer_that_carries_nothing(golden: Golden) -> None:
    golden("sink_allocation.txt", accepted("scratch", lambda s: s.sink_allocation("t")).script())


def test_sinking_two_buffers_from_the_inside_out() -> None:
    def steps(s: Schedule) -> None:
        s.sink_allocation("total")
        s.sink_allocation("most")

    s = accepted("softmax", steps)
    assert s.script().index("for i") < s.script().index("alloc_buffer")


def test_sinking_into_the_only_loop_that_uses_a_buffer() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4, 5), "float32"), B: T.Buffer((4, 5), "float32"), C: T.Buffer((4,), "float32")):
    t = T.alloc_buffer((5,), "float32")
    for i in range(4):
        C[i] = T.float32(0)
    for i in range(4):
        for j in range(5):
            t[j] = A[i, j]
            B[i, j] = t[j]
"""

    def steps(s: Schedule) -> None:
        s.sink_allocation("t")
        s.sink_allocation("t")

    s = accepted(text, steps)
    assert "for i, j in T.grid(4, 5):\n        t = T.alloc_buffer" in s.script()


def test_sinking_a_buffer_that_carries_a_sum_is_refused() -> None:
    text = (
        program("scratch_carried")
        .replace("    t[0] = T.float32(0)\n", "")
        .replace(
            "        t[0] = t[0] + A[i]",
            "        if i == 0:\n            t[0] = T.float32(0)\n        t[0] = t[0] + A[i]",
        )
    )
    refused(text, lambda s: s.sink_allocation("t"), "the read of t sees a write of its own iteration")


@pytest.mark.parametrize("order", [("most", "total"), ("total", "most")])
def test_allocations_that_stand_together_are_sunk_in_any_order(order: tuple[str, str]) -> None:
    s = accepted("softmax", lambda s: [s.sink_allocation(name) for name in order])
    assert s.script().index("for i in") < min(s.script().index(f"{name} = T.alloc_buffer") for name in order)


def test_an_allocation_behind_another_one_that_carries_a_sum_is_refused() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    t = T.alloc_buffer((1,), "float32")
    u = T.alloc_buffer((1,), "float32")
    for i in range(4):
        u[0] = A[i]
        if i == 0:
            t[0] = 0.0
        t[0] = t[0] + u[0]
        B[i] = t[0]
"""
    refused(text, lambda s: s.sink_allocation("t"), "the read of t sees a write of its own iteration")
    accepted(text, lambda s: s.sink_allocation("u"))


@pytest.mark.parametrize(
    ("name", "buffer", "words"),
    [
        ("scratch", "u", "no buffer called 'u' is allocated; allocated are t"),
        ("relu_1d", "A", "no buffer called 'A' is allocated; allocated are none"),
        ("scratch_carried", "t", "t is used by 2 statements, not in one loop"),
    ],
)
def test_an_allocation_that_cannot_be_sunk(name: str, buffer: str, words: str) -> None:
    not_applicable(name, lambda s: s.sink_allocation(buffer), words)
