"""Schedules for GPUs: blockIdx and threadIdx, shared and local memory, virtual threads, cooperative fetching."""

from __future__ import annotations

import numpy as np

from tests.acceptance.schedules.matmul import matmul, product
from tests.acceptance.textbook import textbook
from verified_tir import Schedule
from verified_tir.script import tir as T


@textbook(matmul, reference=product)
def product_with_shared_tiles(s: Schedule) -> None:
    """A block for each tile of 16 by 16; operands in shared memory, results in registers."""
    block = s.get_block("C")
    acc = s.cache_write(block, 0, "local")
    i, j, k = s.get_loops(block)
    by, ty = s.split(i, factors=[None, 16])
    bx, tx = s.split(j, factors=[None, 16])
    ko, ki = s.split(k, factors=[None, 8])
    s.reorder(by, bx, ty, tx, ko, ki)
    s.reverse_compute_at(acc, tx)
    s.bind(by, "blockIdx.y")
    s.bind(bx, "blockIdx.x")
    s.bind(ty, "threadIdx.y")
    s.bind(tx, "threadIdx.x")
    s.cache_read(block, "A", "local", ko)
    s.cache_read(block, "B", "local", ko)
    s.decompose_reduction(block, ko)
    s.unroll(ki)


@textbook(matmul, reference=product)
def product_with_thread_tiles(s: Schedule) -> None:
    """Each thread computes 4 by 4 results, strided by virtual threads."""
    i, j, k = s.get_loops("C")
    by, vy, ty, yi = s.split(i, factors=[1, 2, 4, 4])
    bx, vx, tx, xi = s.split(j, factors=[1, 2, 4, 4])
    s.reorder(by, bx, vy, vx, ty, tx, k, yi, xi)
    s.bind(s.fuse(by, bx), "blockIdx.x")
    s.bind(vy, "vthread.y")
    s.bind(vx, "vthread.x")
    s.bind(ty, "threadIdx.y")
    s.bind(tx, "threadIdx.x")
    s.cache_write("C", "C", "local", tx)
    s.unroll(yi)
    s.unroll(xi)


@T.prim_func
def saxpy(a: T.handle, x: T.handle, y: T.handle, n: T.int32):
    alpha = T.match_buffer(a, (1,), "float32")
    X = T.match_buffer(x, (n,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    for i in range(n):
        with T.block("Y"):
            vi = T.axis.spatial(n, i)
            Y[vi] = Y[vi] + alpha[0] * X[vi]


@textbook(saxpy, reference=lambda alpha, X, Y: {"Y": Y + alpha * X}, sizes={"n": 50})
def grid_of_threads(s: Schedule) -> None:
    """A guard for the last block, as every CUDA programmer writes it."""
    (i,) = s.get_loops("Y")
    bx, tx = s.split(i, factors=[None, 16])
    s.bind(bx, "blockIdx.x")
    s.bind(tx, "threadIdx.x")


@T.prim_func
def column_sums(A: T.Buffer((24, 16), "int32"), B: T.Buffer((16,), "int32")):
    for j, i in T.grid(16, 24):
        with T.block("B"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                B[vj] = 0
            B[vj] = B[vj] + A[vi, vj]


@textbook(column_sums, reference=lambda A: {"B": A.sum(0, dtype=np.int32)})
def cross_thread_reduction_by_factor(s: Schedule) -> None:
    """Eight threads for each column, each with a partial sum; the sum of these by the block."""
    j, i = s.get_loops("B")
    i0, i1 = s.split(i, factors=[None, 8])
    s.rfactor(i1, 0)
    s.bind(j, "blockIdx.x")
    s.bind(i1, "threadIdx.x")
    s.unroll(s.get_loops("B")[1])


@T.prim_func
def relu_nhwc(A: T.Buffer((2, 6, 6, 8), "float32"), B: T.Buffer((2, 6, 6, 8), "float32")):
    for n, h, w, c in T.grid(2, 6, 6, 8):
        with T.block("B"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            B[vn, vh, vw, vc] = T.max(A[vn, vh, vw, vc], T.float32(0))


@textbook(relu_nhwc, reference=lambda A: {"B": np.maximum(A, 0)})
def injective_schedule(s: Schedule) -> None:
    """TVM's default for elementwise kernels: fuse all, split by threads, bind."""
    fused = s.fuse(*s.get_loops("B"))
    outer, threads, lane = s.split(fused, factors=[None, 32, 4])
    s.vectorize(lane)
    s.bind(outer, "blockIdx.x")
    s.bind(threads, "threadIdx.x")


@T.prim_func
def conv_rows(A: T.Buffer((4, 34), "float32"), W: T.Buffer((3,), "float32"), B: T.Buffer((4, 32), "float32")):
    for r, x, k in T.grid(4, 32, 3):
        with T.block("B"):
            vr, vx, vk = T.axis.remap("SSR", [r, x, k])
            with T.init():
                B[vr, vx] = T.float32(0)
            B[vr, vx] = B[vr, vx] + A[vr, vx + vk] * W[vk]


@textbook(conv_rows, reference=lambda A, W: {"B": sum(A[:, k : k + 32] * W[k] for k in range(3))})
def shared_rows(s: Schedule) -> None:
    """The row with its halo in shared memory before the threads begin; the taps unrolled."""
    r, x, k = s.get_loops("B")
    bx, tx = s.split(x, factors=[None, 16])
    s.reorder(r, bx, tx, k)
    halo = s.cache_read("B", "A", "shared", bx)
    s.bind(r, "blockIdx.y")
    s.bind(bx, "blockIdx.x")
    s.cache_write("B", "B", "local", tx)
    s.unroll(k)
    assert halo.scope == "shared"


@textbook(matmul, reference=product)
def cooperative_fetching(s: Schedule) -> None:
    """The threads of a block load a shared tile together, all of it before any of them goes on."""
    i, j, k = s.get_loops("C")
    by, ty = s.split(i, factors=[None, 8])
    bx, tx = s.split(j, factors=[None, 8])
    ko, ki = s.split(k, factors=[None, 8])
    s.reorder(by, bx, ko, ty, tx, ki)
    tile = s.cache_read("C", "A", "shared", ko)
    ax0, ax1 = s.get_loops(tile)[-2:]
    s.bind(by, "blockIdx.y")
    s.bind(bx, "blockIdx.x")
    s.bind(ty, "threadIdx.y")
    s.bind(tx, "threadIdx.x")
    s.bind(ax0, "threadIdx.y")
    s.bind(ax1, "threadIdx.x")
