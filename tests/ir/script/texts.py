"""Programs in the dialects that the parser knows: what TVM 0.27 prints, and the older forms of the RFCs."""

from __future__ import annotations

ROW_SUM_OLD = """
@T.prim_func
def row_summation(a: T.handle, b: T.handle):
    A = T.match_buffer(shape=(16, 14), dtype="float32")
    B = T.match_buffer(shape=(16,), dtype="float32")
    for i in T.serial(16):
        B[i] = 0.0
        for j in T.serial(14):
            B[i] = B[i] + A[i, j]
"""

ROW_SUM_PADDED = """
@T.prim_func
def row_summation(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (16, 4, 4), "float32")
    B = T.match_buffer(b, [16])
    for i, j_outer, j_inner in T.grid(16, 4, 4):
        T.assume(not (4 * j_outer + j_inner >= 14) or A[i, j_outer, j_inner] == 0.0)
    for i in T.serial(16):
        B[i] = 0.0
        for j_outer, j_inner in T.grid(4, 4):
            if 0 <= 4 * j_outer + j_inner < 14:
                B[i] += A[i, j_outer, j_inner]
            else:
                B[i] += T.undef()
"""

MATMUL = """
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def matmul(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 4, 4), "float32"), C: T.Buffer((16, 16), "float32")):
        T.func_attr({"global_symbol": "matmul", "tirx.noalias": True})
        # with T.sblock("root"):
        C_local = T.sblock_alloc_buffer((16, 16), scope="local")
        for i0, j, k0, i1, k1 in T.grid(4, 16, 4, 4, 4):
            with T.sblock("matmul"):
                vi = T.axis.spatial(16, i0 * 4 + i1)
                vj = T.axis.spatial(16, j)
                vk = T.axis.reduce(16, k0 * 4 + k1)
                T.where(i0 * 4 + i1 < 15)
                T.reads(A[vi, vk], B[vj, vk // 4, vk % 4])
                T.writes(C_local[vi, vj])
                T.sblock_attr({"meta_schedule.tiling_structure": "SSR", "levels": [1, [2, 3]]})
                with T.init():
                    C_local[vi, vj] = T.float32(0.0)
                C_local[vi, vj] = C_local[vi, vj] + A[vi, vk] * B[vj, vk // 4, vk % 4]
        for i, j in T.grid(16, 16):
            with T.sblock("C_local"):
                v0, v1 = T.axis.remap("SS", [i, j])
                C[v0, v1] = C_local[v0, v1]
"""

OLD_BLOCKS = """
@T.prim_func
def main(A: T.Buffer[(16, 16), "float32"], B: T.Buffer[16, "float32"]) -> None:
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    cache = T.alloc_buffer([16, 4, 4], dtype="float32")
    for i0, j in T.grid(16, 16):
        with T.block("layout_rewrite"):
            i1, j1 = T.axis.remap("SS", [i0, j])
            T.reads([A[i1, 0:16]])
            T.writes([cache[i1, j1 // 4, 0:4]])
            cache[i1, j1 // 4, j1 % 4] = A[i1, j1]
    for i in range(16):
        with T.block("outer"):
            vi = T.axis.S(16, i)
            T.block_attr({"k": 1})
            partial = T.alloc_buffer((4,), "float32")
            for j in T.serial(0, 16):
                with T.block("sum"):
                    vj = T.axis.R((0, 16), j)
                    with T.init():
                        B[vi] = 0
                    B[vi] += cache[vi, vj // 4, vj % 4]
"""

SYMBOLIC = """
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def int64_symbol(A: T.Buffer((T.int64(1), n, T.int64(4096)), "float16"), B: T.Buffer((n,), "float16")):
        for i, j in T.grid(n, T.int64(4096)):
            with T.sblock("sum"):
                v_i, v_j = T.axis.remap("SR", [i, j])
                with T.init():
                    B[v_i] = T.float16(0.0)
                B[v_i] = B[v_i] + A[T.int64(0), v_i, v_j]

    @T.prim_func(s_tir=True)
    def quoted(A: T.Buffer(("m * k",), "int8"), B: T.Buffer((m, "late"), "int8"), k: T.int32, late: T.int32):
        m = T.int32()
        for i, j in T.grid(m, late):
            B[i, j] = A[i * j] + 1

    @T.prim_func(s_tir=True)
    def matched(a: T.handle, b: T.handle, rows: T.int32):
        stride = T.int16()
        cols = T.int32()
        A = T.match_buffer(a, (rows, cols), "float32", strides=(cols * 2, 1), elem_offset=4)
        B = T.match_buffer(b, (stride,), "float32x4", scope="shared")
        for i in range(rows):
            for j in range(2, cols):
                A[i, j] = A[i, j - 2] * 2
        for i in range(stride):
            B[i] = B[i] * 2.0
"""

VECTORS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32"), V: T.Buffer((16,), "float32x4")):
    for i in range(4):
        C[i * 16:i * 16 + 16] = A[T.Ramp(i * 16, 1, 16)] + T.Broadcast(T.float32(1.0), 16)
        C[i * 16:i * 16 + 16:2] = A[i:i + 8] * 2.0
        V[i] = T.Select(A[i * 4:i * 4 + 4] < V[i], T.Broadcast(0.0, 4), T.Shuffle([V[i], A[i]], [3, 2, 1, 4]))
        V[0:2] = A[T.Ramp(0, 1, 8)]
"""

VIEWS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
    flat = A.view(256)
    vector = T.decl_buffer((64,), "float32x4", data=A.data)
    corner = T.decl_buffer((4, 4), data=A.data, strides=(16, 1), elem_offset=17, axis_separators=[1])
    scratch = T.allocate([32], "float32", "global")
    scratch_2d = T.buffer_decl([8, 4], "float32", data=scratch.data)
    for i in range(16):
        scratch_2d[i // 4, i % 4] = flat[i] + corner[1, 2]
        vector[i] = T.Broadcast(scratch[i], 4)
    for i in range(16):
        with T.sblock("row"):
            vi = T.axis.spatial(16, i)
            row = T.match_buffer(A[vi, 0:16], (16,), strides=("s",), offset_factor=1)
            B[vi] = row[0] + T.Cast("float32", row.strides[0] + row.elem_offset + s)
"""

LETS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), p: T.handle("float32"), f: T.float64):
    for i in range(16):
        x: T.let[T.int32] = i * 2
        y: T.int32 = x + 1
        z = T.bind(y * y)
        two = 2
        A[i] = z * two + T.Let(w + w * 2, where={w: z})
        with T.LetStmt(z + 1) as u:
            A[i] = u
    q: T.let[T.handle("float32")] = p
    Q = T.decl_buffer((4,), data=q)
    Q[0] = T.float32(f)
"""

CALLS = """
@I.ir_module
class Module:
    @T.prim_func
    def callee(A: T.Buffer((4,), "float32"), n: T.int32):
        A[0] = T.Cast("float32", n)

    @T.prim_func
    def value(x: T.float32) -> T.float32:
        return x * 2

    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32")):
        callee(A, 3)
        Module.callee(A.data, B[0])
        A[1] = value(A[0]) + T.exp(A[1]) + T.fma(A[0], 2, A[2]) + T.pow(A[0], 0.5) + T.abs(A[3])
        T.call_extern("int32", "printf", "%d\\n", B[0])
        T.call_packed("trace", A.data)
        T.evaluate(T.tvm_storage_sync("shared"))
        B[0] = T.call_extern("int32", "rand") + T.reinterpret("int32", A[0]) + T.popcount(B[1]) + T.clz(B[2])
        B[1] = (B[0] << 3 | B[1] & 255) ^ ~B[2] >> 1
        B[2] = B[0] / B[1] + T.truncmod(B[0], B[1]) + T.ceildiv(B[0], 4) + T.max(B[0], 0)
"""

THREADS = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    blockIdx_x = T.launch_thread("blockIdx.x", 8)
    A_shared = T.alloc_shared((128,))
    with T.launch_thread("threadIdx.x", 128) as tx:
        A_shared[tx] = A[blockIdx_x * 128 + tx]
        T.tvm_storage_sync("shared")
        with T.attr(tx, "pragma_unroll", 1):
            B[blockIdx_x * 128 + tx] = A_shared[127 - tx]
    for by in T.thread_binding(T.int64(4), thread="blockIdx.y"):
        for i in T.unroll(4):
            for j in T.vectorized(0, 8):
                for k in T.parallel(2, 4, annotations={"chunk": T.int64(2), "kind": "static", "exact": True}):
                    B[i * j * k] = T.float32("inf")
"""

CONTROL = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), n: T.int32):
    assert n <= 16, "too long"
    T.attr({"scope": 1, "depth": n})
    k = T.alloc_buffer((), "int32")
    k[()] = 0
    while k[()] < n:
        if A[k[()]] > 1.0 and not A[k[()]] > 2.0:
            A[k[()]] = 1
        elif n == 3 or n != 4 and n >= 2:
            A[k[()]] = A[k[()]] if n < 2 else -A[k[()]]
        else:
            pass
        k[()] += 1
    for i in range(1, 16, 5):
        A[i] = T.if_then_else(i < 4, A[0], T.min(A[i], 0.0))
"""

TYPES = """
@T.prim_func(s_tir=True)
def main(a: T.Buffer((8,), "int8"), b: T.Buffer((8,), "uint64"), c: T.Buffer((8,), "bfloat16"),
         d: T.Buffer((8,), "bool"), e: T.Buffer((8,), "float16"), f: T.Buffer((8,), "float64"),
         g: T.Buffer((T.int64(8),), "int64")):
    a[0] = -128
    a[1] = T.int8(3) + a[0] * 2
    b[0] = T.uint64(18446744073709551615)
    b[1] = T.max_value("uint64") - b[0]
    c[0] = 1
    c[1] = 0.1
    d[0] = True
    d[1] = a[0] == a[1]
    e[0] = T.Cast("float16", f[0]) + 65504
    f[0] = -0.0
    f[1] = T.float64("nan") + T.float64("-inf") + T.infinity("float64")
    for i in T.serial(T.int64(0), T.int64(8)):
        g[i] = i + T.int64(2) * T.Cast("int64", T.Add(1, 2)) + T.Add(i, T.int64(0)) + 1
"""

PROGRAMS: dict[str, str] = {
    "row_sum_old": ROW_SUM_OLD,
    "row_sum_padded": ROW_SUM_PADDED,
    "matmul": MATMUL,
    "old_blocks": OLD_BLOCKS,
    "symbolic": SYMBOLIC,
    "vectors": VECTORS,
    "views": VIEWS,
    "lets": LETS,
    "calls": CALLS,
    "threads": THREADS,
    "control": CONTROL,
    "types": TYPES,
}
