"""Values get names, and names their values back."""

from __future__ import annotations

from tests.kernel.programs import AB, accepted, body_of, buffer, gives, load, program, refused, variable
from verified_tir.ir.dtype import INT64
from verified_tir.ir.expr import Binary, Var
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk
from verified_tir.kernel.rules.bind import Bind, Inline
from verified_tir.schedule.edits import rewritten

ABN = AB + ", n: T.int32"


def test_bind() -> None:
    f = program("B[0] = A[1] + 1\nB[1] = A[1]")
    a, x = buffer(f, "A"), Var.fresh("x")
    gives(f, Bind((), x, load(a, 1)), "x: T.let[T.int32] = A[1]\nB[0] = x + 1\nB[1] = x")
    refused(program("A[0] = 1\nB[1] = A[1]"), Bind((), x, load(a, 1)), "buffer A is used outside of its lifetime")


def test_bind_needs_the_value_to_stay_and_to_be_safe() -> None:
    f = program("A[0] = 1\nB[1] = A[1]")
    refused(f, Bind((), Var.fresh("x"), load(buffer(f, "A"), 1)), "the statement writes what the value reads")
    f = program("if n > 0:\n    B[0] = 4 // n", ABN)
    n = variable(f, "n")
    refused(f, Bind((), Var.fresh("x"), 4 // n), "safety: 4 // n: no division by zero (Refuted)")
    gives(f, Bind((0,), Var.fresh("x"), 4 // n), "if n > 0:\n    x: T.let[T.int32] = 4 // n\n    B[0] = x")
    refused(f, Bind((), Var.fresh("x"), load(buffer(f, "A"), 4)), "safety: A[4]: in bounds (Refuted)")
    refused(f, Bind((), n, const(3)), "n is bound twice")
    refused(f, Bind((), Var.fresh("x", INT64), const(3)), "x has type int64, its value int32")


def test_inline() -> None:
    text = "x = A[0]\n{}[0] = 1\nB[1] = x"
    gives(program(text.format("B")), Inline(()), "B[0] = 1\nB[1] = A[0]")
    refused(program(text.format("A")), Inline(()), "the statement writes what the value reads")
    refused(program("B[0] = 1"), Inline(()), "not a let")


def test_a_store_writes_after_all_that_it_evaluates() -> None:
    f = program("A[0] = A[0] * 2 + A[0]")
    naming = Bind((), Var.fresh("x"), load(buffer(f, "A"), 0))
    gives(f, naming, "x: T.let[T.int32] = A[0]\nA[0] = x * 2 + x")
    gives(accepted(f, naming), Inline(()), "A[0] = A[0] * 2 + A[0]")
    f = program("for i in range(2):\n    A[0] = A[0] + 1")
    refused(f, Bind((), Var.fresh("x"), load(buffer(f, "A"), 0)), "the statement writes what the value reads")
    f = program("if B[0] == 0:\n    A[0] = A[0] + 1")
    refused(f, Bind((), Var.fresh("x"), load(buffer(f, "A"), 0)), "the statement writes what the value reads")
    f = program('A[0] = A[1] + T.call_extern("int32", "g")')
    refused(f, Bind((), Var.fresh("x"), load(buffer(f, "A"), 1)), "the statement writes what the value reads")


def test_a_name_that_is_put_in_later() -> None:
    f = program("A[0] = 1\nB[1] = A[0]\nA[1] = B[0]")
    x = Var.fresh("x")
    named = accepted(f, Bind((), x, load(buffer(f, "B"), 0), replace=False))
    assert body_of(named) == "x: T.let[T.int32] = B[0]\nA[0] = 1\nB[1] = A[0]\nA[1] = B[0]"
    gives(named, Inline(()), "A[0] = 1\nB[1] = A[0]\nA[1] = B[0]")
    used = accepted(named, rewritten((0, 2), (0,), x))
    assert body_of(used).endswith("A[1] = x")
    refused(used, Inline(()), "the statement writes what the value reads")
    f = program("B[A[1] % 4] = 1\nA[1] = B[0]")
    x = Var.fresh("x")
    named = accepted(f, Bind((), x, load(buffer(f, "B"), 0), replace=False))
    refused(named, rewritten((0, 1), (0,), x), "equal: x equals B[0] (Refuted)")


def test_what_is_evaluated_anyway_is_safe() -> None:
    text = "{first}\nB[0] = T.truncdiv(16, A[0])"
    f = program(text.format(first="B[1] = T.truncdiv(16, A[0])"))
    quotient = next(n for n in walk(f) if isinstance(n, Binary))
    gives(f, Bind((), Var.fresh("x"), quotient), "x: T.let[T.int32] = T.truncdiv(16, A[0])\nB[1] = x\nB[0] = x")
    f = program(text.format(first="B[1] = 1"))
    refused(f, Bind((), Var.fresh("x"), next(n for n in walk(f) if isinstance(n, Binary))), "a divisor that is undef")
    f = program(text.format(first="if B[1] == 0:\n    B[1] = T.truncdiv(16, A[0])"))
    refused(f, Bind((), Var.fresh("x"), next(n for n in walk(f) if isinstance(n, Binary) and n.op == "truncdiv")),
            "a divisor that is undef")  # fmt: skip
    f = program(text.format(first="T.assume(A[0] == T.undef('int32') and T.truncdiv(1, A[0]) == 1)"))
    refused(f, Bind((), Var.fresh("x"), next(n for n in walk(f) if isinstance(n, Binary) and n.op == "truncdiv")),
            "a divisor that is undef")  # fmt: skip
