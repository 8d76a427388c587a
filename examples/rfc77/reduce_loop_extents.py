"""RFC 77, "New Transform - Reduce Loop Extents": the initialisation of padding, without its conditions."""

from displayed import assert_structural_equal

from verified_tir import HoistConditional, Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def initial(A: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        if i == 0 and j < 2:
            A[i, j] = 0.0


@T.prim_func
def hoisted(A: T.Buffer((4, 4), "float32")):
    for i in T.serial(4):
        if i == 0:
            for j in T.serial(4):
                if j < 2:
                    A[i, j] = 0.0


@T.prim_func
def reduced(A: T.Buffer((4, 4), "float32")):
    for j in T.serial(2):
        A[0, j] = 0.0


@schedule(initial)
def padding_at_the_start(s: Schedule) -> None:
    """The loop over ``i`` would run once, and goes."""
    s.hoist_expression(HoistConditional.BOOLEAN_EXPRESSION)
    assert_structural_equal(s, hoisted)

    s.reduce_loop_extents()
    assert_structural_equal(s, reduced)


@T.prim_func
def at_the_end(A: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        if io == 3 and ii >= 2:
            A[io, ii] = -2.0


@T.prim_func
def last_row(A: T.Buffer((4, 4), "float32")):
    for ii in T.serial(2, 4):
        A[3, ii] = -2.0


@schedule(at_the_end)
def padding_at_the_end(s: Schedule) -> None:
    """What "Enhancement - transform_layout" says of its padding stage: no loop over ``io``, and 2 <= ii < 4."""
    s.hoist_expression(HoistConditional.BOOLEAN_EXPRESSION)
    s.reduce_loop_extents()
    assert_structural_equal(s, last_row)


@T.prim_func
def data_dependent(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32")):
    for i in T.serial(16):
        if B[i] < 8 and i < 12:
            A[i] = 0.0


@T.prim_func
def data_dependent_reduced(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32")):
    for i in T.serial(12):
        if B[i] < 8:
            A[i] = 0.0


@schedule(data_dependent)
def only_comparisons_with_the_loop(s: Schedule) -> None:
    """A condition on data cuts nothing off."""
    s.reduce_loop_extents()
    assert_structural_equal(s, data_dependent_reduced)
