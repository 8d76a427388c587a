"""Several operators scheduled together, padded layouts, micro-kernels, symbolic shapes, narrow types, conditions."""

from __future__ import annotations

import numpy as np

from tests.acceptance.schedules.convolution import conv_nchw
from tests.acceptance.textbook import textbook
from verified_tir import Schedule, TensorIntrin
from verified_tir.script import tir as T

LOWEST = -3.4028234663852886e38


@T.prim_func
def conv_relu_pool(A: T.Buffer((3, 14, 14), "float32"), W: T.Buffer((4, 3, 3, 3), "float32"),
                   B: T.Buffer((4, 6, 6), "float32")):  # fmt: skip
    C = T.alloc_buffer((4, 12, 12), "float32")
    R = T.alloc_buffer((4, 12, 12), "float32")
    for o, h, w, c, y, x in T.grid(4, 12, 12, 3, 3, 3):
        with T.block("conv"):
            vo, vh, vw, vc, vy, vx = T.axis.remap("SSSRRR", [o, h, w, c, y, x])
            with T.init():
                C[vo, vh, vw] = T.float32(0)
            C[vo, vh, vw] = C[vo, vh, vw] + A[vc, vh + vy, vw + vx] * W[vo, vc, vy, vx]
    for o, h, w in T.grid(4, 12, 12):
        with T.block("relu"):
            vo, vh, vw = T.axis.remap("SSS", [o, h, w])
            R[vo, vh, vw] = T.max(C[vo, vh, vw], T.float32(0))
    for o, h, w, y, x in T.grid(4, 6, 6, 2, 2):
        with T.block("pool"):
            vo, vh, vw, vy, vx = T.axis.remap("SSSRR", [o, h, w, y, x])
            with T.init():
                B[vo, vh, vw] = T.float32(LOWEST)
            B[vo, vh, vw] = T.max(B[vo, vh, vw], R[vo, 2 * vh + vy, 2 * vw + vx])


def conv_relu_pool_numpy(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    R = np.maximum(conv_nchw(A[None], W)[0], 0)
    return {"B": R.reshape(4, 6, 2, 6, 2).max((2, 4))}


@textbook(conv_relu_pool, reference=conv_relu_pool_numpy)
def convolution_for_a_row_of_the_pool(s: Schedule) -> None:
    """Two rows of the convolution for each row of the pool; the rectifier inlined."""
    s.compute_inline("relu")
    o, h, w, y, x = s.get_loops("pool")
    s.compute_at("conv", h)
    s.set_scope("conv", 0, "local")
    s.parallel(s.fuse(o, h))
    s.unroll(y)
    s.unroll(x)


@textbook(conv_relu_pool, reference=conv_relu_pool_numpy)
def rectifier_in_the_convolution(s: Schedule) -> None:
    """The rectifier follows each sum; a tile of the pool at a time, the input window staged."""
    o, h, w, y, x = s.get_loops("pool")
    h0, h1 = s.split(h, factors=[None, 3])
    w0, w1 = s.split(w, factors=[None, 3])
    s.reorder(h0, w0, o, h1, w1, y, x)
    s.compute_at("relu", w0)
    s.compute_at("conv", w0)
    s.cache_read("conv", "A", "shared", w0)
    s.parallel(s.fuse(h0, w0))
    c = s.get_loops("conv")[-3]
    s.decompose_reduction("conv", c)
    s.annotate(c, "pragma_auto_unroll_max_step", 16)


@T.prim_func
def padded_channels(A: T.Buffer((3, 8, 8), "float32"), W: T.Buffer((6, 3), "float32"),
                    B: T.Buffer((6, 8, 8), "float32")):  # fmt: skip
    for o, h, w in T.grid(6, 8, 8):
        with T.block("zero"):
            B[o, h, w] = T.float32(0)
        for c in range(3):
            with T.block("conv"):
                B[o, h, w] = B[o, h, w] + A[c, h, w] * W[o, c]


@textbook(padded_channels, reference=lambda A, W: {"B": np.einsum("chw,oc->ohw", A, W)})
def channels_padded_to_four(s: Schedule) -> None:
    """Three channels in blocks of four, zeros in the fourth of image and weights: no condition is left."""
    s.transform_layout("A", lambda c, h, w: [c // 4, h, w, c % 4], pad_value=0.0)
    s.transform_layout("W", lambda o, c: [o // 4, c // 4, c % 4, o % 4], pad_value=0.0)
    s.transform_layout("B", lambda o, h, w: [o // 4, h, w, o % 4], pad_value=T.undef())
    s.sequential_buffer_access("W", "conv")
    s.remove_branching_through_overcompute()
    s.simplify()


TILE_KERNEL = TensorIntrin.of(
    "tile_4x4",
    """
@T.prim_func
def tile_4x4(A: T.Buffer((4, 4), "int8"), B: T.Buffer((4, 4), "int8"), C: T.Buffer((4, 4), "int32")):
    for i, j, k in T.grid(4, 4, 4):
        with T.block("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "int32") * T.cast(B[vk, vj], "int32")
""",
    lambda s: s.unroll("k"),
)


@T.prim_func
def ragged_int8(A: T.Buffer((10, 13), "int8"), B: T.Buffer((13, 7), "int8"), C: T.Buffer((10, 7), "int32")):
    for i, j, k in T.grid(10, 7, 13):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "int32") * T.cast(B[vk, vj], "int32")


@textbook(ragged_int8, reference=lambda A, B: {"C": A.astype(np.int32) @ B.astype(np.int32)})
def ragged_product_by_a_micro_kernel(s: Schedule) -> None:
    """No extent is a multiple of four: padded copies, then the micro-kernel on whole tiles."""
    s.pad_einsum("C", [4, 4, 4])
    i, j, k = s.get_loops("C")
    i0, i1 = s.split(i, factors=[None, 4])
    j0, j1 = s.split(j, factors=[None, 4])
    k0, k1 = s.split(k, factors=[None, 4])
    s.reorder(i0, j0, k0, i1, j1, k1)
    s.decompose_reduction("C", k0)
    s.tensorize(s.blockize(i1), TILE_KERNEL)
    s.parallel(i0)


@T.prim_func
def symbolic_attention(q: T.handle, k: T.handle, p: T.handle):
    n = T.int32()
    Q = T.match_buffer(q, (n, 8), "float32")
    K = T.match_buffer(k, (n, 8), "float32")
    P = T.match_buffer(p, (n, n), "float32")
    S = T.alloc_buffer((n, n), "float32")
    m = T.alloc_buffer((n,), "float32")
    d = T.alloc_buffer((n,), "float32")
    for i, j, e in T.grid(n, n, 8):
        with T.block("S"):
            vi, vj, ve = T.axis.remap("SSR", [i, j, e])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + Q[vi, ve] * K[vj, ve]
    for i, j in T.grid(n, n):
        with T.block("m"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                m[vi] = T.float32(LOWEST)
            m[vi] = T.max(m[vi], S[vi, vj])
    for i, j in T.grid(n, n):
        with T.block("d"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                d[vi] = T.float32(0)
            d[vi] = d[vi] + T.exp(S[vi, vj] - m[vi])
    for i, j in T.grid(n, n):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.exp(S[vi, vj] - m[vi]) / d[vi]


def symbolic_attention_numpy(Q: np.ndarray, K: np.ndarray) -> dict[str, np.ndarray]:
    e = np.exp(Q @ K.T - (Q @ K.T).max(-1, keepdims=True))
    return {"P": e / e.sum(-1, keepdims=True)}


@textbook(symbolic_attention, reference=symbolic_attention_numpy, sizes={"n": 9})
def scores_of_an_unknown_sequence(s: Schedule) -> None:
    """A row of scores at a time, whatever the length of the sequence."""
    i, j = s.get_loops("P")
    s.compute_at("d", i)
    s.compute_at("m", i)
    s.compute_at("S", i)
    s.parallel(i)
    j0, j1 = s.split(j, factors=[None, 8])
    s.vectorize(j1)
    s.unroll(s.get_loops("S")[-1])


@T.prim_func
def masked_update(mask: T.Buffer((24,), "bool"), A: T.Buffer((24, 6), "float32"), B: T.Buffer((24, 6), "float32")):
    for i, j in T.grid(24, 6):
        with T.block("B"):
            if mask[i]:
                B[i, j] = B[i, j] + A[i, j]


def masked_numpy(mask: np.ndarray, A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    return {"B": np.where(mask[:, None], B + A, B)}


@textbook(masked_update, reference=masked_numpy)
def condition_out_of_the_inner_loop(s: Schedule) -> None:
    """The mask of a row is asked once."""
    i, j = s.get_loops("B")
    s.parallel(i)
    s.hoist_expression()
    s.vectorize(j)


@T.prim_func
def narrow(A: T.Buffer((40,), "bfloat16"), B: T.Buffer((40,), "bfloat16"), C: T.Buffer((1,), "float32")):
    for k in range(40):
        with T.block("C"):
            vk = T.axis.reduce(40, k)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] + T.cast(A[vk], "float32") * T.cast(B[vk], "float32")


def bfloats(rng: np.random.Generator) -> dict[str, np.ndarray]:
    import ml_dtypes

    return {name: rng.standard_normal(40).astype(ml_dtypes.bfloat16) for name in "AB"}


@textbook(narrow, reference=lambda A, B: {"C": np.array([A.astype(np.float32) @ B.astype(np.float32)])}, draw=bfloats,
          reassociate=True)  # fmt: skip
def bfloat16_dot_in_lanes(s: Schedule) -> None:
    """Narrow operands, a wide sum in eight lanes."""
    (k,) = s.get_loops("C")
    _, lane = s.split(k, factors=[None, 8])
    s.rfactor(lane, reassociate="C")
    s.vectorize(lane)


@T.prim_func
def long_vector(a: T.handle, b: T.handle, n: T.int64):
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.serial(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * A[vi]


@textbook(long_vector, reference=lambda A: {"B": A * A}, sizes={"n": 37})
def sixty_four_bit_loop(s: Schedule) -> None:
    """Extents of 64 bits: chunks in parallel, lanes, the rest with a guard."""
    (i,) = s.get_loops("B")
    chunk, outer, lane = s.split(i, factors=[4, None, 8])
    s.vectorize(lane)
    s.parallel(chunk)


@T.prim_func
def upsample_add(A: T.Buffer((4, 6, 6), "float32"), S: T.Buffer((4, 12, 12), "float32"),
                 B: T.Buffer((4, 12, 12), "float32")):  # fmt: skip
    U = T.alloc_buffer((4, 12, 12), "float32")
    for c, h, w in T.grid(4, 12, 12):
        with T.block("U"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            U[vc, vh, vw] = A[vc, vh // 2, vw // 2]
    for c, h, w in T.grid(4, 12, 12):
        with T.block("B"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            B[vc, vh, vw] = U[vc, vh, vw] + S[vc, vh, vw]


@textbook(upsample_add, reference=lambda A, S: {"B": A.repeat(2, 1).repeat(2, 2) + S})
def feature_pyramid_fused(s: Schedule) -> None:
    """The sum follows the upsampling, in tiles of four by four pixels."""
    s.reverse_compute_inline("B")
    c, h, w = s.get_loops("U")
    h0, w0, h1, w1 = s.tile(h, w, factors=[4, 4])
    s.vectorize(w1)
    s.parallel(s.fuse(c, h0))
    s.cache_read("U", "A", "local", w0)


@T.prim_func
def two_losses(P: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32"), L: T.Buffer((2,), "float32")):
    for k in range(16):
        with T.block("absolute"):
            vk = T.axis.reduce(16, k)
            with T.init():
                L[0] = T.float32(0)
            L[0] = L[0] + T.abs(P[vk] - Y[vk])
    for k in range(16):
        with T.block("square"):
            vk = T.axis.reduce(16, k)
            with T.init():
                L[1] = T.float32(0)
            L[1] = L[1] + (P[vk] - Y[vk]) * (P[vk] - Y[vk])


@textbook(two_losses, reference=lambda P, Y: {"L": np.array([np.abs(P - Y).sum(), ((P - Y) ** 2).sum()])})
def both_losses_in_one_pass(s: Schedule) -> None:
    """One loop for both sums, which live in local memory."""
    first, second = s.get_loops("absolute")[0], s.get_loops("square")[0]
    k = s.merge_loops(first, second)
    s.cache_write("L", "local")
    s.bind_expr("square", "P[k] - Y[k]", "d")
    s.unroll(k)


@T.prim_func
def lstm_gates(X: T.Buffer((3, 5), "float32"), W: T.Buffer((5, 16), "float32"), c: T.Buffer((3, 4), "float32"),
               h: T.Buffer((3, 4), "float32")):  # fmt: skip
    G = T.alloc_buffer((3, 16), "float32")
    for b, g, k in T.grid(3, 16, 5):
        with T.block("G"):
            vb, vg, vk = T.axis.remap("SSR", [b, g, k])
            with T.init():
                G[vb, vg] = T.float32(0)
            G[vb, vg] = G[vb, vg] + X[vb, vk] * W[vk, vg]
    for b, u in T.grid(3, 4):
        with T.block("cell"):
            c[b, u] = T.sigmoid(G[b, 4 + u]) * c[b, u] + T.sigmoid(G[b, u]) * T.tanh(G[b, 8 + u])
        with T.block("hidden"):
            h[b, u] = T.sigmoid(G[b, 12 + u]) * T.tanh(c[b, u])


def lstm_numpy(X: np.ndarray, W: np.ndarray, c: np.ndarray, h: np.ndarray) -> dict[str, np.ndarray]:
    i, f, g, o = np.split(X @ W, 4, axis=1)

    def sigmoid(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-x))

    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return {"c": c, "h": sigmoid(o) * np.tanh(c)}


@textbook(lstm_gates, reference=lstm_numpy)
def gates_of_a_sample(s: Schedule) -> None:
    """The four gates as a dimension of their own, computed for one sample at a time."""
    s.transform_layout("G", lambda b, g: [b, g // 4, g % 4])
    b, u = s.get_loops("cell")
    s.compute_at("G", b)
    s.parallel(b)
    s.simplify()
    s.fission(u, after="cell")
    s.vectorize(s.get_loops("cell")[-1])
    s.vectorize(s.get_loops("hidden")[-1])


@T.prim_func
def floyd_warshall(D: T.Buffer((8, 8), "int32")):
    for k, i, j in T.grid(8, 8, 8):
        with T.block("D"):
            D[i, j] = T.min(D[i, j], D[i, k] + D[k, j])


def floyd_numpy(D: np.ndarray) -> dict[str, np.ndarray]:
    for k in range(8):
        for i in range(8):
            for j in range(8):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    return {"D": D}


@textbook(floyd_warshall, reference=floyd_numpy, draw=lambda rng: {"D": rng.integers(1, 50, (8, 8), dtype=np.int32)})
def shortest_paths(s: Schedule) -> None:
    """The order of the three loops stays; the innermost is unrolled in parts."""
    k, i, j = s.get_loops("D")
    j0, j1 = s.split(j, factors=[None, 4])
    s.unroll(j1)
    i0, i1 = s.split(i, factors=[None, 2])


@T.prim_func
def knapsack(weight: T.Buffer((5,), "int32"), value: T.Buffer((5,), "int32"), best: T.Buffer((6, 21), "int32")):
    for i in range(5):
        T.assume(weight[i] >= 1 and weight[i] <= 20)
    for w in range(21):
        with T.block("none"):
            best[0, w] = 0
    for i, w in T.grid(5, 21):
        with T.block("best"):
            best[i + 1, w] = T.if_then_else(
                weight[i] <= w, T.max(best[i, w], best[i, w - weight[i]] + value[i]), best[i, w]
            )


def knapsack_numpy(weight: np.ndarray, value: np.ndarray) -> dict[str, np.ndarray]:
    best = np.zeros((6, 21), np.int32)
    for i in range(5):
        best[i + 1] = best[i]
        for w in range(weight[i], 21):
            best[i + 1, w] = max(best[i, w], best[i, w - weight[i]] + value[i])
    return {"best": best}


@textbook(knapsack, reference=knapsack_numpy, draw=lambda rng: {"weight": rng.integers(1, 9, 5, dtype=np.int32)})
def rows_of_a_dynamic_program(s: Schedule) -> None:
    """Row by row; within a row all capacities at once."""
    i, w = s.get_loops("best")
    s.cache_read("best", "weight", "local", i)
    s.cache_read("best", "value", "local", i)
    s.parallel(w)
    s.vectorize(s.get_loops("none")[0])
