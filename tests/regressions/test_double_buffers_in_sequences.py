"""Found by a campaign: ``InjectDoubleBuffer`` lost the allocation that it had just moved.

The sequence below the allocation becomes part of the one around it once it is moved in; its places are others then.

Finding: codegen | crash | AssertionError in lower/inject_double_buffer.py:_into_the_loop
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule, ScheduleError, script
from verified_tir.lower.inject_double_buffer import InjectDoubleBuffer

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    A[0] = 1
    t = T.alloc_buffer((1,), "int32", annotations={"double_buffer_scope": 1})
    for i in range(8):
        t[0] = A[i]
        B[i] = t[0]
    for i in range(8):
        A[i] = 0
"""


def test_the_allocation_is_found_where_it_went() -> None:
    after = script(InjectDoubleBuffer().run(Schedule(PROGRAM)).after)
    assert 'with T.alloc_buffer((2, 1), "int32") as t:\n        for i in range(8):\n' in after
    assert "            t[i % 2, 0] = A[i]\n            B[i] = t[i % 2, 0]\n" in after


def test_without_a_loop_it_is_refused() -> None:
    in_a_branch = PROGRAM.replace(
        "for i in range(8):\n        t[0] = A[i]\n        B[i]", "if A[0] == 1:\n        t[0] = 1\n        B[0]"
    )
    with pytest.raises(ScheduleError, match="no loop stands around its uses"):
        InjectDoubleBuffer().run(Schedule(in_a_branch))
