"""Pooling with and without padding, global pooling, nearest and bilinear resize, embeddings."""

from __future__ import annotations

import numpy as np

from tests.acceptance.textbook import textbook
from verified_tir import Schedule
from verified_tir.script import tir as T

LOWEST = -3.4028234663852886e38


@T.prim_func
def max_pool(A: T.Buffer((1, 8, 9, 9), "float32"), B: T.Buffer((1, 8, 5, 5), "float32")):
    P = T.alloc_buffer((1, 8, 11, 11), "float32")
    for n, c, h, w in T.grid(1, 8, 11, 11):
        with T.block("P"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            P[vn, vc, vh, vw] = T.if_then_else(
                1 <= vh and vh < 10 and 1 <= vw and vw < 10, A[vn, vc, vh - 1, vw - 1], T.float32(LOWEST)
            )
    for n, c, h, w, y, x in T.grid(1, 8, 5, 5, 3, 3):
        with T.block("pool"):
            vn, vc, vh, vw, vy, vx = T.axis.remap("SSSSRR", [n, c, h, w, y, x])
            with T.init():
                B[vn, vc, vh, vw] = T.float32(LOWEST)
            B[vn, vc, vh, vw] = T.max(B[vn, vc, vh, vw], P[vn, vc, vh * 2 + vy, vw * 2 + vx])


def max_pool_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    P = np.pad(A, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=LOWEST)
    return {"B": np.max([P[:, :, y : y + 9 : 2, x : x + 9 : 2] for y in range(3) for x in range(3)], axis=0)}


@textbook(max_pool, reference=max_pool_numpy)
def pool_with_padding_inlined(s: Schedule) -> None:
    """Channels in parallel, the window unrolled, the padding as a condition."""
    s.compute_inline("P")
    n, c, h, w, y, x = s.get_loops("pool")
    s.parallel(s.fuse(n, c))
    s.decompose_reduction("pool", y)
    s.unroll(y)
    s.unroll(x)


@textbook(max_pool, reference=max_pool_numpy)
def pool_rows_of_vectors(s: Schedule) -> None:
    """NHWC inside: channels innermost in vectors, the padded input one row at a time."""
    s.transform_layout("P", lambda n, c, h, w: [n, h, w, c])
    n, c, h, w, y, x = s.get_loops("pool")
    s.reorder(n, h, w, y, x, c)
    s.compute_at("P", h)
    s.vectorize(c)
    acc = s.cache_write("pool", 0, "local", w)
    s.transform_layout(acc, lambda n, c, h, w: [n, h, w, c])


@textbook(max_pool, reference=max_pool_numpy,
          draw=lambda rng: {"A": rng.standard_normal((1, 8, 9, 9)).astype(np.float32)})  # fmt: skip
def pool_separable(s: Schedule) -> None:
    """The rows of a window in partial maxima of their own; the input must be without NaN and zeros for that."""
    A = s.buffer("A")
    s.assume(lambda n, c, h, w: A[n, c, h, w] < T.float32(1e30), "A", axiom=True)
    s.assume(lambda n, c, h, w: A[n, c, h, w] > T.float32(-1e30), "A", axiom=True)
    s.assume(lambda n, c, h, w: T.Or(A[n, c, h, w] > T.float32(0), A[n, c, h, w] < T.float32(0)), "A", axiom=True)
    n, c, h, w, y, x = s.get_loops("pool")
    s.rfactor(y)
    s.parallel(s.get_loops("pool")[1])


@T.prim_func
def avg_pool(A: T.Buffer((4, 8, 8), "float32"), B: T.Buffer((4, 4, 4), "float32")):
    total = T.alloc_buffer((4, 4, 4), "float32")
    for c, h, w, y, x in T.grid(4, 4, 4, 2, 2):
        with T.block("total"):
            vc, vh, vw, vy, vx = T.axis.remap("SSSRR", [c, h, w, y, x])
            with T.init():
                total[vc, vh, vw] = T.float32(0)
            total[vc, vh, vw] = total[vc, vh, vw] + A[vc, vh * 2 + vy, vw * 2 + vx]
    for c, h, w in T.grid(4, 4, 4):
        with T.block("average"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            B[vc, vh, vw] = total[vc, vh, vw] * T.float32(0.25)


@textbook(avg_pool, reference=lambda A: {"B": A.reshape(4, 4, 2, 4, 2).mean((2, 4))})
def average_in_a_register(s: Schedule) -> None:
    """The sum of a window lives in one register."""
    c, h, w, y, x = s.get_loops("total")
    s.reverse_compute_at("average", w)
    s.set_scope("total", 0, "local")
    s.unroll(y)
    s.unroll(x)
    s.parallel(c)


@T.prim_func
def counted_pool(A: T.Buffer((4, 7, 7), "float32"), B: T.Buffer((4, 7, 7), "float32")):
    for c, h, w in T.grid(4, 7, 7):
        with T.block("zero"):
            B[c, h, w] = T.float32(0)
        for y, x in T.grid(3, 3):
            with T.block("sum"):
                if 1 <= h + y and h + y < 8 and 1 <= w + x and w + x < 8:
                    B[c, h, w] = B[c, h, w] + A[c, h + y - 1, w + x - 1]
        with T.block("divide"):
            B[c, h, w] = B[c, h, w] / T.cast(
                (T.min(h + 2, 7) - T.max(h - 1, 0)) * (T.min(w + 2, 7) - T.max(w - 1, 0)), "float32"
            )


def counted_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    B = np.zeros_like(A)
    for h in range(7):
        for w in range(7):
            B[:, h, w] = A[:, max(h - 1, 0) : h + 2, max(w - 1, 0) : w + 2].mean((1, 2))
    return {"B": B}


@textbook(counted_pool, reference=counted_numpy)
def average_over_what_is_inside(s: Schedule) -> None:
    """The border rows peeled off, the interior without the vertical condition."""
    c, h, w, y, x = s.get_loops("sum")
    s.parallel(c)
    s.cache_write("sum", "B", "local", w)
    h = s.peel(h)
    h = s.peel(h, end=True)
    s.simplify()


@T.prim_func
def global_pool(A: T.Buffer((2, 6, 5, 5), "int32"), B: T.Buffer((2, 6), "int32")):
    for n, c, h, w in T.grid(2, 6, 5, 5):
        with T.block("B"):
            vn, vc, vh, vw = T.axis.remap("SSRR", [n, c, h, w])
            with T.init():
                B[vn, vc] = 0
            B[vn, vc] = B[vn, vc] + A[vn, vc, vh, vw]


@textbook(global_pool, reference=lambda A: {"B": A.sum((2, 3), dtype=np.int32)})
def global_pool_factored(s: Schedule) -> None:
    """Rows summed apart, in parallel; integers may be added in any order."""
    n, c, h, w = s.get_loops("B")
    hw = s.fuse(h, w)
    outer, lane = s.split(hw, factors=[None, 8])
    part = s.rfactor(lane, 0)
    s.vectorize(lane)
    s.parallel(s.get_loops(part)[0])
    s.reverse_compute_at("B", s.get_loops(part)[0])


@T.prim_func
def resize_nearest(A: T.Buffer((3, 5, 6), "float32"), B: T.Buffer((3, 10, 12), "float32")):
    for c, h, w in T.grid(3, 10, 12):
        with T.block("B"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            B[vc, vh, vw] = A[vc, vh // 2, vw // 2]


@textbook(resize_nearest, reference=lambda A: {"B": A.repeat(2, 1).repeat(2, 2)})
def resize_by_input_pixel(s: Schedule) -> None:
    """The loops go over the input: each pixel is read once and stored four times."""
    c, h, w = s.get_loops("B")
    h0, h1 = s.split(h, factors=[None, 2])
    w0, w1 = s.split(w, factors=[None, 2])
    s.reorder(c, h0, w0, h1, w1)
    s.simplify()
    s.cache_read("B", "A", "local", w0)
    s.unroll(h1)
    s.unroll(w1)
    s.parallel(c)


@T.prim_func
def resize_fraction(A: T.Buffer((2, 9), "float32"), B: T.Buffer((2, 15), "float32")):
    for c, w in T.grid(2, 15):
        with T.block("B"):
            B[c, w] = A[c, T.min(w * 9 // 15, 8)]


@textbook(resize_fraction, reference=lambda A: {"B": A[:, np.minimum(np.arange(15) * 9 // 15, 8)]})
def resize_by_a_fraction(s: Schedule) -> None:
    """15 pixels out of 9."""
    c, w = s.get_loops("B")
    w0, w1 = s.split(w, factors=[None, 4])
    s.vectorize(w1)
    s.parallel(s.fuse(c, w0))
    s.simplify()


@T.prim_func
def resize_linear(A: T.Buffer((3, 8), "float32"), B: T.Buffer((3, 14), "float32")):
    for c, w in T.grid(3, 14):
        with T.block("B"):
            B[c, w] = A[c, w // 2] * (T.float32(1) - T.cast(w % 2, "float32") * T.float32(0.5)) + A[c, w // 2 + 1] * (
                T.cast(w % 2, "float32") * T.float32(0.5)
            )


def resize_linear_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    B = np.zeros((3, 14), np.float32)
    B[:, ::2] = A[:, :7]
    B[:, 1::2] = (A[:, :7] + A[:, 1:]) / 2
    return {"B": B}


@textbook(resize_linear, reference=resize_linear_numpy)
def interpolation_by_pairs(s: Schedule) -> None:
    """Even and odd columns in an unrolled pair, the fraction named once."""
    s.bind_expr("B", "T.cast(w % 2, 'float32') * 0.5", "fraction")
    c, w = s.get_loops("B")
    w0, w1 = s.split(w, factors=[None, 2])
    s.unroll(w1)
    s.parallel(c)
    s.inline_let("fraction")
    s.simplify()


@T.prim_func
def embedding(token: T.Buffer((10,), "int32"), table: T.Buffer((50, 16), "float32"), E: T.Buffer((10, 16), "float32")):
    for t in range(10):
        T.assume(token[t] >= 0 and token[t] < 50)
    for t, d in T.grid(10, 16):
        with T.block("E"):
            vt, vd = T.axis.remap("SS", [t, d])
            E[vt, vd] = table[token[vt], vd]


def tokens(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"token": rng.integers(0, 50, 10, dtype=np.int32)}


@textbook(embedding, reference=lambda token, table: {"E": table[token]}, draw=tokens)
def embedding_rows_in_vectors(s: Schedule) -> None:
    """Tokens in parallel, rows in vectors, the token read once."""
    t, d = s.get_loops("E")
    d0, d1 = s.split(d, factors=[None, 8])
    s.vectorize(d1)
    s.parallel(t)
    s.cache_read("E", "token", "local", t)


@T.prim_func
def embedding_bag(token: T.Buffer((6, 4), "int32"), table: T.Buffer((20, 8), "float32"),
                  E: T.Buffer((6, 8), "float32")):  # fmt: skip
    for b, d, k in T.grid(6, 8, 4):
        with T.block("E"):
            vb, vd, vk = T.axis.remap("SSR", [b, d, k])
            with T.init():
                E[vb, vd] = T.float32(0)
            E[vb, vd] = E[vb, vd] + table[T.max(T.min(token[vb, vk], 19), 0), vd]


@textbook(embedding_bag, reference=lambda token, table: {"E": table[np.clip(token, 0, 19)].sum(1)})
def bag_of_clamped_tokens(s: Schedule) -> None:
    """Nothing is known of the tokens: each is clamped into the table."""
    b, d, k = s.get_loops("E")
    s.reorder(b, k, d)
    s.decompose_reduction("E", k)
    s.vectorize(d)
    s.unroll(k)
    s.parallel(b)
    init = s.get_loops("E_init")
    s.vectorize(init[-1])
