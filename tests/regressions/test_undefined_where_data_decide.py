"""The validator on demand: undefined behaviour that data decide was taken for that of every input; a view without
axes was taken to write all elements.

Finding: validator | vacuous-but-defined | validate
"""

from __future__ import annotations

import pytest

from tests.parts.verdicts import assert_verdict_holds
from verified_tir import parse_func
from verified_tir.validate import Equal, EqualInPart

GUARDED = """
@T.prim_func
def f(A: T.Buffer((40,), "int32"), B: T.Buffer((40,), "int32"), n: T.int32):
    for i in range(40):
        if A[i] > 100000:
            {inside}
"""
INSIDE = [
    "B[i // n] = A[i]",
    "if i // n == 0:\n                B[i] = A[i]",
    "x: T.let[T.int32] = 2147483647 + i + 1\n            B[i] = x",
    "for j in range(2):\n                with T.block('b'):\n                    v = T.axis.spatial(1, j)\n"
    "                    B[i] = A[i]",
]


@pytest.mark.parametrize("inside", INSIDE)
def test_undefined_behaviour_where_data_decide_is_not_that_of_every_input(inside: str) -> None:
    func = parse_func(GUARDED.format(inside=inside))
    report = assert_verdict_holds(func, func, sizes={"n": 0}, most_operations=30)
    assert not (isinstance(report.verdict, Equal) and report.verdict.vacuous)


VIEW = """
@T.prim_func
def f(A: T.Buffer((40,), "int32"), B: T.Buffer((40,), "int32")):
    for i in range(40):
        B[i] = A[i] * {k}
    V = T.decl_buffer((), "int32", data=B.data)
    V[()] = 7
"""


def test_a_view_without_axes_is_one_element() -> None:
    before, after = (parse_func(VIEW.format(k=k)) for k in (2, 3))
    report = assert_verdict_holds(before, after, most_operations=30)
    assert not isinstance(report.verdict, EqualInPart)
