"""RFC 77, implementation option "Apply operator element-wise over the transformation padding"."""

from displayed import assert_confirmed, assert_structural_equal

from verified_tir import Schedule, expect_refusal, schedule
from verified_tir.lower import RemoveAssume, RemoveStoreUndef
from verified_tir.script import tir as T


@T.prim_func
def initial(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 2 * A[i]


@T.prim_func
def transformed_a(A: T.Buffer((4, 4), "int32"), B: T.Buffer((14,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(io != 3 or ii < 2 or A[io, ii] == T.undef())

    for i in T.serial(14):
        B[i] = 2 * A[i // 4, i % 4]


@T.prim_func
def transformed_b(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(io != 3 or ii < 2 or A[io, ii] == T.undef())

    for i in T.serial(14):
        B[i // 4, i % 4] = 2 * A[i // 4, i % 4]

    for io, ii in T.grid(4, 4):
        with T.block("B_padding"):
            if io == 3 and ii >= 2:
                B[io, ii] = T.undef()


@T.prim_func
def sequential(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(io != 3 or ii < 2 or A[io, ii] == T.undef())

    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = 2 * A[io, ii]

    for io, ii in T.grid(4, 4):
        with T.block("B_padding"):
            if io == 3 and ii >= 2:
                B[io, ii] = T.undef()


@T.prim_func
def overcompute(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(io != 3 or ii < 2 or A[io, ii] == T.undef())

    for io, ii in T.grid(4, 4):
        B[io, ii] = 2 * A[io, ii]

    for io, ii in T.grid(4, 4):
        with T.block("B_padding"):
            if io == 3 and ii >= 2:
                B[io, ii] = T.undef()


@T.prim_func
def without_stages(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        B[io, ii] = 2 * A[io, ii]


@schedule(initial)
def element_wise(s: Schedule) -> None:
    """Padding is computed as everything else; that it may be read and written, the two stages say."""
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=lambda io, ii: T.undef())
    s.assume_padding("A")
    assert_structural_equal(s, transformed_a)

    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=lambda io, ii: T.undef())
    s.write_padding("B")
    assert_structural_equal(s, transformed_b)

    s.sequential_buffer_access("B")
    assert_structural_equal(s, sequential)

    s.remove_branching_through_overcompute()
    assert_structural_equal(s, overcompute)

    lowered = (RemoveAssume() >> RemoveStoreUndef()).run(s)
    assert_structural_equal(lowered.after, without_stages)


@T.prim_func
def reciprocal(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        T.assume(A[i] > 0)
    for i in T.serial(14):
        B[i] = 1000 // A[i]


@schedule(reciprocal)
def an_operator_that_can_fail(s: Schedule) -> None:
    """Not every element-wise operator may run over arbitrary padding: this one divides by it."""
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=T.undef())
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=T.undef())
    s.sequential_buffer_access("B")
    with expect_refusal(s) as refusals:
        s.remove_branching_through_overcompute()
    assert_confirmed(refusals)
