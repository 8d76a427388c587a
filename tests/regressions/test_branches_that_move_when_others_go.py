"""Found by random schedules: ``remove_no_op`` lost a branch in the else arm of another one that it had turned round.

Finding: kernel | crash | IRError in schedule/session.py:stmt
"""

from __future__ import annotations

from verified_tir import Schedule

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        if A[i] > 0:
            B[i] = B[i]
        else:
            if A[i] > -5:
                B[i] = B[i]
            else:
                C[i] = 1
"""


def test_both_arms_go() -> None:
    s = Schedule(PROGRAM)
    s.remove_no_op()
    assert "B[i]" not in s.script() and "else" not in s.script()
    assert s.script().count("if ") == 2
