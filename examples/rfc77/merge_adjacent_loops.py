"""RFC 77, "Utility - Merge Adjacent Loops": its examples, and one that its second condition lets through."""

from displayed import assert_confirmed, assert_structural_equal

from verified_tir import Schedule, expect_refusal, schedule
from verified_tir.script import tir as T


@T.prim_func
def element_wise(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 0.0

    for i in T.serial(16):
        A[i] = 1.0


@T.prim_func
def element_wise_merged(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 0.0
        A[i] = 1.0


@schedule(element_wise)
def element_wise_loops(s: Schedule) -> None:
    """Each iteration touches an element of its own."""
    s.merge_loops(*s.loops())
    assert_structural_equal(s, element_wise_merged)


@T.prim_func
def reads_earlier(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 0.0

    for i in T.serial(16):
        if i > 0:
            A[i] = A[i - 1] + 1.0


@T.prim_func
def reads_earlier_merged(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = 0.0
        if i > 0:
            A[i] = A[i - 1] + 1.0


@schedule(reads_earlier)
def earlier_iterations(s: Schedule) -> None:
    """The second loop reads what an earlier iteration of the first wrote."""
    s.merge_loops(*s.loops())
    assert_structural_equal(s, reads_earlier_merged)


@T.prim_func
def reads_later(A: T.Buffer((16,), "int32")):
    for i in T.serial(16):
        A[i] = i

    for i in T.serial(16):
        if 0 < i < 15:
            A[i] = A[i - 1] + A[i] + A[i + 1]


@schedule(reads_later)
def later_iterations(s: Schedule) -> None:
    """The second loop reads what a later iteration of the first writes: the RFC's first condition."""
    with expect_refusal(s) as refusals:
        s.merge_loops(*s.loops())
    assert_confirmed(refusals)


@T.prim_func
def overwrites_later(A: T.Buffer((17,), "int32"), B: T.Buffer((16,), "int32")):
    for i in T.serial(16):
        B[i] = A[i]

    for i in T.serial(16):
        A[i + 1] = i


@schedule(overwrites_later)
def overwritten_before_it_is_read(s: Schedule) -> None:
    """The second loop overwrites what a later iteration of the first reads: the second condition, as it should be."""
    with expect_refusal(s) as refusals:
        s.merge_loops(*s.loops())
    assert_confirmed(refusals)


@T.prim_func
def overwrites_earlier(A: T.Buffer((17,), "int32"), B: T.Buffer((16,), "int32")):
    for i in T.serial(16):
        B[i] = A[i + 1]

    for i in T.serial(16):
        A[i] = i


@T.prim_func
def overwrites_earlier_merged(A: T.Buffer((17,), "int32"), B: T.Buffer((16,), "int32")):
    for i in T.serial(16):
        B[i] = A[i + 1]
        A[i] = i


@schedule(overwrites_earlier)
def overwritten_after_it_is_read(s: Schedule) -> None:
    """The opposite is harmless."""
    s.merge_loops(*s.loops())
    assert_structural_equal(s, overwrites_earlier_merged)
