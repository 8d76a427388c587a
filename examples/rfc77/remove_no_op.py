"""RFC 77, "Enhancement - Remove No Op": stores that are overwritten, that write back what was read or what is there."""

from displayed import assert_structural_equal

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def two_stores(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = A[i]
        B[i] = A[i] * 2.0


@T.prim_func
def second_store(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = A[i] * 2.0


@schedule(two_stores)
def overwritten_at_once(s: Schedule) -> None:
    """Two stores to one element; the second does not read what the first wrote."""
    s.remove_no_op()
    assert_structural_equal(s, second_store)


@T.prim_func
def read_in_between(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = A[i]
        B[i] = B[i] * 2.0


@schedule(read_in_between)
def the_second_store_reads(s: Schedule) -> None:
    """It does here."""
    assert s.remove_no_op() == 0
    assert_structural_equal(s, read_in_between)


@T.prim_func
def an_index_reads(B: T.Buffer((2,), "int32")):
    B[0] = 1
    B[B[0] - 1] = 5


@schedule(an_index_reads)
def the_index_of_the_second_store_reads(s: Schedule) -> None:
    """The RFC asks only that the value does not read; here the index does."""
    assert s.remove_no_op() == 0
    assert_structural_equal(s, an_index_reads)


@T.prim_func
def two_blocks(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(8):
        with T.block("first"):
            B[i] = 0.0
    for i in T.serial(16):
        with T.block("second"):
            B[i] = A[i]


@T.prim_func
def second_block(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        with T.block("second"):
            B[i] = A[i]


@schedule(two_blocks)
def overwritten_by_the_next_block(s: Schedule) -> None:
    """The second block writes all that the first wrote."""
    s.remove_no_op()
    assert_structural_equal(s, second_block)


@T.prim_func
def a_conditional_block(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(8):
        with T.block("first"):
            B[i] = 0.0
    for i in T.serial(16):
        with T.block("second"):
            if A[i] > 0.0:
                B[i] = A[i]


@schedule(a_conditional_block)
def what_a_block_may_write(s: Schedule) -> None:
    """What is touched, without the condition under which it is, is a superset here too."""
    assert s.remove_no_op() == 0
    assert_structural_equal(s, a_conditional_block)


@T.prim_func
def written_back(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        A[i] = A[i]
        B[i] = 1.0


@T.prim_func
def not_written_back(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = 1.0


@schedule(written_back)
def read_and_written_back(s: Schedule) -> None:
    """A store of what was loaded from the same place."""
    s.remove_no_op()
    assert_structural_equal(s, not_written_back)


@T.prim_func
def integer_sum(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
    T.assume(B[0] == 0)

    B[0] = 0
    for i in T.serial(16):
        B[0] = B[0] + A[i]


@T.prim_func
def integer_sum_without_start(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
    T.assume(B[0] == 0)

    for i in T.serial(16):
        B[0] = B[0] + A[i]


@schedule(integer_sum)
def a_value_that_is_there(s: Schedule) -> None:
    """The RFC's example, for integers."""
    s.remove_no_op()
    assert_structural_equal(s, integer_sum_without_start)


@T.prim_func
def float_sum(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    T.assume(B[0] == 0.0)

    B[0] = 0.0
    for i in T.serial(16):
        B[0] = B[0] + A[i]


@schedule(float_sum)
def equal_is_not_the_same(s: Schedule) -> None:
    """The RFC's example, as it is displayed: -0.0 equals 0.0, and the store changes it."""
    assert s.remove_no_op() == 0
    assert_structural_equal(s, float_sum)


@T.prim_func
def float_sum_from_positive_zero(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    T.assume(B[0] == 0.0 and 1.0 / B[0] > 0.0)

    B[0] = 0.0
    for i in T.serial(16):
        B[0] = B[0] + A[i]


@T.prim_func
def float_sum_without_start(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    T.assume(B[0] == 0.0 and 1.0 / B[0] > 0.0)

    for i in T.serial(16):
        B[0] = B[0] + A[i]


@schedule(float_sum_from_positive_zero)
def the_sign_of_zero(s: Schedule) -> None:
    """With an assumption about the sign of zero, too, the store may go."""
    s.remove_no_op()
    assert_structural_equal(s, float_sum_without_start)
