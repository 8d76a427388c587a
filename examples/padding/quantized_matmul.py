"""An int8 × int8 → int32 matmul, the sum padded to whole vectors of sixteen.

Zeros in one operand's padding are enough: an integer times 0 is 0, if the other operand may be read at all.
"""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def matmul(A: T.Buffer((8, 60), "int8"), W: T.Buffer((6, 60), "int8"), C: T.Buffer((8, 6), "int32")):
    for i, j in T.grid(8, 6):
        C[i, j] = 0
        for k in range(60):
            C[i, j] = C[i, j] + T.Cast("int32", A[i, k]) * T.Cast("int32", W[j, k])


@schedule(matmul)
def zeros_in_both(s: Schedule) -> None:
    """Both operands padded with zeros: the inner loop is a dot product of sixteen, without a branch."""
    s.transform_layout("A", lambda i, k: [i, k // 16, k % 16], pad_value=0)
    s.transform_layout("W", lambda j, k: [j, k // 16, k % 16], pad_value=0)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()
    s.parallel("i")


@schedule(matmul)
def zeros_in_one(s: Schedule) -> None:
    """Any numbers in the padding of W, zeros in that of A."""
    s.transform_layout("A", lambda i, k: [i, k // 16, k % 16], pad_value=0)
    s.transform_layout("W", lambda j, k: [j, k // 16, k % 16], pad_value=7)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()


@schedule(matmul, expect="refused")
def undefined_padding_in_the_other(s: Schedule) -> None:
    """Undefined times 0 is undefined."""
    s.transform_layout("A", lambda i, k: [i, k // 16, k % 16], pad_value=0)
    s.transform_layout("W", lambda j, k: [j, k // 16, k % 16], pad_value=T.undef())
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()
