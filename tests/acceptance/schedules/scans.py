"""Prefix sums in one and three phases, cumulative products and maxima, recurrences, histograms."""

from __future__ import annotations

import numpy as np

from tests.acceptance.textbook import textbook
from verified_tir import Schedule
from verified_tir.script import tir as T


@T.prim_func
def row_scan(A: T.Buffer((16, 20), "float32"), B: T.Buffer((16, 20), "float32")):
    for i, j in T.grid(16, 20):
        with T.block("B"):
            if j == 0:
                B[i, j] = A[i, j]
            else:
                B[i, j] = B[i, j - 1] + A[i, j]


def row_scan_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    return {"B": np.cumsum(A, axis=1)}


@textbook(row_scan, reference=row_scan_numpy)
def rows_of_a_scan_in_lanes(s: Schedule) -> None:
    """Rows are independent: eight rows in lanes, the scan outside of them."""
    i, j = s.get_loops("B")
    i0, i1 = s.split(i, factors=[None, 8])
    s.parallel(i0)
    s.reorder(j, i1)
    s.vectorize(i1)
    s.peel(j)
    s.simplify()


@T.prim_func
def three_phases(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    part = T.alloc_buffer((8,), "int32")
    start = T.alloc_buffer((8,), "int32")
    for b in range(8):
        with T.block("zero"):
            part[b] = 0
        for i in range(8):
            with T.block("reduce"):
                part[b] = part[b] + A[b * 8 + i]
    for b in range(8):
        with T.block("scan"):
            if b == 0:
                start[b] = 0
            else:
                start[b] = start[b - 1] + part[b - 1]
    for b in range(8):
        for i in range(8):
            with T.block("downsweep"):
                if i == 0:
                    B[b * 8 + i] = start[b] + A[b * 8 + i]
                else:
                    B[b * 8 + i] = B[b * 8 + i - 1] + A[b * 8 + i]


@textbook(three_phases, reference=lambda A: {"B": np.cumsum(A, dtype=np.int32)})
def blocks_in_parallel(s: Schedule) -> None:
    """Reduce and downsweep in parallel over blocks; the scan of the partial sums between them is short."""
    s.parallel(s.get_loops("reduce")[0])
    s.parallel(s.get_loops("downsweep")[0])
    s.unroll(s.get_loops("reduce")[1])
    s.peel(s.get_loops("scan")[0])
    s.unroll(s.get_loops("downsweep")[1])
    s.simplify()


@textbook(three_phases, reference=lambda A: {"B": np.cumsum(A, dtype=np.int32)})
def partial_sums_by_columns(s: Schedule) -> None:
    """The partial sums of eight blocks in lanes."""
    b, i = s.get_loops("reduce")
    s.fission(b, after="zero")
    b, i = s.get_loops("reduce")
    s.reorder(i, b)
    s.vectorize(b)
    s.vectorize(s.get_loops("zero")[0])
    b, i = s.get_loops("downsweep")
    s.reorder(i, b)
    s.vectorize(b)


@T.prim_func
def cumulative_product(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32")):
    state = T.alloc_buffer((4,), "float32")
    for i in range(4):
        with T.block("start"):
            state[i] = T.float32(1)
    for i, j in T.grid(4, 16):
        with T.block("step"):
            state[i] = state[i] * A[i, j]
            B[i, j] = state[i]


@textbook(cumulative_product, reference=lambda A: {"B": np.cumprod(A, axis=1)})
def running_product_in_a_register(s: Schedule) -> None:
    """The state of each row sinks into its iteration."""
    (i,) = s.get_loops("start")
    s.merge_loops(i, s.get_loops("step")[0])
    s.sink_allocation("state")
    s.set_scope("state", "local")
    s.parallel(s.get_loops("step")[0])
    s.unroll(s.get_loops("step")[1])


@T.prim_func
def running_maximum(A: T.Buffer((40,), "int32"), B: T.Buffer((40,), "int32")):
    B[0] = A[0]
    for i in range(1, 40):
        with T.block("B"):
            B[i] = T.max(B[i - 1], A[i])


@textbook(running_maximum, reference=lambda A: {"B": np.maximum.accumulate(A)})
def running_maximum_by_chunks(s: Schedule) -> None:
    """A recurrence stays in order, but may be split, unrolled and work on copies."""
    (i,) = s.get_loops("B")
    i0, i1 = s.split(i, factors=[None, 13])
    s.cache_read("B", "A", "local", i0)
    s.unroll(i1)


@T.prim_func
def rnn(X: T.Buffer((5, 4, 6), "float32"), W: T.Buffer((6, 6), "float32"), H: T.Buffer((6, 4, 6), "float32")):
    for t, b, o in T.grid(5, 4, 6):
        with T.block("input"):
            H[t + 1, b, o] = X[t, b, o]
        for k in range(6):
            with T.block("recurrent"):
                H[t + 1, b, o] = H[t + 1, b, o] + H[t, b, k] * W[k, o]


def rnn_numpy(X: np.ndarray, W: np.ndarray, H: np.ndarray) -> dict[str, np.ndarray]:
    for t in range(5):
        H[t + 1] = X[t] + H[t] @ W
    return {"H": H}


@textbook(rnn, reference=rnn_numpy, tolerance=1e-3)
def cell_by_step(s: Schedule) -> None:
    """Time stays outside; within a step the batch runs in parallel, the units in lanes."""
    t, b, o, k = s.get_loops("recurrent")
    s.fission(b, after="input")
    _, b, o, k = s.get_loops("recurrent")
    s.reorder(b, k, o)
    s.vectorize(o)
    s.parallel(b)
    _, b, o = s.get_loops("input")
    s.parallel(s.fuse(b, o))


@T.prim_func
def histogram(A: T.Buffer((4, 64), "uint8"), H: T.Buffer((16,), "int32")):
    part = T.alloc_buffer((4, 16), "int32")
    for p, b in T.grid(4, 16):
        with T.block("zero"):
            part[p, b] = 0
    for p, i in T.grid(4, 64):
        with T.block("count"):
            part[p, T.cast(A[p, i], "int32") // 16] = part[p, T.cast(A[p, i], "int32") // 16] + 1
    for b, p in T.grid(16, 4):
        with T.block("merge"):
            vb, vp = T.axis.remap("SR", [b, p])
            with T.init():
                H[vb] = 0
            H[vb] = H[vb] + part[vp, vb]


def histogram_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    return {"H": np.bincount(A.reshape(-1) // 16, minlength=16).astype(np.int32)}


def pixels(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"A": rng.integers(0, 256, (4, 64), dtype=np.uint8)}


@textbook(histogram, reference=histogram_numpy, draw=pixels)
def private_histograms(s: Schedule) -> None:
    """A histogram for each part, filled in parallel; the bin is data, but its part is the iteration's own."""
    p, i = s.get_loops("count")
    s.parallel(p)
    s.unroll(i)
    s.vectorize(s.get_loops("zero")[1])
    b, p = s.get_loops("merge")
    s.parallel(b)
    s.unroll(p)


@textbook(histogram, reference=histogram_numpy, draw=pixels)
def private_histogram_of_one_part(s: Schedule) -> None:
    """Zeroing and counting merged by part; the bin named."""
    s.merge_loops(s.get_loops("zero")[0], s.get_loops("count")[0])
    s.parallel(s.get_loops("count")[0])
    s.bind_expr("count", "T.cast(A[p, i], 'int32') // 16", "bin")


@T.prim_func
def summed_area(A: T.Buffer((12, 12), "int32"), S: T.Buffer((12, 12), "int32")):
    for y, x in T.grid(12, 12):
        with T.block("rows"):
            S[y, x] = A[y, x] + T.if_then_else(x > 0, S[y, x - 1], 0)
    for y, x in T.grid(11, 12):
        with T.block("columns"):
            S[y + 1, x] = S[y + 1, x] + S[y, x]


@textbook(summed_area, reference=lambda A: {"S": A.cumsum(0, dtype=np.int32).cumsum(1, dtype=np.int32)})
def summed_area_table(s: Schedule) -> None:
    """Rows in parallel along x, then columns in lanes along y; or columns outermost."""
    s.parallel(s.get_loops("rows")[0])
    y, x = s.get_loops("columns")
    x0, x1 = s.split(x, factors=[None, 4])
    s.reorder(x0, y, x1)
    s.vectorize(x1)
    s.parallel(x0)
