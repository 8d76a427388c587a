"""RFC 77, "Remove T.assume" and "Remove T.undef": two lowering passes, and what may not be removed with the second."""

from displayed import assert_structural_equal

from verified_tir import Schedule, schedule
from verified_tir.lower import RemoveAssume, RemoveStoreUndef
from verified_tir.script import tir as T


@T.prim_func
def stages(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or A[io, ii] == T.undef())
    for io, ii in T.grid(4, 4):
        B[io, ii] = 2 * A[io, ii]
    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            B[io, ii] = T.undef()


@T.prim_func
def without_assume(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        B[io, ii] = 2 * A[io, ii]
    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            B[io, ii] = T.undef()


@T.prim_func
def without_both(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        B[io, ii] = 2 * A[io, ii]


@schedule(stages)
def both_passes(s: Schedule) -> None:
    """The example of the element-wise option."""
    theorem = RemoveAssume().run(s)
    assert_structural_equal(theorem.after, without_assume)

    theorem = RemoveStoreUndef().run(theorem)
    assert_structural_equal(theorem.after, without_both)


@T.prim_func
def undefined_in_part(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        B[io, ii] = T.if_then_else(4 * io + ii < 14, 2.0 * A[io, ii], T.undef("float32"))


@T.prim_func
def defined_part(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[io, ii] = 2.0 * A[io, ii]


@schedule(undefined_in_part)
def a_value_that_contains_undef(s: Schedule) -> None:
    """The RFC would remove this store, and every result with it; only its undefined part may go."""
    theorem = RemoveStoreUndef().run(s)
    assert_structural_equal(theorem.after, defined_part)


@T.prim_func
def undefined_sum(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        B[i] = A[i]
    for i in T.serial(2, 4):
        B[i] = A[i] + T.undef("float32")


@T.prim_func
def undefined_sum_removed(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        B[i] = A[i]


@schedule(undefined_sum)
def a_value_that_is_undef(s: Schedule) -> None:
    """A sum with an undefined operand is undefined, and its store may go."""
    theorem = RemoveStoreUndef().run(s)
    assert_structural_equal(theorem.after, undefined_sum_removed)
