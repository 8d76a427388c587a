"""remove_no_op leaves assumptions where they are: they store nothing, and later steps rest on them."""

from __future__ import annotations

from verified_tir import Schedule

SCALED = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), F: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        T.assume(A[i] == 0.0)
        T.assume(F[i] >= 1.0 and F[i] <= 2.0)
    for i in range(4):
        B[i] = 3.0
    for i in range(4):
        B[i] = 1.0
        if i < 2:
            B[i] = B[i] + F[i] * A[i]
"""


def test_a_loop_of_assumptions_is_kept() -> None:
    s = Schedule(SCALED)
    s.remove_no_op()
    assert s.script().count("T.assume") == 2
    assert s.script().count("for i") == 2  # the first stores are overwritten, the last ones change nothing
    assert "F[i] * A[i]" not in s.script()
