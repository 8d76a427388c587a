"""Pointers without a buffer, and calls that do not fit: a sentence with the place, next to what is accepted."""

from __future__ import annotations

import pytest

from verified_tir import NotApplicable, Schedule
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT32, PointerType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import SKIP, DeclBuffer, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.wellformed import problem

VIEW = """@T.prim_func
def f({parameters}, A: T.Buffer((32,), "float32")):
    A[1] = T.float32(1)
    {view}
    {use}
"""
NO_EXTENT = "d is declared over data, which is not a block here; .* d = T.match_buffer"


def refused(program: str, words: str, line: str) -> None:
    """The program is refused with these words, and this line marked."""
    with pytest.raises(NotApplicable, match=words) as caught:
        Schedule(program, name="f")
    assert f"{line}  # <-- here" in str(caught.value)


@pytest.mark.parametrize("handle", ["T.handle", 'T.handle("float32")'])
@pytest.mark.parametrize(
    "use",
    ["d[0] = A[0]", "A[0] = d[0]", "pass", "d.vstore([T.Ramp(0, 1, 4)], A[0:4], predicate=T.Broadcast(True, 4))"],
)
def test_a_view_of_a_pointer_without_a_buffer(handle: str, use: str) -> None:
    """As TVM prints programs whose buffers were made explicit."""
    view = 'd = T.decl_buffer((32,), "float32", data=data)'
    refused(VIEW.format(parameters=f"data: {handle}", view=view, use=use), NO_EXTENT, view)
    # the remedy is the one that the sentence names
    head = 'd = T.match_buffer(data, (32,), "float32")'
    inner = "e = T.decl_buffer((32,), data=d.data)"
    text = VIEW.format(parameters=f"data: {handle}", view=inner, use=use)
    Schedule(text.replace("    A[1]", f"    {head}\n    A[1]"))


def test_a_view_in_a_block() -> None:
    text = VIEW.format(parameters="data: T.handle", view="d = T.decl_buffer((32,), data=data)", use="{}").format("""
    for i in range(32):
        with T.sblock("b"):
            v = T.axis.spatial(32, i)
            A[v] = d[v]""")
    refused(text, NO_EXTENT, 'd = T.decl_buffer((32,), "float32", data=data)')


@pytest.mark.parametrize(
    ("use", "line"),
    [
        ("if data == data:\n        A[0] = T.float32(2)", "if data == data:"),
        ('q: T.let[T.handle("float32")] = data', 'q: T.let[T.handle("float32")] = data'),
        ("T.evaluate(data)", "T.evaluate(data)"),
        ("T.assume(data == data)", "T.assume(data == data)"),
    ],
)
def test_a_pointer_is_no_value(use: str, line: str) -> None:
    words = "variable (A|data) is not in scope as one number; proofs know no other values"
    refused(VIEW.format(parameters="data: T.handle", view="pass", use=use), words, line)
    Schedule(VIEW.format(parameters="data: T.handle", view='T.call_extern("int32", "g", data)', use="A[0] = A[1]"))


CALL = """@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32"), h: T.handle, n: T.int32):
        A[1] = T.float32(1)
        {call}

    @T.prim_func
    def g(A: T.Buffer((4,), "float32"), n: T.int32):
        A[0] = T.Cast("float32", n)

    @T.prim_func
    def pointer(h: T.handle, k: T.int32):
        T.call_extern("int32", "show", h)

    @T.prim_func
    def matched(h: T.handle):
        H = T.match_buffer(h, (4,), "float32")
        H[0] = T.float32(1)

    @T.prim_func
    def value(n: T.int32) -> T.int32:
        return n
"""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("Module.pointer(h, n)", r"h of pointer is a pointer without its extent; .* T.match_buffer\(h, shape, dtype\)"),
        ("Module.pointer(A.data, n)", "h of pointer is a pointer without its extent"),
        ("Module.matched(h)", "matched takes a whole buffer for h"),
        ("Module.g(h, n)", "g takes a whole buffer for A"),
        ("Module.g(A.data)", "g takes 2 arguments, not 1"),
        ("Module.g(n, n)", "g takes a handle for A, not a int32"),
        ("Module.g(A.data, A.data)", "g takes a int32 for n, not a handle"),
        ('Module.value(n, dtype="int32")', "value returns a value, and cannot be expanded"),
        ("Module.f(A.data, h, n)", "recursion has no meaning here: f calls f"),
    ],
)
def test_calls_that_do_not_fit(call: str, words: str) -> None:
    refused(CALL.format(call=call), words, call)


def test_calls_that_fit() -> None:
    Schedule(CALL.format(call="Module.g(A.data, n)"), name="f")
    Schedule(CALL.format(call="Module.matched(A.data)"), name="f")


def test_the_place_is_in_the_function_where_the_call_stands() -> None:
    text = (
        CALL.format(call="Module.again(A.data, n)").rstrip()
        + """

    @T.prim_func
    def again(A: T.Buffer((4,), "float32"), n: T.int32):
        A[2] = T.float32(1)
        Module.g(A.data)
"""
    )
    refused(text, "g takes 2 arguments, not 1", "Module.g(A.data)")


def test_a_module_without_functions() -> None:
    with pytest.raises(IRError, match="the module has none"):
        Schedule(IRModule(()))


A = Buffer.declare("A", (8,), "int32")
P, N = Var.fresh("p", HANDLE), Var.fresh("n", INT32)


@pytest.mark.parametrize(
    ("func", "words"),
    [
        (PrimFunc("f", (P, P), ((P, A),), SKIP), "p is bound twice"),
        (PrimFunc("f", (P, Var.fresh("q", HANDLE)), ((P, A), (P, A)), SKIP), "two of them for one"),
        (PrimFunc("f", (N,), ((P, A),), SKIP), "stands for no parameter"),
        (PrimFunc("f", (N,), ((N, A),), SKIP), "n of type int32 cannot be the buffer A"),
    ],
)
def test_functions_that_no_text_says(func: PrimFunc, words: str) -> None:
    found = problem(func)
    assert found is not None
    assert words in found
    assert problem(PrimFunc("f", (P,), ((P, A),), SKIP)) is None
    with pytest.raises(NotApplicable, match=words):
        Schedule(func)


def test_two_parameters_of_one_buffer() -> None:
    q = Var.fresh("q", HANDLE)
    with pytest.raises(NotApplicable, match="A is bound twice"):
        Schedule(PrimFunc("f", (P, q), ((P, A), (q, A)), SKIP))
    other = Buffer.declare("B", (8,), "int32")
    Schedule(PrimFunc("f", (P, q), ((P, A), (q, other)), SKIP))


def test_a_pointer_that_nothing_binds() -> None:
    stray = Buffer.declare("B", (8,), "int32", data=Var.fresh("r", PointerType(INT32, "global")))
    with pytest.raises(NotApplicable, match="B is declared over r, which is not a block here"):
        Schedule(PrimFunc("f", (P,), ((P, A),), DeclBuffer(stray, Store(stray, const(1), (const(0),)))))
