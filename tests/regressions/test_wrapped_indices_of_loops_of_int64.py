"""Found by a campaign: ``remove_branching_through_overcompute(wrap_indices=True)`` below loops of int64 crashed."""

import pytest

from verified_tir import Schedule, ScheduleError

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer(({extent},), "int32")):
    for i in range(8):
        T.assume(i < 4 or A[i] == 0)
    for i in range({loop}):
        if i < 4:
            B[i * 2] = B[i * 2] + {value}
"""


@pytest.mark.parametrize(("loop", "extent"), [("T.int64(8)", "8"), ("8", "T.int64(8)"), ("8", "8")])
def test_indices_and_extents_of_two_types(loop: str, extent: str) -> None:
    s = Schedule(PROGRAM.format(loop=loop, extent=extent, value="A[i]"))
    s.remove_branching_through_overcompute(wrap_indices=True)
    assert "if" not in s.script() and "B[" in s.script() and "% " in s.script()


def test_near_miss_a_value_that_is_added_is_not_known() -> None:
    s = Schedule(PROGRAM.format(loop="T.int64(8)", extent="8", value="A[7 - i]"))
    with pytest.raises(ScheduleError, match="remove_branching_through_overcompute"):
        s.remove_branching_through_overcompute(wrap_indices=True)
