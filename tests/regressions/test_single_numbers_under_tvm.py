"""Found by a campaign: the check that asks TVM's machine code about a difference read no index as a number.

Finding: tvm | crash | ValueError in fuzz/targets/tvm_checks.py:<genexpr>
"""

from __future__ import annotations

import pytest

pytest.importorskip("tvm")

from tests.fuzz.targets.tvm_checks import examine

PROGRAM = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((2, 2), "float32"), B: T.Buffer((), "float32")):
    for i in range(2):
        B[()] = A[i, i] - A[i, i]
"""


def test_a_difference_of_a_single_number_is_looked_at() -> None:
    """TVM takes x - x for zero, which it is not of infinities."""
    told = examine(PROGRAM, [], 0)
    assert told.wrong == [] and told.bugs
