"""Calls of a module's functions: what they expand to, and which are refused."""

from __future__ import annotations

import pytest

from tests.kernel.programs import body_of, program
from verified_tir import parse
from verified_tir.elaborate.calls import expand_calls
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.sugar import const
from verified_tir.kernel.begin import scalars_of
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.obligation import Misfit

MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4, 4), "int32"), B: T.Buffer((8,), "int32"), n: T.int32):
        {call}

    @T.prim_func
    def copy(X: T.Buffer((m,), "int32"), Y: T.Buffer((8,), "int32"), k: T.int32, m: T.int32):
        for i in range(8):
            Y[i] = X[i] + k

    @T.prim_func
    def whole(X: T.Buffer(("l",), "int32")):
        l = T.int32()
        X[l - 1] = 0

    @T.prim_func
    def first(Y: T.Buffer((8,), "int32")) -> T.int32:
        return Y[0]

    @T.prim_func
    def twice(Y: T.Buffer((8,), "int32")):
        Module.whole(Y.data)
        Module.whole(Y.data)
"""


def expanded(call: str) -> str:
    return body_of(expand_calls(parse(MODULE.format(call=call)), "main"))


def test_another_shape_is_another_view() -> None:
    assert expanded("Module.copy(A.data, B.data, n, 16)") == (
        'X = T.decl_buffer((16,), "int32", data=A.data)\n'
        'with T.sblock("copy"):\n'
        '    T.sblock_attr({"call": "copy"})\n'
        "    for i in range(8):\n"
        "        B[i] = X[i] + n"
    )


def test_symbols_are_solved_and_calls_nested() -> None:
    inner = 'with T.sblock("whole"):\n    T.sblock_attr({"call": "whole"})\n    B[T.Sub(8, 1)] = 0'
    indented = inner.replace("\n", "\n    ")
    assert expanded("Module.twice(B.data)") == (
        f'with T.sblock("twice"):\n    T.sblock_attr({{"call": "twice"}})\n    {indented}\n    {indented}'
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("Module.copy(A.data, B.data, n)", "copy takes 4 arguments, not 3"),
        ("Module.copy(A.data, B.data, B[0], 16)", "k of copy would be computed from memory; pass the buffer"),
        ("x: T.let[T.int32] = B[0]\n        Module.copy(A.data, B.data, x, 16)", "would be computed from memory"),
        ("Module.copy(A.data, B.data, T.undef('int32'), 16)", "would be computed from memory"),
        ("Module.copy(B.data, B.data, n, 8)", "B is passed to copy for Y, which it writes, and for X"),
        ("Module.copy(n, B.data, n, 8)", "copy takes a handle for X, not a int32"),
        ("Module.whole(A.data)", "the call of whole does not say what l is; make it a parameter"),
        ("Module.first(B.data)", "first returns a value, and cannot be expanded where it is called"),
        ("Module.main(A.data, B.data, n)", "recursion has no meaning here: main calls main"),
    ],
)
def test_calls_that_do_not_fit(call: str, words: str) -> None:
    with pytest.raises(IRError, match=words):
        expanded(call)


OPAQUE = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        {call}

    @T.prim_func
    def shown(x: T.handle, y: T.handle):
        e = T.int32()
        X = T.match_buffer(x, (8,), "int32", elem_offset=e)
        Y = T.match_buffer(y, (8,), "int32")
        T.evaluate(T.call_extern("int32", "show", {shown}))
        T.evaluate(X[0] + e)
"""


def test_calls_of_other_functions_stay_and_offsets_are_the_arguments() -> None:
    text = OPAQUE.format(call="T.evaluate(T.popcount(A[0]))\n        Module.shown(A.data, B.data)", shown="X.data")
    assert body_of(expand_calls(parse(text), "main")) == (
        "T.popcount(A[0])\n"
        'with T.sblock("shown"):\n'
        '    T.sblock_attr({"call": "shown"})\n'
        '    T.call_extern("int32", "show", A.data)\n'
        "    T.evaluate(T.Add(A[0], 0))"
    )


@pytest.mark.parametrize("shown", ["1", "X.data", "Y.data"])
def test_an_opaque_call_may_write_what_a_function_was_given(shown: str) -> None:
    """Also what it is not handed: the function's buffers may be reached in other ways."""
    with pytest.raises(IRError, match="A is passed to shown for X, which it writes, and for Y"):
        expand_calls(parse(OPAQUE.format(call="Module.shown(A.data, A.data)", shown=shown)), "main")


def test_each_scalar_has_one_value_of_its_type() -> None:
    f = program("A[0] = n + m", 'A: T.Buffer((4,), "int32"), n: T.int32, m: T.int32')
    n, m = scalars_of(f)
    other = Var.fresh("k")

    Arguments(f.buffers, ((n, const(1)), (m, n))).check(f)
    wrong: list[tuple[tuple[Var, Expr], ...]] = [((n, const(1)),), ((n, const(1)), (m, const(1, "int64")))]
    wrong += [((n, const(1)), (m, n), (v, const(k))) for v, k in ((m, 2), (n, 1), (other, 2))]
    for values in wrong:
        with pytest.raises(
            Misfit, match=r"f takes one value for each of its scalars and symbols \(n: int32, m: int32\)"
        ):
            Arguments(f.buffers, values).check(f)


HANDLES = """
@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, p: T.handle, q: T.int64, n: T.int32):
        A = T.match_buffer(a, (4, 4), "int32"{strides})
        {call}

    @T.prim_func
    def rows(x: T.handle, k: T.int32):
        s = T.int32()
        X = T.match_buffer(x, (4, 4), "int32", strides=(s, 1))
        X[0, 0] = k + s

    @T.prim_func
    def plain(x: T.handle, y: T.handle, k: T.int32):
        X = T.match_buffer(x, (4, 4), "int32")
        Y = T.match_buffer(y, (4, 4), "int32")
        T.evaluate(T.popcount(X[0, 0] + Y[0, 1]) + k)

    @T.prim_func
    def wide(x: T.handle):
        m = T.int64()
        X = T.match_buffer(x, (m, 4), "int32")
        X[m - m, 0] = 1

    @T.prim_func
    def show(h: T.handle):
        T.evaluate(T.call_extern("int32", "show", h))
"""


def with_handles(call: str, strides: str = "") -> str:
    return body_of(expand_calls(parse(HANDLES.format(call=call, strides=strides)), "main"))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("Module.rows(p, n)", "rows takes a whole buffer for x"),
        ("Module.wide(A.data)", "the call of wide does not say what m is; make it a parameter"),
        ("Module.show(p)", r"h of show is a pointer without its extent; .* of show: T.match_buffer\(h, shape"),
        ("Module.show(A.data)", r"h of show is a pointer without its extent; .* of show: T.match_buffer\(h, shape"),
        ("Module.plain(A.data, A.data, T.call_extern('int32', 'g'))", "k of plain would be computed from memory"),
        ("Module.plain(A.data, A.data, T.popcount(n))", "k of plain would be data, which wraps"),
    ],
)
def test_pointers_are_passed_as_buffers_only(call: str, words: str) -> None:
    with pytest.raises(IRError, match=words):
        with_handles(call)


def test_strides_are_the_arguments_and_what_is_only_read_may_be_passed_twice() -> None:
    strided = ", strides=(8, 1)"
    assert with_handles("Module.rows(A.data, n)", strided).endswith("A[0, 0] = n + 8")
    assert with_handles("Module.rows(A.data, n)").endswith("X[0, 0] = n + 4")  # those of a compact buffer
    assert "T.popcount(A[0, 0] + A[0, 1]) + n * 2" in with_handles("Module.plain(A.data, A.data, n * 2)")
    viewed = with_handles("Module.plain(A.data, A.data, n)", strided)
    assert "T.popcount(X[0, 0] + Y[0, 1])" in viewed and viewed.count("decl_buffer((4, 4)") == 2
