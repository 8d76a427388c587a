"""Machine code was handed bfloat16 scalars as floats, and kernels take their bits: it differed from what is equal.

Finding: validator | equal-but-differs | validate_llvm, emitted
"""

from __future__ import annotations

import pytest

from tests.parts.llvm_verdicts import assert_llvm_verdict_holds
from verified_tir import Schedule
from verified_tir.codegen.emit import emit
from verified_tir.codegen.target import Target
from verified_tir.validate import Equal

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((4,), "{dtype}"), x: T.{dtype}):
    A[1] = x
"""


@pytest.mark.sample(4)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "bool"])
def test_scalars_are_passed_as_the_kernel_takes_them(dtype: str) -> None:
    s = Schedule(PROGRAM.format(dtype=dtype))
    report = assert_llvm_verdict_holds(s.func, emit(s.func, Target.host(2)).text)
    assert isinstance(report.verdict, Equal)
