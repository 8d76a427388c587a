"""The row summation of RFC 77 with a symbolic number of columns.

The proof holds for every n from 0 up; the padded layout does not show n, so the function takes it as a parameter.
"""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def row_summation(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (16, n), "float32")
    B = T.match_buffer(b, (16,), "float32")
    for i in T.serial(16):
        B[i] = 0.0
        for j in T.serial(n):
            B[i] = B[i] + A[i, j]


@schedule(row_summation)
def padded_with_zeros(s: Schedule) -> None:
    """Each row becomes ⌈n/4⌉ groups of four; the last group is filled with zeros and summed without a branch."""
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=0.0)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()
