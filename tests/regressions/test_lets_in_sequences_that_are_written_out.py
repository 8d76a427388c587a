"""`sequential_buffer_access` writes out the lets around an access. A let with several statements that stands among
others becomes part of their sequence, and the access then stands at another place than was thought: a crash.

A campaign found it (kernel, seed 20261223, round 77, case 10).
"""

from __future__ import annotations

import numpy as np

from verified_tir import Schedule
from verified_tir.testing import assert_refines

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((9, 12), "int32")):
    for i in range(4):
        T.assume(i <= 8)
        v: T.int32 = i + i
        A[i + i, v] = v
        A[i, 0] = 0
"""


def test_lets_in_sequences_that_are_written_out() -> None:
    s = Schedule(PROGRAM)
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4])
    s.sequential_buffer_access("A")
    assert_refines(s, {"A": np.arange(108, dtype="int32").reshape(9, 12)}, machine_code=False)
