"""split(disable_predication=True): no guard, where the factors are proved to divide the extent."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import refused
from verified_tir import Schedule

ROW = """
@T.prim_func
def row(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    T.assume(n % 8 == 0)
    for i in range(n):
        with T.block("B"):
            B[i] = A[i] + T.float32(1)
"""


def split(factors: list[int | None], *, guarded: bool = False) -> str:
    """The program of a split, which the validator compares with the row at sizes that the factors divide."""
    s = Schedule(ROW)
    s.split("i", factors, disable_predication=not guarded)
    s.validate(sizes=[{"n": 0}, {"n": 8}, {"n": 24}])
    return s.script().split("== 0)\n")[1]


def test_what_is_assumed_of_the_extent_proves_the_guard_away() -> None:
    assert (
        split([None, 4])
        == """\
    for i_0, i_1 in T.grid((n + 3) // 4, 4):
        with T.sblock("B"):
            B[i_0 * 4 + i_1] = A[i_0 * 4 + i_1] + T.float32(1.0)"""
    )
    assert "if i_0" in split([None, 4], guarded=True)


@pytest.mark.parametrize("factors", [[None, 2, 4], [None, 2, 2, 2], [None, 1, 8]])
def test_many_factors(factors: list[int | None]) -> None:
    assert "if " not in split(factors)


def test_factors_that_divide_a_constant_need_no_guard_anyway() -> None:
    s = Schedule(ROW.replace("(n,)", "(16,)").replace("range(n)", "range(16)"))
    assert [v.name for v in s.split("i", [4, 4], True, True)] == ["i_0", "i_1"]


def test_a_guard_that_is_needed_stays() -> None:
    """TVM leaves it out, and the program stores beyond its buffers."""
    refused(ROW, lambda s: s.split("i", [None, 3], disable_predication=True), "the branch is always taken here")
    refused(ROW, lambda s: s.split("i", [None, 16], disable_predication=True), "factors that divide the extent")
