"""Matrix products: tiled in levels, packed, register-blocked, transposed, batched, quantised, symbolic, ragged."""

from __future__ import annotations

import numpy as np

from tests.acceptance.textbook import textbook
from verified_tir import Schedule, TensorIntrin
from verified_tir.script import tir as T


def product(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    return {"C": A @ B}


@T.prim_func
def matmul(A: T.Buffer((32, 16), "float32"), B: T.Buffer((16, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    for i, j, k in T.grid(32, 32, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@textbook(matmul, reference=product)
def tiled_in_three_levels(s: Schedule) -> None:
    """Two levels of tiles in space, one of the reduction; parallel outside, vectors and unrolled rows inside."""
    block = s.get_block("C")
    i, j, k = s.get_loops(block)
    i0, i1, i2 = s.split(i, factors=[None, 4, 4])
    j0, j1, j2 = s.split(j, factors=[None, 2, 8])
    k0, k1 = s.split(k, factors=[None, 4])
    s.reorder(i0, j0, i1, j1, k0, i2, k1, j2)
    s.vectorize(j2)
    s.unroll(k1)
    s.parallel(s.fuse(i0, j0))


@textbook(matmul, reference=product)
def packed_operand(s: Schedule) -> None:
    """B is packed into panels of eight columns before the product, so that its rows are read in sequence."""
    block = s.get_block("C")
    packed = s.cache_read(block, 1, "global")
    s.transform_layout(packed, lambda k, j: [j // 8, k, j % 8])
    i, j, k = s.get_loops(block)
    i0, i1 = s.split(i, factors=[None, 8])
    j0, j1 = s.split(j, factors=[None, 8])
    s.reorder(i0, j0, k, i1, j1)
    s.vectorize(j1)
    s.parallel(i0)
    ax0, ax1 = s.get_loops(packed)
    panel, lane = s.split(ax1, factors=[None, 8])
    s.reorder(panel, ax0, lane)
    s.vectorize(lane)
    s.parallel(panel)
    s.simplify()


@textbook(matmul, reference=product)
def register_blocked(s: Schedule) -> None:
    """A tile of accumulators in registers: cache_write, written back after the reduction, initialised before it."""
    block = s.get_block("C")
    acc = s.cache_write(block, 0, "local")
    i, j, k = s.get_loops(block)
    i0, i1 = s.split(i, factors=[None, 4])
    j0, j1 = s.split(j, factors=[None, 16])
    s.reorder(i0, j0, k, i1, j1)
    s.reverse_compute_at(acc, j0)
    s.decompose_reduction(block, k)
    s.unroll(i1)
    s.vectorize(j1)
    _, _, *init = s.get_loops("C_init")
    s.unroll(init[0])
    s.vectorize(init[1])
    s.parallel(i0)


@textbook(matmul, reference=product, reassociate=True)
def split_k(s: Schedule) -> None:
    """The reduction in four parts, computed in parallel and added up: the user allows another order of the sums."""
    block = s.get_block("C")
    i, j, k = s.get_loops(block)
    ko, ki = s.split(k, factors=[4, None])
    part = s.rfactor(ko, reassociate="C")
    i, j, ko, ki = s.get_loops(part)
    s.reorder(ko, i, j, ki)
    s.parallel(ko)
    i, j, ko = s.get_loops(block)
    s.parallel(i)
    s.unroll(ko)


@T.prim_func
def matmul_nt(A: T.Buffer((20, 30), "float32"), B: T.Buffer((40, 30), "float32"), C: T.Buffer((20, 40), "float32")):
    for i, j, k in T.grid(20, 40, 30):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


@textbook(matmul_nt, reference=lambda A, B: {"C": A @ B.T})
def second_operand_transposed(s: Schedule) -> None:
    """Tiles that do not divide; a tile of B is transposed into local memory, so that the lanes read it in sequence."""
    block = s.get_block("C")
    i, j, k = s.get_loops(block)
    i0, i1 = s.split(i, factors=[None, 8])
    j0, j1 = s.split(j, factors=[None, 16])
    k0, k1 = s.split(k, factors=[None, 8])
    s.reorder(i0, j0, k0, k1, i1, j1)
    tile = s.cache_read(block, 1, "local", k0)
    s.transform_layout(tile, lambda j, k: [k, j])
    s.decompose_reduction(block, k0)
    s.vectorize(j1)
    s.unroll(i1)


@T.prim_func
def matmul_tn(A: T.Buffer((30, 20), "float32"), B: T.Buffer((30, 40), "float32"), C: T.Buffer((20, 40), "float32")):
    for i, j, k in T.grid(20, 40, 30):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vk, vi] * B[vk, vj]


@textbook(matmul_tn, reference=lambda A, B: {"C": A.T @ B})
def outer_products(s: Schedule) -> None:
    """Rank-one updates: the reduction outermost, the initialisation apart."""
    i, j, k = s.get_loops("C")
    s.decompose_reduction("C", i)
    s.reorder(k, i, j)
    j0, j1 = s.split(j, factors=[None, 8])
    s.vectorize(j1)
    s.parallel(i)
    init_i, init_j = s.get_loops("C_init")
    s.parallel(s.fuse(init_i, init_j))


@T.prim_func
def batched(A: T.Buffer((6, 8, 12), "float32"), B: T.Buffer((6, 12, 8), "float32"), C: T.Buffer((6, 8, 8), "float32")):
    for b, i, j, k in T.grid(6, 8, 8, 12):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vk, vj]


@textbook(batched, reference=product)
def small_batches_unrolled(s: Schedule) -> None:
    """Products of small matrices: batches in parallel, everything else unrolled or in vectors."""
    b, i, j, k = s.get_loops("C")
    s.parallel(b)
    s.cache_read("C", "A", "local", b)
    s.cache_read("C", "B", "local", b)
    s.cache_write("C", "C", "local", b)
    s.reorder(i, k, j)
    s.decompose_reduction("C", k)
    s.unroll(k)
    s.vectorize(j)


@T.prim_func
def quantised(A: T.Buffer((16, 32), "int8"), W: T.Buffer((24, 32), "int8"), C: T.Buffer((16, 24), "int32")):
    for i, j, k in T.grid(16, 24, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "int32") * T.cast(W[vj, vk], "int32")


def quantised_product(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    return {"C": A.astype(np.int32) @ W.astype(np.int32).T}


DOT_4 = TensorIntrin.of(
    "dot_int8x4_int32",
    """
@T.prim_func
def dot_int8x4_int32(A: T.Buffer((4,), "int8"), B: T.Buffer((8, 4), "int8"), C: T.Buffer((8,), "int32")):
    for j, k in T.grid(8, 4):
        with T.block("update"):
            vj, vk = T.axis.remap("SR", [j, k])
            C[vj] = C[vj] + T.cast(A[vk], "int32") * T.cast(B[vj, vk], "int32")
""",
    lambda s: s.unroll("k"),
)


@textbook(quantised, reference=quantised_product)
def tensorized_with_an_int8_dot(s: Schedule) -> None:
    """The weights in blocks of 8 outputs by 4 inputs, as VNNI and SDOT want them, and the intrinsic in the middle."""
    block = s.get_block("C")
    s.transform_layout(block, ("read", 1), lambda j, k: [j // 8, k // 4, j % 8, k % 4])
    i, j, k = s.get_loops(block)
    j0, j1 = s.split(j, factors=[None, 8])
    k0, k1 = s.split(k, factors=[None, 4])
    s.reorder(i, j0, k0, j1, k1)
    s.decompose_reduction(block, k0)
    s.simplify()
    s.tensorize(j1, DOT_4)
    s.parallel(i)


@textbook(quantised, reference=quantised_product)
def integers_reassociate_freely(s: Schedule) -> None:
    """Four partial sums in lanes; integers need no licence."""
    i, j, k = s.get_loops("C")
    k0, k1 = s.split(k, factors=[None, 4])
    part = s.rfactor(k1, -1)
    s.vectorize(s.get_loops(part)[-1])
    s.parallel(s.get_loops(part)[0])


@T.prim_func
def symbolic(a: T.handle, b: T.handle, c: T.handle):
    m, n, k_ = T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (m, k_), "float32")
    B = T.match_buffer(b, (k_, n), "float32")
    C = T.match_buffer(c, (m, n), "float32")
    for i, j, k in T.grid(m, n, k_):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@textbook(symbolic, reference=product, sizes={"m": 13, "n": 19, "k_": 11})
def symbolic_tiles(s: Schedule) -> None:
    """All extents unknown: guards stay where tiles stick out."""
    i, j, k = s.get_loops("C")
    i0, i1 = s.split(i, factors=[None, 8])
    j0, j1 = s.split(j, factors=[None, 8])
    k0, k1 = s.split(k, factors=[None, 4])
    s.reorder(i0, j0, k0, i1, k1, j1)
    s.vectorize(j1)
    s.parallel(i0)


@textbook(symbolic, reference=product, sizes={"m": 13, "n": 19, "k_": 11})
def symbolic_accumulators(s: Schedule) -> None:
    """A local tile of accumulators, though the sizes are unknown."""
    i, j, k = s.get_loops("C")
    i0, i1 = s.split(i, factors=[None, 4])
    j0, j1 = s.split(j, factors=[None, 8])
    s.reorder(i0, j0, i1, j1, k)
    s.cache_write("C", 0, "local", j0)
    s.reorder(k, i1, j1)
    s.vectorize(j1)
    s.unroll(i1)


@T.prim_func
def symbolic_rows(a: T.handle, B: T.Buffer((32, 16), "float32"), c: T.handle):
    m = T.int32()
    A = T.match_buffer(a, (m, 32), "float32")
    C = T.match_buffer(c, (m, 16), "float32")
    for i, j, k in T.grid(m, 16, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@textbook(symbolic_rows, reference=product, sizes={"m": 11})
def dynamic_batch(s: Schedule) -> None:
    """Only the batch is unknown, as in a served model: full tiles in one loop, the rest in another."""
    i, j, k = s.get_loops("C")
    s.decompose_reduction("C", k)
    init = s.get_loops("C_init")
    s.vectorize(init[-1])
    i, j, k = s.get_loops("C")
    s.fission(i, after="C_init")
    i, j, k = s.get_loops("C")
    full, rest = s.partition(i, s.symbol("m") // 4 * 4)
    i0, i1 = s.split(full, factors=[None, 4])
    s.simplify()
    s.parallel(i0)


@T.prim_func
def biased(A: T.Buffer((18, 22), "float32"), B: T.Buffer((22, 26), "float32"), bias: T.Buffer((26,), "float32"),
           D: T.Buffer((18, 26), "float32")):  # fmt: skip
    C = T.alloc_buffer((18, 26), "float32")
    E = T.alloc_buffer((18, 26), "float32")
    for i, j, k in T.grid(18, 26, 22):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(18, 26):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = C[vi, vj] + bias[vj]
    for i, j in T.grid(18, 26):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(E[vi, vj], T.float32(0))


@textbook(biased, reference=lambda A, B, bias: {"D": np.maximum(A @ B + bias, 0)})
def dense_bias_relu_fused(s: Schedule) -> None:
    """The epilogue inlined and computed with each tile of the product; no extent is a multiple of its tile."""
    s.compute_inline("E")
    i, j, k = s.get_loops("C")
    i0, i1 = s.split(i, factors=[None, 4])
    j0, j1 = s.split(j, factors=[None, 8])
    s.reorder(i0, j0, k, i1, j1)
    s.reverse_compute_at("D", j0)
    s.set_scope("C", 0, "local")
    s.vectorize(j1)
    s.parallel(i0)
