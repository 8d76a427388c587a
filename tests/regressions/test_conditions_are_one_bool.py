"""Found by a campaign: a constraint on a buffer of vectors became ``T.assume`` of four bools, and the kernel crashed.

Only the condition of an ``if`` was looked at when a statement was made.

Finding: kernel | crash | AssertionError in semantics/encode.py:address
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule, parse_func
from verified_tir.ir.expr import TRUE
from verified_tir.ir.node import IRError
from verified_tir.ir.script import ScriptError
from verified_tir.ir.stmt import SKIP, Assert, Assume, Block, If, While
from verified_tir.ir.sugar import binary
from verified_tir.schedule.errors import ScheduleError

PROGRAM = """
@T.prim_func
def main(C: T.Buffer((2,), "float32x4")):
    for i in range(2):
        C[i] = T.Broadcast(T.float32(0.0), 4)
"""


def test_a_constraint_on_vectors_is_refused() -> None:
    s = Schedule(PROGRAM)
    with pytest.raises(ScheduleError, match="an assumption is about numbers; the elements of C are float32x4"):
        s.add_buffer_constraint("C", lambda i: i >= 0, 0.0)
    c = s.func.buffers[0]
    with pytest.raises(ScheduleError, match="an assumption takes a scalar bool, not boolx4"):
        s.assume(binary("eq", c[0], c[1]))


def test_statements_take_one_bool() -> None:
    c = parse_func(PROGRAM).buffers[0]
    four = binary("eq", c[0], c[1])
    for make in (
        lambda: If(four, SKIP),
        lambda: While(four, SKIP),
        lambda: Assume(four),
        lambda: Assert(four, "message"),
        lambda: Block("b", (), four, None, None, None, SKIP),
    ):
        with pytest.raises(IRError, match="takes a scalar bool, not boolx4"):
            make()
    assert Assume(TRUE).condition is TRUE
    with pytest.raises(ScriptError, match="an assumption takes a scalar bool, not boolx4"):
        parse_func(PROGRAM.replace("    for i in range(2):", "    T.assume(C[0] == C[1])\n    for i in range(2):"))
