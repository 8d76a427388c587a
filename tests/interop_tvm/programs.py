"""Programs as TVM takes them, and what the tests of its client share."""

from __future__ import annotations

from typing import Any

import tvm.script

HEAD = "# from tvm.script import ir as I\n# from tvm.script import tirx as T\n"


def function(text: str) -> Any:
    """The ``PrimFunc`` of a text."""
    return tvm.script.from_source(HEAD + text)


def module(text: str) -> Any:
    """The ``IRModule`` of one function's text, in which it has its own name."""
    return tvm.IRModule({"f": function(text).with_attr("global_symbol", "f")})


RECURRENCE = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] * 2 + A[vi, vk]
"""
"""Declared a reduction; TVM reorders it."""

TWO_STAGES = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((16,))
    for i in range(16):
        with T.sblock("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(16):
        with T.sblock("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + T.float32(1)
"""

SYMBOLIC = """
@T.prim_func(s_tir=True)
def f(a: T.handle, b: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, j in T.grid(n, m):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]
"""

DIFFERENCE = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = A[i] - A[i]
"""
"""TVM simplifies it to zero."""
