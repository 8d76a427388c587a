"""Programs that schedules are tried on: elementwise, matrix products, convolutions, reductions in stages.

Extents are small and mostly prime, so that no factor divides them and replays are fast.  The programs are written as
TVM's users write them; ``program(name)`` gives the text of one.
"""

from __future__ import annotations

import re

from tests.schedule.schedule_programs_more import MORE

ELEMENTWISE_ONE_TO_FIVE_DIMENSIONS = """
@T.prim_func
def relu_1d(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in range(14):
        with T.block("relu"):
            vi = T.axis.spatial(14, i)
            B[vi] = T.max(A[vi], T.float32(0))

@T.prim_func
def add_2d(A: T.Buffer((5, 7), "float32"), B: T.Buffer((5, 7), "float32"), C: T.Buffer((5, 7), "float32")):
    for i, j in T.grid(5, 7):
        with T.block("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + B[vi, vj]

@T.prim_func
def scale_3d(A: T.Buffer((3, 4, 5), "float32"), B: T.Buffer((3, 4, 5), "float32")):
    for i, j, k in T.grid(3, 4, 5):
        B[i, j, k] = A[i, j, k] * T.float32(2)

@T.prim_func
def copy_4d(A: T.Buffer((2, 3, 4, 5), "float16"), B: T.Buffer((2, 3, 4, 5), "float16")):
    for n, h, w, c in T.grid(2, 3, 4, 5):
        with T.block("copy"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            B[vn, vh, vw, vc] = A[vn, vh, vw, vc]

@T.prim_func
def negate_5d(A: T.Buffer((2, 3, 2, 3, 2), "int32"), B: T.Buffer((2, 3, 2, 3, 2), "int32")):
    for a, b, c, d, e in T.grid(2, 3, 2, 3, 2):
        B[a, b, c, d, e] = 0 - A[a, b, c, d, e]

@T.prim_func
def in_place(A: T.Buffer((11,), "float32")):
    for i in range(11):
        A[i] = A[i] * T.float32(3)
"""

MATRIX_PRODUCTS = """
@T.prim_func
def matmul(A: T.Buffer((5, 7), "float32"), B: T.Buffer((7, 6), "float32"), C: T.Buffer((5, 6), "float32")):
    for i, j, k in T.grid(5, 6, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

@T.prim_func
def matmul_loops(A: T.Buffer((5, 7), "float32"), B: T.Buffer((7, 6), "float32"), C: T.Buffer((5, 6), "float32")):
    for i in range(5):
        for j in range(6):
            C[i, j] = T.float32(0)
            for k in range(7):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]

@T.prim_func
def matmul_int8(A: T.Buffer((5, 7), "int8"), B: T.Buffer((7, 6), "int8"), C: T.Buffer((5, 6), "int32")):
    for i, j, k in T.grid(5, 6, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])

@T.prim_func
def matmul_symbolic(a: T.handle, b: T.handle, c: T.handle, n: T.int32, m: T.int32, l: T.int32):
    A = T.match_buffer(a, (n, l), "float32")
    B = T.match_buffer(b, (l, m), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    for i, j, k in T.grid(n, m, l):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

@T.prim_func
def matmul_symbolic_k(a: T.handle, b: T.handle, c: T.handle, l: T.int32):
    A = T.match_buffer(a, (5, l), "float32")
    B = T.match_buffer(b, (l, 6), "float32")
    C = T.match_buffer(c, (5, 6), "float32")
    T.assume(1 <= l)
    for i, j, k in T.grid(5, 6, l):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

@T.prim_func
def two_matmuls(
    A: T.Buffer((4, 5), "float32"), B: T.Buffer((5, 6), "float32"), C: T.Buffer((6, 3), "float32"),
    D: T.Buffer((4, 3), "float32"),
):
    t = T.alloc_buffer((4, 6), "float32")
    for i, j, k in T.grid(4, 6, 5):
        with T.block("first"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                t[vi, vj] = T.float32(0)
            t[vi, vj] = t[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j, k in T.grid(4, 3, 6):
        with T.block("second"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + t[vi, vk] * C[vk, vj]
"""

CONVOLUTIONS_AND_POOLING = """
@T.prim_func
def conv1d(A: T.Buffer((16,), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((14,), "float32")):
    for i in T.serial(14):
        B[i] = T.float32(0)
        for f in T.serial(3):
            B[i] = B[i] + F[f] * A[i + f]

@T.prim_func
def conv1d_dilated(A: T.Buffer((16,), "float32"), F: T.Buffer((3,), "float32"), B: T.Buffer((10,), "float32")):
    for i, f in T.grid(10, 3):
        with T.block("B"):
            vi, vf = T.axis.remap("SR", [i, f])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + F[vf] * A[vi + vf * 3]

@T.prim_func
def conv2d_nhwc(
    A: T.Buffer((1, 6, 6, 3), "float32"), W: T.Buffer((3, 3, 3, 4), "float32"),
    B: T.Buffer((1, 4, 4, 4), "float32"),
):
    for n, h, w, o, rh, rw, rc in T.grid(1, 4, 4, 4, 3, 3, 3):
        with T.block("B"):
            vn, vh, vw, vo, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [n, h, w, o, rh, rw, rc])
            with T.init():
                B[vn, vh, vw, vo] = T.float32(0)
            B[vn, vh, vw, vo] = B[vn, vh, vw, vo] + A[vn, vh + vrh, vw + vrw, vrc] * W[vrh, vrw, vrc, vo]

@T.prim_func
def conv2d_nchw_stride2(
    A: T.Buffer((1, 3, 7, 7), "float32"), W: T.Buffer((2, 3, 3, 3), "float32"),
    B: T.Buffer((1, 2, 3, 3), "float32"),
):
    for n, o, h, w, rc, rh, rw in T.grid(1, 2, 3, 3, 3, 3, 3):
        with T.block("B"):
            vn, vo, vh, vw, vrc, vrh, vrw = T.axis.remap("SSSSRRR", [n, o, h, w, rc, rh, rw])
            with T.init():
                B[vn, vo, vh, vw] = T.float32(0)
            B[vn, vo, vh, vw] = B[vn, vo, vh, vw] + A[vn, vrc, vh * 2 + vrh, vw * 2 + vrw] * W[vo, vrc, vrh, vrw]

@T.prim_func
def depthwise(
    A: T.Buffer((3, 6, 6), "float32"), W: T.Buffer((3, 3, 3), "float32"), B: T.Buffer((3, 4, 4), "float32"),
):
    for c, h, w in T.grid(3, 4, 4):
        B[c, h, w] = T.float32(0)
        for rh, rw in T.grid(3, 3):
            B[c, h, w] = B[c, h, w] + A[c, h + rh, w + rw] * W[c, rh, rw]

@T.prim_func
def max_pool(A: T.Buffer((9,), "float32"), B: T.Buffer((4,), "float32")):
    for i, r in T.grid(4, 3):
        with T.block("B"):
            vi, vr = T.axis.remap("SR", [i, r])
            with T.init():
                B[vi] = T.float32("-inf")
            B[vi] = T.max(B[vi], A[vi * 2 + vr])

@T.prim_func
def mean_pool(A: T.Buffer((4, 6), "float32"), B: T.Buffer((2, 3), "float32")):
    for i, j in T.grid(2, 3):
        B[i, j] = T.float32(0)
        for r, q in T.grid(2, 2):
            B[i, j] = B[i, j] + A[i * 2 + r, j * 2 + q]
        B[i, j] = B[i, j] * T.float32(0.25)
"""

REDUCTIONS_IN_STAGES = """
@T.prim_func
def row_sum(A: T.Buffer((3, 14), "float32"), B: T.Buffer((3,), "float32")):
    for i in T.serial(3):
        B[i] = T.float32(0)
        for j in T.serial(14):
            B[i] = B[i] + A[i, j]

@T.prim_func
def row_sum_block(A: T.Buffer((3, 14), "float32"), B: T.Buffer((3,), "float32")):
    for i, j in T.grid(3, 14):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]

@T.prim_func
def row_sum_symbolic(a: T.handle, b: T.handle, m: T.int32, n: T.int32):
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m,), "float32")
    for i in T.serial(m):
        B[i] = T.float32(0)
        for j in T.serial(n):
            B[i] = B[i] + A[i, j]

@T.prim_func
def softmax(A: T.Buffer((3, 5), "float32"), B: T.Buffer((3, 5), "float32")):
    most = T.alloc_buffer((3,), "float32")
    total = T.alloc_buffer((3,), "float32")
    for i in range(3):
        most[i] = T.float32("-inf")
        for j in range(5):
            most[i] = T.max(most[i], A[i, j])
        total[i] = T.float32(0)
        for k in range(5):
            total[i] = total[i] + T.exp(A[i, k] - most[i])
        for l in range(5):
            B[i, l] = T.exp(A[i, l] - most[i]) / total[i]

@T.prim_func
def layer_norm(A: T.Buffer((3, 5), "float32"), G: T.Buffer((5,), "float32"), B: T.Buffer((3, 5), "float32")):
    mean = T.alloc_buffer((3,), "float32")
    var = T.alloc_buffer((3,), "float32")
    for i, j in T.grid(3, 5):
        with T.block("mean"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                mean[vi] = T.float32(0)
            mean[vi] = mean[vi] + A[vi, vj]
    for i, j in T.grid(3, 5):
        with T.block("var"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                var[vi] = T.float32(0)
            var[vi] = var[vi] + (A[vi, vj] - mean[vi] * T.float32(0.2)) * (A[vi, vj] - mean[vi] * T.float32(0.2))
    for i, j in T.grid(3, 5):
        with T.block("norm"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = (A[vi, vj] - mean[vi] * T.float32(0.2)) / T.sqrt(var[vi] + T.float32(0.001)) * G[vj]

@T.prim_func
def prefix_sum(A: T.Buffer((11,), "float32"), B: T.Buffer((11,), "float32")):
    B[0] = A[0]
    for i in range(1, 11):
        B[i] = B[i - 1] + A[i]

@T.prim_func
def horner(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        C[i] = C[i] * T.float32(2) + A[i, k]

@T.prim_func
def total(A: T.Buffer((4, 6), "float32"), C: T.Buffer((), "float32")):
    C[()] = T.float32(0)
    for i, k in T.grid(4, 6):
        C[()] = C[()] + A[i, k]

@T.prim_func
def count(A: T.Buffer((4, 6), "bool"), C: T.Buffer((1,), "int32")):
    C[0] = 0
    for i, k in T.grid(4, 6):
        C[0] = C[0] + T.Select(A[i, k], 1, 0)
"""


def _by_name(*sections: str) -> dict[str, str]:
    """Each program under the name of its function."""
    found: dict[str, str] = {}
    for text in sections:
        for part in re.split(r"^(?=@T\.prim_func)", text, flags=re.M)[1:]:
            name = re.search(r"def (\w+)", part)
            assert name is not None
            found[name[1]] = part.strip() + "\n"
    return found


PROGRAMS = _by_name(
    ELEMENTWISE_ONE_TO_FIVE_DIMENSIONS, MATRIX_PRODUCTS, CONVOLUTIONS_AND_POOLING, REDUCTIONS_IN_STAGES, *MORE
)


def program(name: str) -> str:
    """The text of a program."""
    return PROGRAMS[name]
