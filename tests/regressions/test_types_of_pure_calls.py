"""Found by programs whose text was changed at random: ``T.clz(x, dtype="float16")`` crashed the kernel."""

import pytest

from verified_tir import parse_func
from verified_tir.ir.dtype import BOOL, FLOAT32, INT32, DType
from verified_tir.ir.expr import Call
from verified_tir.ir.node import IRError
from verified_tir.ir.script import ScriptError
from verified_tir.ir.sugar import const

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((7,), "{0}")):
    for i in range(7):
        A[i] = T.clz(T.uint32(3), dtype="{0}")
"""


def test_leading_zeros_are_counted_in_integers() -> None:
    for integer in ("int8", "uint64"):
        parse_func(PROGRAM.format(integer))
    with pytest.raises(ScriptError, match="clz of uint32 does not give float16"):
        parse_func(PROGRAM.format("float16"))


@pytest.mark.parametrize(
    ("target", "op", "operands", "said"),
    [
        (FLOAT32, "exp", (INT32,), "exp takes float operands, not int32"),
        (INT32, "exp", (FLOAT32,), "exp of float32 does not give int32"),
        (FLOAT32, "pow", (FLOAT32,), "pow takes 2 arguments, not 1"),
        (FLOAT32, "atan2", (FLOAT32, DType("float", 64)), "operands of atan2 differ in type: float32 and float64"),
        (FLOAT32, "isnan", (FLOAT32,), "isnan of float32 does not give float32"),
        (BOOL, "popcount", (BOOL,), "popcount takes int operands, not bool"),
        (DType("uint", 64, 2), "clz", (INT32,), "clz of int32 does not give uint64x2"),
    ],
)
def test_a_call_of_other_types_is_no_call(target: DType, op: str, operands: tuple[DType, ...], said: str) -> None:
    with pytest.raises(IRError, match=said):
        Call(target, op, tuple([const(1, t) for t in operands]))
