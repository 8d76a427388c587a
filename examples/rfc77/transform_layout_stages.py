"""RFC 77, "Enhancement - transform_layout": the stages that come with padding, for local buffers and for parameters."""

from displayed import assert_structural_equal

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def with_caches(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    A_cache = T.alloc_buffer((14,), "float32")
    for i in T.serial(14):
        with T.block("A_cache"):
            A_cache[i] = A[i]

    B_cache = T.alloc_buffer((14,), "float32")
    for i in T.serial(14):
        with T.block("compute"):
            B_cache[i] = 2.0 * A_cache[i]

    for i in T.serial(14):
        with T.block("B_cache"):
            B[i] = B_cache[i]


@T.prim_func
def padded_caches(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    A_cache = T.alloc_buffer((4, 4), "float32")
    for i in T.serial(14):
        with T.block("A_cache"):
            A_cache[i // 4, i % 4] = A[i]

    for io, ii in T.grid(4, 4):
        with T.block("A_cache_padding"):
            if io == 3 and ii >= 2:
                A_cache[io, ii] = -1.0

    B_cache = T.alloc_buffer((4, 4), "float32")
    for i in T.serial(14):
        with T.block("compute"):
            B_cache[i // 4, i % 4] = 2.0 * A_cache[i // 4, i % 4]

    for io, ii in T.grid(4, 4):
        with T.block("B_cache_padding"):
            if io == 3 and ii >= 2:
                B_cache[io, ii] = -2.0

    for i in T.serial(14):
        with T.block("B_cache"):
            B[i] = B_cache[i // 4, i % 4]


@schedule(with_caches)
def local_buffers(s: Schedule) -> None:
    """The padding is written behind the stage that writes the buffer; TVM's form of the call names the block."""
    s.transform_layout("compute", "A_cache", lambda i: [i // 4, i % 4], pad_value=-1.0)
    s.transform_layout("compute", "B_cache", lambda i: [i // 4, i % 4], pad_value=-2.0)
    assert_structural_equal(s, padded_caches)


@T.prim_func
def with_parameters(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(14):
        with T.block("compute"):
            B[i] = 2.0 * A[i]


@T.prim_func
def padded_parameters(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for io, ii in T.grid(4, 4):
        T.assume(io != 3 or ii < 2 or A[io, ii] == -1.0)

    for i in T.serial(14):
        with T.block("compute"):
            B[i // 4, i % 4] = 2.0 * A[i // 4, i % 4]

    for io, ii in T.grid(4, 4):
        with T.block("B_padding"):
            if io == 3 and ii >= 2:
                B[io, ii] = -2.0


@schedule(with_parameters)
def parameters(s: Schedule) -> None:
    """What an input's padding holds is the caller's duty, and part of the theorem; the stage of T.assume repeats it."""
    s.transform_layout("compute", "A", lambda i: [i // 4, i % 4], pad_value=-1.0)
    s.assume_padding("A")
    s.transform_layout("compute", "B", lambda i: [i // 4, i % 4], pad_value=-2.0)
    assert_structural_equal(s, padded_parameters)
    assert "A[io, ii] == T.float32(-1.0) where io == 3 and ii >= 2, before and after" in s.assumptions


@T.prim_func
def two_write_stages(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(7):
        with T.block("even"):
            B[2 * i] = A[2 * i]
    for i in T.serial(7):
        with T.block("odd"):
            B[2 * i + 1] = 0.0


@T.prim_func
def two_write_stages_padded(A: T.Buffer((14,), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in T.serial(7):
        with T.block("even"):
            B[2 * i // 4, 2 * i % 4] = A[2 * i]
    for i in T.serial(7):
        with T.block("odd"):
            B[(2 * i + 1) // 4, (2 * i + 1) % 4] = 0.0

    for io, ii in T.grid(4, 4):
        with T.block("B_padding"):
            if io == 3 and ii >= 2:
                B[io, ii] = -2.0


@schedule(two_write_stages)
def no_stage_writes_all(s: Schedule) -> None:
    """By the RFC's definition this buffer has no write stage, and would be assumed to hold its padding already."""
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=-2.0)
    assert_structural_equal(s, two_write_stages_padded)
