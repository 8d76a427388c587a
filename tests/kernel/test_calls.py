"""Calls of a module's functions: what they expand to, and which are refused."""

from __future__ import annotations

import pytest

from tests.kernel.programs import body_of
from verified_tir import parse
from verified_tir.ir.node import IRError
from verified_tir.kernel.calls import expand_calls

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
