"""An integer, or a truth value, that is computed from a sum in another order may differ, too, where the sum rounds.

Finding: validator | equal-but-differs | validate
"""

from __future__ import annotations

import pytest

from tests.parts.verdicts import assert_verdict_holds
from verified_tir import parse_func
from verified_tir.validate import EqualOverReals

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((3,), "float32"), B: T.Buffer((1,), "{dtype}")):
    B[0] = {value}
"""
LEFT = "(A[0] + A[1] * T.float32(1e8)) + A[2] * T.float32(-1e8)"
RIGHT = "A[0] + (A[1] * T.float32(1e8) + A[2] * T.float32(-1e8))"


@pytest.mark.parametrize(("dtype", "value"), [("int32", 'T.Cast("int32", {})'), ("bool", "{} < T.float32(1.0)")])
def test_what_is_computed_from_a_rounded_sum_may_differ(dtype: str, value: str) -> None:
    before, after = (parse_func(PROGRAM.format(dtype=dtype, value=value.format(s))) for s in (LEFT, RIGHT))
    assert isinstance(assert_verdict_holds(before, after).verdict, EqualOverReals)
