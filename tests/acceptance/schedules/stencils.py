"""Stencils in one, two and three dimensions, time steps with two buffers, Gauss-Seidel in place, blur pipelines."""

from __future__ import annotations

import numpy as np

from tests.acceptance.textbook import textbook
from verified_tir import Schedule
from verified_tir.script import tir as T


@T.prim_func
def three_point(A: T.Buffer((66,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            B[i] = A[i] * T.float32(0.25) + A[i + 1] * T.float32(0.5) + A[i + 2] * T.float32(0.25)


@textbook(three_point, reference=lambda A: {"B": A[:-2] * 0.25 + A[1:-1] * 0.5 + A[2:] * 0.25})
def lanes_over_a_window(s: Schedule) -> None:
    """A window of the input in local memory for each tile, vectors inside."""
    (i,) = s.get_loops("B")
    i0, i1 = s.split(i, factors=[None, 16])
    s.cache_read("B", "A", "local", i0)
    i1, lane = s.split(i1, factors=[None, 8])
    s.vectorize(lane)
    s.parallel(i0)


@T.prim_func
def five_point(a: T.handle, b: T.handle):
    h, w = T.int32(), T.int32()
    A = T.match_buffer(a, (h, w), "float32")
    B = T.match_buffer(b, (h, w), "float32")
    for y, x in T.grid(h - 2, w - 2):
        with T.block("B"):
            B[y + 1, x + 1] = T.float32(0.2) * (
                A[y + 1, x + 1] + A[y, x + 1] + A[y + 2, x + 1] + A[y + 1, x] + A[y + 1, x + 2]
            )


def five_point_numpy(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    inner = A[1:-1, 1:-1] + A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:]
    B[1:-1, 1:-1] = np.float32(0.2) * inner
    return {"B": B}


@textbook(five_point, reference=five_point_numpy, sizes={"h": 11, "w": 14})
def unknown_image_in_tiles(s: Schedule) -> None:
    """Sizes unknown; the border is left as it is."""
    y, x = s.get_loops("B")
    y0, x0, y1, x1 = s.tile(y, x, factors=[4, 8])
    s.vectorize(x1)
    s.parallel(y0)


@T.prim_func
def seven_point(A: T.Buffer((10, 10, 10), "float32"), B: T.Buffer((10, 10, 10), "float32")):
    for z, y, x in T.grid(8, 8, 8):
        with T.block("B"):
            B[z + 1, y + 1, x + 1] = (
                A[z, y + 1, x + 1] + A[z + 2, y + 1, x + 1] + A[z + 1, y, x + 1]
                + A[z + 1, y + 2, x + 1] + A[z + 1, y + 1, x] + A[z + 1, y + 1, x + 2]
                - T.float32(6) * A[z + 1, y + 1, x + 1]
            )  # fmt: skip


def seven_point_numpy(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    c = slice(1, -1)
    B[c, c, c] = (A[:-2, c, c] + A[2:, c, c] + A[c, :-2, c] + A[c, 2:, c] + A[c, c, :-2] + A[c, c, 2:]
                  - 6 * A[c, c, c])  # fmt: skip
    return {"B": B}


@textbook(seven_point, reference=seven_point_numpy)
def blocks_of_a_volume(s: Schedule) -> None:
    """2.5-dimensional blocking: columns of tiles, a window of the volume staged for each plane."""
    z, y, x = s.get_loops("B")
    y0, y1 = s.split(y, factors=[None, 4])
    x0, x1 = s.split(x, factors=[None, 4])
    s.reorder(y0, x0, z, y1, x1)
    window = s.cache_read("B", "A", "shared", z)
    s.parallel(s.fuse(y0, x0))
    s.vectorize(x1)
    s.fuse(*s.get_loops(window)[-2:])


@T.prim_func
def jacobi(A: T.Buffer((34,), "float32"), B: T.Buffer((34,), "float32")):
    for t in range(4):
        for i in range(32):
            with T.block("odd"):
                B[i + 1] = (A[i] + A[i + 1] + A[i + 2]) * T.float32(0.33333334)
        for j in range(32):
            with T.block("even"):
                A[j + 1] = (B[j] + B[j + 1] + B[j + 2]) * T.float32(0.33333334)


def jacobi_numpy(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    third = np.float32(0.33333334)
    for _ in range(4):
        B[1:-1] = (A[:-2] + A[1:-1] + A[2:]) * third
        A[1:-1] = (B[:-2] + B[1:-1] + B[2:]) * third
    return {"A": A, "B": B}


@textbook(jacobi, reference=jacobi_numpy)
def jacobi_half_steps_in_parallel(s: Schedule) -> None:
    """Each half step in parallel tiles; the steps in time stay in order."""
    for block in ("odd", "even"):
        _, i = s.get_loops(block)
        i0, i1 = s.split(i, factors=[None, 8])
        s.parallel(i0)
        s.vectorize(i1)
    t = s.loops()[0]
    s.unroll(t)


@T.prim_func
def shifted_jacobi(A: T.Buffer((34,), "float32"), B: T.Buffer((34,), "float32")):
    for i in range(32):
        with T.block("first"):
            B[i + 1] = (A[i] + A[i + 2]) * T.float32(0.5)
    for j in range(2, 34):
        with T.block("second"):
            A[j - 1] = B[j - 1] * T.float32(2)


def shifted_numpy(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    B[1:33] = (A[:32] + A[2:]) * np.float32(0.5)
    A[1:33] = B[1:33] * 2
    return {"A": A, "B": B}


@textbook(shifted_jacobi, reference=shifted_numpy)
def copy_back_one_behind(s: Schedule) -> None:
    """The write-back trails the computation by one iteration: what is overwritten has been read."""
    first = s.peel("i")
    second = s.peel("j", end=True)
    (first,) = s.split(first, factors=[31])
    (second,) = s.split(second, factors=[31])
    s.merge_loops(first, second)
    s.simplify()


@T.prim_func
def gauss_seidel(A: T.Buffer((10, 12), "float32")):
    for y, x in T.grid(8, 10):
        with T.block("A"):
            A[y + 1, x + 1] = T.float32(0.25) * (A[y, x + 1] + A[y + 1, x] + A[y + 1, x + 2] + A[y + 2, x + 1])


def gauss_seidel_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    for y in range(8):
        for x in range(10):
            A[y + 1, x + 1] = np.float32(0.25) * (A[y, x + 1] + A[y + 1, x] + A[y + 1, x + 2] + A[y + 2, x + 1])
    return {"A": A}


@textbook(gauss_seidel, reference=gauss_seidel_numpy)
def gauss_seidel_tiled(s: Schedule) -> None:
    """The dependences go forward in both directions: the loops may be exchanged and tiled."""
    y, x = s.get_loops("A")
    y0, y1 = s.split(y, factors=[None, 4])
    x0, x1 = s.split(x, factors=[None, 5])
    s.reorder(y0, x0, y1, x1)
    s.reorder(x0, y0)
    s.reorder(x1, y1)


@T.prim_func
def skewed_seidel(A: T.Buffer((10, 12), "float32")):
    for d, y in T.grid(17, 8):
        with T.block("A"):
            if y <= d and d - y < 10:
                A[y + 1, d - y + 1] = T.float32(0.25) * (
                    A[y, d - y + 1] + A[y + 1, d - y] + A[y + 1, d - y + 2] + A[y + 2, d - y + 1]
                )


@textbook(skewed_seidel, reference=gauss_seidel_numpy)
def wavefronts_in_parallel(s: Schedule) -> None:
    """Along a diagonal nothing depends on anything: in parallel, and in lanes."""
    d, y = s.get_loops("A")
    s.parallel(y)
    y0, y1 = s.split(y, factors=[None, 4])
    s.vectorize(y1)


@T.prim_func
def red_black(A: T.Buffer((34,), "float32")):
    for i in range(16):
        with T.block("red"):
            A[2 * i + 1] = (A[2 * i] + A[2 * i + 2]) * T.float32(0.5)
    for i in range(16):
        with T.block("black"):
            A[2 * i + 2] = (A[2 * i + 1] + A[2 * i + 3]) * T.float32(0.5)


def red_black_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    A[1:32:2] = (A[0:32:2] + A[2:33:2]) * np.float32(0.5)
    A[2:33:2] = (A[1:32:2] + A[3:34:2]) * np.float32(0.5)
    return {"A": A}


@textbook(red_black, reference=red_black_numpy)
def red_black_in_parallel(s: Schedule) -> None:
    """Gauss-Seidel in two colours."""
    for block in ("red", "black"):
        (i,) = s.get_loops(block)
        i0, i1 = s.split(i, factors=[None, 4])
        s.parallel(i0)
        s.vectorize(i1)


@T.prim_func
def blur(A: T.Buffer((18, 34), "float32"), B: T.Buffer((16, 32), "float32")):
    bx = T.alloc_buffer((18, 32), "float32")
    for y, x in T.grid(18, 32):
        with T.block("bx"):
            vy, vx = T.axis.remap("SS", [y, x])
            bx[vy, vx] = (A[vy, vx] + A[vy, vx + 1] + A[vy, vx + 2]) * T.float32(0.33333334)
    for y, x in T.grid(16, 32):
        with T.block("B"):
            vy, vx = T.axis.remap("SS", [y, x])
            B[vy, vx] = (bx[vy, vx] + bx[vy + 1, vx] + bx[vy + 2, vx]) * T.float32(0.33333334)


def blur_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    third = np.float32(0.33333334)
    bx = (A[:, :-2] + A[:, 1:-1] + A[:, 2:]) * third
    return {"B": (bx[:-2] + bx[1:-1] + bx[2:]) * third}


@textbook(blur, reference=blur_numpy)
def blur_in_tiles(s: Schedule) -> None:
    """Halide's schedule: tiles of 8 by 16, the horizontal blur computed for each tile, in vectors."""
    y, x = s.get_loops("B")
    y0, x0, y1, x1 = s.tile(y, x, factors=[8, 16])
    s.compute_at("bx", x0)
    s.vectorize(x1)
    s.parallel(y0)
    s.vectorize(s.get_loops("bx")[-1])


@textbook(blur, reference=blur_numpy)
def blur_with_a_rolling_window(s: Schedule) -> None:
    """The horizontal blur computed by rows, kept in a ring of four rows."""
    y, x = s.get_loops("B")
    s.compute_at("bx", y)
    x0, x1 = s.split(x, factors=[None, 8])
    s.vectorize(x1)


@textbook(blur, reference=blur_numpy)
def blur_strips_staged(s: Schedule) -> None:
    """Strips of rows in parallel; the strip of the input that each needs is staged."""
    y, x = s.get_loops("B")
    y0, y1 = s.split(y, factors=[4, None])
    s.compute_at("bx", y0)
    s.cache_read("bx", "A", "shared", y0)
    s.parallel(y0)


@T.prim_func
def sobel(A: T.Buffer((14, 14), "uint8"), B: T.Buffer((12, 12), "uint8")):
    gx = T.alloc_buffer((12, 12), "int16")
    gy = T.alloc_buffer((12, 12), "int16")
    for y, x in T.grid(12, 12):
        with T.block("gx"):
            gx[y, x] = (
                T.cast(A[y, x + 2], "int16") - T.cast(A[y, x], "int16")
                + T.int16(2) * (T.cast(A[y + 1, x + 2], "int16") - T.cast(A[y + 1, x], "int16"))
                + T.cast(A[y + 2, x + 2], "int16") - T.cast(A[y + 2, x], "int16")
            )  # fmt: skip
    for y, x in T.grid(12, 12):
        with T.block("gy"):
            gy[y, x] = (
                T.cast(A[y + 2, x], "int16") - T.cast(A[y, x], "int16")
                + T.int16(2) * (T.cast(A[y + 2, x + 1], "int16") - T.cast(A[y, x + 1], "int16"))
                + T.cast(A[y + 2, x + 2], "int16") - T.cast(A[y, x + 2], "int16")
            )  # fmt: skip
    for y, x in T.grid(12, 12):
        with T.block("B"):
            B[y, x] = T.cast(T.min(T.abs(gx[y, x]) + T.abs(gy[y, x]), T.int16(255)), "uint8")


def sobel_numpy(A: np.ndarray) -> dict[str, np.ndarray]:
    A = A.astype(np.int16)
    gx = A[:-2, 2:] - A[:-2, :-2] + 2 * (A[1:-1, 2:] - A[1:-1, :-2]) + A[2:, 2:] - A[2:, :-2]
    gy = A[2:, :-2] - A[:-2, :-2] + 2 * (A[2:, 1:-1] - A[:-2, 1:-1]) + A[2:, 2:] - A[:-2, 2:]
    return {"B": np.minimum(np.abs(gx) + np.abs(gy), 255).astype(np.uint8)}


@textbook(sobel, reference=sobel_numpy)
def edges_fused(s: Schedule) -> None:
    """Both gradients in the loop of the result, one of them inlined."""
    s.compute_inline("gx")
    y, x = s.get_loops("B")
    x0, x1 = s.split(x, factors=[None, 4])
    s.compute_at("gy", x0)
    s.vectorize(x1)
    s.parallel(y)
