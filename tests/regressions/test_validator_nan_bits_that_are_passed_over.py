"""A NaN whose bits are re-read is not a proof of a difference, also where the result that it makes undefined is no NaN.

TVM computes with ``bfloat16`` by way of its bits.  Those of NaN are undefined in our semantics.  So was the maximum
``T.max(A[0], B[0])`` with a NaN in ``A``, which is ``B[0]`` on every machine; and a branch that asks for such a NaN was
undefined behaviour.  Both were called different.
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate.pairs import Budget, Judgement, judge

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((1,), "float32")):
    C[0] = {}
"""


def judged(value: str, *, bits: str = "{}") -> Judgement:
    """The word on a value, and on the same one by way of the bits of ``A[0]``."""
    raw = bits.format('T.reinterpret("uint32", A[0])')
    there = value.replace("A[0]", f'T.reinterpret("float32", {raw})')
    before, after = (parse_func(PROGRAM.format(v)) for v in (value, there))
    return judge("pair", before, after, {}, Budget())


VALUES = ("T.max(A[0], B[0])", "T.Select(A[0] < B[0], A[0], B[0])", "T.if_then_else(A[0] != B[0], B[0], A[0])")


@pytest.mark.parametrize("value", VALUES)
def test_what_is_undefined_by_the_bits_of_nan_alone_is_not_called_different(value: str) -> None:
    found = judged(value)
    assert found.word in ("unknown", "unsupported") and "no other difference" in found.text


@pytest.mark.parametrize("value", VALUES)
def test_another_difference_is_one(value: str) -> None:
    assert judged(value, bits="{} ^ T.uint32(2147483648)").word == "different"


def test_other_things_that_are_undefined_are_called_different() -> None:
    before = parse_func(PROGRAM.format("B[0]"))
    small = 'T.reinterpret("uint32", A[0]) < T.uint32(3)'
    after = parse_func(PROGRAM.format(f'T.Select({small}, T.undef("float32"), B[0])'))
    assert judge("pair", before, after, {}, Budget()).word == "different"
