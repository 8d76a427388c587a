"""RFC 77, implementation option "Never write to transformation padding": ``pad_value`` is None, for a producer."""

from displayed import assert_confirmed, assert_structural_equal

from verified_tir import Schedule, expect_refusal, schedule
from verified_tir.script import tir as T


@T.prim_func
def initial(A: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        A[i] = 42


@T.prim_func
def transformed(A: T.Buffer((4, 4), "int32")):
    for i in T.serial(14):
        A[i // 4, i % 4] = 42


@T.prim_func
def sequential(A: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            A[io, ii] = 42


@schedule(initial)
def never_write(s: Schedule) -> None:
    """The guard that follows from the layout stays: the padding may not even be written."""
    s.transform_layout("A", lambda i: [i // 4, i % 4])
    assert_structural_equal(s, transformed)

    s.sequential_buffer_access("A")
    assert_structural_equal(s, sequential)

    with expect_refusal(s) as refusals:
        s.remove_branching_through_overcompute()
    assert_confirmed(refusals)
