"""A check of the validator read "A[] lane 0" as no element of a buffer that is one vector.

Finding: validator | different-unconfirmed | validate
Seed:    20261123, round 1, case 44
"""

from tests.parts.verdicts import assert_verdict_holds
from verified_tir import parse_func

BEFORE = """
# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((), "float32x4")):
    A[()] = T.Cast("float32x4", T.Broadcast(0, 4))
"""
AFTER = """
# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((), "float32x4")):
    A[()] = T.Cast("float32x4", T.Broadcast(1, 4))
"""


def test_differences_of_a_single_vector() -> None:
    assert_verdict_holds(parse_func(BEFORE), parse_func(AFTER), sizes={})
