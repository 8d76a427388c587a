"""``remove_overcompute_through_branching`` crashed: whether an element is padding depended on another loop's variable.

Finding: kernel | crash | Unencodable in semantics/encode.py:_variable
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule, ScheduleError
from verified_tir.testing import refusals_are_right

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    t = T.alloc_buffer((4,), "float32")
    for i, j in T.grid(5, 1):
        if i + {offset} < 4:
            t[i] = T.float32(0)
    for i, j in T.grid(2, 4):
        if j // 2 == i:
            t[i] = A[j]
            B[j] = t[i]
"""


def test_a_variable_of_another_loop_tells_nothing_here() -> None:
    s = Schedule(PROGRAM.format(offset="j"))
    with refusals_are_right(s), pytest.raises(ScheduleError, match="nothing runs on padding"):
        s.remove_overcompute_through_branching()


def test_what_is_filled_in_a_loop_around_is_known_in_it() -> None:
    s = Schedule("""
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
    for i in range(4):
        for j in range(8):
            B[i, j] = A[i, j] * 2
        for j in range(8):
            if j >= i + 4:
                B[i, j] = 0
""")
    assert s.remove_overcompute_through_branching() == 1
    assert "if j < i + 4:" in s.script()
