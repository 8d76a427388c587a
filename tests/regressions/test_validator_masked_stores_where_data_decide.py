"""The validator: lanes that a mask leaves out were taken to store to one element, where data decide about the store;
such a store was refused.

Finding: validator | unknown | several rows store to one element
"""

from __future__ import annotations

import pytest

from tests.parts.verdicts import assert_verdict_holds
from verified_tir import parse_func
from verified_tir.validate import Different, Equal

SCALAR = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((2,), "int32")):
    for i in range(8):
        if C[i // 4] > 0:
            if i < 6:
                B[i] = A[i]
"""
MASKED = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((2,), "int32")):
    for i in range(2):
        if C[i] > 0:
            B.vstore(
                [T.Ramp(i * 4, 1, 4)],
                A.vload([T.Ramp(i * 4, 1, 4)]),
                predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast({end}, 4),
            )
"""


@pytest.mark.parametrize(("end", "verdict"), [(6, Equal), (5, Different), (7, Different)])
def test_masked_stores_under_a_condition_on_data(end: int, verdict: type) -> None:
    report = assert_verdict_holds(parse_func(SCALAR), parse_func(MASKED.format(end=end)))
    assert isinstance(report.verdict, verdict), report.verdict
