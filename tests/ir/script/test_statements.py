"""Loops, branches, bindings and their scopes."""

from __future__ import annotations

import pytest

from verified_tir.ir.dtype import HANDLE, INT32, INT64, DType, PointerType
from verified_tir.ir.expr import Binary, Call, IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import ScriptError, parse_func, script
from verified_tir.ir.stmt import (
    SKIP,
    Allocate,
    Assert,
    Assume,
    AttrStmt,
    DeclBuffer,
    Evaluate,
    For,
    If,
    LetStmt,
    Seq,
    Store,
    While,
)
from verified_tir.ir.sugar import const

HEAD = 'def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32"), n: T.int32, m: T.int64):'


def func_of(*lines: str) -> PrimFunc:
    return parse_func("\n".join(["@T.prim_func", HEAD, *(f"    {line}" for line in lines)]))


def body_lines(*lines: str) -> list[str]:
    """The body, read and written again."""
    return [line[4:] for line in script(func_of(*lines)).splitlines()[4:]]


@pytest.mark.parametrize(
    ("iterator", "low", "extent", "kind", "thread"),
    [
        ("range(16)", 0, 16, "serial", ""),
        ("range(3, 16)", 3, 13, "serial", ""),
        ("T.serial(16)", 0, 16, "serial", ""),
        ("T.serial(0, 16)", 0, 16, "serial", ""),
        ("T.parallel(16)", 0, 16, "parallel", ""),
        ("T.vectorized(4, 8)", 4, 4, "vectorized", ""),
        ("T.unroll(16)", 0, 16, "unrolled", ""),
        ("T.unrolled(16)", 0, 16, "unrolled", ""),
        ('T.thread_binding(16, thread="threadIdx.x")', 0, 16, "thread_binding", "threadIdx.x"),
        ('T.thread_binding(0, 16, "threadIdx.x")', 0, 16, "thread_binding", "threadIdx.x"),
        ("T.grid(16)", 0, 16, "serial", ""),
        ("T.grid((2, 14))", 2, 14, "serial", ""),
    ],
)
def test_loops(iterator: str, low: int, extent: int, kind: str, thread: str) -> None:
    loop = func_of(f"for i in {iterator}:", "    A[i] = 0.0").body
    assert isinstance(loop, For)
    assert loop.min is const(low)
    assert loop.extent is const(extent)
    assert (loop.kind, loop.thread) == (kind, thread)


@pytest.mark.parametrize(
    ("iterator", "dtype"),
    [
        ("range(n)", INT32), ("range(m)", INT64), ("range(T.int64(4))", INT64), ("range(2, m)", INT64),
        ("range(T.int64(2), 8)", INT64), ("T.grid(m)", INT64), ("T.serial(T.uint8(3))", DType("uint", 8)),
    ],
)  # fmt: skip
def test_a_loop_variable_takes_the_type_of_its_bounds(iterator: str, dtype: DType) -> None:
    loop = func_of(f"for i in {iterator}:", "    T.evaluate(i)").body
    assert isinstance(loop, For)
    assert loop.var.dtype is dtype
    assert loop.min.dtype is dtype


def test_symbolic_bounds_keep_their_extent() -> None:
    text = ["for i in range(n, n + 4):", "    A[i] = T.float32(0.0)"]
    loop = func_of(*text).body
    assert isinstance(loop, For)
    assert loop.extent is const(4)
    assert body_lines(*text) == text


def test_a_general_range_is_a_difference() -> None:
    text = ["for i in range(3, n * 2):", "    A[i] = T.float32(0.0)"]
    loop = func_of(*text).body
    assert isinstance(loop, For)
    assert isinstance(loop.extent, Binary)
    assert loop.extent.op == "sub"
    assert body_lines(*text) == text


def test_a_step_becomes_a_let() -> None:
    assert body_lines("for i in range(1, 16, 5):", "    A[i] = 0.0") == [
        "for i in range(3):",
        "    i_1: T.let[T.int32] = 1 + i * 5",
        "    A[i_1] = T.float32(0.0)",
    ]


def test_loop_annotations() -> None:
    text = [
        'for i in T.serial(16, annotations={"a": 1, "b": [1, [2]], "c": "s", "d": True, "e": T.int64(3), "f": 0.5}):',
        "    A[i] = T.float32(0.0)",
    ]
    loop = func_of(*text).body
    assert isinstance(loop, For)
    assert loop.annotations == (
        ("a", 1), ("b", (1, (2,))), ("c", "s"), ("d", True), ("e", const(3, "int64")), ("f", 0.5),
    )  # fmt: skip
    assert body_lines(*text) == text


def test_a_grid_is_written_only_for_independent_loops() -> None:
    dependent = ["for i in range(16):", "    for j in range(i):", "        A[j] = T.float32(0.0)"]
    assert body_lines(*dependent) == dependent
    assert body_lines("for i in range(4):", "    for j in range(n):", "        A[j] = 0.0") == [
        "for i, j in T.grid(4, n):",
        "    A[j] = T.float32(0.0)",
    ]


def test_branches() -> None:
    text = ["if n < 3:", "    B[0] = 1", "elif n < 4:", "    B[0] = 2", "else:", "    B[0] = 3"]
    match func_of(*text).body:
        case If(else_body=If(else_body=Store())):
            pass
        case other:
            pytest.fail(str(other))
    assert body_lines(*text) == text


def test_an_empty_else_is_kept() -> None:
    text = ["if n < 3:", "    pass", "else:", "    pass"]
    match func_of(*text).body:
        case If(then_body=a, else_body=b):
            assert a is SKIP
            assert b is SKIP
        case other:
            pytest.fail(str(other))
    assert body_lines(*text) == text


def test_simple_statements() -> None:
    body = func_of(
        '"""a docstring"""', "while n < 3:", "    B[0] = 1", "T.assume(n > 0)", 'assert n > 0, "positive"',
        'assert n > 1, ("ValueError", ["more ", "than one"])', "assert n > 2", "T.evaluate(n)", "T.call_packed('f')",
        "T.buffer_store(B, 2, [n])", "...",
    ).body  # fmt: skip
    assert isinstance(body, Seq)
    kinds = [type(s) for s in body.stmts]
    assert kinds == [While, Assume, Assert, Assert, Assert, Evaluate, Evaluate, Store]
    assert [s.message for s in body.stmts if isinstance(s, Assert)] == ["positive", "more than one", ""]


@pytest.mark.parametrize(
    "text",
    [
        "x: T.int32 = n + 1",
        "x: T.let[T.int32] = n + 1",
        "x: T.let = n + 1",
        "x = n + 1",
        "x = T.bind(n + 1)",
        "x: T.let['int32'] = n + 1",
    ],
)
def test_lets_reach_to_the_end_of_the_scope(text: str) -> None:
    body = func_of(text, "B[0] = x", "B[1] = x").body
    assert isinstance(body, LetStmt)
    assert isinstance(body.body, Seq)
    assert body_lines(text, "B[0] = x") == ["x: T.let[T.int32] = n + 1", "B[0] = x"]


def test_lets_of_literals() -> None:
    assert body_lines("x: T.int64 = 3", "T.evaluate(x)") == ["x: T.let[T.int64] = T.int64(3)", "T.evaluate(x)"]
    # a plain assignment of a literal only names it
    assert body_lines("x = 3", "B[x] = x") == ["B[3] = 3"]
    assert body_lines("with T.LetStmt(3) as x:", "    B[x] = x") == ["x: T.let[T.int32] = 3", "B[x] = x"]
    assert body_lines("with T.let(x, n):", "    B[x] = x", "B[1] = n") == [
        "with T.LetStmt(n) as x:",
        "    B[x] = x",
        "B[1] = n",
    ]


def test_a_pointer_let() -> None:
    given = 'p: T.let[T.handle("float32", "shared")] = T.call_extern("handle", "get")'
    match func_of(given, "T.call_packed(p)").body:
        case LetStmt(var=Var(type=PointerType(scope="shared"))):
            pass
        case other:
            pytest.fail(str(other))


def test_a_pointer_to_a_buffer_is_its_block() -> None:
    """A cast of a pointer moves nothing (RFC on vectorized TIR); what is cast is named by the buffer over it."""
    expected = ['V = T.decl_buffer((4,), "float32x4", data=A.data)', "T.call_packed(A.data)"]
    for declared, pointer in (
        ('p: T.let[T.handle("float32")]', "A.data"),
        ('p: T.handle("float32x4")', 'T.Cast("float32x4", A.data)'),
        ('p: T.let[T.handle("float32x4")]', 'T.Cast("handle", A.data)'),
        ("p: T.handle", 'T.reinterpret("handle", A.data)'),
        ("p", 'T.reinterpret(A.data, dtype="handle")'),
        ("p", 'T.reinterpret("handle", T.Cast("handle", A.data))'),
    ):
        view = 'V = T.decl_buffer((4,), "float32x4", data=p)'
        assert body_lines(f"{declared} = {pointer}", view, "T.call_packed(p)") == expected
    for pointer in ("T.reinterpret(T.handle().ty, A.data)", 'T.Cast("float32x4", A.data)'):  # the first is TVM's text
        view = f'V = T.decl_buffer((4,), "float32x4", data={pointer})'
        assert body_lines(view, "T.call_packed(A.data)") == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            'p: T.handle("float32x4") = T.Cast("float32x2", A.data)',
            "a pointer to float32x2, the name is declared for fl",
        ),
        ('p: T.let[T.handle("float32", "shared")] = A.data', "A points to the scope global, not to shared"),
        ('p: T.handle("float32x4") = T.Cast("float32x4", n)', "p has type float32x4\\*, its value float32x4"),
        ('V = T.decl_buffer((4,), "float32x4", data=T.Cast("handle", n))', "data= takes the data of a buffer"),
    ],
)
def test_casts_that_give_no_pointer(line: str, words: str) -> None:
    with pytest.raises(ScriptError, match=words):
        func_of(line)


def test_rebinding_in_order_is_shadowing_and_in_an_inner_scope_a_store() -> None:
    assert body_lines("x = n + 1", "x = x * 2", "B[0] = x") == [
        "x: T.let[T.int32] = n + 1",
        "x_1: T.let[T.int32] = x * 2",
        "B[0] = x_1",
    ]
    assert body_lines("x = n + 1", "if n < 3:", "    x = n + 2", "B[0] = x") == [
        'x = T.alloc_buffer((1,), "int32", scope="local")',
        "x[0] = n + 1",
        "if n < 3:",
        "    x[0] = n + 2",
        "B[0] = x[0]",
    ]
    with pytest.raises(ScriptError, match="x is bound already"):
        func_of("x: T.let = n + 1", "if n < 3:", "    x = n + 2", "B[0] = x")


def test_names_end_with_their_scope() -> None:
    with pytest.raises(ScriptError, match="unknown name x"):
        func_of("if n < 3:", "    x = n + 1", "B[0] = x")
    with pytest.raises(ScriptError, match="unknown name i"):
        func_of("for i in range(3):", "    B[i] = 0", "B[0] = i")


@pytest.mark.parametrize(
    ("call", "shape", "scope"),
    [
        ("T.alloc_buffer((4, 4))", 2, "global"),
        ('T.alloc_buffer(14, "float32")', 1, "global"),
        ('T.alloc_buffer([4], dtype="int8", scope="shared")', 1, "shared"),
        ("T.alloc_local((4,))", 1, "local"),
        ("T.alloc_shared((4,))", 1, "shared"),
        ("T.sblock_alloc_buffer(())", 0, "global"),
        ('T.allocate([4], "float32", "local")', 1, "local"),
        ("T.decl_buffer((4,))", 1, "global"),
        ('T.buffer_decl([4], "float32")', 1, "global"),
    ],
)
def test_allocations_reach_to_the_end_of_the_scope(call: str, shape: int, scope: str) -> None:
    body = func_of(f"C = {call}", "B[0] = 1", "B[1] = 1").body
    assert isinstance(body, Allocate)
    assert len(body.buffer.shape) == shape
    assert body.buffer.scope == scope
    assert isinstance(body.body, Seq)


@pytest.mark.parametrize(
    ("call", "shape", "dtype"),
    [
        ("A.view(4, 4)", (4, 4), "float32"),
        ("A.view((4, 4))", (4, 4), "float32"),
        ("A.view('float32x4')", (4,), "float32x4"),
        ("A.view('int8')", (64,), "int8"),
        ("T.decl_buffer((8,), 'float32x2', data=A.data)", (8,), "float32x2"),
        ("T.decl_buffer((8,), 'float16', A.data, elem_offset=2, align=4, offset_factor=1)", (8,), "float16"),
        ("T.buffer_decl([16], 'float32', data=A)", (16,), "float32"),
        ("T.Buffer((16,), data=A.data)", (16,), "float32"),
    ],
)
def test_views_share_the_block(call: str, shape: tuple[int, ...], dtype: str) -> None:
    func = func_of(f"C = {call}", "C[T.Ramp(0, 1, 1)] = C[0]" if len(shape) == 1 else "C[0, 0] = C[0, 1]")
    assert isinstance(func.body, DeclBuffer)
    view = func.body.buffer
    assert view.data is func.buffer_named("A").data
    assert [e.value for e in view.shape if isinstance(e, IntImm)] == list(shape)
    assert view.dtype is DType.parse(dtype)


def test_tiles_of_a_buffer() -> None:
    """TVM prints declarations so whose strides cut a buffer into tiles."""
    body = func_of(
        "C = T.alloc_buffer((4, 6), 'int8', scope='shared')",
        "D = C.partition(num_tiles=(2, 3))",
        "D[1, 2, 1, 0] = T.int8(1)",
    ).body
    assert isinstance(body, Allocate) and isinstance(body.body, DeclBuffer)
    tiles = body.body.buffer
    assert tiles.data is body.buffer.data and tiles.scope == "shared" and str(tiles.dtype) == "int8"
    assert [e.value for e in tiles.shape if isinstance(e, IntImm)] == [2, 3, 2, 2]
    assert [e.value for e in tiles.strides if isinstance(e, IntImm)] == [12, 2, 6, 1]


def test_a_view_inherits_the_scope_of_its_block() -> None:
    body = func_of(
        'C = T.alloc_buffer((4,), scope="shared")', "D = T.decl_buffer((2, 2), data=C.data)", "D[0, 0] = 1"
    ).body
    assert isinstance(body, Allocate)
    assert isinstance(body.body, DeclBuffer)
    assert body.body.buffer.scope == "shared"


def test_local_arrays_by_annotation() -> None:
    match func_of("x: T.float16[4, 2]", "x[0, 0] = 1").body:
        case Allocate(buffer=b):
            assert (str(b.dtype), b.scope, len(b.shape)) == ("float16", "local", 2)
        case other:
            pytest.fail(str(other))


def test_attributes() -> None:
    text = ['with T.attr(n, "key", 3):', "    B[0] = 1"]
    match func_of(*text).body:
        case AttrStmt(key="key", node=Var(name="n"), value=IntImm(value=3)):
            pass
        case other:
            pytest.fail(str(other))
    assert body_lines(*text) == text
    # as a statement it reaches to the end of the scope
    assert body_lines('T.attr("text", "key", "value")', "B[0] = 1") == [
        'with T.attr("text", "key", "value"):',
        "    B[0] = 1",
    ]
    assert body_lines('T.attr({"a": 1, "b": n})', "B[0] = 1") == [
        'with T.attr(0, "a", 1):',
        '    with T.attr(0, "b", n):',
        "        B[0] = 1",
    ]


def test_launched_threads_are_loops() -> None:
    for text in (
        ['bx = T.launch_thread("blockIdx.x", 4)', "B[bx] = 1"],
        ['with T.launch_thread("blockIdx.x", 4) as bx:', "    B[bx] = 1"],
        ['bx = T.env_thread("blockIdx.x")', "T.launch_thread(bx, 4)", "B[bx] = 1"],
        ['bx = T.env_thread("blockIdx.x")', "with T.launch_thread(bx, 4):", "    B[bx] = 1"],
    ):
        assert body_lines(*text) == ['for bx in T.thread_binding(4, thread="blockIdx.x"):', "    B[bx] = 1"]


def test_a_return_ends_the_function() -> None:
    func = parse_func("@T.prim_func\ndef f(x: T.float32) -> T.float32:\n    return x + 1")
    assert func.ret_type is DType("float", 32)
    assert isinstance(func.body, Evaluate)
    assert isinstance(func.body.value, Call)
    assert func.body.value.op == "ret"
    assert parse_func("@T.prim_func\ndef f(x: T.handle):\n    return").body is SKIP


def test_declared_handles() -> None:
    func = func_of('p = T.handle("float32")', "T.call_packed(p)")
    match func.body:
        case Evaluate(value=Call(args=(Var(type=PointerType()),))):
            pass
        case other:
            pytest.fail(str(other))
    assert parse_func("@T.prim_func\ndef f(x: T.handle):\n    pass").params[0].type is HANDLE
