"""More programs for ``schedule_programs``: moving data, shapes of loops, local buffers."""

from __future__ import annotations

MOVING_DATA = """
@T.prim_func
def transpose(A: T.Buffer((5, 7), "bfloat16"), B: T.Buffer((7, 5), "bfloat16")):
    for i, j in T.grid(5, 7):
        with T.block("transpose"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = A[vi, vj]

@T.prim_func
def transpose_in_place(A: T.Buffer((5, 5), "float64")):
    t = T.alloc_buffer((1,), "float64")
    for i in range(5):
        for j in range(i):
            t[0] = A[i, j]
            A[i, j] = A[j, i]
            A[j, i] = t[0]

@T.prim_func
def gather(A: T.Buffer((9,), "float32"), I: T.Buffer((6,), "int32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        T.assume(0 <= I[i] and I[i] < 9)
        B[i] = A[I[i]]

@T.prim_func
def scatter(A: T.Buffer((6,), "float32"), I: T.Buffer((6,), "int32"), B: T.Buffer((9,), "float32")):
    for i in range(6):
        T.assume(0 <= I[i] and I[i] < 9)
        B[I[i]] = A[i]

@T.prim_func
def gather_apart(A: T.Buffer((9,), "float32"), I: T.Buffer((6,), "int32"), B: T.Buffer((6, 3), "float32")):
    for i in range(6):
        T.assume(0 <= I[i] and I[i] < 9)
    for i, j in T.grid(6, 3):
        B[i, j] = A[I[i]]

@T.prim_func
def concat(A: T.Buffer((5,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((9,), "float32")):
    for i in range(9):
        if i < 5:
            C[i] = A[i]
        else:
            C[i] = B[i - 5]

@T.prim_func
def pad_input(A: T.Buffer((8,), "float32"), B: T.Buffer((12,), "float32")):
    for i in range(12):
        B[i] = T.if_then_else(2 <= i and i < 10, A[i - 2], T.float32(0))
"""

SHAPES_OF_LOOPS = """
@T.prim_func
def triangle(A: T.Buffer((6, 6), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        for j in range(i + 1):
            B[i] = B[i] + A[i, j]

@T.prim_func
def guarded(A: T.Buffer((6, 7), "float32"), B: T.Buffer((6, 7), "float32")):
    for i in range(6):
        if i % 2 == 0:
            for j in range(7):
                if i + j < 9:
                    B[i, j] = A[i, j] + T.float32(1)

@T.prim_func
def offset(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(3, 14):
        B[i] = A[i - 3] + A[i + 2]

@T.prim_func
def offset_2d(A: T.Buffer((8, 9), "float32"), B: T.Buffer((8, 9), "float32")):
    for i in range(1, 7):
        for j in range(2, 8):
            B[i, j] = A[i - 1, j] + A[i + 1, j - 2]

@T.prim_func
def wide(A: T.Buffer((T.int64(16), T.int64(5)), "float32"), B: T.Buffer((T.int64(16), T.int64(5)), "float32")):
    for i, j in T.grid(T.int64(16), T.int64(5)):
        B[i, j] = A[i, j] + T.float32(1)

@T.prim_func
def wide_sum(A: T.Buffer((T.int64(4), T.int64(13)), "float64"), B: T.Buffer((T.int64(4),), "float64")):
    for i, j in T.grid(T.int64(4), T.int64(13)):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float64(0)
            B[vi] = B[vi] + A[vi, vj]

@T.prim_func
def symbolic_1d(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + T.float32(1)

@T.prim_func
def symbolic_3d(a: T.handle, b: T.handle, n: T.int32, m: T.int32, l: T.int32):
    A = T.match_buffer(a, (n, m, l), "float32")
    B = T.match_buffer(b, (n, m, l), "float32")
    for i, j, k in T.grid(n, m, l):
        B[i, j, k] = A[i, j, k] + T.float32(1)

@T.prim_func
def one(A: T.Buffer((1, 1), "float32"), B: T.Buffer((1,), "float32")):
    for i, j in T.grid(1, 1):
        B[i] = A[i, j]

@T.prim_func
def scalar(A: T.Buffer((), "float32"), B: T.Buffer((7,), "float32")):
    for i in range(7):
        B[i] = A[()]

@T.prim_func
def three_statements(
    A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32"), C: T.Buffer((9,), "float32"),
    D: T.Buffer((9,), "float32"),
):
    for i in range(9):
        B[i] = A[i] + T.float32(1)
        C[i] = B[i] * T.float32(2)
        D[i] = C[i] - B[i]

@T.prim_func
def carried(A: T.Buffer((9,), "float32"), B: T.Buffer((10,), "float32")):
    for i in range(9):
        B[i] = A[i]
        B[i + 1] = B[i] * T.float32(2)

@T.prim_func
def idempotent(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for r in range(3):
        for i in range(4):
            B[i] = A[i] + T.float32(1)

@T.prim_func
def stencil(A: T.Buffer((5, 12), "float32")):
    for t, x in T.grid(4, 10):
        A[t + 1, x + 1] = T.float32(0.5) * (A[t, x] + A[t, x + 2])
"""

LOCAL_BUFFERS = """
@T.prim_func
def cached(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    A_cache = T.alloc_buffer((14,), "float32")
    for i in T.serial(14):
        with T.block("A_cache"):
            A_cache[i] = A[i]
    B_cache = T.alloc_buffer((14,), "float32")
    for i in T.serial(14):
        with T.block("compute"):
            B_cache[i] = 2.0 * A_cache[i]
    for i in T.serial(14):
        with T.block("B_cache"):
            B[i] = B_cache[i]

@T.prim_func
def cached_sum(A: T.Buffer((3, 14), "float32"), B: T.Buffer((3,), "float32")):
    c = T.alloc_buffer((3, 14), "float32")
    for i, j in T.grid(3, 14):
        c[i, j] = A[i, j] * A[i, j]
    for i in range(3):
        B[i] = T.float32(0)
        for j in range(14):
            B[i] = B[i] + c[i, j]

@T.prim_func
def scratch(A: T.Buffer((5, 4), "float32"), B: T.Buffer((5, 4), "float32")):
    t = T.alloc_buffer((4,), "float32")
    for i in range(5):
        for j in range(4):
            t[j] = A[i, j] * T.float32(2)
        for j in range(4):
            B[i, j] = t[3 - j]

@T.prim_func
def scratch_carried(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    t = T.alloc_buffer((1,), "float32")
    t[0] = T.float32(0)
    for i in range(5):
        t[0] = t[0] + A[i]
        B[i] = t[0]
"""

MORE = (MOVING_DATA, SHAPES_OF_LOOPS, LOCAL_BUFFERS)
