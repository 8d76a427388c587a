"""RFC 77's row summation: the layout of ``A`` is padded to whole vectors, and the branch around the padding removed.

The padding is zero and ``B[i]`` never holds -0.0, so adding it leaves the bits as they are: that is what is proved.
"""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def row_summation(a: T.handle, b: T.handle):
    A = T.match_buffer(a, shape=(16, 14), dtype="float32")
    B = T.match_buffer(b, shape=(16,), dtype="float32")
    for i in T.serial(16):
        B[i] = 0.0
        for j in T.serial(14):
            B[i] = B[i] + A[i, j]


@schedule(row_summation)
def padded(s: Schedule) -> None:
    """Whole vectors of four, no branch."""
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=0.0)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()


@schedule(row_summation, expect="refused")
def padded_with_ones(s: Schedule) -> None:
    """Padding that is not zero cannot be added for free."""
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=1.0)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()
