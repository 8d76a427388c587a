"""Softmax in all its forms, log-softmax, layer, RMS and batch norm, attention scores, cross-entropy."""

from __future__ import annotations

import numpy as np

from tests.acceptance.textbook import textbook
from verified_tir import Schedule
from verified_tir.script import tir as T

LOWEST = -3.4028234663852886e38


def softmax_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    e = np.exp(A - A.max(-1, keepdims=True))
    return {"B": e / e.sum(-1, keepdims=True)}


@T.prim_func
def softmax(A: T.Buffer((12, 40), "float32"), B: T.Buffer((12, 40), "float32")):
    maxelem = T.alloc_buffer((12,), "float32")
    exp = T.alloc_buffer((12, 40), "float32")
    expsum = T.alloc_buffer((12,), "float32")
    for i, k in T.grid(12, 40):
        with T.block("maxelem"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                maxelem[vi] = T.float32(LOWEST)
            maxelem[vi] = T.max(maxelem[vi], A[vi, vk])
    for i, j in T.grid(12, 40):
        with T.block("exp"):
            vi, vj = T.axis.remap("SS", [i, j])
            exp[vi, vj] = T.exp(A[vi, vj] - maxelem[vi])
    for i, k in T.grid(12, 40):
        with T.block("expsum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                expsum[vi] = T.float32(0)
            expsum[vi] = expsum[vi] + exp[vi, vk]
    for i, j in T.grid(12, 40):
        with T.block("norm"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = exp[vi, vj] / expsum[vi]


@textbook(softmax, reference=softmax_numpy)
def softmax_row_at_a_time(s: Schedule) -> None:
    """All stages computed for one row after the other, as TVM's CPU schedule does."""
    i, j = s.get_loops("norm")
    s.compute_at("expsum", i)
    s.compute_at("exp", i)
    s.compute_at("maxelem", i)
    s.parallel(i)
    j0, j1 = s.split(j, factors=[None, 8])
    s.vectorize(j1)
    *_, j = s.get_loops("exp")
    j0, j1 = s.split(j, factors=[None, 8])
    s.vectorize(j1)


@textbook(softmax, reference=softmax_numpy)
def softmax_recomputes_the_exponentials(s: Schedule) -> None:
    """The exponentials inlined into both who use them: three passes over the input, no temporary row."""
    s.compute_inline("exp")
    s.merge_adjacent_loops()
    i, k = s.get_loops("maxelem")
    s.parallel(i)
    s.sink_allocation("maxelem")
    s.sink_allocation("expsum")


@textbook(softmax, reference=softmax_numpy, reassociate=True)
def softmax_sums_in_lanes(s: Schedule) -> None:
    """The sum of the exponentials in eight lanes."""
    i, k = s.get_loops("expsum")
    k0, k1 = s.split(k, factors=[None, 8])
    part = s.rfactor(k1, reassociate="expsum")
    s.vectorize(k1)
    s.parallel(i)
    s.parallel(s.get_loops("norm")[0])
    assert part in s.blocks


@T.prim_func
def bounded_softmax(A: T.Buffer((6, 32), "float32"), B: T.Buffer((6, 32), "float32")):
    m = T.alloc_buffer((6,), "float32")
    d = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 32):
        T.assume(A[i, k] > T.float32(-1000) and A[i, k] < T.float32(1000) and A[i, k] != T.float32(0))
    for i, k in T.grid(6, 32):
        with T.block("m"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                m[vi] = T.float32(LOWEST)
            m[vi] = T.max(m[vi], A[vi, vk])
    for i, k in T.grid(6, 32):
        with T.block("d"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                d[vi] = T.float32(0)
            d[vi] = d[vi] + T.exp(A[vi, vk] - m[vi])
    for i, j in T.grid(6, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj] - m[vi]) / d[vi]


@textbook(bounded_softmax, reference=softmax_numpy, reassociate=True,
          draw=lambda rng: {"A": rng.standard_normal((6, 32)).astype(np.float32)})  # fmt: skip
def split_maximum_and_sum(s: Schedule) -> None:
    """Maxima of finite numbers that are no zeros may be taken in any order; the sums by the user's word."""
    i, k = s.get_loops("m")
    k0, k1 = s.split(k, factors=[None, 4])
    s.rfactor(k1, reassociate="")
    s.vectorize(k1)
    i, k = s.get_loops("d")
    k0, k1 = s.split(k, factors=[None, 4])
    s.rfactor(k1, reassociate="d")
    s.vectorize(k1)
    s.parallel(s.get_loops("B")[0])


@T.prim_func
def online_softmax(A: T.Buffer((8, 24), "float32"), B: T.Buffer((8, 24), "float32")):
    m = T.alloc_buffer((8,), "float32")
    d = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("start"):
            m[i] = T.float32(LOWEST)
            d[i] = T.float32(0)
    for i, k in T.grid(8, 24):
        with T.block("online"):
            x: T.let[T.float32] = T.max(m[i], A[i, k])
            d[i] = d[i] * T.exp(m[i] - x) + T.exp(A[i, k] - x)
            m[i] = x
    for i, j in T.grid(8, 24):
        with T.block("B"):
            B[i, j] = T.exp(A[i, j] - m[i]) / d[i]


@textbook(online_softmax, reference=softmax_numpy)
def online_normaliser(s: Schedule) -> None:
    """Maximum and sum in one pass, kept in registers of each row."""
    s.merge_adjacent_loops()
    s.sink_allocation("m")
    s.sink_allocation("d")
    i = s.loops()[0]
    s.parallel(i)
    j = s.get_loops("B")[-1]
    j0, j1 = s.split(j, factors=[None, 8])
    s.vectorize(j1)


@T.prim_func
def log_softmax(A: T.Buffer((10, 20), "float32"), B: T.Buffer((10, 20), "float32")):
    m = T.alloc_buffer((10,), "float32")
    e = T.alloc_buffer((10,), "float32")
    for i, k in T.grid(10, 20):
        with T.block("m"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                m[vi] = T.float32(LOWEST)
            m[vi] = T.max(m[vi], A[vi, vk])
    for i, k in T.grid(10, 20):
        with T.block("e"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                e[vi] = T.float32(0)
            e[vi] = e[vi] + T.exp(A[vi, vk] - m[vi])
    for i, j in T.grid(10, 20):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] - m[vi] - T.log(e[vi])


@textbook(log_softmax, reference=lambda A: {"B": np.log(softmax_numpy(A)["B"])})
def log_softmax_fused(s: Schedule) -> None:
    """One parallel loop over the rows; the logarithm once in each row."""
    i, j = s.get_loops("B")
    s.compute_at("e", i)
    s.compute_at("m", i)
    s.parallel(i)
    value = s.bind_expr("B", "T.log(e[0])", "log_e")
    assert value is not None


@T.prim_func
def layer_norm(A: T.Buffer((6, 32), "float32"), gamma: T.Buffer((32,), "float32"), beta: T.Buffer((32,), "float32"),
               B: T.Buffer((6, 32), "float32")):  # fmt: skip
    total = T.alloc_buffer((6,), "float32")
    squares = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 32):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + A[vi, vk]
    for i, k in T.grid(6, 32):
        with T.block("squares"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                squares[vi] = T.float32(0)
            squares[vi] = squares[vi] + A[vi, vk] * A[vi, vk]
    for i, j in T.grid(6, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = (A[vi, vj] - total[vi] / T.float32(32)) * T.rsqrt(
                squares[vi] / T.float32(32)
                - (total[vi] / T.float32(32)) * (total[vi] / T.float32(32))
                + T.float32(1e-5)
            ) * gamma[vj] + beta[vj]


def layer_norm_numpy(A: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> dict[str, np.ndarray]:
    mean, var = A.mean(-1, keepdims=True), A.var(-1, keepdims=True)
    return {"B": (A - mean) / np.sqrt(var + 1e-5) * gamma + beta}


@textbook(layer_norm, reference=layer_norm_numpy, tolerance=1e-4)
def sum_and_squares_in_one_pass(s: Schedule) -> None:
    """Both moments in one loop, the mean named once, rows in parallel."""
    s.merge_loops(s.get_loops("total")[0], s.get_loops("squares")[0])
    s.merge_loops(s.get_loops("total")[1], s.get_loops("squares")[1])
    i, j = s.get_loops("B")
    s.merge_loops(s.get_loops("total")[0], i)
    s.sink_allocation("total")
    s.sink_allocation("squares")
    s.bind_expr("B", "total[i] / 32.0", "mean")
    s.parallel(s.get_loops("B")[0])
    j0, j1 = s.split(s.get_loops("B")[-1], factors=[None, 8])
    s.vectorize(j1)


@textbook(layer_norm, reference=layer_norm_numpy, reassociate=True, tolerance=1e-4)
def moments_in_lanes(s: Schedule) -> None:
    """Each moment in eight partial sums."""
    for name in ("total", "squares"):
        i, k = s.get_loops(name)
        _, lane = s.split(k, factors=[None, 8])
        s.rfactor(lane, reassociate=name)
        s.vectorize(lane)
    s.parallel(s.get_loops("B")[0])


@T.prim_func
def rms_norm(a: T.handle, gamma: T.Buffer((24,), "float32"), b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 24), "float32")
    B = T.match_buffer(b, (n, 24), "float32")
    ms = T.alloc_buffer((n,), "float32")
    for i, k in T.grid(n, 24):
        with T.block("ms"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                ms[vi] = T.float32(0)
            ms[vi] = ms[vi] + A[vi, vk] * A[vi, vk]
    for i, j in T.grid(n, 24):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] / T.sqrt(ms[vi] / T.float32(24) + T.float32(1e-6)) * gamma[vj]


@textbook(rms_norm, sizes={"n": 7}, reference=lambda A, gamma: {
    "B": A / np.sqrt((A * A).mean(-1, keepdims=True) + 1e-6) * gamma})  # fmt: skip
def rms_norm_any_batch(s: Schedule) -> None:
    """The number of rows is unknown: blocks of four rows, a guard at the end."""
    i, j = s.get_loops("B")
    i0, i1 = s.split(i, factors=[None, 4])
    s.compute_at("ms", i1)
    s.parallel(i0)
    j0, j1 = s.split(j, factors=[None, 8])
    s.vectorize(j1)
    s.simplify()


@T.prim_func
def batch_norm(X: T.Buffer((2, 8, 5, 5), "float32"), mean: T.Buffer((8,), "float32"), var: T.Buffer((8,), "float32"),
               gamma: T.Buffer((8,), "float32"), beta: T.Buffer((8,), "float32"),
               Y: T.Buffer((2, 8, 5, 5), "float32")):  # fmt: skip
    scale = T.alloc_buffer((8,), "float32")
    shift = T.alloc_buffer((8,), "float32")
    scaled = T.alloc_buffer((2, 8, 5, 5), "float32")
    shifted = T.alloc_buffer((2, 8, 5, 5), "float32")
    for c in range(8):
        with T.block("scale"):
            vc = T.axis.spatial(8, c)
            scale[vc] = gamma[vc] / T.sqrt(var[vc] + T.float32(1e-5))
    for c in range(8):
        with T.block("shift"):
            vc = T.axis.spatial(8, c)
            shift[vc] = beta[vc] - mean[vc] * scale[vc]
    for n, c, h, w in T.grid(2, 8, 5, 5):
        with T.block("scaled"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            scaled[vn, vc, vh, vw] = X[vn, vc, vh, vw] * scale[vc]
    for n, c, h, w in T.grid(2, 8, 5, 5):
        with T.block("shifted"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            shifted[vn, vc, vh, vw] = scaled[vn, vc, vh, vw] + shift[vc]
    for n, c, h, w in T.grid(2, 8, 5, 5):
        with T.block("relu"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            Y[vn, vc, vh, vw] = T.max(shifted[vn, vc, vh, vw], T.float32(0))


def batch_norm_numpy(X: np.ndarray, mean: np.ndarray, var: np.ndarray, gamma: np.ndarray, beta: np.ndarray
                     ) -> dict[str, np.ndarray]:  # fmt: skip
    scale = (gamma / np.sqrt(var + np.float32(1e-5)))[None, :, None, None]
    shift = beta[None, :, None, None] - mean[None, :, None, None] * scale
    return {"Y": np.where(X * scale + shift > 0, X * scale + shift, 0)}


def positive_variance(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"var": rng.random(8).astype(np.float32)}


@textbook(batch_norm, reference=batch_norm_numpy, draw=positive_variance)
def batch_norm_chain_inlined(s: Schedule) -> None:
    """Scale and shift stay, once a channel; what is between them and the result is inlined."""
    s.merge_loops(s.get_loops("scale")[0], s.get_loops("shift")[0])
    s.compute_inline("scaled")
    s.reverse_compute_inline("relu")
    n, c, h, w = s.get_loops("shifted")
    s.parallel(s.fuse(n, c))
    hw = s.fuse(h, w)
    outer, lane = s.split(hw, factors=[None, 8])
    s.vectorize(lane)


@T.prim_func
def attention(Q: T.Buffer((2, 6, 8), "float32"), K: T.Buffer((2, 6, 8), "float32"), V: T.Buffer((2, 6, 8), "float32"),
              O: T.Buffer((2, 6, 8), "float32")):  # fmt: skip
    S = T.alloc_buffer((2, 6, 6), "float32")
    scaled = T.alloc_buffer((2, 6, 6), "float32")
    m = T.alloc_buffer((2, 6), "float32")
    P = T.alloc_buffer((2, 6, 6), "float32")
    d = T.alloc_buffer((2, 6), "float32")
    U = T.alloc_buffer((2, 6, 8), "float32")
    for h, i, j, k in T.grid(2, 6, 6, 8):
        with T.block("S"):
            vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
            with T.init():
                S[vh, vi, vj] = T.float32(0)
            S[vh, vi, vj] = S[vh, vi, vj] + Q[vh, vi, vk] * K[vh, vj, vk]
    for h, i, j in T.grid(2, 6, 6):
        with T.block("mask"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            scaled[vh, vi, vj] = T.if_then_else(vj <= vi, S[vh, vi, vj] * T.float32(0.35355339), T.float32(LOWEST))
    for h, i, j in T.grid(2, 6, 6):
        with T.block("m"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                m[vh, vi] = T.float32(LOWEST)
            m[vh, vi] = T.max(m[vh, vi], scaled[vh, vi, vj])
    for h, i, j in T.grid(2, 6, 6):
        with T.block("P"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            P[vh, vi, vj] = T.exp(scaled[vh, vi, vj] - m[vh, vi])
    for h, i, j in T.grid(2, 6, 6):
        with T.block("d"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                d[vh, vi] = T.float32(0)
            d[vh, vi] = d[vh, vi] + P[vh, vi, vj]
    for h, i, k, j in T.grid(2, 6, 8, 6):
        with T.block("U"):
            vh, vi, vk, vj = T.axis.remap("SSSR", [h, i, k, j])
            with T.init():
                U[vh, vi, vk] = T.float32(0)
            U[vh, vi, vk] = U[vh, vi, vk] + P[vh, vi, vj] * V[vh, vj, vk]
    for h, i, k in T.grid(2, 6, 8):
        with T.block("O"):
            vh, vi, vk = T.axis.remap("SSS", [h, i, k])
            O[vh, vi, vk] = U[vh, vi, vk] / d[vh, vi]


def attention_numpy(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> dict[str, np.ndarray]:
    scores = np.where(np.tril(np.ones((6, 6), bool)), Q @ K.transpose(0, 2, 1) * np.float32(0.35355339), -np.inf)
    return {"O": softmax_numpy(scores)["B"] @ V}


@textbook(attention, reference=attention_numpy)
def attention_row_by_row(s: Schedule) -> None:
    """A causal head: everything that a row of queries needs is computed in its iteration."""
    h, i, k = s.get_loops("O")
    s.compute_at("U", i)
    s.compute_at("d", i)
    s.compute_at("P", i)
    s.compute_at("m", i)
    s.compute_at("mask", i)
    s.compute_at("S", i)
    s.parallel(s.fuse(h, i))
    *_, vk, j = s.get_loops("U")
    s.reorder(j, vk)
    s.vectorize(vk)
    s.vectorize(s.get_loops("O")[-1])


@textbook(attention, reference=attention_numpy)
def attention_masked_scores_fused(s: Schedule) -> None:
    """Scaling and mask become the epilogue of the scores; a head in parallel."""
    h, i, j, k = s.get_loops("S")
    s.reverse_compute_at("mask", j)
    s.decompose_reduction("S", k)
    s.merge_adjacent_loops()
    s.parallel(s.get_loops("S")[0])
    s.unroll(s.get_loops("S")[-1])


@T.prim_func
def cross_entropy(X: T.Buffer((8, 12), "float32"), label: T.Buffer((8,), "int32"), L: T.Buffer((8,), "float32")):
    m = T.alloc_buffer((8,), "float32")
    e = T.alloc_buffer((8,), "float32")
    for i in range(8):
        T.assume(0 <= label[i] and label[i] < 12)
    for i, k in T.grid(8, 12):
        with T.block("m"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                m[vi] = T.float32(LOWEST)
            m[vi] = T.max(m[vi], X[vi, vk])
    for i, k in T.grid(8, 12):
        with T.block("e"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                e[vi] = T.float32(0)
            e[vi] = e[vi] + T.exp(X[vi, vk] - m[vi])
    for i in range(8):
        with T.block("L"):
            vi = T.axis.spatial(8, i)
            L[vi] = T.log(e[vi]) + m[vi] - X[vi, label[vi]]


def cross_entropy_numpy(X: np.ndarray, label: np.ndarray) -> dict[str, np.ndarray]:
    return {"L": np.log(np.exp(X).sum(-1)) - X[np.arange(8), label]}


@textbook(cross_entropy, reference=cross_entropy_numpy,
          draw=lambda rng: {"label": rng.integers(0, 12, 8, dtype=np.int32)})  # fmt: skip
def cross_entropy_of_a_sample(s: Schedule) -> None:
    """The label is data, with an assumed range; all of a sample in one iteration of a parallel loop."""
    (i,) = s.get_loops("L")
    s.compute_at("e", i)
    s.compute_at("m", i)
    s.parallel(i)
    s.set_scope("m", "local")
    s.set_scope("e", "local")
