"""What an assumption says of an input is used for integers, and only for them."""

from __future__ import annotations

from verified_tir import parse_func
from verified_tir.validate import Different, Equal, validate

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((2,), "{}"), B: T.Buffer((2,), "{}")):
    T.assume(A[0] == {})
    B[0] = {} + A[1]
"""


def verdict(dtype: str, assumed: str, after: str) -> object:
    before = parse_func(PROGRAM.format(dtype, dtype, assumed, "A[0]"))
    return validate(before, parse_func(PROGRAM.format(dtype, dtype, assumed, after))).verdict


def test_an_integer_is_what_is_assumed() -> None:
    assert isinstance(verdict("int32", "3", "3"), Equal)
    assert isinstance(verdict("int32", "3", "4"), Different)
    assert isinstance(verdict("uint8", "255", "T.uint8(255)"), Equal)


def test_a_float_may_be_the_other_zero() -> None:
    program = PROGRAM.replace("{} + A[1]", "{}")
    before = parse_func(program.format("float32", "float32", "0.0", "A[0]"))
    after = parse_func(program.format("float32", "float32", "0.0", "T.float32(0)"))
    found = validate(before, after).verdict
    assert isinstance(found, Different)
    assert str(found.before) == "-0.0"
