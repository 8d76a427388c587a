"""Must reject 10: parallelising a racy loop that is nested inside a sequential one.

The iterations of the inner loop conflict within one iteration of the outer loop; that another loop stands around them
hides nothing.  Each case has the legal loop beside it.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.must_reject.support import accepted, refused
from verified_tir import Schedule

PREFIX = """
@T.prim_func
def f(A: T.Buffer((4, 9), "int32")):
    for t in range(4):
        for i in range(8):
            A[t, i + 1] = A[t, i + 1] + A[{row}, i]
"""


def test_10_a_recurrence_inside_a_serial_loop_is_refused() -> None:
    refusal = refused(PREFIX.format(row="t"), lambda s: s.parallel("i"), "the loop over i is parallel")
    assert "no two of its iterations write and read the same element of A" in refusal.reason
    assert "race at A[0, 1] between i = 0 and 1" in str(refusal)


def test_10_the_outer_loop_may_be_parallel() -> None:
    accepted(PREFIX.format(row="t"), lambda s: s.parallel("t"), A=np.arange(36, dtype=np.int32).reshape(4, 9))


ROW_ABOVE = """
@T.prim_func
def f(A: T.Buffer((5, 9), "int32")):
    for t in range(4):
        for i in range(9):
            A[t + 1, i] = A[t + 1, i] + A[t, {column}]
"""


def test_10_the_inner_loop_may_be_parallel_where_only_the_outer_one_carries() -> None:
    accepted(ROW_ABOVE.format(column="i"), lambda s: s.parallel("i"), A=np.arange(45, dtype=np.int32).reshape(5, 9))


def test_10_then_the_outer_loop_is_refused() -> None:
    refused(ROW_ABOVE.format(column="i"), lambda s: s.parallel("t"), "the loop over t is parallel")


ACCUMULATED = """
@T.prim_func
def f(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
    for t in range(4):
        for i in range(8):
            for k in range(3):
                B[t, {element}] = B[t, {element}] + A[t, i] * k
"""


@pytest.mark.parametrize("kind", ["parallel", "vectorize"])
def test_10_one_accumulator_of_all_iterations_is_refused(kind: str) -> None:
    def steps(s: Schedule) -> None:
        if kind == "vectorize":
            s.reorder("k", "i")
        getattr(s, kind)("i")

    refused(ACCUMULATED.format(element="i // 2"), steps, "the loop over i is")


def test_10_an_accumulator_of_its_own_for_each_is_accepted() -> None:
    accepted(
        ACCUMULATED.format(element="i"),
        lambda s: s.parallel("i"),
        A=np.arange(32, dtype=np.int32).reshape(4, 8),
        B=np.zeros((4, 8), np.int32),
    )


def test_10_a_symbolic_stride_that_may_be_zero_is_refused() -> None:
    program = """
@T.prim_func
def f(A: T.Buffer((64,), "int32"), m: T.int32):
    T.assume({assumed} <= m and m < 8)
    for t in range(4):
        for i in range(8):
            A[i * m] = A[i * m] + i
"""
    refused(program.format(assumed=0), lambda s: s.parallel("i"), "the loop over i is parallel")
    accepted(program.format(assumed=1), lambda s: s.parallel("i"), A=np.zeros(64, np.int32), m=np.int32(3))
