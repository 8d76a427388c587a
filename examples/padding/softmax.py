"""Softmax over a padded axis: minus infinity for the maximum, zero for the sum, anything in the result.

The exponentials stand in a local buffer, whose padding is zero.  That exp(-inf) is 0.0 is no theorem here (nothing is
known of ``exp``), so the zeros are stored.
"""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def softmax(A: T.Buffer((8, 30), "float32"), B: T.Buffer((8, 30), "float32")):
    for i in range(8):
        top = T.alloc_buffer((1,), "float32")
        total = T.alloc_buffer((1,), "float32")
        e = T.alloc_buffer((30,), "float32")
        top[0] = T.float32("-inf")
        for j in range(30):
            top[0] = T.max(A[i, j], top[0])
        for j in range(30):
            e[j] = T.exp(A[i, j] - top[0])
        total[0] = 0.0
        for j in range(30):
            total[0] = total[0] + e[j]
        for j in range(30):
            B[i, j] = e[j] / total[0]


@schedule(softmax)
def whole_vectors(s: Schedule) -> None:
    """Vectors of four; all four loops run over whole ones."""
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=float("-inf"))
    s.transform_layout("e", lambda j: [j // 4, j % 4], pad_value=0.0)
    s.transform_layout("B", lambda i, j: [i, j // 4, j % 4], pad_value=T.undef())
    s.sequential_buffer_access("A")
    s.sequential_buffer_access("e")
    s.remove_branching_through_overcompute()


@schedule(softmax, expect="refused")
def ones_in_the_sum(s: Schedule) -> None:
    """The maximum and the exponentials may run over the padding; ones in it would be added up."""
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=float("-inf"))
    s.transform_layout("e", lambda j: [j // 4, j % 4], pad_value=1.0)
    s.sequential_buffer_access("e")
    s.remove_branching_through_overcompute()
    s.remove_branching_through_overcompute()
