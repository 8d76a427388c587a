"""RFC 77, implementation option "Allocate internal buffer containing transformation padding"."""

from displayed import assert_structural_equal

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def initial(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A[i]


@T.prim_func
def cached(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    A_local = T.alloc_buffer((14,), dtype="int32", scope="local")
    for i in T.serial(14):
        with T.block("A_local"):
            A_local[i] = A[i]

    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A_local[i]


@T.prim_func
def transformed(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    A_local = T.alloc_buffer((4, 4), dtype="int32", scope="local")
    for i in T.serial(14):
        with T.block("A_local"):
            A_local[i // 4, i % 4] = A[i]

    for io, ii in T.grid(4, 4):
        with T.block("A_local_padding"):
            if io == 3 and ii >= 2:
                A_local[io, ii] = 0

    B[0] = 0
    for i in T.serial(14):
        B[0] = B[0] + A_local[i // 4, i % 4]


@T.prim_func
def sequential(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    A_local = T.alloc_buffer((4, 4), dtype="int32", scope="local")
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            with T.block("A_local"):
                A_local[io, ii] = A[4 * io + ii]

    for io, ii in T.grid(4, 4):
        with T.block("A_local_padding"):
            if io == 3 and ii >= 2:
                A_local[io, ii] = 0

    B[0] = 0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[0] = B[0] + A_local[io, ii]


@T.prim_func
def overcompute(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    A_local = T.alloc_buffer((4, 4), dtype="int32", scope="local")
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            with T.block("A_local"):
                A_local[io, ii] = A[4 * io + ii]

    for io, ii in T.grid(4, 4):
        with T.block("A_local_padding"):
            if io == 3 and ii >= 2:
                A_local[io, ii] = 0

    B[0] = 0
    for io, ii in T.grid(4, 4):
        B[0] = B[0] + A_local[io, ii]


@schedule(initial)
def internal_buffer(s: Schedule) -> None:
    """Nothing is assumed: that the padding holds zeros is seen in the program itself."""
    s.cache_read("A", "local")
    assert_structural_equal(s, cached)

    s.transform_layout("A_local", lambda i: [i // 4, i % 4], pad_value=0)
    assert_structural_equal(s, transformed)

    s.sequential_buffer_access("A_local")
    assert_structural_equal(s, sequential)

    s.remove_branching_through_overcompute()
    assert_structural_equal(s, overcompute)
