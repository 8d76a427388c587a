"""A let of data around index arithmetic is data: what is computed with it wraps.

Machine code took it for index arithmetic, as its body is, and added with ``nsw``: LLVM made ``x + 1 > x`` true.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, build
from verified_tir.semantics.interpreter import run

MOST = 2**31 - 1

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((2,), "int32"), n: T.int32):
    x = T.int32()
    y = T.int32()
    A[0] = T.Select({sum} > n, 1, 0)
"""


@pytest.mark.parametrize(
    "text",
    [
        "T.Let(n, where={x: A[1]}) + 1",
        "1 + T.Let(n, where={x: A[1]})",
        "T.Let(T.Let(n, where={x: 1}), where={y: A[1]}) + 1",
        "T.Let(T.Let(n, where={x: A[1]}), where={y: 1}) + 1",
        "T.Let(n, where={x: T.Cast('int32', T.int8(1))}) - (-1)",
    ],
)
def test_what_is_computed_with_it_wraps(text: str) -> None:
    s = Schedule(PROGRAM.replace("{sum}", text))
    a = np.full(2, 7, np.int32)
    want = run(s.theorem.before, {"A": a.copy(), "n": MOST}).arrays["A"]
    f = build(s, cache=False)
    f(a, MOST)
    assert a.tolist() == want.tolist() == [0, 7]
    assert "nsw" not in f.llvm_ir


def test_a_let_of_index_arithmetic_does_not_overflow() -> None:
    s = Schedule(
        PROGRAM.replace("A[0] =", "if n < 100:\n        A[0] =").replace("{sum}", "T.Let(n, where={x: n}) + 1")
    )
    f = build(s, cache=False)
    a = np.zeros(2, np.int32)
    f(a, 5)
    assert a.tolist() == [1, 0]
    assert "add nsw" in f.llvm_ir
