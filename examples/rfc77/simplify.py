"""RFC 77, "Enhancement - Simplify": branches that are merged, branches that are not, and what T.assume decides."""

from displayed import assert_structural_equal

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def identical_arms(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if A[i] < 0.0:
            B[i] = 1.0
        else:
            B[i] = 1.0


@T.prim_func
def one_arm(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = 1.0


@schedule(identical_arms)
def arms_that_are_the_same(s: Schedule) -> None:
    """The condition has no effect besides its value, so that nothing of it is left."""
    s.simplify()
    assert_structural_equal(s, one_arm)


@T.prim_func
def identical_conditions(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if i < 8:
            A[i] = 0.0
        else:
            A[i] = 1.0

        if i // 8 == 0:
            B[i] = 2.0
        else:
            B[i] = 3.0


@T.prim_func
def identical_merged(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if i < 8:
            A[i] = 0.0
            B[i] = 2.0
        else:
            A[i] = 1.0
            B[i] = 3.0


@schedule(identical_conditions)
def merging_identical_conditionals(s: Schedule) -> None:
    """Either condition proves the other."""
    s.simplify()
    assert_structural_equal(s, identical_merged)


@T.prim_func
def complementary_conditions(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            A[i, j] = 0.0
        else:
            A[i, j] = 1.0

        if i == 3 and j >= 2:
            B[i, j] = 2.0
        else:
            B[i, j] = 3.0


@T.prim_func
def complementary_merged(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        if 4 * i + j < 14:
            A[i, j] = 0.0
            B[i, j] = 3.0
        else:
            A[i, j] = 1.0
            B[i, j] = 2.0


@schedule(complementary_conditions)
def merging_complementary_conditionals(s: Schedule) -> None:
    """Either condition proves that the other is false, and its opposite that the other is true."""
    s.simplify()
    assert_structural_equal(s, complementary_merged)


@T.prim_func
def exclusive_conditions(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        if i < 1:
            A[i] = 0.0
        else:
            A[i] = 1.0

        if i > 2:
            B[i] = 2.0
        else:
            B[i] = 3.0


@schedule(exclusive_conditions)
def exclusive_is_not_complementary(s: Schedule) -> None:
    """Either condition proves that the other is false, which is all that the RFC asks; but 1 and 2 are in neither."""
    assert s.simplify() == 0
    assert_structural_equal(s, exclusive_conditions)


@T.prim_func
def data_dependent(A: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        if A[i] < 0.0:
            A[i] = A[i] + 1.0

        if A[i] < 0.0:  # noqa: PLR1730
            A[i] = 0.0


@schedule(data_dependent)
def data_dependent_conditionals(s: Schedule) -> None:
    """The first body may change what the second condition reads."""
    assert s.simplify() == 0
    assert_structural_equal(s, data_dependent)


@T.prim_func
def assumed_range(A: T.Buffer((16,), "int32"), n: T.int32):
    T.assume(n >= 0 and n < 8)

    for i in T.serial(16):
        A[i] = n // 8


@T.prim_func
def range_used(A: T.Buffer((16,), "int32"), n: T.int32):
    T.assume(n >= 0 and n < 8)

    for i in T.serial(16):
        A[i] = 0


@schedule(assumed_range)
def using_an_assumption(s: Schedule) -> None:
    """The range of ``n`` decides the quotient."""
    s.simplify()
    assert_structural_equal(s, range_used)


@T.prim_func
def assumed_value(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
    T.assume(B[0] == 0)

    if A[0] == B[0]:
        for i in T.serial(16):
            B[0] = B[0] + A[i]


@T.prim_func
def value_used(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
    T.assume(B[0] == 0)

    if A[0] == 0:
        for i in T.serial(16):
            B[0] = B[0] + A[i]


@schedule(assumed_value)
def until_the_buffer_is_written(s: Schedule) -> None:
    """The first read of ``B[0]`` is replaced; those after a store are not."""
    s.simplify()
    assert_structural_equal(s, value_used)
