"""On what more depends than the value that is stored: whatever a sum in another order may not change."""

from __future__ import annotations

import pytest

from tests.kernel.programs import program
from verified_tir.kernel.reliance import decides

PARAMS = 'F: T.Buffer((4,), "float32"), D: T.Buffer((8,), "int32"), A: T.Buffer((4,), "float32")'
PARAMS += ', E: T.Buffer((4,), "int32"), n: T.int32'
SUM = "for k in range(4):\n    F[0] = F[0] + A[k]\n"
RESULT = 'T.Cast("int32", F[0])'


@pytest.mark.parametrize(
    "text",
    [
        "if {0} > 0:\n    A[1] = T.float32(0)",
        "while {0} > 7:\n    A[1] = T.float32(0)",
        "assert {0} > 0, 'no'",
        "T.assume({0} > 0)",
        "for i in range({0}):\n    A[1] = T.float32(0)",
        "for i in range({0}, 3):\n    A[1] = T.float32(0)",
        "A[{0}] = T.float32(0)",
        "A[1] = A[{0}]",
        "A[0:4] = A.vload([T.Ramp(0, 1, 4)], predicate=T.Broadcast({0}, 4) > T.Ramp(0, 1, 4))",
        "x: T.let[T.int32] = {0}\nt = T.alloc_buffer((x,), 'int32')\nA[1] = T.float32(0)",
        "x: T.let[T.int32] = {0}\nv = T.decl_buffer((2,), 'float32', data=A.data, elem_offset=x)\nA[1] = T.float32(0)",
        "D[0] = T.if_then_else({0} > 0, 1, 2)",
        "D[0] = T.Select({0} > 0, 1, 2)",
        "D[0] = T.Select({0} > 0 and n > 0, 1, 2)",
        "D[0] = {0} // n",
        "D[0] = n // {0}",
        "D[0] = n % {0}",
        "D[0] = T.truncdiv(n, {0})",
        "D[0] = T.truncmod(n, {0})",
        "D[0] = n << {0}",
        "D[0] = n >> {0}",
    ],
)
def test_a_result_decides(text: str) -> None:
    assert decides(program(SUM + text.format(RESULT), PARAMS))
    assert not decides(program(SUM + text.format("E[0]"), PARAMS))


@pytest.mark.parametrize("text", ["D[0] = {0}", "D[0] = {0} * n + 1", "A[1] = F[0] / A[2]", "D[0] = {0} << 2"])
def test_a_result_that_is_stored_decides_nothing(text: str) -> None:
    assert not decides(program(SUM + text.format(RESULT), PARAMS))
