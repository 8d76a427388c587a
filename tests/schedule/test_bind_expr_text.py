"""How an expression may be written for ``bind_expr``: as a person writes it, not letter for letter as it is printed."""

from __future__ import annotations

import pytest

from verified_tir import NotApplicable, Schedule

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((8,), "uint8"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("B"):
            B[i] = (T.cast(A[i], "float32") + T.float32(1e-5)) * T.float32(-0.5)
        with T.block("C"):
            C[i] = T.max(T.cast(A[i], "int32") // 16, T.if_then_else(i < 4, C[i], -2))
"""


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("B", "T.cast(A[i], 'float32')"),
        ("B", 'T.Cast("float32", A[i])'),
        ("B", "T.cast(A[i], 'float32') + 1e-5"),
        ("B", "((T.Cast('float32', A[i])+T.float32(1e-05)))"),
        ("B", "(T.cast(A[i], 'float32') + 1e-5) * -0.5"),
        ("C", "T.cast(A[i], 'int32') // 16"),
        ("C", "T.cast(A[i], 'int32') // T.int32(16)"),
        ("C", "T.if_then_else(i < 4, C[i], -2)"),
    ],
)
def test_forms_of_one_expression(block: str, text: str) -> None:
    s = Schedule(PROGRAM)
    s.bind_expr(block, text, "x")
    assert "x: T.let[" in s.script()


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("B", "T.cast(A[i], 'float64')"),
        ("B", "T.cast(A[i], 'float32') + 2e-5"),
        ("B", "T.cast(A[i], 'float32') + T.float16(1e-5)"),
        ("B", "1e-5 + T.cast(A[i], 'float32')"),
        ("C", "T.cast(A[i], 'int32') // 16.0"),
        ("C", "T.cast(A[i], 'int32') // T.int64(16)"),
        ("C", "T.cast(A[0], 'int32') // 16"),
        ("C", "T.if_then_else(i < 4, C[i], 2)"),
    ],
)
def test_other_expressions(block: str, text: str) -> None:
    with pytest.raises(NotApplicable, match="there is no expression"):
        Schedule(PROGRAM).bind_expr(block, text, "x")


def test_no_expression_at_all() -> None:
    with pytest.raises(NotApplicable, match="'A\\[i' is not an expression that can be read"):
        Schedule(PROGRAM).bind_expr("B", "A[i", "x")
