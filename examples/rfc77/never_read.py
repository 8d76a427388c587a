"""RFC 77, implementation option "Never read from transformation padding": ``pad_value`` is None, for a consumer."""

from displayed import assert_confirmed, assert_structural_equal

from verified_tir import Schedule, expect_refusal, schedule
from verified_tir.script import tir as T


@T.prim_func
def initial(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i]


@T.prim_func
def transformed(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i // 4, i % 4]


@T.prim_func
def sequential(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[0] = B[0] + A[io, ii]


@schedule(initial)
def never_read(s: Schedule) -> None:
    """The guard that follows from the layout stays: the padding may not even be read."""
    s.transform_layout("A", lambda i: [i // 4, i % 4])
    assert_structural_equal(s, transformed)

    s.sequential_buffer_access("A")
    assert_structural_equal(s, sequential)

    with expect_refusal(s) as refusals:
        s.remove_branching_through_overcompute()
    assert_confirmed(refusals)


@schedule(initial)
def a_value_of_no_use(s: Schedule) -> None:
    """The same where no simplification can make use of the value: padding of ones may be read, but changes the sum."""
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=1)
    assert_structural_equal(s, transformed)

    s.sequential_buffer_access("A")
    assert_structural_equal(s, sequential)

    with expect_refusal(s) as refusals:
        s.remove_branching_through_overcompute()
    assert_confirmed(refusals)
