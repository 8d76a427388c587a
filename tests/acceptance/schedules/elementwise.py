"""Chains of elementwise operations, quantised arithmetic, complex numbers, dropout, FFT stages, Horner, mixed types."""

from __future__ import annotations

import numpy as np

from tests.acceptance.textbook import textbook
from verified_tir import Schedule
from verified_tir.script import tir as T


@T.prim_func
def gelu(A: T.Buffer((6, 40), "float32"), B: T.Buffer((6, 40), "float32")):
    t0 = T.alloc_buffer((6, 40), "float32")
    t1 = T.alloc_buffer((6, 40), "float32")
    t2 = T.alloc_buffer((6, 40), "float32")
    for i, j in T.grid(6, 40):
        with T.block("t0"):
            vi, vj = T.axis.remap("SS", [i, j])
            t0[vi, vj] = A[vi, vj] * T.float32(0.70710678)
    for i, j in T.grid(6, 40):
        with T.block("t1"):
            vi, vj = T.axis.remap("SS", [i, j])
            t1[vi, vj] = T.erf(t0[vi, vj])
    for i, j in T.grid(6, 40):
        with T.block("t2"):
            vi, vj = T.axis.remap("SS", [i, j])
            t2[vi, vj] = T.float32(0.5) + t1[vi, vj] * T.float32(0.5)
    for i, j in T.grid(6, 40):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * t2[vi, vj]


def gelu_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    from math import erf

    return {"B": A * (0.5 + 0.5 * np.vectorize(erf)(A * 0.70710678))}


@textbook(gelu, reference=gelu_numpy)
def chain_inlined(s: Schedule) -> None:
    """All stages in the last one; the two dimensions as one, in parallel vectors."""
    s.compute_inline("t0")
    s.compute_inline("t1")
    s.compute_inline("t2")
    ij = s.fuse(*s.get_loops("B"))
    outer, lane = s.split(ij, factors=[None, 16])
    s.vectorize(lane)
    s.parallel(outer)
    s.simplify()


@textbook(gelu, reference=gelu_numpy)
def chain_computed_by_rows(s: Schedule) -> None:
    """The stages stay, one row at a time."""
    i, j = s.get_loops("B")
    s.compute_at("t2", i)
    s.compute_at("t1", i)
    s.compute_at("t0", i)
    s.parallel(i)
    for block in ("t0", "t1", "t2", "B"):
        _, lane = s.split(s.get_loops(block)[-1], factors=[None, 8])
        s.vectorize(lane)


@textbook(gelu, reference=gelu_numpy)
def chain_merged_and_contracted(s: Schedule) -> None:
    """All nests merged, the temporaries shrunk to a register each."""
    s.reverse_compute_inline("t1")
    s.merge_adjacent_loops()
    i = s.loops()[0]
    s.parallel(i)


@T.prim_func
def requantise(A: T.Buffer((8, 12), "int32"), bias: T.Buffer((12,), "int32"), B: T.Buffer((8, 12), "int8")):
    scaled = T.alloc_buffer((8, 12), "int32")
    for i, j in T.grid(8, 12):
        with T.block("scaled"):
            vi, vj = T.axis.remap("SS", [i, j])
            scaled[vi, vj] = T.cast(
                (T.cast(A[vi, vj] + bias[vj], "int64") * T.int64(1518500250) + T.int64(1 << 34)) >> T.int64(35), "int32"
            )
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.cast(T.max(T.min(scaled[vi, vj], 127), -128), "int8")


def requantise_numpy(A: np.ndarray, bias: np.ndarray) -> dict[str, np.ndarray]:
    x = ((A + bias).astype(np.int64) * 1518500250 + (1 << 34)) >> 35
    return {"B": np.clip(x.astype(np.int32), -128, 127).astype(np.int8)}


@textbook(requantise, reference=requantise_numpy)
def requantised_in_vectors(s: Schedule) -> None:
    """Fixed-point multiplication with rounding shift and saturation, in one loop of lanes."""
    s.reverse_compute_inline("B")
    i, j = s.loops()
    ij = s.fuse(i, j)
    outer, lane = s.split(ij, factors=[None, 16])
    s.vectorize(lane)
    s.parallel(outer)


@T.prim_func
def quantised_dense(X: T.Buffer((6, 16), "uint8"), W: T.Buffer((10, 16), "int8"), B: T.Buffer((6, 10), "int8")):
    acc = T.alloc_buffer((6, 10), "int32")
    for i, j, k in T.grid(6, 10, 16):
        with T.block("acc"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                acc[vi, vj] = 0
            acc[vi, vj] = acc[vi, vj] + (T.cast(X[vi, vk], "int32") - 128) * T.cast(W[vj, vk], "int32")
    for i, j in T.grid(6, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.cast(T.max(T.min((acc[vi, vj] * 77 + 4096) >> 13, 127), -128), "int8")


def quantised_dense_numpy(X: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    acc = (X.astype(np.int32) - 128) @ W.astype(np.int32).T
    return {"B": np.clip((acc * 77 + 4096) >> 13, -128, 127).astype(np.int8)}


@textbook(quantised_dense, reference=quantised_dense_numpy)
def requantised_in_the_epilogue(s: Schedule) -> None:
    """The reduction in any order, since it is of integers; the epilogue with each tile."""
    i, j, k = s.get_loops("acc")
    s.decompose_reduction("acc", k)
    k0, k1 = s.split(k, factors=[None, 4])
    s.fission(j, after="acc_init")
    _, j, k0, k1 = s.get_loops("acc")
    s.reorder(k0, k1, j)
    s.reverse_compute_at("B", s.get_loops("acc")[0])
    s.vectorize(s.get_loops("B")[-1])
    s.vectorize(j)
    s.parallel(s.get_loops("acc")[0])


@T.prim_func
def complex_multiply(A: T.Buffer((24, 2), "float32"), B: T.Buffer((24, 2), "float32"), C: T.Buffer((24, 2), "float32")):
    for i in range(24):
        with T.block("real"):
            C[i, 0] = A[i, 0] * B[i, 0] - A[i, 1] * B[i, 1]
        with T.block("imaginary"):
            C[i, 1] = A[i, 0] * B[i, 1] + A[i, 1] * B[i, 0]


def complex_numpy(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    a, b = A[:, 0] + 1j * A[:, 1], B[:, 0] + 1j * B[:, 1]
    return {"C": np.stack([(a * b).real, (a * b).imag], axis=1)}


@textbook(complex_multiply, reference=complex_numpy)
def planes_instead_of_pairs(s: Schedule) -> None:
    """From interleaved to planar: a plane of real and one of imaginary parts, lanes over numbers."""
    for name in ("A", "B", "C"):
        s.transform_layout(name, lambda i, part: [part, i])
    (i,) = s.get_loops("real")
    i0, i1 = s.split(i, factors=[None, 8])
    real, imaginary = s.fission(i1)
    s.vectorize(real)
    s.vectorize(imaginary)
    s.parallel(i0)


@T.prim_func
def in_place_rotation(re: T.Buffer((16,), "float32"), im: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("rotate"):
            x: T.let[T.float32] = re[i] * T.float32(0.8) - im[i] * T.float32(0.6)
            im[i] = re[i] * T.float32(0.6) + im[i] * T.float32(0.8)
            re[i] = x


def rotation_numpy(re: np.ndarray, im: np.ndarray) -> dict[str, np.ndarray]:
    c, d = np.float32(0.8), np.float32(0.6)
    return {"re": re * c - im * d, "im": re * d + im * c}


@textbook(in_place_rotation, reference=rotation_numpy)
def rotation_on_copies(s: Schedule) -> None:
    """In place, in parallel; both inputs read once."""
    (i,) = s.get_loops("rotate")
    s.parallel(i)
    s.cache_write("rotate", "re", "local", i)
    s.cache_write("rotate", "im", "local", i)


@T.prim_func
def butterfly(re: T.Buffer((32,), "float32"), im: T.Buffer((32,), "float32"), c: T.Buffer((4,), "float32"),
              d: T.Buffer((4,), "float32")):  # fmt: skip
    for g, k in T.grid(4, 4):
        with T.block("butterfly"):
            tr: T.let[T.float32] = re[g * 8 + k + 4] * c[k] - im[g * 8 + k + 4] * d[k]
            ti: T.let[T.float32] = re[g * 8 + k + 4] * d[k] + im[g * 8 + k + 4] * c[k]
            re[g * 8 + k + 4] = re[g * 8 + k] - tr
            im[g * 8 + k + 4] = im[g * 8 + k] - ti
            re[g * 8 + k] = re[g * 8 + k] + tr
            im[g * 8 + k] = im[g * 8 + k] + ti


def butterfly_numpy(re: np.ndarray, im: np.ndarray, c: np.ndarray, d: np.ndarray) -> dict[str, np.ndarray]:
    r, i = re.reshape(4, 2, 4), im.reshape(4, 2, 4)
    tr, ti = r[:, 1] * c - i[:, 1] * d, r[:, 1] * d + i[:, 1] * c
    return {"re": np.stack([r[:, 0] + tr, r[:, 0] - tr], axis=1).reshape(-1),
            "im": np.stack([i[:, 0] + ti, i[:, 0] - ti], axis=1).reshape(-1)}  # fmt: skip


@textbook(butterfly, reference=butterfly_numpy)
def butterflies_in_any_order(s: Schedule) -> None:
    """Butterflies of a stage touch different pairs: exchanged, fused, in parallel, one unrolled."""
    g, k = s.get_loops("butterfly")
    s.reorder(k, g)
    s.cache_read("butterfly", "c", "local", k)
    s.cache_read("butterfly", "d", "local", k)
    s.parallel(k)
    s.unroll(g)


@textbook(butterfly, reference=butterfly_numpy)
def butterflies_of_a_relaid_array(s: Schedule) -> None:
    """The array as [group, half, element]."""
    s.transform_layout("re", lambda i: [i // 8, i // 4 % 2, i % 4])
    s.transform_layout("im", lambda i: [i // 8, i // 4 % 2, i % 4])
    s.simplify()
    g, k = s.get_loops("butterfly")
    s.parallel(s.fuse(g, k))


@T.prim_func
def dropout(A: T.Buffer((50,), "float32"), B: T.Buffer((50,), "float32"), seed: T.uint32):
    mask = T.alloc_buffer((50,), "uint32")
    for i in range(50):
        with T.block("hash"):
            h0: T.let[T.uint32] = (T.cast(i, "uint32") ^ seed) * T.uint32(2654435769)
            h1: T.let[T.uint32] = (h0 ^ (h0 >> T.uint32(15))) * T.uint32(2246822519)
            mask[i] = h1 ^ (h1 >> T.uint32(13))
    for i in range(50):
        with T.block("B"):
            B[i] = T.if_then_else(mask[i] < T.uint32(2147483648), A[i] * T.float32(2), T.float32(0))


def dropout_numpy(A: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    h = (np.arange(50, dtype=np.uint32) ^ np.uint32(seed)) * np.uint32(2654435769)
    h = (h ^ (h >> np.uint32(15))) * np.uint32(2246822519)
    h = h ^ (h >> np.uint32(13))
    return {"B": np.where(h < 2147483648, A * 2, 0)}


@textbook(dropout, reference=dropout_numpy, sizes={"seed": 12345})
def mask_recomputed(s: Schedule) -> None:
    """The hash of an index is computed where the mask is used, in lanes."""
    (i,) = s.get_loops("B")
    i0, i1 = s.split(i, factors=[None, 8])
    s.compute_at("hash", i0)
    s.parallel(i0)
    s.vectorize(i1)


@T.prim_func
def horner(A: T.Buffer((40,), "float64"), c: T.Buffer((6,), "float64"), B: T.Buffer((40,), "float64")):
    for i in range(40):
        with T.block("start"):
            B[i] = c[5]
        for k in range(5):
            with T.block("step"):
                B[i] = B[i] * A[i] + c[4 - k]


@textbook(horner, reference=lambda A, c: {"B": np.polynomial.polynomial.polyval(A, c)}, tolerance=1e-9)
def polynomial_in_registers(s: Schedule) -> None:
    """Degree outside of the lanes, the accumulators in a vector register."""
    i, k = s.get_loops("step")
    i0, i1 = s.split(i, factors=[None, 8])
    acc = s.cache_write("step", "B", "local", i0)
    start, step = s.fission(i1, after="start")
    _, i1, k = s.get_loops("step")
    s.reorder(k, i1)
    s.vectorize(i1)
    s.unroll(k)
    s.parallel(i0)
    assert acc is not None and start is not None and step is not None


@T.prim_func
def mixed_precision(A: T.Buffer((30,), "float16"), W: T.Buffer((30,), "float16"), B: T.Buffer((30,), "float16")):
    wide = T.alloc_buffer((30,), "float32")
    for i in range(30):
        with T.block("wide"):
            wide[i] = T.fma(T.cast(A[i], "float32"), T.cast(W[i], "float32"), T.float32(1))
    for i in range(30):
        with T.block("B"):
            B[i] = T.cast(T.sqrt(T.abs(wide[i])), "float16")


def mixed_numpy(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    return {"B": np.sqrt(np.abs(A.astype(np.float32) * W.astype(np.float32) + 1)).astype(np.float16)}


@textbook(mixed_precision, reference=mixed_numpy, tolerance=2e-3)
def widened_in_between(s: Schedule) -> None:
    """Computed in float32, stored in float16."""
    s.compute_inline("wide")
    (i,) = s.get_loops("B")
    i0, i1 = s.split(i, factors=[None, 8])
    s.vectorize(i1)
    s.parallel(i0)


@T.prim_func
def swish_gate(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 16), "float32")
    B = T.match_buffer(b, (n, 16), "float32")
    C = T.match_buffer(c, (n, 16), "float32")
    gate = T.alloc_buffer((n, 16), "float32")
    for i, j in T.grid(n, 16):
        with T.block("gate"):
            vi, vj = T.axis.remap("SS", [i, j])
            gate[vi, vj] = A[vi, vj] * T.sigmoid(A[vi, vj])
    for i, j in T.grid(n, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = gate[vi, vj] * B[vi, vj]


@textbook(swish_gate, reference=lambda A, B: {"C": A / (1 + np.exp(-A)) * B}, sizes={"n": 6})
def gate_fused_into_the_product(s: Schedule) -> None:
    """SwiGLU's elementwise half, over an unknown number of tokens."""
    s.reverse_compute_inline("C")
    i, j = s.loops()
    ij = s.fuse(i, j)
    outer, lane = s.split(ij, factors=[None, 8])
    s.vectorize(lane)
    s.parallel(outer)


@T.prim_func
def rotary(X: T.Buffer((5, 8), "float32"), cos: T.Buffer((5, 4), "float32"), sin: T.Buffer((5, 4), "float32"),
           Y: T.Buffer((5, 8), "float32")):  # fmt: skip
    for t, d in T.grid(5, 8):
        with T.block("Y"):
            vt, vd = T.axis.remap("SS", [t, d])
            Y[vt, vd] = X[vt, vd] * cos[vt, vd % 4] + sin[vt, vd % 4] * T.if_then_else(
                vd < 4, T.float32(0) - X[vt, vd + 4], X[vt, vd - 4]
            )


def rotary_numpy(X: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> dict[str, np.ndarray]:
    rotated = np.concatenate([-X[:, 4:], X[:, :4]], axis=1)
    return {"Y": X * np.tile(cos, 2) + np.tile(sin, 2) * rotated}


@textbook(rotary, reference=rotary_numpy)
def rotary_halves(s: Schedule) -> None:
    """The two halves of a head as a loop of two, then a statement each."""
    t, d = s.get_loops("Y")
    half, d = s.split(d, factors=[2, 4])
    s.simplify()
    s.vectorize(d)
    s.unroll(half)
    s.parallel(t)
    s.peel(half)
    s.simplify()
