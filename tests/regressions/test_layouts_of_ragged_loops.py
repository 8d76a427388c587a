"""Found by a campaign: inverting an index of a loop that runs as far as an element says crashed."""

import pytest

from verified_tir import Schedule, ScheduleError
from verified_tir.index.box import proves
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Var
from verified_tir.logic.verdict import Unknown

RAGGED = """
@T.prim_func
def ragged(L: T.Buffer((4,), "int32"), B: T.Buffer((4, 4), "float32")):
    for i in range(4):
        for j in range(T.min(T.max(L[i], 0), 4)):
            with T.sblock("B"):
                B[i, j] = B[i, j] + T.float32(1.0)
        with T.sblock("L"):
            L[0] = L[i] - 1
"""


def staged() -> Schedule:
    s = Schedule(RAGGED)
    s.cache_write("B", "B", "local")
    s.transform_layout("B_local", lambda i, j: [i, j // 4, j % 4])
    s.sequential_buffer_access("L")
    return s


def test_a_stage_of_a_ragged_loop_is_refused_with_a_reason() -> None:
    with pytest.raises(ScheduleError, match="compute_inline"):
        staged().compute_inline("B_local")


def test_what_reads_memory_is_not_known() -> None:
    s = Schedule(RAGGED)
    length, x = s.buffer("L"), Var.fresh("x", INT32)
    assert isinstance(proves([x >= 0, x < length[0]], length[0] >= 0), Unknown)
