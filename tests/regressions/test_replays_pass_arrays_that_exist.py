"""A counterexample was replayed, and called confirmed, with a stride of 0: no caller can pass an array whose elements
are one.

Found by the fuzzer's target ``kernel``: the interpreter does not take such arguments.
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule
from verified_tir.schedule.errors import Refuted
from verified_tir.testing import assert_confirmed

PROGRAM = """
@T.prim_func
def main(C_handle: T.handle, D: T.Buffer((2,), "int32"), E: T.Buffer((1,), "float32")):
    s = T.int32()
    C = T.match_buffer(C_handle, (3, 3), "float32", strides=(s, 1))
    E[0] = C[D[1] % 3, 2]
"""


def test_a_stride_that_keeps_elements_apart() -> None:
    with pytest.raises(Refuted) as refusal:
        Schedule(PROGRAM).add_buffer_constraint("D", True, 0)
    assert refusal.value.confirmed
    assert assert_confirmed(refusal.value)  # the interpreter takes the arguments
