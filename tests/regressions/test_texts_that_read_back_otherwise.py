"""Texts that were accepted, and that were refused, or another program, when they were printed and read again.

Finding: parser | reads-back-as-another | parse_func
"""

from __future__ import annotations

import pytest

from tests.parts.roundtrip import assert_read_or_refused
from verified_tir.ir.script import ScriptError

HEAD = """@T.prim_func
def main(a: T.handle, q: T.handle("float32"), n: T.int32):
    A = T.match_buffer(a, (16, 14), "float32")
    """


@pytest.mark.parametrize("body", [
    "T.evaluate(a)", 'T.call_extern("int32", "f", a)', "V = T.decl_buffer((4,), data=a)\n    V[0] = 1.0",
    'with T.attr(a, "k", 1):\n        A[0, 0] = 1.0',
    'for i in T.serial(4, annotations={"k": a}):\n        A[0, i] = 1.0',
    'T.func_attr({"k": a})', "x: T.let[T.handle] = a\n    T.evaluate(x)",
    'for i in T.serial(4, annotations={"k": 1e400}):\n        A[0, i] = 1.0',
    'T.func_attr({"k": [-1e400, 1e400 - 1e400, 2.5]})',
    "for i in range(4):\n        if 0 <= T.Let(x, where={x: i}) < n:\n            A[0, i] = 1.0",
    'for i in T.serial(4, annotations={"k": {1: 2, "1": 3}}):\n        A[0, i] = 1.0',
])  # fmt: skip
def test_reads_back(body: str) -> None:
    assert not isinstance(assert_read_or_refused(HEAD + body + "\n"), ScriptError)


@pytest.mark.parametrize("wrap", ['T.attr({"k": 1})', 'x = T.launch_thread("threadIdx.x", 4)'])
def test_a_return_inside_a_wrapper_is_refused(wrap: str) -> None:
    assert isinstance(assert_read_or_refused(HEAD + wrap + "\n    return n\n"), ScriptError)


def test_a_return_behind_a_let_is_read() -> None:
    assert not isinstance(assert_read_or_refused(HEAD + "x: T.let[T.int32] = n\n    return x\n"), ScriptError)


@pytest.mark.parametrize(
    "head",
    [
        "T.where(T.Let(x, where={x: n}) < 4)\n        T.reads(A[0, 0])",
        "T.reads(A[T.Let(x, where={x: n}):T.Let(x, where={x: n}) + 4, 0])\n        T.writes(A[0, 0])",
        "vi = T.axis.spatial(16, T.Let(x, where={x: n}))\n        vj = T.axis.spatial(14, 0)",
    ],
)
def test_lets_in_the_head_of_a_block(head: str) -> None:
    body = f'with T.sblock("b"):\n        {head}\n        A[0, 0] = 1.0\n'
    assert not isinstance(assert_read_or_refused(HEAD + body), ScriptError)


@pytest.mark.parametrize("body", ['B = T.alloc_buffer((4,), "float{}")', "x = T.int{}()", 'V = A.view("float32x{}")'])
def test_types_of_thousands_of_digits(body: str) -> None:
    assert isinstance(assert_read_or_refused(HEAD + body.format("9" * 5000) + "\n"), ScriptError)


def test_a_result_type_of_thousands_of_digits() -> None:
    text = HEAD.replace("n: T.int32):", f"n: T.int32) -> T.int{'9' * 5000}:") + "pass\n"
    assert isinstance(assert_read_or_refused(text), ScriptError)
