"""``domain_touched``: guards of uint64 were computed in floats, the least int64 divided wrongly; memory ran out.

Finding: simplify | touched-too-little | domain_touched
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.parts.simplified import assert_touches
from verified_tir import domain_touched, parse_func

GUARD = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), w: T.{t}):
    for i in range(8):
        B[i] = T.if_then_else({c}, A[i], 0)
"""


@pytest.mark.parametrize(
    "c",
    [
        "(w & T.uint64(1)) < T.uint64(1)",
        "(w >> T.uint64(60)) < T.uint64(9)",
        "w % T.uint64(2) == T.uint64(1)",
        "T.truncmod(w, T.uint64(2)) == T.uint64(1)",
        "w // T.uint64(3) > T.uint64(7)",
    ],
)
@pytest.mark.parametrize("w", [2**63 + 5, 2**64 - 1, 2**63, 3])
def test_guards_of_uint64(c: str, w: int) -> None:
    zeros = np.zeros(8, np.int32)
    assert assert_touches(parse_func(GUARD.format(t="uint64", c=c)), [{"A": zeros, "B": zeros.copy(), "w": w}])


@pytest.mark.parametrize("c", ["T.truncdiv(w, T.int64(3)) < T.int64(0)", "T.truncmod(w, T.int64(3)) < T.int64(0)"])
def test_guards_of_the_least_int64(c: str) -> None:
    zeros = np.zeros(8, np.int32)
    assert assert_touches(parse_func(GUARD.format(t="int64", c=c)), [{"A": zeros, "B": zeros.copy(), "w": -(2**63)}])


def test_triangles_side_by_side_take_no_memory() -> None:
    nest = "    for i in range(8):\n        for j in range(i + 2):\n            A[i + j] = 1\n"
    text = '@T.prim_func\ndef main(A: T.Buffer((64,), "int32")):\n' + nest * 6
    assert domain_touched(text, "A").elements() == {(k,) for k in range(16)}


def test_a_size_of_zero_is_guarded_against() -> None:
    """Alternatives are looked at one by one, unless one of them keeps the next from dividing by zero."""
    text = """
@T.prim_func
def main(A: T.Buffer((64,), "int32"), n: T.int32):
    for i, j in T.grid(4, 3):
        if n == 0 or (i + j) // n == 1:
            A[i + j] = 1
    A[63] = 1
"""
    domain = domain_touched(text, "A")
    assert domain.elements({"n": 0}) == {(k,) for k in (*range(6), 63)}
    assert domain.elements({"n": 2}) == {(2,), (3,), (63,)}
