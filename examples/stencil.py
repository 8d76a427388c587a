"""A stencil in time and space: what may be reordered, and what may not."""

from verified_tir import Schedule, expect_refusal, schedule
from verified_tir.script import tir as T


@T.prim_func
def heat(A: T.Buffer((9, 34), "float32")):
    for t in T.serial(8):
        for x in T.serial(32):
            A[t + 1, x + 1] = T.float32(0.25) * (A[t, x] + A[t, x + 2]) + T.float32(0.5) * A[t, x + 1]


@schedule(heat)
def space_in_parallel(s: Schedule) -> None:
    """Within one time step the points are independent; time itself is not."""
    t, x = s.loops()
    with expect_refusal(s):
        s.parallel(t)
    s.parallel(x)


@schedule(heat, expect="refused")
def space_before_time(s: Schedule) -> None:
    """Exchanging the loops reads neighbours of the previous step before they are there."""
    t, x = s.loops()
    s.reorder(x, t)
