"""Found by a campaign: a map to no index at all, of a buffer that is accessed by vectors, crashed the kernel.

Finding: kernel | crash | ValueError in kernel/rules/layout.py:apply
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule
from verified_tir.schedule.errors import ScheduleError

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    B[0:4] = A[T.Ramp(0, 1, 4)]
"""


def test_lanes_need_an_index() -> None:
    with pytest.raises(ScheduleError, match="the map has no lanes here"):
        Schedule(PROGRAM).transform_layout("A", lambda i: [])


def test_one_number_needs_none() -> None:
    s = Schedule(PROGRAM.replace("(4,)", "(1,)").replace("B[0:4] = A[T.Ramp(0, 1, 4)]", "B[0] = A[0]"))
    s.transform_layout("A", lambda i: [])
    assert s.func.buffers[0].shape == ()
