"""Average pooling with zeros around the image: the sum never holds -0.0, so adding the padding's 0.0 changes no bit.

The number of elements that count is computed from the window, so it does not notice that the branch has gone.
"""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def average_pool(A: T.Buffer((4, 14, 14), "float32"), B: T.Buffer((4, 14, 14), "float32")):
    for c, y, x in T.grid(4, 14, 14):
        B[c, y, x] = 0.0
        for ky, kx in T.grid(3, 3):
            if 0 <= y + ky - 1 < 14 and 0 <= x + kx - 1 < 14:
                B[c, y, x] = B[c, y, x] + A[c, y + ky - 1, x + kx - 1]
        B[c, y, x] = B[c, y, x] / T.Cast(
            "float32", (T.min(y + 2, 14) - T.max(y - 1, 0)) * (T.min(x + 2, 14) - T.max(x - 1, 0))
        )


@T.prim_func
def running_average(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in range(14):
        for k in range(3):
            if 0 <= i + k - 1 < 14:
                B[i] = B[i] + A[i + k - 1] * T.float32(0.25)


@schedule(average_pool)
def zeros_around_the_image(s: Schedule) -> None:
    """A halo of one element on each side."""
    s.transform_layout("A", lambda c, y, x: [c, y + 1, x + 1], pad_value=0.0, shape=(4, 16, 16))
    s.remove_branching_through_overcompute()
    s.simplify()
    s.parallel("c")


@schedule(running_average, expect="refused")
def added_to_what_the_caller_passed(s: Schedule) -> None:
    """Without the initialisation the caller's B may hold -0.0, and -0.0 + 0.0 is 0.0."""
    s.transform_layout("A", lambda i: [i + 1], pad_value=0.0, shape=(16,))
    s.remove_branching_through_overcompute()
