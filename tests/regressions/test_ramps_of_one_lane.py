"""Found by programs whose text was changed at random: ``T.Ramp(i, 1, 1)`` and its kin are single numbers."""

from typing import Any

import numpy as np
import pytest

from tests.parts.compiled import assert_compiles_alike
from tests.parts.lowered import assert_lowers_alike
from verified_tir import Refuted, Schedule, script
from verified_tir.validate import validate

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((3,), "uint32"), B: T.Buffer((3,), "uint32"), n: T.int32):
    T.assume(n == 1)
    for i in range(2):
        B[T.Ramp(i, n, 1)] = T.Broadcast(A[T.Ramp(i, 1, 1)], 1) + T.Shuffle([A[0:2]], [1])
"""


def test_a_loop_with_them_is_split_vectorised_and_lowered() -> None:
    s = Schedule(PROGRAM)
    before = s.func
    (i,) = s.loops()
    _, lane = s.split(i, [None, 1])
    s.vectorize(lane)
    assert str(validate(before, s.func, sizes={"n": 1}).verdict) == "equal"
    given: dict[str, Any] = {"A": np.array([1, 2, 3], np.uint32), "B": np.zeros(3, np.uint32), "n": 1}
    assert assert_compiles_alike(before, [given])
    for pipeline in ("default", "full"):
        assert assert_lowers_alike(s.func, [given], pipeline)


def test_near_miss_a_ramp_beyond_its_buffer() -> None:
    assert "T.Ramp(i, n, 1)" in script(Schedule(PROGRAM).func)
    with pytest.raises(Refuted, match="bounds"):
        Schedule(PROGRAM.replace("A[T.Ramp(i, 1, 1)]", "A[T.Ramp(i + 2, 1, 1)]"))
