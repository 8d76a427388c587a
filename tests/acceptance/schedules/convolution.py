"""Convolutions: NCHW, NHWC, blocked layouts, strides, dilation, padding, depthwise, grouped, transposed, Winograd."""

from __future__ import annotations

import numpy as np

from tests.acceptance.textbook import textbook
from verified_tir import Schedule
from verified_tir.script import tir as T


def conv_nchw(A: np.ndarray, W: np.ndarray, *, stride: int = 1, pad: int = 0, dilation: int = 1) -> np.ndarray:
    """A convolution by shifted sums; W has the shape (out, in, height, width)."""
    A = np.pad(A, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    height = (A.shape[2] - dilation * (W.shape[2] - 1) - 1) // stride + 1
    width = (A.shape[3] - dilation * (W.shape[3] - 1) - 1) // stride + 1
    out = np.zeros((A.shape[0], W.shape[0], height, width), A.dtype)
    for y in range(W.shape[2]):
        for x in range(W.shape[3]):
            rows = slice(y * dilation, y * dilation + (height - 1) * stride + 1, stride)
            columns = slice(x * dilation, x * dilation + (width - 1) * stride + 1, stride)
            out += np.einsum("nchw,oc->nohw", A[:, :, rows, columns], W[:, :, y, x])
    return out


@T.prim_func
def padded_nchw(A: T.Buffer((1, 4, 10, 10), "float32"), W: T.Buffer((8, 4, 3, 3), "float32"),
                B: T.Buffer((1, 8, 10, 10), "float32")):  # fmt: skip
    pad_temp = T.alloc_buffer((1, 4, 12, 12), "float32")
    for n, c, h, w in T.grid(1, 4, 12, 12):
        with T.block("pad_temp"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            pad_temp[vn, vc, vh, vw] = T.if_then_else(
                1 <= vh and vh < 11 and 1 <= vw and vw < 11, A[vn, vc, vh - 1, vw - 1], T.float32(0)
            )
    for n, o, h, w, c, y, x in T.grid(1, 8, 10, 10, 4, 3, 3):
        with T.block("conv"):
            vn, vo, vh, vw, vc, vy, vx = T.axis.remap("SSSSRRR", [n, o, h, w, c, y, x])
            with T.init():
                B[vn, vo, vh, vw] = T.float32(0)
            B[vn, vo, vh, vw] = B[vn, vo, vh, vw] + pad_temp[vn, vc, vh + vy, vw + vx] * W[vo, vc, vy, vx]


def padded(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    return {"B": conv_nchw(A, W, pad=1)}


@textbook(padded_nchw, reference=padded)
def padding_computed_at_a_row_of_tiles(s: Schedule) -> None:
    """The padded rows that a tile needs are made just before it."""
    n, o, h, w, c, y, x = s.get_loops("conv")
    h0, h1 = s.split(h, factors=[None, 5])
    o0, o1 = s.split(o, factors=[None, 4])
    s.reorder(n, h0, o0, h1, c, y, x, w, o1)
    s.compute_at("pad_temp", h0)
    s.decompose_reduction("conv", c)
    s.unroll(y)
    s.unroll(x)
    s.vectorize(o1)


@textbook(padded_nchw, reference=padded)
def padding_inlined(s: Schedule) -> None:
    """The condition of the padding in the inner loop, the image in parallel by rows."""
    s.compute_inline("pad_temp")
    n, o, h, w, c, y, x = s.get_loops("conv")
    s.parallel(s.fuse(n, o, h))
    w0, w1 = s.split(w, factors=[None, 5])
    s.reorder(w0, c, y, x, w1)
    s.unroll(x)


@textbook(padded_nchw, reference=padded, reassociate=True)
def blocked_nchw4c(s: Schedule) -> None:
    """NCHW4c: channels in blocks of four in images, weights and results, vectors over the block of the output.

    Taps between the two loops of the input's channels: another order of the sum, which the user allows.
    """
    s.transform_layout("A", lambda n, c, h, w: [n, c // 4, h, w, c % 4])
    s.transform_layout("pad_temp", lambda n, c, h, w: [n, c // 4, h, w, c % 4])
    s.transform_layout("W", lambda o, c, y, x: [o // 4, c // 4, y, x, c % 4, o % 4])
    s.transform_layout("B", lambda n, c, h, w: [n, c // 4, h, w, c % 4])
    n, o, h, w, c, y, x = s.get_loops("conv")
    o0, o1 = s.split(o, factors=[None, 4])
    c0, c1 = s.split(c, factors=[None, 4])
    s.decompose_reduction("conv", o1)
    s.reorder(h, w, c0, y, x, c1, o1, reassociate="B")
    s.vectorize(o1)
    s.unroll(c1)
    s.parallel(s.fuse(n, o0))
    s.simplify()


@T.prim_func
def strided_nhwc(A: T.Buffer((1, 11, 11, 6), "float32"), W: T.Buffer((3, 3, 6, 8), "float32"),
                 B: T.Buffer((1, 5, 5, 8), "float32")):  # fmt: skip
    for n, h, w, o, y, x, c in T.grid(1, 5, 5, 8, 3, 3, 6):
        with T.block("conv"):
            vn, vh, vw, vo, vy, vx, vc = T.axis.remap("SSSSRRR", [n, h, w, o, y, x, c])
            with T.init():
                B[vn, vh, vw, vo] = T.float32(0)
            B[vn, vh, vw, vo] = B[vn, vh, vw, vo] + A[vn, vh * 2 + vy, vw * 2 + vx, vc] * W[vy, vx, vc, vo]


def strided(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    got = conv_nchw(A.transpose(0, 3, 1, 2), W.transpose(3, 2, 0, 1), stride=2)
    return {"B": got.transpose(0, 2, 3, 1)}


@textbook(strided_nhwc, reference=strided)
def nhwc_with_accumulators(s: Schedule) -> None:
    """A row of outputs in local accumulators; the input that it needs staged once."""
    n, h, w, o, y, x, c = s.get_loops("conv")
    acc = s.cache_write("conv", 0, "local")
    s.reverse_compute_at(acc, h)
    s.cache_read("conv", "A", "local", h)
    s.reorder(y, x, c, w, o)
    s.decompose_reduction("conv", y)
    o0, o1 = s.split(o, factors=[None, 8])
    s.vectorize(o1)
    s.unroll(w)
    s.parallel(h)
    s.simplify()


@textbook(strided_nhwc, reference=strided)
def nhwc_to_nchw(s: Schedule) -> None:
    """The parameters in another order of dimensions, the loops after them."""
    s.transform_layout("A", lambda n, h, w, c: [n, c, h, w])
    s.transform_layout("B", lambda n, h, w, c: [n, c, h, w])
    s.decompose_reduction("conv", s.get_loops("conv")[4])
    s.sequential_buffer_access("B")


@T.prim_func
def dilated(A: T.Buffer((2, 3, 12, 12), "float32"), W: T.Buffer((4, 3, 3, 3), "float32"),
            B: T.Buffer((2, 4, 8, 8), "float32")):  # fmt: skip
    for n, o, h, w, c, y, x in T.grid(2, 4, 8, 8, 3, 3, 3):
        with T.block("conv"):
            vn, vo, vh, vw, vc, vy, vx = T.axis.remap("SSSSRRR", [n, o, h, w, c, y, x])
            with T.init():
                B[vn, vo, vh, vw] = T.float32(0)
            B[vn, vo, vh, vw] = B[vn, vo, vh, vw] + A[vn, vc, vh + 2 * vy, vw + 2 * vx] * W[vo, vc, vy, vx]


@textbook(dilated, reference=lambda A, W: {"B": conv_nchw(A, W, dilation=2)})
def dilated_in_tiles(s: Schedule) -> None:
    """Tiles of rows and columns, each with its own window of the input in shared memory."""
    n, o, h, w, c, y, x = s.get_loops("conv")
    h0, h1 = s.split(h, factors=[None, 4])
    w0, w1 = s.split(w, factors=[None, 4])
    s.reorder(n, h0, w0, o, c, h1, w1, y, x)
    window = s.cache_read("conv", "A", "shared", w0)
    s.parallel(s.fuse(n, h0, w0))
    s.vectorize(s.get_loops(window)[-1])
    s.fuse(y, x)


@T.prim_func
def depthwise(A: T.Buffer((1, 8, 9, 9), "float32"), W: T.Buffer((8, 3, 3), "float32"),
              B: T.Buffer((1, 8, 9, 9), "float32")):  # fmt: skip
    P = T.alloc_buffer((1, 8, 11, 11), "float32")
    for n, c, h, w in T.grid(1, 8, 11, 11):
        with T.block("P"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            P[vn, vc, vh, vw] = T.if_then_else(
                vh >= 1 and vh < 10 and vw >= 1 and vw < 10, A[vn, vc, vh - 1, vw - 1], T.float32(0)
            )
    for n, c, h, w, y, x in T.grid(1, 8, 9, 9, 3, 3):
        with T.block("depthwise"):
            vn, vc, vh, vw, vy, vx = T.axis.remap("SSSSRR", [n, c, h, w, y, x])
            with T.init():
                B[vn, vc, vh, vw] = T.float32(0)
            B[vn, vc, vh, vw] = B[vn, vc, vh, vw] + P[vn, vc, vh + vy, vw + vx] * W[vc, vy, vx]


def depthwise_numpy(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    full = np.zeros((8, 8, 3, 3), A.dtype)
    full[np.arange(8), np.arange(8)] = W
    return {"B": conv_nchw(A, full, pad=1)}


@textbook(depthwise, reference=depthwise_numpy)
def depthwise_channels_in_parallel(s: Schedule) -> None:
    """A channel at a time: its padded image in local memory, the nine taps unrolled."""
    n, c, h, w, y, x = s.get_loops("depthwise")
    s.compute_at("P", c)
    s.set_scope("P", 0, "local")
    s.parallel(s.fuse(n, c))
    s.decompose_reduction("depthwise", y)
    s.unroll(y)
    s.unroll(x)
    s.simplify()


@textbook(depthwise, reference=depthwise_numpy)
def depthwise_nhwc_vectors(s: Schedule) -> None:
    """Channels innermost, in vectors of eight."""
    for name in ("A", "P", "B"):
        s.transform_layout(name, lambda n, c, h, w: [n, h, w, c])
    s.transform_layout("W", lambda c, y, x: [y, x, c])
    n, c, h, w, y, x = s.get_loops("depthwise")
    s.reorder(n, h, w, y, x, c)
    s.vectorize(c)
    n, c, h, w = s.get_loops("P")
    s.reorder(n, h, w, c)
    s.vectorize(c)


@T.prim_func
def grouped(A: T.Buffer((1, 8, 7, 7), "float32"), W: T.Buffer((12, 4, 3, 3), "float32"),
            B: T.Buffer((1, 12, 5, 5), "float32")):  # fmt: skip
    for n, o, h, w, c, y, x in T.grid(1, 12, 5, 5, 4, 3, 3):
        with T.block("conv"):
            vn, vo, vh, vw, vc, vy, vx = T.axis.remap("SSSSRRR", [n, o, h, w, c, y, x])
            with T.init():
                B[vn, vo, vh, vw] = T.float32(0)
            B[vn, vo, vh, vw] = B[vn, vo, vh, vw] + A[vn, vo // 6 * 4 + vc, vh + vy, vw + vx] * W[vo, vc, vy, vx]


def grouped_numpy(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    return {"B": np.concatenate([conv_nchw(A[:, :4], W[:6]), conv_nchw(A[:, 4:], W[6:])], axis=1)}


@textbook(grouped, reference=grouped_numpy)
def groups_as_a_loop(s: Schedule) -> None:
    """The outputs split by group, so that the index of the input loses its quotient."""
    n, o, h, w, c, y, x = s.get_loops("conv")
    group, o1 = s.split(o, factors=[2, None])
    s.reorder(n, group, h, c, y, x, o1, w)
    s.cache_read("conv", "A", "local", group)
    s.parallel(group)
    s.simplify()


@T.prim_func
def conv1d(A: T.Buffer((2, 4, 16), "float32"), W: T.Buffer((6, 4, 5), "float32"), B: T.Buffer((2, 6, 12), "float32")):
    for n, o, x, c, k in T.grid(2, 6, 12, 4, 5):
        with T.block("conv"):
            vn, vo, vx, vc, vk = T.axis.remap("SSSRR", [n, o, x, c, k])
            with T.init():
                B[vn, vo, vx] = T.float32(0)
            B[vn, vo, vx] = B[vn, vo, vx] + A[vn, vc, vx + vk] * W[vo, vc, vk]


def conv1d_numpy(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    return {"B": conv_nchw(A[:, :, None], W[:, :, None])[:, :, 0]}


@textbook(conv1d, reference=conv1d_numpy)
def conv1d_tile_sticks_out(s: Schedule) -> None:
    """Tiles of five in a row of twelve: the last one is shorter."""
    n, o, x, c, k = s.get_loops("conv")
    x0, x1 = s.split(x, factors=[None, 5])
    s.reorder(n, x0, o, c, k, x1)
    s.cache_read("conv", 0, "local", x0)
    s.cache_write("conv", 0, "local", x0)
    s.unroll(k)
    s.parallel(n)


@T.prim_func
def transposed(A: T.Buffer((2, 6, 6), "float32"), W: T.Buffer((2, 3, 4, 4), "float32"),
               B: T.Buffer((3, 12, 12), "float32")):  # fmt: skip
    D = T.alloc_buffer((2, 15, 15), "float32")
    for c, h, w in T.grid(2, 15, 15):
        with T.block("dilate"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            D[vc, vh, vw] = T.if_then_else(
                vh >= 2 and vh < 13 and vw >= 2 and vw < 13 and (vh - 2) % 2 == 0 and (vw - 2) % 2 == 0,
                A[vc, (vh - 2) // 2, (vw - 2) // 2],
                T.float32(0),
            )
    for o, h, w, c, y, x in T.grid(3, 12, 12, 2, 4, 4):
        with T.block("conv"):
            vo, vh, vw, vc, vy, vx = T.axis.remap("SSSRRR", [o, h, w, c, y, x])
            with T.init():
                B[vo, vh, vw] = T.float32(0)
            B[vo, vh, vw] = B[vo, vh, vw] + D[vc, vh + vy, vw + vx] * W[vc, vo, 3 - vy, 3 - vx]


def transposed_numpy(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    full = np.zeros((3, 14, 14), A.dtype)
    for h in range(6):
        for w in range(6):
            full[:, 2 * h : 2 * h + 4, 2 * w : 2 * w + 4] += np.einsum("c,coyx->oyx", A[:, h, w], W)
    return {"B": full[:, 1:13, 1:13]}


@textbook(transposed, reference=transposed_numpy)
def transposed_by_phase(s: Schedule) -> None:
    """Rows in pairs of phases; the dilated input is made for two rows at a time."""
    o, h, w, c, y, x = s.get_loops("conv")
    h0, h1 = s.split(h, factors=[None, 2])
    w0, w1 = s.split(w, factors=[None, 2])
    s.reorder(h0, o, w0, h1, w1, c, y, x)
    s.compute_at("dilate", h0)
    s.unroll(h1)
    s.unroll(w1)
    s.parallel(h0)


@textbook(transposed, reference=transposed_numpy)
def transposed_inlined(s: Schedule) -> None:
    """No dilated copy at all."""
    s.compute_inline("dilate")
    o, h, w, c, y, x = s.get_loops("conv")
    s.decompose_reduction("conv", h)
    s.reorder(c, y, x, h, w)
    s.parallel(o)


@T.prim_func
def im2col(A: T.Buffer((3, 8, 8), "float32"), W: T.Buffer((8, 27), "float32"), B: T.Buffer((8, 36), "float32")):
    col = T.alloc_buffer((27, 36), "float32")
    for r, p in T.grid(27, 36):
        with T.block("col"):
            vr, vp = T.axis.remap("SS", [r, p])
            col[vr, vp] = A[vr // 9, vp // 6 + vr % 9 // 3, vp % 6 + vr % 3]
    for o, p, r in T.grid(8, 36, 27):
        with T.block("gemm"):
            vo, vp, vr = T.axis.remap("SSR", [o, p, r])
            with T.init():
                B[vo, vp] = T.float32(0)
            B[vo, vp] = B[vo, vp] + W[vo, vr] * col[vr, vp]


def im2col_numpy(A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    return {"B": conv_nchw(A[None], W.reshape(8, 3, 3, 3))[0].reshape(8, 36)}


@textbook(im2col, reference=im2col_numpy)
def columns_by_panel(s: Schedule) -> None:
    """The columns are gathered for one panel of pixels at a time."""
    o, p, r = s.get_loops("gemm")
    p0, p1 = s.split(p, factors=[None, 12])
    s.reorder(p0, o, r, p1)
    s.compute_at("col", p0)
    s.set_scope("col", 0, "local")
    s.vectorize(p1)
    s.parallel(p0)


@textbook(im2col, reference=im2col_numpy)
def columns_inlined_again(s: Schedule) -> None:
    """The implicit product: rows of the columns split back into channel and taps, pixels into rows and columns."""
    s.compute_inline("col")
    o, p, r = s.get_loops("gemm")
    c, y, x = s.split(r, factors=[3, 3, 3])
    h, w = s.split(p, factors=[6, 6])
    s.simplify()
    s.reorder(h, o, w, c, y, x)
    s.unroll(x)


@T.prim_func
def winograd(D: T.Buffer((4, 10), "float32"), G: T.Buffer((4, 4), "float32"), Y: T.Buffer((8,), "float32")):
    V = T.alloc_buffer((4, 4, 4), "float32")
    M = T.alloc_buffer((4, 4), "float32")
    for c, t in T.grid(4, 4):
        with T.block("V0"):
            vc, vt = T.axis.remap("SS", [c, t])
            V[0, vc, vt] = D[vc, 2 * vt] - D[vc, 2 * vt + 2]
        with T.block("V1"):
            vc, vt = T.axis.remap("SS", [c, t])
            V[1, vc, vt] = D[vc, 2 * vt + 1] + D[vc, 2 * vt + 2]
        with T.block("V2"):
            vc, vt = T.axis.remap("SS", [c, t])
            V[2, vc, vt] = D[vc, 2 * vt + 2] - D[vc, 2 * vt + 1]
        with T.block("V3"):
            vc, vt = T.axis.remap("SS", [c, t])
            V[3, vc, vt] = D[vc, 2 * vt + 1] - D[vc, 2 * vt + 3]
    for p, t, c in T.grid(4, 4, 4):
        with T.block("M"):
            vp, vt, vc = T.axis.remap("SSR", [p, t, c])
            with T.init():
                M[vp, vt] = T.float32(0)
            M[vp, vt] = M[vp, vt] + V[vp, vc, vt] * G[vc, vp]
    for t in range(4):
        with T.block("Y0"):
            vt = T.axis.spatial(4, t)
            Y[2 * vt] = M[0, vt] + M[1, vt] + M[2, vt]
        with T.block("Y1"):
            vt = T.axis.spatial(4, t)
            Y[2 * vt + 1] = M[1, vt] - M[2, vt] - M[3, vt]


def winograd_numpy(D: np.ndarray, G: np.ndarray) -> dict[str, np.ndarray]:
    tiles = np.stack([D[:, 2 * t : 2 * t + 4] for t in range(4)], axis=2)
    V = np.stack([tiles[:, 0] - tiles[:, 2], tiles[:, 1] + tiles[:, 2], tiles[:, 2] - tiles[:, 1],
                  tiles[:, 1] - tiles[:, 3]])  # fmt: skip
    M = np.einsum("pct,cp->pt", V, G)
    return {"Y": np.stack([M[0] + M[1] + M[2], M[1] - M[2] - M[3]], axis=1).reshape(-1)}


@textbook(winograd, reference=winograd_numpy)
def winograd_stages_by_tile(s: Schedule) -> None:
    """F(2, 3) in one dimension: input transform, products and output transform for one tile after the other."""
    p, t, c = s.get_loops("M")
    s.reorder(t, p, c)
    (out,) = s.get_loops("Y0")
    s.compute_at("M", out)
    c, t = s.get_loops("V0")
    s.reorder(t, c)
    s.merge_loops(t, out)
    s.sink_allocation("V")
    s.parallel(s.get_loops("Y0")[0])
