"""A register tile of a matrix product, scheduled down to vectors: 8 × 32 accumulators, fused multiply-adds.

`vtir run examples/microkernel.py:register_tile --check` builds it and compares it with the interpreter.
"""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T

ROWS, COLUMNS, DEPTH, LANES = 8, 32, 256, 16


@T.prim_func
def tile(A: T.Buffer((ROWS, DEPTH), "float32"), B: T.Buffer((DEPTH, COLUMNS), "float32"),
         C: T.Buffer((ROWS, COLUMNS), "float32")):  # fmt: skip
    acc = T.alloc_buffer((ROWS, COLUMNS), "float32", scope="local")
    for i, j in T.grid(ROWS, COLUMNS):
        with T.block("zero"):
            vi, vj = T.axis.remap("SS", [i, j])
            acc[vi, vj] = T.float32(0)
    for i, j, k in T.grid(ROWS, COLUMNS, DEPTH):
        with T.block("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            acc[vi, vj] = T.fma(A[vi, vk], B[vk, vj], acc[vi, vj])
    for i, j in T.grid(ROWS, COLUMNS):
        with T.block("result"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = acc[vi, vj]


@schedule(tile)
def register_tile(s: Schedule) -> None:
    """The reduction outermost, so that 16 vectors of sums stay in registers; the other loops unrolled or vectorized."""
    for block in ("zero", "update", "result"):
        i, j, *k = s.loops(block)
        j_outer, j_inner = s.split(j, [None, LANES])
        s.reorder(*k, i, j_outer, j_inner)
        s.unroll(i)
        s.unroll(j_outer)
        s.vectorize(j_inner)


@schedule(tile, expect="refused")
def sums_across_lanes(s: Schedule) -> None:
    """The iterations of k all update one element: they are no lanes."""
    _, _, k = s.loops("update")
    _, inner = s.split(k, [None, LANES])
    s.vectorize(inner)
