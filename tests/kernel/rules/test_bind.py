"""Values get names, and names their values back."""

from __future__ import annotations

from tests.kernel.programs import AB, buffer, gives, load, program, refused, variable
from verified_tir.ir.expr import Var, const
from verified_tir.kernel.rules.bind import Bind, Inline

ABN = AB + ", n: T.int32"


def test_bind() -> None:
    f = program("B[0] = A[1] + 1\nB[1] = A[1]")
    a, x = buffer(f, "A"), Var.fresh("x")
    gives(f, Bind((), x, load(a, 1)), "x: T.let[T.int32] = A[1]\nB[0] = x + 1\nB[1] = x")
    refused(program("A[0] = 1\nB[1] = A[1]"), Bind((), x, load(a, 1)), "buffer A is not alive here")


def test_bind_needs_the_value_to_stay_and_to_be_safe() -> None:
    f = program("A[0] = 1\nB[1] = A[1]")
    refused(f, Bind((), Var.fresh("x"), load(buffer(f, "A"), 1)), "the statement writes what the value reads")
    f = program("if n > 0:\n    B[0] = 4 // n", ABN)
    n = variable(f, "n")
    refused(f, Bind((), Var.fresh("x"), 4 // n), "safety: 4 // n: no division by zero (Refuted)")
    gives(f, Bind((0,), Var.fresh("x"), 4 // n), "if n > 0:\n    x: T.let[T.int32] = 4 // n\n    B[0] = x")
    refused(f, Bind((), Var.fresh("x"), load(buffer(f, "A"), 4)), "safety: A[4]: in bounds (Refuted)")
    refused(f, Bind((), n, const(3)), "the variable is not fresh, or not of the value's type")
    refused(f, Bind((), Var.fresh("x", "int64"), const(3)), "the variable is not fresh, or not of the value's type")


def test_inline() -> None:
    text = "x = A[0]\n{}[0] = 1\nB[1] = x"
    gives(program(text.format("B")), Inline(()), "B[0] = 1\nB[1] = A[0]")
    refused(program(text.format("A")), Inline(()), "the body writes what the value reads")
    refused(program("B[0] = 1"), Inline(()), "not a let")
