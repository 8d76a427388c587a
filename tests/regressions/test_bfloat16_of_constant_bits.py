"""A bfloat16 that is made of constant bits is computed with as a float.

Machine code keeps bfloat16 in registers of 16-bit integers.  It took the bits of a constant for a constant integer:
1.0 + 1.0 was the sum of 0x3F80 and 0x3F80, the number of 1.0 was 16256, and a product with the least bfloat16 was one
with 1.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from verified_tir import Schedule, build
from verified_tir.codegen.target import Target
from verified_tir.semantics.interpreter import run

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((4,), "bfloat16"), B: T.Buffer((4,), "bfloat16")):
    for i in range(4):
        B[i] = {value}
"""
ONE, LEAST, ZERO, MINUS_ZERO = (f'T.reinterpret("bfloat16", T.uint16({bits}))' for bits in (0x3F80, 1, 0, 0x8000))
VALUES = [
    f"{ONE} + {ONE}",
    f"{ZERO} + A[i]",
    f"A[i] * {LEAST}",
    f"A[i] - {ZERO}",
    f'T.Cast("bfloat16", T.Cast("int32", {ONE}))',
    f'T.Cast("bfloat16", T.Cast("bool", {MINUS_ZERO}))',
    f'T.Cast("bfloat16", {MINUS_ZERO} < {ONE})',
    f"T.max(A[i], {ONE})",
    'T.reinterpret("bfloat16", T.int16(-16512))',
    f'T.Cast("bfloat16", T.reinterpret("uint16", {ONE}) + T.uint16(1))',  # and back these are integers
]


@pytest.mark.parametrize("value", VALUES)
def test_bfloat16_of_constant_bits(value: str) -> None:
    s = Schedule(PROGRAM.format(value=value))
    a = np.array([-0.0, 3.0, np.inf, -1.0], ml_dtypes.bfloat16)
    want = run(s.func, {"A": a.copy(), "B": np.zeros(4, ml_dtypes.bfloat16)}).arrays["B"]
    found = np.zeros(4, ml_dtypes.bfloat16)
    build(s, Target.host(threads=1))(a, found)
    assert found.view(np.uint16).tolist() == want.view(np.uint16).tolist()
