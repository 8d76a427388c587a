"""A 2-d convolution with a halo of zeros: where a weight is infinite or NaN, 0.0 times it is NaN.

So the branch around the halo may go only if the weights are known to be finite, which the program can assume.
"""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def conv2d(A: T.Buffer((2, 6, 6), "float32"), W: T.Buffer((4, 2, 3, 3), "float32"), B: T.Buffer((4, 6, 6), "float32")):
    for o, y, x in T.grid(4, 6, 6):
        B[o, y, x] = 0.0
        for c, ky, kx in T.grid(2, 3, 3):
            if 0 <= y + ky - 1 < 6 and 0 <= x + kx - 1 < 6:
                B[o, y, x] = B[o, y, x] + A[c, y + ky - 1, x + kx - 1] * W[o, c, ky, kx]


@T.prim_func
def conv2d_of_finite_weights(
    A: T.Buffer((64, 56, 56), "float32"), W: T.Buffer((64, 64, 3, 3), "float32"), B: T.Buffer((64, 56, 56), "float32")
):
    for f, g, p, q in T.grid(64, 64, 3, 3):
        T.assume(T.isfinite(W[f, g, p, q]))
    for o, y, x in T.grid(64, 56, 56):
        B[o, y, x] = 0.0
        for c, ky, kx in T.grid(64, 3, 3):
            if 0 <= y + ky - 1 < 56 and 0 <= x + kx - 1 < 56:
                B[o, y, x] = B[o, y, x] + A[c, y + ky - 1, x + kx - 1] * W[o, c, ky, kx]


@schedule(conv2d, expect="refused")
def any_weights(s: Schedule) -> None:
    """The counterexample has an infinite weight."""
    s.transform_layout("A", lambda c, y, x: [c, y + 1, x + 1], pad_value=0.0, shape=(2, 8, 8))
    s.remove_branching_through_overcompute()


@schedule(conv2d_of_finite_weights)
def halo(s: Schedule) -> None:
    """No branch; channels in parallel."""
    s.transform_layout("A", lambda c, y, x: [c, y + 1, x + 1], pad_value=0.0, shape=(64, 58, 58))
    s.remove_branching_through_overcompute()
    s.simplify()
    s.parallel("o")
