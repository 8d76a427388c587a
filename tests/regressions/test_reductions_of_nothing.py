"""Found by a campaign: ``decompose_reduction`` of a block in which ``remove_no_op`` left nothing crashed.

Finding: kernel | crash | IndexError in schedule/tactics/reduction.py:decompose_reduction
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule, ScheduleError

PROGRAM = """
@T.prim_func
def nothing(B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("same"):
            B[i] = B[i]
"""


def test_a_block_without_statements_has_no_initialisation() -> None:
    s = Schedule(PROGRAM)
    s.remove_no_op(block="same")
    with pytest.raises(ScheduleError, match="block same has no initialisation under a condition"):
        s.decompose_reduction("same", s.loops()[0])
    with pytest.raises(ScheduleError, match="block same is not a sum of products"):
        s.pad_einsum("same", [1])
