"""A barrier of a scope that nobody knows counted as one of the whole thread block."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Equal, Unknown, validate

SERIAL = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[3 - i]
"""
KERNEL = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        S = T.alloc_buffer((4,), "float32", scope="shared")
        S[tx] = A[tx]
        T.evaluate(T.tvm_storage_sync({}))
        B[tx] = S[3 - tx]
"""


def kernel(scope: str) -> PrimFunc:
    return parse_func(KERNEL.format(scope))


@pytest.mark.parametrize("scope", ['"foo"', '"sharedfoo"', '""', '"local"', ""])
def test_barriers_of_other_scopes_are_refused(scope: str) -> None:
    """The known ones are named."""
    verdict = validate(parse_func(SERIAL), kernel(scope)).verdict
    assert isinstance(verdict, Unknown)
    assert "known are shared, shared.dyn, warp" in verdict.reason


@pytest.mark.parametrize("scope", ['"shared"', '"shared.dyn"', '"warp"'])
def test_barriers_of_known_scopes(scope: str) -> None:
    """Four threads are one warp."""
    report = validate(parse_func(SERIAL), kernel(scope))
    assert isinstance(report.verdict, Equal)
    assert not report.findings
