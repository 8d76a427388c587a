"""`sequential_buffer_access` writes out the lets around an access. A let with several statements that stands among
others becomes part of their sequence, and the access then stands at another place than was thought: a crash.

A campaign found it (kernel, seed 20261223, round 77, case 10).
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import NotApplicable, Schedule
from verified_tir.testing import assert_refines

PROGRAM = """
@T.prim_func
def f(A: T.Buffer(("n * 2 + 3", "n * 2 + 4"), "int32"), n: T.int32):
    for i in range(n):
        T.assume(i <= n - 1)
        v: T.int32 = i + i
        A[i + i, v] = v
        A[{}, 0] = 0
"""


@pytest.mark.parametrize("row", ["n - 1 - i", "i"])
def test_lets_in_sequences_that_are_written_out(row: str) -> None:
    s = Schedule(PROGRAM.format(row))
    s.split("i", [None, 5, 3])
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4])
    before = s.theorem
    if row == "i":
        s.sequential_buffer_access("A")
        assert_refines(s, {"A": np.arange(132, dtype="int32").reshape(11, 12), "n": 4}, machine_code=False)
    else:
        with pytest.raises(NotApplicable, match="loops cannot follow negative indices of A"):
            s.sequential_buffer_access("A")
        assert s.theorem is before
