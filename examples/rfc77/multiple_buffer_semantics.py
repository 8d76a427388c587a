"""RFC 77, "Multiple Buffer Semantics": each element of the padding follows the transformation that introduced it."""

from displayed import assert_structural_equal

from verified_tir import Schedule, schedule
from verified_tir.lower import RemoveAssume, RemoveStoreUndef
from verified_tir.script import tir as T


@T.prim_func
def initial(A: T.Buffer((14, 60), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 0
        for j in T.serial(60):
            B[i] = B[i] + A[i, j]


@T.prim_func
def first(A: T.Buffer((4, 4, 60), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 0
        for j in T.serial(60):
            B[i] = B[i] + A[i // 4, i % 4, j]


@T.prim_func
def second(A: T.Buffer((4, 4, 8, 8), "int32"), B: T.Buffer((14,), "int32")):
    for i in T.serial(14):
        B[i] = 0
        for j in T.serial(60):
            B[i] = B[i] + A[i // 4, i % 4, j // 8, j % 8]


@T.prim_func
def third(A: T.Buffer((4, 4, 8, 8), "int32"), B: T.Buffer((4, 4), "int32")):
    for i in T.serial(14):
        B[i // 4, i % 4] = 0
        for j in T.serial(60):
            B[i // 4, i % 4] = B[i // 4, i % 4] + A[i // 4, i % 4, j // 8, j % 8]


@T.prim_func
def sequential(A: T.Buffer((4, 4, 8, 8), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = 0
            for jo, ji in T.grid(8, 8):
                if 8 * jo + ji < 60:
                    B[io, ii] = B[io, ii] + A[io, ii, jo, ji]


@T.prim_func
def overcompute(A: T.Buffer((4, 4, 8, 8), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        B[io, ii] = 0
        for jo, ji in T.grid(8, 8):
            B[io, ii] = B[io, ii] + A[io, ii, jo, ji]


@schedule(initial)
def undef_and_zero(s: Schedule) -> None:
    """Rows that are undefined, columns that are zero; the relation of the layouts says which is which."""
    s.transform_layout("A", lambda i, j: [i // 4, i % 4, j], pad_value=lambda io, ii, j: T.undef())
    assert_structural_equal(s, first)

    s.transform_layout("A", lambda io, ii, j: [io, ii, j // 8, j % 8], pad_value=0)
    assert_structural_equal(s, second)
    zero, anything = [said for said in s.assumptions if said.startswith("A[")]
    assert zero == "A[io, ii, jo, ji] == 0 where jo == 7 and ji >= 4, before and after"
    assert anything.startswith("A[io, ii, jo, ji] may be anything where not (jo == 7 and ji >= 4) and")

    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=lambda io, ii: T.undef())
    assert_structural_equal(s, third)

    s.sequential_buffer_access("A")
    assert_structural_equal(s, sequential)

    s.remove_branching_through_overcompute()
    assert_structural_equal(s, overcompute)


@T.prim_func
def third_with_stages(A: T.Buffer((4, 4, 8, 8), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii, jo, ji in T.grid(4, 4, 8, 8):
        T.assume(8 * jo + ji < 60 or A[io, ii, jo, ji] == 0)

    for io, ii, j in T.grid(4, 4, 60):
        T.assume(4 * io + ii < 14 or A[io, ii, j // 8, j % 8] == T.undef())

    for i in T.serial(14):
        B[i // 4, i % 4] = 0
        for j in T.serial(60):
            B[i // 4, i % 4] = B[i // 4, i % 4] + A[i // 4, i % 4, j // 8, j % 8]

    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            B[io, ii] = T.undef()


@T.prim_func
def sequential_with_stages(A: T.Buffer((4, 4, 8, 8), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii, jo, ji in T.grid(4, 4, 8, 8):
        T.assume(8 * jo + ji < 60 or A[io, ii, jo, ji] == 0)

    for io, ii, jo, ji in T.grid(4, 4, 8, 8):
        if 8 * jo + ji < 60:
            T.assume(4 * io + ii < 14 or A[io, ii, jo, ji] == T.undef())

    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = 0
            for jo, ji in T.grid(8, 8):
                if 8 * jo + ji < 60:
                    B[io, ii] = B[io, ii] + A[io, ii, jo, ji]

    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            B[io, ii] = T.undef()


@schedule(third_with_stages)
def with_stages(s: Schedule) -> None:
    """The same from the RFC's program, whose stages say it."""
    s.sequential_buffer_access("A")
    assert_structural_equal(s, sequential_with_stages)

    s.remove_branching_through_overcompute()
    lowered = (RemoveAssume() >> RemoveStoreUndef()).run(s)
    assert_structural_equal(lowered.after, overcompute)
