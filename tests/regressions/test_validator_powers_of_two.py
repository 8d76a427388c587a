"""The validator: shifts, quotients, remainders and bits by powers of two, which say the same, were other terms; so were
sums of a float with itself and quotients by powers of two, and their products.

Finding: validator | unknown | other terms
"""

from __future__ import annotations

import pytest

from tests.parts.verdicts import assert_verdict_holds
from verified_tir import parse_func
from verified_tir.validate import Different, Equal, EqualOverReals

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((6,), "{dtype}"), B: T.Buffer((6,), "{dtype}")):
    for i in range(6):
        B[i] = {value}
"""
SAME = [
    ("int32", "A[i] * 8", "T.shift_left(A[i], 3)"),
    ("int32", "A[i] * T.int32(-2147483648)", "T.shift_left(A[i], 31)"),
    ("int32", "A[i] // 8", "T.shift_right(A[i], 3)"),
    ("int32", "A[i] % 8", "T.bitwise_and(A[i], 7)"),
    ("int8", "A[i] % T.int8(64) + A[0] * T.int8(4)", "T.bitwise_and(T.int8(63), A[i]) + T.shift_left(A[0], T.int8(2))"),
    ("uint8", "A[i] // T.uint8(128)", "T.shift_right(A[i], T.uint8(7))"),
    ("uint64", "T.truncdiv(A[i], T.uint64(16))", "T.shift_right(A[i], T.uint64(4))"),
    ("uint64", "T.truncmod(A[i], T.uint64(3))", "A[i] % T.uint64(3)"),
    ("int32", "T.Select(T.shift_right(A[i], 31) == 0, A[i] // 2, 0)", "T.Select(A[i] >= 0, T.shift_right(A[i], 1), 0)"),
    ("float32", "A[i] + A[i]", "A[i] * T.float32(2)"),
    ("float32", "A[i] / T.float32(8)", "A[i] * T.float32(0.125)"),
    ("float16", "A[i] / T.float16(-0.5) - A[0]", "A[i] * T.float16(-2) - A[0]"),
]
OTHER = [
    ("int32", "A[i] * 8", "T.shift_left(A[i], 4)"),
    ("int32", "T.truncdiv(A[i], 8)", "T.shift_right(A[i], 3)"),
    ("int32", "T.truncmod(A[i], 8)", "T.bitwise_and(A[i], 7)"),
    ("int8", "A[i] % T.int8(127)", "T.bitwise_and(A[i], T.int8(-1))"),
    ("int32", "A[i] % 6", "T.bitwise_and(A[i], 5)"),
    ("uint8", "A[i] // T.uint8(64)", "T.shift_right(A[i], T.uint8(7))"),
    ("float32", "A[i] + A[0]", "A[i] * T.float32(2)"),
    ("float32", "A[i] / T.float32(3)", "A[i] * T.float32(0.3333333333)"),
    ("float16", "A[i] / T.float16(6e-8)", "A[i] * T.float16(65504)"),
]


@pytest.mark.sample(9)
@pytest.mark.parametrize(("dtype", "one", "other"), SAME)
def test_two_ways_to_say_it(dtype: str, one: str, other: str) -> None:
    before, after = (parse_func(PROGRAM.format(dtype=dtype, value=value)) for value in (one, other))
    for first, second in ((before, after), (after, before)):
        report = assert_verdict_holds(first, second)
        assert isinstance(report.verdict, Equal), report.verdict


@pytest.mark.parametrize(("dtype", "one", "other"), OTHER)
def test_what_says_something_else(dtype: str, one: str, other: str) -> None:
    before, after = (parse_func(PROGRAM.format(dtype=dtype, value=value)) for value in (one, other))
    report = assert_verdict_holds(before, after)
    assert isinstance(report.verdict, Different), report.verdict


def test_means_whose_sums_are_in_another_order() -> None:
    values = "(A[i] + A[0] + A[1]) / T.float32(4)", "(A[i] + (A[0] + A[1])) * T.float32(0.25)"
    before, after = (parse_func(PROGRAM.format(dtype="float32", value=value)) for value in values)
    report = assert_verdict_holds(before, after)
    assert isinstance(report.verdict, EqualOverReals), report.verdict
