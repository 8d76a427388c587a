"""The small programs on which docs/reference/primitives.md shows each primitive, in the order of the page."""

from __future__ import annotations

from dataclasses import dataclass

ROWS = """\
def f(A: T.Buffer((8, 30), "float32"), B: T.Buffer((8, 30), "float32")):
    for i, j in T.grid(8, 30):
        with T.block("B"):
            B[i, j] = A[i, j] * T.float32(2)
"""
STAGES = """\
def f(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            B[i] = A[i] * T.float32(2)
    for k in range(16):
        with T.block("C"):
            C[k] = B[k] + T.float32(1)
"""
BLUR = """\
def f(A: T.Buffer((18,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((18,), "float32")
    for i in range(18):
        with T.block("B"):
            B[i] = A[i] * T.float32(2)
    for k, l in T.grid(4, 4):
        with T.block("C"):
            C[4 * k + l] = B[4 * k + l] + B[4 * k + l + 2]
"""
PRODUCT = """\
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
DOT = """\
def f(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32"), C: T.Buffer((1,), "int32")):
    C[0] = 0
    for k in range(32):
        with T.block("C"):
            C[0] = C[0] + A[k] * B[k]
"""
SUM = """\
def f(A: T.Buffer((14,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in range(14):
        B[0] = B[0] + A[i]
"""
COPY = """\
def f(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        B[i] = A[i]
"""
CONVOLUTION = """\
def f(A: T.Buffer((10,), "float32"), W: T.Buffer((3, 4), "float32"), C: T.Buffer((4, 8), "float32")):
    for i, o, r in T.grid(8, 4, 3):
        with T.block("C"):
            vi, vo, vr = T.axis.remap("SSR", [i, o, r])
            with T.init():
                C[vo, vi] = T.float32(0)
            C[vo, vi] = C[vo, vi] + A[vi + vr] * W[vr, vo]
"""
IN_PLACE = """\
def f(A: T.Buffer((8,), "float32")):
    for i, j in T.grid(4, 8):
        with T.block("A"):
            A[j] = A[j] * T.float32(0.5)
"""
STENCIL = """\
def f(A: T.Buffer((10, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + A[vi + 2, vj]
"""
SQUARE = """\
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            B[i] = A[i] * A[i] + T.float32(1)
"""
PADDED = """\
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((12,), "float32")):
    for i in range(12):
        with T.block("B"):
            B[i] = T.if_then_else(i >= 2 and i < 10, A[i - 2], T.float32(0))
"""
NESTS = """\
def f(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.block("C"):
            C[i, j] = A[i, j] * T.float32(2)
    for k, l in T.grid(4, 6):
        with T.block("D"):
            D[k, l] = A[k, l] + T.float32(1)
"""
PADDED_SUM = (
    's.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0)',
    's.sequential_buffer_access("A")',
)


SCALE = '''\
scale8 = TensorIntrin.of("scale8", """
@T.prim_func
def scale8(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for k in range(8):
        Y[k] = X[k] * T.float32(2)
""")'''
PRECONDITION = '''\
text = """
@T.prim_func
def halves(B: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    for k in range(16):
        T.assume(B[k] >= 0)
    for k in range(16):
        C[k] = B[k] // 2
"""'''


@dataclass(frozen=True)
class Example:
    """A call of a primitive on a program."""

    call: str
    program: str
    first: tuple[str, ...] = ()
    """Calls that come before, and are not shown: the program that is shown is the one after them."""
    given: str = ""
    """Code that the call needs, which is shown."""
    module: bool = False
    """Whether functions are shown, instead of the program with its calls expanded."""

    @property
    def name(self) -> str:
        return self.call.partition("(")[0].rpartition(".")[2]


SECTIONS: tuple[tuple[str, tuple[Example, ...]], ...] = (
    (
        "Loops",
        (
            Example('s.split("j", [None, 8])', ROWS),
            Example('s.fuse("i", "j")', ROWS),
            Example('s.reorder("j", "i")', ROWS),
            Example('s.tile("i", "j", factors=[4, 10])', ROWS),
            Example('s.partition("i", 10)', COPY),
            Example('s.loop_partition("i", [4, 8, None])', COPY),
            Example('s.peel("i")', COPY),
            Example(
                's.fission("i", after="B")',
                """\
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            B[i] = A[i] * T.float32(2)
        with T.block("C"):
            C[i] = B[i] + T.float32(1)
""",
            ),
            Example('s.merge_loops("i", "k")', STAGES),
            Example('s.merge("i", "k")', NESTS),
            Example('s.merge_adjacent_loops("i", "k")', NESTS),
            Example('s.move_before("D", "C")', NESTS),
            Example('s.move_after("C", "D")', NESTS),
            Example(
                's.remove_loop("j")',
                """\
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i, j in T.grid(8, 3):
        B[i] = A[i] * T.float32(2)
""",
            ),
            Example('s.add_unit_loop("B")', SQUARE),
        ),
    ),
    (
        "How loops run",
        (
            Example('s.parallel("i")', ROWS),
            Example('s.vectorize("i_1")', SQUARE, ('s.split("i", [2, 4])',)),
            Example('s.unroll("i")', SQUARE),
            Example('s.bind("i", "threadIdx.x")', SQUARE),
        ),
    ),
    (
        "Layouts and padding",
        (
            Example('s.transform_layout("A", lambda i: [i // 4, i % 4], pad_value=0)', SUM),
            Example('s.sequential_buffer_access("A")', SUM, PADDED_SUM[:1]),
            Example(
                's.write_padding("B")',
                COPY,
                ('s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=T.undef())',),
            ),
            Example('s.assume_padding("A")', SUM, PADDED_SUM[:1]),
            Example('s.decompose_padding("B", "i")', PADDED),
            Example('s.set_axis_separator("B", "B", [1])', ROWS),
            Example('s.storage_align("B", 0, axis=0, factor=8, offset=1)', STAGES),
        ),
    ),
    (
        "Branches",
        (
            Example("s.remove_branching_through_overcompute()", SUM, PADDED_SUM),
            Example(
                "s.remove_overcompute_through_branching()",
                SUM,
                (*PADDED_SUM, "s.remove_branching_through_overcompute()"),
            ),
            Example(
                "s.hoist_expression()",
                """\
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), n: T.int32):
    for i, j in T.grid(8, 8):
        if i < n:
            B[i, j] = A[i, j]
""",
            ),
            Example(
                "s.reduce_loop_extents()",
                """\
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        if i < 10:
            B[i] = A[i]
""",
            ),
            Example(
                "s.remove_no_op()",
                """\
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.float32(0)
    for i in range(8):
        A[i] = A[i]
    for i in range(8):
        B[i] = A[i]
""",
            ),
            Example(
                "s.simplify()",
                """\
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((32,), "float32")):
    for i, j in T.grid(4, 8):
        if i * 8 + j < 32:
            B[i * 8 + j] = A[(i * 8 + j) // 8, (i * 8 + j) % 8]
""",
            ),
        ),
    ),
    (
        "Reductions",
        (
            Example('s.decompose_reduction("C", "k")', PRODUCT),
            Example('s.rfactor("k_1")', DOT, ('s.split("k", [8, 4])',)),
            Example('s.pad_einsum("C", [4, 4, 4])', PRODUCT.replace("8", "6")),
            Example(
                's.fuse_reduction_epilogue("P", "D")',
                """\
def f(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    P = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 4):
        with T.block("P"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = T.float32(0)
            P[vi] = P[vi] + A[vi, vk]
    for x in range(8):
        with T.block("D"):
            D[x] = P[x] + C[x]
""",
            ),
        ),
    ),
    (
        "Copies",
        (
            Example('s.cache_read("B", "A", "local", "i")', ROWS),
            Example('s.cache_write("C", "C", "local", "i")', PRODUCT),
            Example('s.read_at("i", "B", 0, "shared")', ROWS),
            Example('s.write_at("i", "B", 0, "local")', ROWS),
            Example('s.cache_inplace("A", 0, "local")', IN_PLACE),
            Example(
                's.cache_index("B", "global")',
                """\
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 4 + vj // 4, vj // 2]
""",
            ),
            Example('s.reindex("C", "W")', CONVOLUTION),
            Example('s.reindex_cache_read("C", "W", "shared", lambda i, o, r: (o, r))', CONVOLUTION),
            Example('s.reindex_cache_write("C", "C", "local", lambda i, o, r: (i, o))', CONVOLUTION),
            Example('s.set_scope("B", 0, "shared")', STAGES),
            Example('s.sink_allocation("B")', STAGES, ('s.merge_loops("i", "k")',)),
        ),
    ),
    (
        "Computing elsewhere",
        (
            Example('s.compute_at("B", "k")', BLUR),
            Example('s.reverse_compute_at("C", "i")', STAGES),
            Example('s.compute_inline("B")', STAGES),
            Example('s.reverse_compute_inline("C")', STAGES),
            Example('s.rolling_buffer("B", 0)', BLUR, ('s.compute_at("B", "k")',)),
        ),
    ),
    (
        "Single statements",
        (
            Example('s.bind_expr("B", "A[i]", "x")', SQUARE),
            Example('s.inline_let("x")', SQUARE, ('s.bind_expr("B", "A[i]", "x")',)),
            Example('s.split_write("B")', SQUARE),
            Example('s.merge_writes("B_0", "B_1")', SQUARE, ('s.split_write("B")',)),
            Example(
                's.restate("B", lambda i: a[i] + a[i])',
                """\
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = A[i] * 2
""",
                given='a = s.buffer("A")',
            ),
        ),
    ),
    (
        "Blocks and notes",
        (
            Example('s.blockize("j")', ROWS),
            Example('s.transform_block_layout("B", lambda i, j: [i * 8 + j])', STENCIL),
            Example('s.reorder_block_iter_var("B", [1, 0])', STENCIL),
            Example('s.annotate("i", "pragma_import_c", "x.c")', SQUARE),
            Example('s.unannotate("i", "pragma_import_c")', SQUARE, ('s.annotate("i", "pragma_import_c", "x.c")',)),
            Example('s.annotate_buffer_access("B", 0, "read", lambda i, j: ((i, i + 3), j))', STENCIL),
            Example(
                's.unsafe_set_dtype("B", 0, "int16")',
                """\
def f(A: T.Buffer((8,), "int8"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            B[i] = T.Cast("int32", A[i]) * 3
    for i in range(8):
        C[i] = B[i]
""",
            ),
        ),
    ),
    (
        "Intrinsics and functions",
        (
            Example(
                's.tensorize("j_1", scale8)',
                ROWS.replace("30", "32"),
                ('s.split("j", [4, 8])',),
                given=SCALE,
            ),
            Example('s.outline("i", "double")', STAGES, module=True),
            Example('s.inline("double")', STAGES, ('s.outline("i", "double")',), module=True),
            Example(
                's.refine_call("double", half)',
                STAGES,
                ('s.outline("i", "double")',),
                given='half = Schedule(s.module["double"])\nhalf.vectorize("i")',
                module=True,
            ),
            Example(
                's.assume_precondition("halves", text)',
                """\
def f(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        B[i] = T.max(A[i], 0)
    for k in range(16):
        C[k] = B[k] // 2
""",
                ('s.outline("k", "halves")',),
                given=PRECONDITION,
                module=True,
            ),
        ),
    ),
    (
        "What is known",
        (
            Example('s.assume(lambda i: s.buffer("A")[i] >= 0, "A", axiom=True)', SUM),
            Example('s.add_buffer_constraint("A", lambda i: i >= 10, 0, axiom=True)', SUM),
        ),
    ),
)
