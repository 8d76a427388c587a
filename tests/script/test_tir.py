"""The namespaces ``T`` and ``I``: decorated Python functions, and constructors for lambdas."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT32, INT32, INT64
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Binary, Call, Cast, Expr, IfThenElse, Select, Undef, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import ScriptError, parse_func, script
from verified_tir.ir.sugar import const
from verified_tir.script import ir as I
from verified_tir.script import tir as T
from verified_tir.script import tir as X

N = 16
PAD = 0.5
rows = TypeVar("rows")


@T.prim_func
def row_sum(A: T.Buffer((N, 14), "float32"), B: T.Buffer[(N,), "float32"]):  # noqa: F821
    for i in T.serial(N):
        B[i] = PAD
        for j in range(14):
            B[i] += A[i, j]


TEXT = """
@T.prim_func
def row_sum(A: T.Buffer((16, 14), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.serial(16):
        B[i] = 0.5
        for j in range(14):
            B[i] += A[i, j]
"""


def test_a_decorated_function_is_its_text() -> None:
    assert isinstance(row_sum, PrimFunc)
    assert row_sum.name == "row_sum"
    assert structural_equal(row_sum, parse_func(TEXT))


def test_the_body_is_never_run() -> None:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1) / T.float32(0)
        # a comment may stand anywhere
        A[1] = T.exp(A[0])

    assert "T.exp(A[0])" in script(f)


def test_names_of_the_enclosing_scope() -> None:
    M = 4
    flag = True

    def outer(width: int) -> PrimFunc:
        @T.prim_func(private=True, s_tir=True)
        def f(A: T.Buffer((N, 4), "int32")):
            for i in range(M):
                if flag:
                    A[i, width - 1] = width

        return f

    lines = script(outer(7)).splitlines()
    assert lines[-3:] == ["    for i in range(4):", "        if T.bool(True):", "            A[i, 6] = 7"]
    assert script(outer(8)) != script(outer(7))


def test_any_name_of_the_namespace() -> None:
    @X.prim_func
    def f(A: X.Buffer((4,), "float32")):
        A[0] = X.exp(A[1])

    assert "T.exp(A[1])" in script(f)


def test_type_variables_and_calls() -> None:
    @T.prim_func
    def f(A: T.Buffer((rows, 4), "float32"), B: T.Buffer(("k",), "float32"), n: T.int32, p: T.handle):
        row_sum(A, B)

    assert f.buffers[0].shape[0].dtype is INT64
    assert f.buffers[1].shape[0].dtype is INT32
    assert "Module.row_sum(A.data, B.data)" in script(f)


def test_modules() -> None:
    @I.ir_module
    class Module:
        other = 3

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            Module.g(A.data)

        @T.prim_func
        def g(A: T.Buffer((4,), "float32")):
            A[0] = 1

    assert isinstance(Module, IRModule)
    assert [name for name, _ in Module.functions] == ["f", "g"]
    assert "Module.g(A.data)" in script(Module)


def test_a_mistake_names_its_place_in_the_file() -> None:
    with pytest.raises(ScriptError) as caught:

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            A[0] = unheard_of  # noqa: F821

    assert caught.value.filename.endswith("test_tir.py")
    line = caught.value.source_line
    assert line.strip().startswith("A[0] = unheard_of")
    assert line[caught.value.column - 1 :].startswith("unheard_of")
    with open(caught.value.filename, encoding="utf-8") as file:
        assert file.read().splitlines()[caught.value.line - 1].startswith(line.rstrip())


def test_only_plain_values_of_the_enclosing_scope() -> None:
    things = [1, 2]
    with pytest.raises(ScriptError, match="things is a list of the enclosing scope; only int, float, bool and str"):

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            A[0] = things


def test_what_cannot_be_decorated() -> None:
    with pytest.raises(IRError, match="decorates a function"):
        T.prim_func(3)  # type: ignore[call-overload]
    with pytest.raises(IRError, match="decorates a function"):
        T.prim_func(lambda A: A)
    namespace: dict[str, Any] = {"T": T}
    exec("def f(n: T.int32):\n    pass", namespace)
    with pytest.raises(IRError, match="source of f cannot be found"):
        T.prim_func(namespace["f"])


# -- constructors -----------------------------------------------------------------------------------------------------

i, l, f, p = Var.fresh("i"), Var.fresh("l", INT64), Var.fresh("f", FLOAT32), Var.fresh("p", BOOL)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (T.min(i, 3), "T.min(i, 3)"),
        (T.max(0, l), "T.max(T.int64(0), l)"),
        (T.floordiv(i, 4), "i // 4"),
        (T.floormod(i, 4), "i % 4"),
        (T.truncdiv(i, 4), "T.truncdiv(i, 4)"),
        (T.truncmod(i, 4), "T.truncmod(i, 4)"),
        (T.ceildiv(i, 4), "(i + 4 - 1) // 4"),
        (T.And(i < 3, p, True), "i < 3 and p and T.bool(True)"),
        (T.Or(i < 3, p), "i < 3 or p"),
        (T.Not(p), "not p"),
        (T.if_then_else(p, f, 0), "T.if_then_else(p, f, T.float32(0.0))"),
        (T.Select(p, 1, i), "T.Select(p, 1, i)"),
        (T.exp(f), "T.exp(f)"),
        (T.sqrt(2), "T.sqrt(T.float32(2.0))"),
        (T.fma(f, 2, 1), "T.fma(f, T.float32(2.0), T.float32(1.0))"),
        (T.isnan(f), "T.isnan(f)"),
        (T.int32(3), "3"),
        (T.int64(i), 'T.Cast("int64", i)'),
        (T.float32(0), "T.float32(0.0)"),
        (T.float16("inf"), 'T.float16("inf")'),
        (T.bool(True), "T.bool(True)"),
        (T.Cast("float32", i), 'T.Cast("float32", i)'),
        (T.cast(i, "int8"), 'T.Cast("int8", i)'),
        (T.reinterpret("int32", f), 'T.reinterpret("int32", f)'),
        (T.Ramp(i, 1, 4), "T.Ramp(i, 1, 4)"),
        (T.Broadcast(f, 4), "T.Broadcast(f, 4)"),
        (T.undef(), 'T.undef(dtype="float32")'),
        (T.undef("int8"), 'T.undef(dtype="int8")'),
    ],
)
def test_constructors(made: Expr, text: str) -> None:
    assert script(made) == text


def test_constructors_build_nodes() -> None:
    assert isinstance(T.min(i, 3), Binary)
    assert isinstance(T.Select(p, 1, i), Select)
    assert isinstance(T.if_then_else(p, 1, i), IfThenElse)
    assert isinstance(T.exp(f), Call)
    assert isinstance(T.int8(i), Cast)
    assert T.undef() is Undef(FLOAT32)
    assert T.int32(3) is const(3)
    assert isinstance(T.int64(), Var)
    layout: Callable[..., list[Expr]] = lambda a, b: [a, b // 4, b % 4]  # noqa: E731
    assert [script(e) for e in layout(i, l)] == ["i", "l // T.int64(4)", "l % T.int64(4)"]


def test_buffers() -> None:
    b = T.Buffer((16, i), "int8", name="B", scope="shared")
    assert isinstance(b, Buffer)
    assert (b.name, b.scope, b.shape) == ("B", "shared", (const(16), i))
    assert isinstance(T.Buffer[14, "float32"], Buffer)
    assert isinstance(T.Buffer[(14,)], Buffer)


def test_wrong_uses() -> None:
    with pytest.raises(AttributeError, match=r"T\.grid has a meaning only inside a function"):
        _ = T.grid
    with pytest.raises(IRError, match=r"T\.exp takes 1 arguments, not 2"):
        T.exp(f, f)
    with pytest.raises(IRError, match="no truth value"):
        bool(T.min(i, 3) < 2)


def test_no_tvm_is_needed() -> None:
    program = "import sys; sys.modules['tvm'] = None; from verified_tir.script import tir as T; print(T.int32(3).value)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "3\n"
