"""RFC 77, "New Utility - Reorder Loops According to Buffer": ``sequential_buffer_access``."""

from displayed import assert_confirmed, assert_structural_equal

from verified_tir import Schedule, expect_refusal, schedule
from verified_tir.script import tir as T


@T.prim_func
def whole(A: T.Buffer((16,), "int32")):
    with T.block("compute"):
        for i in T.serial(16):
            A[i] = i


@T.prim_func
def whole_transformed(A: T.Buffer((4, 4), "int32")):
    with T.block("compute"):
        for i in T.serial(16):
            A[i // 4, i % 4] = i


@T.prim_func
def whole_sequential(A: T.Buffer((4, 4), "int32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            A[io, ii] = 4 * io + ii


@schedule(whole)
def without_padding(s: Schedule) -> None:
    """The loops divide evenly."""
    s.transform_layout(block="compute", buffer="A", index_map=lambda i: [i // 4, i % 4])
    assert_structural_equal(s, whole_transformed)

    s.sequential_buffer_access(block="compute", buffer="A")
    assert_structural_equal(s, whole_sequential)


@T.prim_func
def part(A: T.Buffer((14,), "int32")):
    with T.block("compute"):
        for i in T.serial(14):
            A[i] = i


@T.prim_func
def part_transformed(A: T.Buffer((4, 4), "int32")):
    with T.block("compute"):
        for i in T.serial(14):
            A[i // 4, i % 4] = i


@T.prim_func
def part_sequential(A: T.Buffer((4, 4), "int32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                A[io, ii] = 4 * io + ii


@schedule(part)
def with_padding(s: Schedule) -> None:
    """They do not: a condition keeps to the elements that were accessed before."""
    s.transform_layout(block="compute", buffer="A", index_map=lambda i: [i // 4, i % 4])
    assert_structural_equal(s, part_transformed)

    s.sequential_buffer_access(block="compute", buffer="A")
    assert_structural_equal(s, part_sequential)


@T.prim_func
def conv1d(A: T.Buffer((16,), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((14,), "int32")):
    with T.block("compute"):
        for i in T.serial(14):
            B[i] = 0
            for f in T.serial(3):
                B[i] = B[i] + F[f] * A[i + f]


@T.prim_func
def conv1d_transformed(A: T.Buffer((4, 4), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((4, 4), "int32")):
    with T.block("compute"):
        for i in T.serial(14):
            B[i // 4, i % 4] = 0
            for f in T.serial(3):
                B[i // 4, i % 4] = B[i // 4, i % 4] + F[f] * A[(i + f) // 4, (i + f) % 4]


@T.prim_func
def conv1d_follows_b(A: T.Buffer((4, 4), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((4, 4), "int32")):
    with T.block("compute"):
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[io, ii] = 0
                for f in T.serial(3):
                    B[io, ii] = B[io, ii] + F[f] * A[io + (f + ii) // 4, (f + ii) % 4]


@schedule(conv1d)
def option_1(s: Schedule) -> None:
    """The loops follow B's layout."""
    s.transform_layout(block="compute", buffer="A", index_map=lambda i: [i // 4, i % 4])
    s.transform_layout(block="compute", buffer="B", index_map=lambda i: [i // 4, i % 4])
    assert_structural_equal(s, conv1d_transformed)

    s.sequential_buffer_access(block="compute", buffer="B")
    assert_structural_equal(s, conv1d_follows_b)


@T.prim_func
def conv1d_follows_a(A: T.Buffer((4, 4), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((4, 4), "int32")):
    with T.block("init_compute"):
        for i in T.serial(14):
            B[i // 4, i % 4] = 0

    with T.block("compute"):
        for io, ii, f in T.grid(4, 4, 3):
            if 0 <= 4 * io + ii - f < 14:
                B[io + (ii - f) // 4, (ii - f) % 4] = B[io + (ii - f) // 4, (ii - f) % 4] + F[f] * A[io, ii]


@schedule(conv1d)
def option_2(s: Schedule) -> None:
    """The loops follow A's layout; the initialisation, which does not depend on ``f``, is split off."""
    s.transform_layout(block="compute", buffer="A", index_map=lambda i: [i // 4, i % 4])
    s.transform_layout(block="compute", buffer="B", index_map=lambda i: [i // 4, i % 4])
    assert_structural_equal(s, conv1d_transformed)

    s.sequential_buffer_access(block="compute", buffer="A")
    assert_structural_equal(s, conv1d_follows_a)


@T.prim_func
def conv1d_cumsum(A: T.Buffer((16,), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((14,), "int32")):
    with T.block("compute"):
        for i in T.serial(14):
            if i == 0:
                B[i] = 0
            else:
                B[i] = B[i - 1]

            for f in T.serial(3):
                B[i] = B[i] + F[f] * A[i + f]


@T.prim_func
def cumsum_transformed(A: T.Buffer((4, 4), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((4, 4), "int32")):
    with T.block("compute"):
        for i in T.serial(14):
            if i == 0:
                B[i // 4, i % 4] = 0
            else:
                B[i // 4, i % 4] = B[(i - 1) // 4, (i - 1) % 4]

            for f in T.serial(3):
                B[i // 4, i % 4] = B[i // 4, i % 4] + F[f] * A[(i + f) // 4, (i + f) % 4]


@schedule(conv1d_cumsum)
def cumulative_sum(s: Schedule) -> None:
    """The initialisation reads what the computation of the iteration before has made: it cannot be split off."""
    s.transform_layout(block="compute", buffer="A", index_map=lambda i: [i // 4, i % 4])
    s.transform_layout(block="compute", buffer="B", index_map=lambda i: [i // 4, i % 4])
    assert_structural_equal(s, cumsum_transformed)

    with expect_refusal(s) as refusals:
        s.sequential_buffer_access(block="compute", buffer="A")
    assert_confirmed(refusals)
