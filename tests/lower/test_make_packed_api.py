"""MakePackedAPI: attributes of the calling convention, parameters accessed through declared buffers."""

from __future__ import annotations

from tests.lower.lower_support import lowered
from verified_tir import script
from verified_tir.lower.flatten_buffer import FlattenBuffer
from verified_tir.lower.make_packed_api import MakePackedAPI

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((2, 4), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
    for i, j in T.grid(2, 4):
        B[i * 4 + j] = A[i, j]
"""


def test_the_calling_convention() -> None:
    theorem, records = lowered(PROGRAM, FlattenBuffer() >> MakePackedAPI() >> MakePackedAPI())
    assert (
        script(theorem.after).split("\n\n")[1]
        == """\
@T.prim_func(s_tir=True)
def f(A: T.Buffer((2, 4), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
    T.func_attr({"global_symbol": "f", "calling_conv": 1})
    B_arg = T.decl_buffer((8,), "float32", data=B.data)
    A_1 = T.decl_buffer((8,), "float32", data=A.data)
    for i, j in T.grid(2, 4):
        B_arg[i * 4 + j] = A_1[4 * i + j]"""
    )
    assert records[2].rules == 0


def test_attributes_that_are_there_stay() -> None:
    text = PROGRAM.replace("n: T.int32):\n", 'n: T.int32):\n    T.func_attr({"global_symbol": "main", "x": 1})\n')
    theorem, _ = lowered(text, MakePackedAPI())
    assert 'T.func_attr({"global_symbol": "main", "x": 1, "calling_conv": 1})' in script(theorem.after)


def test_strides_are_accessed_as_they_are() -> None:
    text = PROGRAM.replace('(2, 4), "float32"', '(2, 4), "float32", strides=[8, 1]')
    theorem, _ = lowered(text, MakePackedAPI())
    assert "B_arg[i * 4 + j] = A[i, j]" in script(theorem.after)
