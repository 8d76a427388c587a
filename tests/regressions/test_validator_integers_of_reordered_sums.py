"""Integers that depend on a float sum in another order were said to be such sums themselves, which they are not: where
the order decides a condition, they are any other numbers."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import EqualOverReals, validate

TEXT = """\
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "{}")):
    for i in range(6):
        B[i] = {}"""


@pytest.mark.parametrize(
    ("dtype", "value", "said"),
    [
        ("int32", "T.if_then_else({} > T.float32(0), 1, 0)", "are no floats, and may be any other numbers"),
        ("int32", "T.reinterpret({}, dtype='int32')", "are no floats, and may be any other numbers"),
        ("float32", "{}", "6 elements of B are sums"),
    ],
)
def test_what_depends_on_a_sum_is_none(dtype: str, value: str, said: str) -> None:
    sums = "A[i] + A[i + 1] + A[i + 2]", "A[i] + (A[i + 1] + A[i + 2])"
    found = validate(*[parse_func(TEXT.format(dtype, value.format(s))) for s in sums]).verdict
    assert isinstance(found, EqualOverReals)
    assert said in str(found)
