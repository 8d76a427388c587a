"""Cases 12 (an intrinsic whose precondition does not hold) and 6 (binding across a call), accepted by Exo."""

from __future__ import annotations

import numpy as np
import pytest

from tests.must_reject.support import accepted, refused
from verified_tir import NotApplicable, Refuted, Schedule, ScheduleError
from verified_tir.schedule.intrinsics import TensorIntrin

# -- 12: replacing code by an intrinsic whose precondition (``n <= 4``, stride 1) does not hold

MASKED = TensorIntrin.of(
    "masked_scale",
    """
@T.prim_func
def masked_scale(X: T.Buffer((n,), "float32", strides=[1]), Y: T.Buffer((n,), "float32", strides=[1]), n: T.int32):
    T.assume(n <= 4)
    for k in range(n):
        Y[k] = X[k] * T.float32(2)
""",
)

TAIL = """
@T.prim_func
def f(A: T.Buffer((18,), "float32"), B: T.Buffer((18,), "float32")):
    for o in range({blocks}):
        for i in range(T.min({width}, 18 - o * {width})):
            B[o * {width} + i] = A[o * {width} + i] * T.float32(2)
"""


def test_12_more_lanes_than_the_intrinsic_has() -> None:
    def steps(s: Schedule) -> str:
        return s.tensorize("i", MASKED)

    a = np.arange(18, dtype=np.float32)
    refused(TAIL.format(blocks=4, width=5), steps, "the assumption holds")
    s = accepted(TAIL.format(blocks=5, width=4), steps, A=a, B=np.zeros(18, np.float32))
    assert "masked_scale" in s.blocks


COLUMN = """
@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for c in range(4):
        for i in range(4):
            B[{target}] = A[{source}] * T.float32(2)
"""


def test_12_a_column_where_the_intrinsic_takes_a_row() -> None:
    def steps(s: Schedule) -> str:
        return s.tensorize("i", MASKED)

    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    refused(COLUMN.format(target="c, i", source="i, c"), steps, "the load of A_X reads where the one of A did")
    refused(COLUMN.format(target="i, c", source="c, i"), steps, "the store to B_Y goes where the one to B went")
    accepted(COLUMN.format(target="c, i", source="c, i"), steps, A=a, B=np.zeros((4, 4), np.float32))


# -- 6: binding an expression to a temporary across a call that writes the buffer it reads

MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.block("w"):
                B[i] = A[0] * 2
                {between}
                B[i] = B[i] + A[0] * 2

    @T.prim_func
    def bump(X: T.Buffer((4,), "int32"), k: T.int32):
        X[0] = X[0] + k
"""


def bound(s: Schedule) -> object:
    return s.bind_expr("w", "A[0] * 2", "x")


def test_6_nothing_is_bound_across_a_call_that_writes_what_it_reads() -> None:
    """What the callee writes is known: the counterexample can be run, and the neighbour is accepted."""
    refused(MODULE.format(between="Module.bump(A.data, i)"), bound, "equals A[0] * 2")
    a = np.array([1, 2, 3, 4], np.int32)
    s = accepted(MODULE.format(between="Module.bump(C.data, i)"), bound, A=a, B=a * 0, C=a * 0)
    assert s.blocks == ["w", "bump"]


def test_6_nothing_is_bound_across_an_opaque_call() -> None:
    s = Schedule(MODULE.format(between="T.evaluate(T.call_extern('int32', 'bump', C.data))"))
    with pytest.raises(ScheduleError) as refusal:
        bound(s)
    assert isinstance(refusal.value, (Refuted, NotApplicable))
