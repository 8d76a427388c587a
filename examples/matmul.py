"""A matrix product tiled for registers and caches, with extents that no tile divides.

The order of every float sum is kept, so the result has the same bits.
"""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T

M, N, K = 1020, 1000, 514


@T.prim_func
def matmul(A: T.Buffer((M, K), "float32"), B: T.Buffer((K, N), "float32"), C: T.Buffer((M, N), "float32")):
    for i, j, k in T.grid(M, N, K):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@schedule(matmul)
def tiled_in_three_levels(s: Schedule) -> None:
    """Registers 8 × 32, L1 64 × 64 × 64, L2 256 × 256."""
    i, j, k = s.loops("C")
    i0, i1, i2 = s.split(i, [None, 8, 8])
    j0, j1, j2 = s.split(j, [None, 4, 32])
    k0, k1 = s.split(k, [None, 64])
    s.reorder(i0, j0, k0, i1, j1, k1, i2, j2)
    s.vectorize(j2)
    s.unroll(i2)
    s.parallel(i0)


@schedule(matmul)
def initialised_apart(s: Schedule) -> None:
    """The initialisation in a nest of its own, as register tiling wants it."""
    _, _, k = s.loops("C")
    s.decompose_reduction("C", k)


@schedule(matmul, expect="refused")
def parallel_over_the_reduction(s: Schedule) -> None:
    """Iterations of k all update the same element of C."""
    _, _, k = s.loops("C")
    s.parallel(k)
