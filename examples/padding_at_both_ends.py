"""A buffer of 14 elements in two rows of eight, padded in front: [(i + 2) // 8, (i + 2) % 8] (RFC 77)."""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def double(A: T.Buffer(14, "float32"), B: T.Buffer(14, "float32")):
    A_cache = T.alloc_buffer(14, "float32")
    for i in T.serial(14):
        with T.block("A_cache"):
            A_cache[i] = A[i]
    B_cache = T.alloc_buffer(14, "float32")
    for i in T.serial(14):
        with T.block("compute"):
            B_cache[i] = 2.0 * A_cache[i]
    for i in T.serial(14):
        with T.block("B_cache"):
            B[i] = B_cache[i]


@schedule(double)
def padded_caches(s: Schedule) -> None:
    """Local buffers: the padding is written after the stage that produces the buffer."""
    s.transform_layout("A_cache", lambda i: [(i + 2) // 8, (i + 2) % 8], pad_value=-1.0)
    s.transform_layout("B_cache", lambda i: [(i + 2) // 8, (i + 2) % 8], pad_value=-2.0)


@schedule(double)
def padded_parameters(s: Schedule) -> None:
    """Parameters: the interface changes; nobody may touch the padding."""
    s.transform_layout("A", lambda i: [(i + 2) // 8, (i + 2) % 8])
    s.transform_layout("B", lambda i: [(i + 2) // 8, (i + 2) % 8])
    s.sequential_buffer_access("B")


@schedule(double, expect="refused")
def overcompute_into_forbidden_padding(s: Schedule) -> None:
    """With padding that nobody may touch, the branch must stay."""
    s.transform_layout("A", lambda i: [(i + 2) // 8, (i + 2) % 8])
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()
