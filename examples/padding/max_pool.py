"""Max-pooling: padding of minus infinity, and what a NaN has to do with it.

``T.max(a, b)`` is ``a`` where a > b and else ``b``.  With the accumulator second, ``T.max(x, acc)`` keeps it whenever
``x`` is minus infinity, NaN or not: the branch goes.  With the accumulator first, a NaN in it is lost to the padding.
"""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T

LOWEST = float("-inf")


@T.prim_func
def max_pool(A: T.Buffer((4, 14, 14), "float32"), B: T.Buffer((4, 7, 7), "float32")):
    for c, y, x in T.grid(4, 7, 7):
        B[c, y, x] = T.float32("-inf")
        for ky, kx in T.grid(3, 3):
            if 2 * y + ky >= 1 and 2 * x + kx >= 1:
                B[c, y, x] = T.max(A[c, 2 * y + ky - 1, 2 * x + kx - 1], B[c, y, x])


@T.prim_func
def row_maximum(A: T.Buffer((4, 14), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.float32("-inf")
        for j in range(14):
            B[i] = T.max(B[i], A[i, j])


@T.prim_func
def row_maximum_of_numbers(A: T.Buffer((4, 14), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(4, 14):
        T.assume(not T.isnan(A[i, j]))
    for i in range(4):
        B[i] = T.float32("-inf")
        for j in range(14):
            B[i] = T.max(B[i], A[i, j])


@schedule(max_pool)
def overlapping_windows(s: Schedule) -> None:
    """A row and a column of minus infinity in front; no branch."""
    s.transform_layout("A", lambda c, y, x: [c, y + 1, x + 1], pad_value=LOWEST)
    s.remove_branching_through_overcompute()
    s.simplify()
    s.parallel("c")


def whole_vectors(s: Schedule) -> None:
    s.transform_layout("A", lambda i, j: [i, j // 4, j % 4], pad_value=LOWEST)
    s.sequential_buffer_access("A")
    s.remove_branching_through_overcompute()


@schedule(row_maximum, expect="refused")
def accumulator_first(s: Schedule) -> None:
    """A NaN at the end of a row would be the result, and is not with padding behind it."""
    whole_vectors(s)


@schedule(row_maximum_of_numbers)
def accumulator_first_without_nan(s: Schedule) -> None:
    """With the user's word that there is no NaN, it may go."""
    whole_vectors(s)
