"""Matrix products in tiles, each computed by a described micro-kernel: `tensorize`, for float32 and for int8.

A description says what the micro-kernel computes, on arrays of its own, and what it needs.  How it computes it is a
schedule of the description, proved once and used at each tile.

`vtir run examples/tensorized_matmul.py:float_tiles --check` builds it and compares it with the interpreter.
"""

from verified_tir import Schedule, TensorIntrin, expect_refusal, schedule
from verified_tir.ir.expr import Var
from verified_tir.script import tir as T

SIZE, TILE = 32, 8


@T.prim_func
def mma_float(A: T.Buffer((TILE, TILE), "float32"), B: T.Buffer((TILE, TILE), "float32"),
              C: T.Buffer((TILE, TILE), "float32")):  # fmt: skip
    for i, j, k in T.grid(TILE, TILE, TILE):
        with T.block("mma"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def mma_int8(A: T.Buffer((TILE, TILE), "int8"), B: T.Buffer((TILE, TILE), "int8"),
             C: T.Buffer((TILE, TILE), "int32")):  # fmt: skip
    for i, j, k in T.grid(TILE, TILE, TILE):
        with T.block("mma"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])


@T.prim_func
def scaled_row(n: T.int32, X: T.Buffer(("n",), "float32", strides=[1])):
    T.assume(n <= TILE)
    for k in range(n):
        X[k] = X[k] * T.float32(0.5)


def rows_of_lanes(s: Schedule) -> None:
    """The micro-kernel: rows of vectors, the reduction outside of them."""
    i, j, k = s.loops("mma")
    s.reorder(i, k, j)
    s.vectorize(j)


MMA_FLOAT = TensorIntrin.register("mma_8x8x8_float", mma_float, rows_of_lanes)
MMA_INT8 = TensorIntrin.register("mma_8x8x8_int8", mma_int8, rows_of_lanes)
SCALED_ROW = TensorIntrin.register("scaled_row", scaled_row)


@T.prim_func
def matmul(A: T.Buffer((SIZE, SIZE), "float32"), B: T.Buffer((SIZE, SIZE), "float32"),
           C: T.Buffer((SIZE, SIZE), "float32")):  # fmt: skip
    for i, j, k in T.grid(SIZE, SIZE, SIZE):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def quantized(A: T.Buffer((SIZE, SIZE), "int8"), B: T.Buffer((SIZE, SIZE), "int8"),
              C: T.Buffer((SIZE, SIZE), "int32")):  # fmt: skip
    for i, j, k in T.grid(SIZE, SIZE, SIZE):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])


def tiles(s: Schedule) -> Var:
    """Tiles in all three dimensions, the initialisation apart; gives the outermost loop inside a tile."""
    i, j, k = s.loops("C")
    i_outer, i_inner = s.split(i, [None, TILE])
    j_outer, j_inner = s.split(j, [None, TILE])
    k_outer, k_inner = s.split(k, [None, TILE])
    s.reorder(i_outer, j_outer, k_outer, i_inner, j_inner, k_inner)
    s.decompose_reduction("C", k_outer)
    s.parallel(i_outer)
    return i_inner


@schedule(matmul)
def float_tiles(s: Schedule) -> None:
    """Tiles of a float32 matrix product by the micro-kernel; rows of tiles in parallel."""
    s.tensorize(tiles(s), "mma_8x8x8_float")


@schedule(quantized)
def int8_tiles(s: Schedule) -> None:
    """Tiles of a quantized matrix product.  The micro-kernel for floats does not fit, and the message says where."""
    tile = tiles(s)
    with expect_refusal(s):
        s.tensorize(tile, "mma_8x8x8_float")
    s.tensorize(s.blockize(tile), "mma_8x8x8_int8")


@T.prim_func
def halved(A: T.Buffer((21,), "float32")):
    for o in range(3):
        for i in range(T.min(TILE, 21 - o * TILE)):
            A[o * TILE + i] = A[o * TILE + i] * T.float32(0.5)


@schedule(halved)
def rows_of_at_most_eight(s: Schedule) -> None:
    """The last row is shorter; that none is longer than the intrinsic allows is proved."""
    s.tensorize("i", "scaled_row")


@T.prim_func
def halved_in_nines(A: T.Buffer((21,), "float32")):
    for o in range(3):
        for i in range(T.min(TILE + 1, 21 - o * (TILE + 1))):
            A[o * (TILE + 1) + i] = A[o * (TILE + 1) + i] * T.float32(0.5)


@schedule(halved_in_nines, expect="refused")
def rows_of_nine(s: Schedule) -> None:
    """Nine elements are one too many."""
    s.tensorize("i", "scaled_row")
