"""Values that get no name where they stand, and what a statement evaluates for sure."""

from __future__ import annotations

import pytest

from tests.kernel.programs import accepted, body_of, buffer, gives, load, program, refused, variable
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Call, Ramp, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import walk
from verified_tir.kernel.rules.bind import Bind, Inline

CALL = 'T.call_extern("int32", "g")'


def test_an_opaque_call_is_evaluated_where_it_stands_and_as_often() -> None:
    f = program(f"B[0] = {CALL}\nB[1] = {CALL}")
    call = next(n for n in walk(f) if isinstance(n, Call))
    for replace in (True, False):
        refused(f, Bind((), Var.fresh("x"), call, replace), "an opaque call is evaluated where it stands, and once")
    for text in ("B[0] = x\nB[1] = x", "B[0] = 1"):
        f = program(f"x: T.let[T.int32] = {CALL}\n{text}")
        refused(f, Inline(()), "an opaque call is evaluated where it stands, and once")
    gives(program("x: T.let[T.float32] = T.exp(F[0])\nF[1] = x", 'F: T.Buffer((4,), "float32")'), Inline(()),
          "F[1] = T.exp(F[0])")  # fmt: skip


def test_pure_calls_take_names_and_undef_does_not() -> None:
    f = program("F[1] = T.exp(F[0])", 'F: T.Buffer((4,), "float32")')
    call = next(n for n in walk(f) if isinstance(n, Call))
    gives(f, Bind((), Var.fresh("x", DType.parse("float32")), call), "x: T.let[T.float32] = T.exp(F[0])\nF[1] = x")
    f = program('B[0] = T.undef("int32") + A[0]')
    total = next(n for n in walk(f) if isinstance(n, Binary))
    refused(f, Bind((), Var.fresh("x"), total), "undef cannot be bound")


def test_a_value_that_another_iteration_writes_is_not_read_in_a_parallel_loop() -> None:
    text = "for i in T.{}(2):\n    if i == 0:\n        A[0] = 1\n    B[i] = i"
    for kind, fine in (("serial", True), ("parallel", False)):
        f = program(text.format(kind))
        rule = Bind((0, 1), Var.fresh("x"), load(buffer(f, "A"), 0))
        if fine:
            accepted(f, rule)
        else:
            refused(f, rule, "(Refuted)")


def test_a_value_mentions_what_is_in_scope() -> None:
    f = program("for i in range(4):\n    B[i] = i + 1\nB[0] = 1")
    i = variable(f, "i")
    refused(f, Bind((1,), Var.fresh("x"), i + 1), "variable i is not in scope")
    gives(f, Bind((0, 0), Var.fresh("x"), i + 1),
          "for i in range(4):\n    x: T.let[T.int32] = i + 1\n    B[i] = x\nB[0] = 1")  # fmt: skip


def test_a_vector_is_safe_in_each_of_its_lanes() -> None:
    f = program("B[0:4] = A[0:4]")
    a, x = buffer(f, "A"), Var.fresh("x", DType.parse("int32x4"))
    whole, shifted = (load(a, Ramp(const(k), const(1), 4)) for k in (0, 1))
    assert body_of(accepted(f, Bind((), x, whole))).endswith("\nB[0:4] = x")
    refused(f, Bind((), x, shifted), "in bounds (Refuted)")


def quotient(func: PrimFunc) -> Binary:
    return next(n for n in walk(func) if isinstance(n, Binary) and n.op == "truncdiv")


@pytest.mark.parametrize(
    ("first", "known"),
    [
        ("B[1] = T.truncdiv(16, A[0])", True),
        ("if T.truncdiv(16, A[0]) == 2:\n    B[1] = 1", True),
        ("y: T.let[T.int32] = T.truncdiv(16, A[0])\nB[1] = y", True),
        ('with T.block("b"):\n    B[1] = T.truncdiv(16, A[0])', True),
        ("B[1] = T.if_then_else(B[0] == 0, T.truncdiv(16, A[0]), 0)", False),
        ("if B[0] == 0 and T.truncdiv(16, A[0]) == 2:\n    B[1] = 1", False),
        ("for i in range(B[0]):\n    B[1] = T.truncdiv(16, A[0])", False),
        ("while B[0] > T.truncdiv(16, A[0]):\n    B[0] = 0", False),
        (f"B[1] = {CALL} + T.truncdiv(16, A[0])", False),
        ("B[0:2] = T.Broadcast(T.truncdiv(16, A[0]), 2)", False),
    ],
)
def test_what_the_statement_evaluates_first_is_safe(first: str, known: bool) -> None:
    f = program(f"{first}\nB[3] = T.truncdiv(16, A[0])")
    rule = Bind((), Var.fresh("x"), quotient(f), replace=False)
    if known:
        assert "x: T.let[T.int32] = T.truncdiv(16, A[0])" in body(f, rule)
    else:
        refused(f, rule, "a divisor that is undef (Refuted)")


@pytest.mark.parametrize("first", [f"for i in range({CALL}):", f"if {CALL} > 0:", f"while {CALL} > 0:"])
def test_of_what_an_opaque_call_is_evaluated_with_nothing_is_known(first: str) -> None:
    f = program(f"{first}\n    B[0] = n + 1", "B: T.Buffer((4,), 'int32'), n: T.int32")
    x, n = Var.fresh("x"), variable(f, "n")
    gives(f, Bind((), x, n // 2), f"x: T.let[T.int32] = n // 2\n{first}\n    B[0] = n + 1")


@pytest.mark.parametrize(
    ("first", "known"),
    [
        ("if B[0] == 0:\n    B[1] = T.truncdiv(16, A[0])\nelse:\n    B[2] = T.truncdiv(16, A[0])", True),
        ("if B[0] == 0:\n    B[1] = T.truncdiv(16, A[0])", False),
        ("if B[0] == 0:\n    B[1] = T.truncdiv(16, A[0])\nelse:\n    A[0] = 1\n    B[2] = T.truncdiv(16, A[0])", False),
    ],
)
def test_what_each_arm_evaluates_first_is_safe(first: str, known: bool) -> None:
    test_what_the_statement_evaluates_first_is_safe(first, known)


def body(func: PrimFunc, rule: Bind) -> str:
    return body_of(accepted(func, rule))


def test_what_is_stored_need_not_be_defined() -> None:
    """A store of what nobody wrote is one; an index that nobody wrote is undefined behaviour."""
    f = program("t = T.alloc_buffer((1,), 'int32')\nB[0] = t[0]")
    t, v = buffer(f, "t"), Var.fresh("v")
    near = binary("min", binary("max", load(t, 0), const(0)), const(3))
    refused(f, Bind((0,), v, load(buffer(f, "A"), near), replace=False), "undef (Refuted)")
    g = program("t = T.alloc_buffer((1,), 'int32')\nt[0] = 9\nB[0] = t[0]")
    near = binary("min", binary("max", load(buffer(g, "t"), 0), const(0)), const(3))
    accepted(g, Bind((0, 1), v, load(buffer(g, "A"), near), replace=False))
