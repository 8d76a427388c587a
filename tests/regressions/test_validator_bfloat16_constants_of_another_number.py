"""Equal up to excess precision: any float32 constant that rounds to a constant of bfloat16 in the first program was
taken for it, so `x * 1.0` was `x * 1.003`, and `x + 1024 - 1024` was `x + 1025 - 1026`.  It is if the text of the first
program has that number, which bfloat16 rounds."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate.excess import written
from verified_tir.validate.pairs import Budget, judge

HEAD = """\
@T.prim_func
def f(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16")):
    for i in range(8):
        B[i] = """


def narrow(value: str) -> str:
    return HEAD + value.replace("float32", "bfloat16").format("A[i]")


def wide(value: str) -> PrimFunc:
    inner = value.format('T.Cast("float32", A[i])')
    return parse_func(HEAD + f'T.Cast("bfloat16", {inner})')


def word(before: str, after: str) -> str:
    text = narrow(before)
    return judge("f", parse_func(text), wide(after), {}, Budget(), excess_precision=True, constants=written(text)).word


ONE, NEAR = "{} * T.float32(1)", "{} * T.float32(1.003)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ONE, NEAR),
        (NEAR, NEAR.replace("1.003", "1.002")),
        ("{} + T.float32(1024) - T.float32(1024)", "{} + T.float32(1025) - T.float32(1026)"),
        ("{} + T.float32(1024) - T.float32(1025)", "{} + T.float32(1025) - T.float32(1024)"),
        ("{} + T.float32(1025) - T.float32(1026)", "{} + T.float32(1026) - T.float32(1025)"),
        ("T.min({}, T.float32(0))", "T.min({}, T.float32(-0.0))"),
    ],
)
def test_another_constant_is_another_program(before: str, after: str) -> None:
    assert word(before, after) not in ("equal up to excess precision", "equal")


@pytest.mark.parametrize("value", [NEAR, "{} + T.float32(1025) - T.float32(1025)", "{} * T.float32(-1.25e-05)"])
def test_the_constants_of_the_text(value: str) -> None:
    assert word(value, value) == "equal up to excess precision"
