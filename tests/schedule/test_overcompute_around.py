"""remove_branching_through_overcompute of a block's predicate: the condition stands around the block."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import not_applicable
from verified_tir import Refuted, Schedule

DOUBLE = """
@T.prim_func
def f(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        with T.block("p"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi] * 2
"""


def in_fours(s: Schedule, pad_value: int = 0) -> None:
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=pad_value)
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=0)
    s.split("i", [4, 4])


def test_a_guard_around_the_block() -> None:
    s = Schedule(DOUBLE)
    in_fours(s)
    assert "        if i_0 * 4 + i_1 < 14:\n            with T.sblock" in s.script()
    assert s.remove_branching_through_overcompute("p") == 1
    assert (
        s.script().split("\n\n")[1]
        == """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for i_0, i_1 in T.grid(4, 4):
        with T.sblock("p"):
            B[(i_0 * 4 + i_1) // 4, (i_0 * 4 + i_1) % 4] = A[(i_0 * 4 + i_1) // 4, (i_0 * 4 + i_1) % 4] * 2
    for io, ii in T.grid(4, 4):
        with T.sblock("B_padding"):
            if io == 3 and ii >= 2:
                B[io, ii] = 0"""
    )


ROW_SUMMATION = """
@T.prim_func
def row_summation(a: T.handle, b: T.handle):
    A = T.match_buffer(a, shape=(16, 14), dtype="int32")
    B = T.match_buffer(b, shape=(16,), dtype="int32")
    for i, j in T.grid(16, 14):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vj]
"""


@pytest.mark.nightly
def test_the_row_sum_of_rfc_77() -> None:
    s = Schedule(ROW_SUMMATION)
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=0)
    s.split("j", [None, 4])
    s.remove_branching_through_overcompute("B")
    assert "< 14" not in s.script()


def test_what_the_padding_holds_decides() -> None:
    s = Schedule(ROW_SUMMATION)
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=1)
    s.split("j", [None, 4])
    with pytest.raises(Refuted):
        s.remove_branching_through_overcompute("B")


def test_conditions_around_are_left_if_asked_for() -> None:
    s = Schedule(DOUBLE)
    in_fours(s)
    before = s.script()
    not_applicable(
        before,
        lambda s: s.remove_branching_through_overcompute("p", around=False),
        "there is no branch in p; the conditions around it are left, since around=False",
    )


def test_of_a_block_without_conditions() -> None:
    not_applicable(DOUBLE, lambda s: s.remove_branching_through_overcompute("p"), "there is no branch to remove")
    not_applicable(
        DOUBLE, lambda s: s.remove_branching_through_overcompute("p", around=False), "there is no branch in p"
    )
    not_applicable(DOUBLE, lambda s: s.remove_branching_through_overcompute("q"), "q")
