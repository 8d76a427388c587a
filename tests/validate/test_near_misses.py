"""Pairs of programs that differ in little: one is equal, the other one is not."""

import pytest

from tests.validate.test_validate import INTS, store, verdict
from verified_tir.validate import Different, Equal


@pytest.mark.parametrize(("way", "equal"), [("int64", True), ("int8", False)])
def test_an_integer_comes_back_from_a_wider_type_only(way: str, equal: bool) -> None:
    found = verdict(store(f"T.Cast('int32', T.Cast('{way}', A[0]))"), store("A[0]"), INTS)
    assert isinstance(found, Equal if equal else Different), found


SUM = """
for k in range(4):
    with T.block("sum"):
        v = T.axis.reduce(4, k)
        with T.init():
            B[0] = 0
        B[0] = B[0] + A[v]
"""
STEPS = "for k in range(4):\n    if {}:\n        B[0] = 0\n    B[0] = B[0] + A[k]"


@pytest.mark.parametrize(("when", "equal"), [("k == 0", True), ("k >= 0", False), ("k == 3", False)])
def test_a_reduction_is_initialised_once(when: str, equal: bool) -> None:
    found = verdict(SUM, STEPS.format(when), INTS)
    assert isinstance(found, Equal if equal else Different), found
