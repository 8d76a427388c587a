"""RFC 77, implementation option "Explicitly write next operator's desired default at end of function".

The RFC transforms a module of two functions.  Here each has its schedule; that both say the same of A's padding is what
makes them fit.
"""

from displayed import assert_confirmed, assert_structural_equal

from verified_tir import Schedule, expect_refusal, schedule
from verified_tir.script import tir as T


@T.prim_func
def producer(A: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        A[i] = 1000 + i


@T.prim_func
def producer_transformed(A: T.Buffer((4, 4), "int32")):
    for i in T.serial(14):
        A[i // 4, i % 4] = 1000 + i

    for io, ii in T.grid(4, 4):
        with T.block("A_padding"):
            if io == 3 and ii >= 2:
                A[io, ii] = 0


@T.prim_func
def producer_sequential(A: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            A[io, ii] = 1000 + (4 * io + ii)

    for io, ii in T.grid(4, 4):
        with T.block("A_padding"):
            if io == 3 and ii >= 2:
                A[io, ii] = 0


@T.prim_func
def producer_merged(A: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            A[io, ii] = 1000 + (4 * io + ii)
        with T.block("A_padding"):
            if io == 3 and ii >= 2:
                A[io, ii] = 0


@T.prim_func
def producer_simplified(A: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            A[io, ii] = 1000 + (4 * io + ii)
        else:
            with T.block("A_padding"):
                A[io, ii] = 0


@schedule(producer)
def the_producer_writes_the_default(s: Schedule) -> None:
    """One loop nest that writes every element once."""
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0)
    assert_structural_equal(s, producer_transformed)

    s.sequential_buffer_access("A")
    assert_structural_equal(s, producer_sequential)

    s.merge_adjacent_loops()
    assert_structural_equal(s, producer_merged)

    s.simplify()
    assert_structural_equal(s, producer_simplified)

    with expect_refusal(s):
        s.remove_branching_through_overcompute()


@T.prim_func
def consumer(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i]


@T.prim_func
def consumer_transformed(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(io != 3 or ii < 2 or A[io, ii] == 0)

    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i // 4, i % 4]


@T.prim_func
def consumer_sequential(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(io != 3 or ii < 2 or A[io, ii] == 0)

    B[0] = 0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[0] = B[0] + A[io, ii]


@T.prim_func
def consumer_overcompute(A: T.Buffer((4, 4), "int32"), B: T.Buffer((1,), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(io != 3 or ii < 2 or A[io, ii] == 0)

    B[0] = 0
    for io, ii in T.grid(4, 4):
        B[0] = B[0] + A[io, ii]


@schedule(consumer)
def the_consumer_relies_on_it(s: Schedule) -> None:
    """No branch is left."""
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0)
    s.assume_padding("A")
    assert_structural_equal(s, consumer_transformed)

    s.sequential_buffer_access("A")
    assert_structural_equal(s, consumer_sequential)

    s.remove_branching_through_overcompute()
    assert_structural_equal(s, consumer_overcompute)


@T.prim_func
def product(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 1
    for i in T.serial(14):
        B[0] = B[0] * A[i]


@schedule(product)
def a_product_needs_ones(s: Schedule) -> None:
    """The default follows from what the consumer computes."""
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=1)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()


@schedule(product)
def zeros_do_not_do(s: Schedule) -> None:
    """With the default of the sum, the branch stays."""
    s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0)
    s.sequential_buffer_access("A")
    with expect_refusal(s) as refusals:
        s.remove_branching_through_overcompute()
    assert_confirmed(refusals)
