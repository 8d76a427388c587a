"""A matrix product, from three loops to the speed of numpy's: the file of the page "Your first schedule"."""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T

N = 512


@T.prim_func
def matmul(A: T.Buffer((N, N), "float32"), B: T.Buffer((N, N), "float32"), C: T.Buffer((N, N), "float32")):
    for i, j, k in T.grid(N, N, N):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = T.fma(A[vi, vk], B[vk, vj], C[vi, vj])


@schedule(matmul)
def fast(s: Schedule) -> None:
    """Tiles of 8 × 32 sums in registers, vectors of 16 lanes, panels of B copied together, panels in parallel."""
    i, j, k = s.loops("C")
    io, jo, ii, ji = s.tile(i, j, factors=[8, 32])
    s.reorder(jo, io)
    s.cache_write("C", "C", "local", io)
    s.decompose_reduction("C", ii)
    for block in ("C_init", "C", "C_local_back"):
        row, column, *reduction = s.loops(block)[2:]
        vector, lane = s.split(column, [2, 16])
        s.reorder(*reduction, row, vector, lane)
        s.unroll(row)
        s.unroll(vector)
        s.vectorize(lane)
    s.cache_read("B", "global", jo)
    s.parallel(jo)


@schedule(matmul, expect="refused")
def sums_in_parallel(s: Schedule) -> None:
    """The iterations of k all add to the same element: a race."""
    _, _, k = s.loops("C")
    s.parallel(k)
