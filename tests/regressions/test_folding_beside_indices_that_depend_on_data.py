"""Found by a campaign, a mistake of the net: what TVM folds was taken for ours beside an index that depends on data."""

import pytest

pytest.importorskip("tvm")

from tests.fuzz.targets.tvm_checks import examine

PROGRAM = """
# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((1,), "float32"), B: T.Buffer((2,), "float32"), C: T.Buffer((1,), "int32")):
    B[C[0] % 2] = T.Select(T.EQ(0, 1), T.abs(T.float32(0.0)), T.float32(0.0) + A[0])
"""


def test_what_is_added_to_zero_is_no_zero_of_the_other_sign() -> None:
    told = examine(PROGRAM, [], 0)
    assert told.wrong == [] and [where for where, _ in told.bugs] == ["reading"]
