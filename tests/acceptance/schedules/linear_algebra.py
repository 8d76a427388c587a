"""Triangular loops, band matrices, sparse rows, GEMV, dot products, factorised reductions, argmax."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.acceptance.textbook import textbook
from verified_tir import Schedule
from verified_tir.script import tir as T


@T.prim_func
def syrk(A: T.Buffer((16, 12), "float32"), C: T.Buffer((16, 16), "float32")):
    for i in range(16):
        for j in range(i + 1):
            for k in range(12):
                with T.block("C"):
                    if k == 0:
                        C[i, j] = T.float32(0)
                    C[i, j] = C[i, j] + A[i, k] * A[j, k]


def syrk_numpy(A: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    return {"C": np.where(np.tril(np.ones((16, 16), bool)), A @ A.T, C)}


@textbook(syrk, reference=syrk_numpy)
def lower_triangle_in_blocks(s: Schedule) -> None:
    """Rows in blocks, in parallel; the loop over columns depends on the row."""
    i, j, k = s.get_loops("C")
    i0, i1 = s.split(i, factors=[None, 4])
    s.parallel(i0)
    k0, k1 = s.split(k, factors=[None, 4])
    s.unroll(k1)


@textbook(syrk, reference=syrk_numpy)
def triangle_as_a_guard(s: Schedule) -> None:
    """The rectangle with a condition: the columns go outside."""
    i, j, k = s.get_loops("C")
    s.reorder(j, i)
    s.parallel(j)


@T.prim_func
def forward_substitution(L: T.Buffer((12, 12), "float32"), x: T.Buffer((12, 8), "float32")):
    for i in range(12):
        for k in range(i):
            for r in range(8):
                with T.block("update"):
                    x[i, r] = x[i, r] - L[i, k] * x[k, r]
        for r in range(8):
            with T.block("divide"):
                x[i, r] = x[i, r] / L[i, i]


def forward_numpy(L: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    for i in range(12):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    return {"x": x}


def well_conditioned(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"L": (rng.standard_normal((12, 12)) * 0.1 + 2 * np.eye(12)).astype(np.float32)}


@textbook(forward_substitution, reference=forward_numpy, draw=well_conditioned)
def right_hand_sides_in_lanes(s: Schedule) -> None:
    """Rows depend on each other; the right-hand sides do not."""
    s.vectorize(s.get_loops("divide")[1])
    i, k, r = s.get_loops("update")
    s.vectorize(r)
    s.cache_read("update", "L", "local", i)


@T.prim_func
def right_looking(L: T.Buffer((12, 12), "float32"), x: T.Buffer((12,), "float32")):
    for k in range(12):
        with T.block("divide"):
            x[k] = x[k] / L[k, k]
        for i in range(k + 1, 12):
            with T.block("update"):
                x[i] = x[i] - L[i, k] * x[k]


def right_looking_numpy(L: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    return {"x": forward_numpy(L, x[:, None].copy())["x"][:, 0]}


@textbook(right_looking, reference=right_looking_numpy, draw=well_conditioned)
def updates_in_parallel(s: Schedule) -> None:
    """The update below the diagonal is independent for each row; the divisor is named."""
    k, i = s.get_loops("update")
    s.parallel(i)
    i0, i1 = s.split(i, factors=[None, 4])
    s.vectorize(i1)


@T.prim_func
def cholesky_step(A: T.Buffer((10, 10), "float32")):
    for k in range(10):
        with T.block("root"):
            A[k, k] = T.sqrt(A[k, k])
        for i in range(k + 1, 10):
            with T.block("column"):
                A[i, k] = A[i, k] / A[k, k]
        for i in range(k + 1, 10):
            for j in range(k + 1, i + 1):
                with T.block("trailing"):
                    A[i, j] = A[i, j] - A[i, k] * A[j, k]


def cholesky_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    lower = np.linalg.cholesky(A.astype(np.float64)).astype(np.float32)
    return {"A": np.where(np.tril(np.ones((10, 10), bool)), lower, A)}


def positive_definite(rng: np.random.Generator) -> dict[str, np.ndarray]:
    M = rng.standard_normal((10, 10))
    return {"A": (M @ M.T + 10 * np.eye(10)).astype(np.float32)}


@textbook(cholesky_step, reference=cholesky_numpy, draw=positive_definite, tolerance=1e-4)
def right_looking_cholesky(s: Schedule) -> None:
    """Within a step the column and the trailing matrix are computed in parallel."""
    s.parallel(s.get_loops("column")[1])
    k, i, j = s.get_loops("trailing")
    s.parallel(i)
    s.vectorize(j)


@T.prim_func
def band(A: T.Buffer((20, 5), "float32"), x: T.Buffer((20,), "float32"), y: T.Buffer((20,), "float32")):
    for i in range(20):
        with T.block("zero"):
            y[i] = T.float32(0)
    for i, d in T.grid(20, 5):
        with T.block("y"):
            if 0 <= i + d - 2 and i + d - 2 < 20:
                y[i] = y[i] + A[i, d] * x[i + d - 2]


def band_numpy(A: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    p = np.pad(x, 2)
    inside = np.pad(np.ones(20), 2)
    return {"y": sum(np.where(inside[d : d + 20] > 0, A[:, d] * p[d : d + 20], 0) for d in range(5))}


@textbook(band, reference=band_numpy)
def diagonals_outside(s: Schedule) -> None:
    """Diagonal by diagonal, with the range of rows that it has; the order of each sum stays."""
    i, d = s.get_loops("y")
    s.reorder(d, i)
    s.reduce_loop_extents()
    s.vectorize(s.get_loops("zero")[0])


@textbook(band, reference=band_numpy)
def rows_inside_without_conditions(s: Schedule) -> None:
    """The two rows at either end apart; the rest needs no condition."""
    i, d = s.get_loops("y")
    top, rest = s.partition(i, 2)
    middle, bottom = s.partition(rest, 18)
    s.simplify()
    s.parallel(middle)
    s.cache_read("x", "local", loop=middle)


@T.prim_func
def csr(indptr: T.Buffer((9,), "int32"), indices: T.Buffer((40,), "int32"), data: T.Buffer((40,), "float32"),
        x: T.Buffer((16,), "float32"), y: T.Buffer((8,), "float32")):  # fmt: skip
    for i in range(8):
        T.assume(0 <= indptr[i] and indptr[i] <= indptr[i + 1] and indptr[i + 1] <= 40)
    for k in range(40):
        T.assume(0 <= indices[k] and indices[k] < 16)
    for i in range(8):
        with T.block("zero"):
            y[i] = T.float32(0)
        for k in range(indptr[i], indptr[i + 1]):
            with T.block("y"):
                y[i] = y[i] + data[k] * x[indices[k]]


def csr_numpy(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    return {"y": np.array([(data[a:b] * x[indices[a:b]]).sum() for a, b in pairwise(indptr)], np.float32)}


def sparse(rng: np.random.Generator) -> dict[str, np.ndarray]:
    cuts = np.sort(rng.integers(0, 41, 7))
    return {"indptr": np.array([0, *cuts, 40], np.int32), "indices": rng.integers(0, 16, 40, dtype=np.int32)}


@textbook(csr, reference=csr_numpy, draw=sparse)
def sparse_rows_in_parallel(s: Schedule) -> None:
    """Rows in parallel, the sum of a row in a register."""
    i, k = s.get_loops("y")
    s.parallel(i)
    s.cache_write("y", "y", "local", i)


@textbook(csr, reference=csr_numpy, draw=sparse)
def sparse_rows_in_blocks(s: Schedule) -> None:
    """Zeroing apart; rows in blocks of three, of which the last is shorter."""
    i, k = s.get_loops("y")
    s.fission(i, after="zero")
    i, k = s.get_loops("y")
    i0, i1 = s.split(i, factors=[None, 3])
    s.parallel(i0)
    s.vectorize(s.get_loops("zero")[0])


@T.prim_func
def ell(columns: T.Buffer((10, 4), "int32"), data: T.Buffer((10, 4), "float32"), x: T.Buffer((16,), "float32"),
        y: T.Buffer((10,), "float32")):  # fmt: skip
    for i, k in T.grid(10, 4):
        with T.block("y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + data[vi, vk] * x[T.max(T.min(columns[vi, vk], 15), 0)]


@textbook(ell, reference=lambda columns, data, x: {"y": (data * x[np.clip(columns, 0, 15)]).sum(1)})
def ell_transposed_to_lanes(s: Schedule) -> None:
    """ELLPACK by columns, so that lanes are rows."""
    s.transform_layout("data", lambda i, k: [k, i])
    s.transform_layout("columns", lambda i, k: [k, i])
    i, k = s.get_loops("y")
    s.decompose_reduction("y", i)
    s.reorder(k, i)
    i0, i1 = s.split(i, factors=[None, 4])
    s.vectorize(i1)
    s.unroll(k)


@T.prim_func
def gemv(A: T.Buffer((16, 64), "float32"), x: T.Buffer((64,), "float32"), y: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 64):
        with T.block("y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + A[vi, vk] * x[vk]


@textbook(gemv, reference=lambda A, x: {"y": A @ x}, reassociate=True)
def gemv_with_partial_sums(s: Schedule) -> None:
    """Two levels: eight lanes, then four of them unrolled."""
    i, k = s.get_loops("y")
    k0, k1, k2 = s.split(k, factors=[None, 4, 8])
    part = s.rfactor(k2, reassociate="y")
    loops = s.get_loops(part)
    s.reorder(loops[0], loops[-3], loops[-2], loops[-1])
    s.vectorize(k2)
    s.unroll(s.get_loops(part)[-2])
    s.parallel(i)
    s.reverse_compute_at("y", s.get_loops(part)[0])


@textbook(gemv, reference=lambda A, x: {"y": A @ x})
def gemv_rows_in_lanes(s: Schedule) -> None:
    """The matrix in panels of eight rows: the sums keep their order."""
    s.transform_layout("A", lambda i, k: [i // 8, k, i % 8])
    i, k = s.get_loops("y")
    i0, i1 = s.split(i, factors=[None, 8])
    s.reorder(i0, k, i1)
    s.cache_write("y", 0, "local", i0)
    s.decompose_reduction("y", k)
    s.vectorize(i1)
    s.parallel(i0)
    s.simplify()


@T.prim_func
def dot(a: T.handle, b: T.handle, C: T.Buffer((1,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C[0] = T.float32(0)
    for k in range(n):
        with T.block("C"):
            C[0] = C[0] + A[k] * B[k]


@textbook(dot, reference=lambda A, B: {"C": np.array([A @ B])}, sizes={"n": 43}, reassociate=True)
def dot_in_vector_lanes(s: Schedule) -> None:
    """Eight partial sums over a vector of unknown length."""
    (k,) = s.get_loops("C")
    k0, k1 = s.split(k, factors=[None, 8])
    part = s.rfactor(k1, reassociate="C")
    s.vectorize(k1)
    s.set_scope(part, 0, "local")


@T.prim_func
def symbolic_sum(a: T.handle, b: T.handle):
    m, n = T.int32(), T.int32()
    A = T.match_buffer(a, (m, n), "int32")
    B = T.match_buffer(b, (m,), "int32")
    for i, k in T.grid(m, n):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]


def symbolic_sum_numpy(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    return {"B": A.sum(1, dtype=np.int32)}


@textbook(symbolic_sum, reference=symbolic_sum_numpy, sizes={"m": 5, "n": 13})
def sum_of_unknown_rows(s: Schedule) -> None:
    """Both extents unknown; a row may be empty, so the initialisation cannot leave the loop."""
    i, k = s.get_loops("B")
    k0, k1 = s.split(k, factors=[None, 4])
    s.parallel(i)
    s.cache_write("B", "B", "local", i)
    s.unroll(k1)


@T.prim_func
def argmax(A: T.Buffer((8, 20), "float32"), B: T.Buffer((8,), "int32")):
    m = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 20):
        with T.block("m"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                m[vi] = T.float32(-3.4028234663852886e38)
            m[vi] = T.max(m[vi], A[vi, vk])
    for i in range(8):
        with T.block("none"):
            B[i] = 20
        for k in range(20):
            with T.block("first"):
                B[i] = T.min(B[i], T.if_then_else(A[i, k] == m[i], k, 20))


def argmax_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    return {"B": A.argmax(1).astype(np.int32)}


@textbook(argmax, reference=argmax_numpy)
def argmax_in_two_passes(s: Schedule) -> None:
    """The maximum, then the first index that has it: integers may be compared in any order."""
    i, k = s.get_loops("m")
    s.merge_loops(i, s.get_loops("first")[0])
    s.sink_allocation("m")
    i, k = s.get_loops("first")
    s.parallel(i)
    k0, k1 = s.split(k, factors=[None, 5])
    s.rfactor(k1)


@T.prim_func
def running_argmax(A: T.Buffer((8, 20), "float32"), B: T.Buffer((8,), "int32"), M: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("start"):
            B[i] = 0
            M[i] = A[i, 0]
        for k in range(1, 20):
            with T.block("step"):
                if A[i, k] > M[i]:
                    M[i] = A[i, k]
                    B[i] = k


@textbook(running_argmax, reference=lambda A: {"B": A.argmax(1).astype(np.int32), "M": A.max(1)})
def top_1_with_two_results(s: Schedule) -> None:
    """Value and index together; rows in parallel, both results in registers."""
    i, k = s.get_loops("step")
    s.parallel(i)
    s.cache_write("step", "B", "local", i)
    s.cache_write("step", "M", "local", i)
    s.cache_read("step", "A", "local", i)


@T.prim_func
def distances(X: T.Buffer((6, 4), "float32"), D: T.Buffer((6, 6), "float32")):
    for i, j, k in T.grid(6, 6, 4):
        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + (X[vi, vk] - X[vj, vk]) * (X[vi, vk] - X[vj, vk])


@textbook(distances, reference=lambda X: {"D": ((X[:, None] - X[None]) ** 2).sum(-1)})
def pairwise_distances(s: Schedule) -> None:
    """The difference named once; one operand of a pair staged, then the whole unrolled."""
    s.bind_expr("D", "X[i, k] - X[j, k]", "d")
    i, j, k = s.get_loops("D")
    s.parallel(i)
    s.unroll(k)


@T.prim_func
def einsum(A: T.Buffer((4, 5, 6), "float32"), B: T.Buffer((6, 5, 7), "float32"), C: T.Buffer((7, 4), "float32")):
    for l, i, j, k in T.grid(7, 4, 5, 6):
        with T.block("C"):
            vl, vi, vj, vk = T.axis.remap("SSRR", [l, i, j, k])
            with T.init():
                C[vl, vi] = T.float32(0)
            C[vl, vi] = C[vl, vi] + A[vi, vj, vk] * B[vk, vj, vl]


@textbook(einsum, reference=lambda A, B: {"C": np.einsum("ijk,kjl->li", A, B)})
def tensor_contraction(s: Schedule) -> None:
    """Two contracted indices; B relaid so that the loop of the lanes is its last dimension, C in local memory."""
    s.transform_layout("C", lambda l, i: [i, l])
    l, i, j, k = s.get_loops("C")
    s.decompose_reduction("C", l)
    s.reorder(i, j, k, l)
    s.vectorize(l)
    s.parallel(i)
    s.sequential_buffer_access("C", "C_init")


@textbook(einsum, reference=lambda A, B: {"C": np.einsum("ijk,kjl->li", A, B)})
def contraction_padded_to_tiles(s: Schedule) -> None:
    """The free indices padded to multiples of four."""
    s.pad_einsum("C", [4, 4, 1, 1])
    l, i, j, k = s.get_loops("C")
    l0, l1 = s.split(l, factors=[None, 4])
    i0, i1 = s.split(i, factors=[None, 4])
    s.reorder(l0, i0, j, k, l1, i1)
    s.vectorize(i1)
    s.unroll(l1)
