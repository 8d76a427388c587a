"""``condition or x == T.undef()`` under ``T.assume``: where the condition is false, x may be evaluated."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import Correspondence, Different, Equal, Unknown, validate

IN_FOURS = {"A": Correspondence(lambda i: (i // 4, i % 4), "undef")}
BEFORE = """
@T.prim_func
def f(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        B[i] = 2 * A[i]
"""
AFTER = """
@T.prim_func
def f(A: T.Buffer((4, 4), "int32"), B: T.Buffer((14,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume({assumed})
    for i in range(14):
        B[i] = {factor} * A[i // 4, i % 4]
"""


def verdict(assumed: str, factor: int = 2) -> object:
    return validate(parse_func(BEFORE), parse_func(AFTER.format(assumed=assumed, factor=factor)), maps=IN_FOURS).verdict


def test_padding_that_may_be_read() -> None:
    accessible = "4 * io + ii < 14 or A[io, ii] == T.undef()"
    assert isinstance(verdict(accessible), Equal)
    assert isinstance(verdict(accessible, factor=3), Different)
    assert isinstance(verdict("4 * io + ii < 14 or A[io, ii] == T.undef() and A[io, ii] == T.undef()"), Equal)


def test_it_is_evaluated_only_where_the_condition_is_false() -> None:
    assert isinstance(verdict("4 * io + ii >= 14 or A[io, ii + 0] == T.undef()"), Equal)
    outside = verdict("4 * io + ii < 14 or A[io + 1, ii] == T.undef()")
    assert isinstance(outside, Different)
    assert "out-of-bounds" in str(outside)
    assert isinstance(verdict("io < 4 or A[io + 1, ii] == T.undef()"), Equal)


@pytest.mark.parametrize(
    "assumed",
    [
        "A[0, 0] < 5 or A[io, ii] == T.undef()",
        "A[io, ii] == T.undef() or io < 4",
    ],
)
def test_other_forms_are_not_decided(assumed: str) -> None:
    found = verdict(assumed)
    assert isinstance(found, Unknown)
    assert "an assumption about undef" in str(found)
