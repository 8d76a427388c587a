"""A load at an index of uint64 that depends on data ended in a traceback, if a constant of the index is 2**63 or more,
or if a negative number is converted."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import Equal, validate
from verified_tir.validate.pairs import Budget, judge
from verified_tir.validate.verdict import Verdict

TEXT = """\
@T.prim_func
def f(A: T.Buffer((4,), "{0}"), X: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        B[i] = X[{1}]"""


def verdict(dtype: str, before: str, after: str) -> Verdict:
    one, other = (parse_func(TEXT.format(dtype, index)) for index in (before, after))
    assert judge("f", one, other, {}, Budget()).word != "failed"
    return validate(one, other).verdict


BEYOND = "T.min(A[i], T.uint64(9223372036854775809))"
MINUS = "T.Cast('uint64', T.max(T.min(A[i], 3), -1))"


@pytest.mark.parametrize(
    ("dtype", "before", "after"),
    [
        ("uint64", BEYOND, BEYOND),
        ("uint64", BEYOND, "A[i]"),
        ("int32", MINUS, MINUS),
        ("int32", MINUS, "T.max(T.min(A[i], 3), 0)"),
        ("int32", MINUS, "T.Cast('uint64', T.max(T.min(A[i], 3), 0))"),
        ("int32", MINUS, "T.Cast('int64', T.Cast('uint64', T.max(T.min(A[i], 3), -2)))"),
        ("int32", "T.max(T.Cast('int64', " + MINUS + "), T.int64(0))", "T.max(T.min(A[i], 3), 0)"),
    ],
)
def test_indices_of_uint64(dtype: str, before: str, after: str) -> None:
    """What is out of bounds before may be anything."""
    assert isinstance(verdict(dtype, before, after), Equal)


@pytest.mark.parametrize(
    ("dtype", "before", "after"),
    [
        ("int32", "T.max(T.min(A[i], 3), 0)", MINUS),
        ("int32", MINUS, "T.max(T.min(A[i], 2), 0)"),
        ("int32", "T.max(T.min(A[i], 3), 0)", "T.min(T.Cast('uint64', A[i]), T.uint64(3))"),
        ("uint64", "T.min(A[i], T.uint64(3))", BEYOND),
        (
            "uint64",
            "T.min(A[i], T.uint64(3))",
            "T.min(A[i], T.uint64(9223372036854775809) - T.uint64(9223372036854775807))",
        ),
    ],
)
def test_other_indices_are_others(dtype: str, before: str, after: str) -> None:
    assert not isinstance(verdict(dtype, before, after), Equal)
