"""The validator's normal form of a square, squared sixty times, took twice the memory each time.

Finding: validator | died | SIGKILL
"""

from __future__ import annotations

from verified_tir import parse_func
from verified_tir.validate import Equal, Unknown, validate

SQUARES = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        for k in range(60):
            B[i] = B[i] * B[i]
        B[i] = B[i] + A[i]{more}
"""


def test_squares_of_squares() -> None:
    before, after = (parse_func(SQUARES.format(more=m)) for m in ("", " + 1 - 1"))
    verdict = validate(before, after).verdict
    assert isinstance(verdict, (Equal, Unknown)), verdict
