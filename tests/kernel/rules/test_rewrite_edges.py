"""What is known on the way to an expression, and what may not take its place."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, accepted, buffer, gives, load, program, refused, store, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, TRUE, Binary, Cast, Expr, FloatImm, IfThenElse, LetExpr, Select, Var
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk
from verified_tir.kernel.rules.rewrite import Rewrite

ABN = AB + ", n: T.int32"
FLOATS = 'F: T.Buffer((4,), "float32")'


@pytest.mark.parametrize(
    ("condition", "where", "new", "fine"),
    [
        ("n > 0 and n >= 0", (0, 1), TRUE, True),
        ("n > 0 and n >= 0", (0, 0), TRUE, False),
        ("n > 0 or n <= 0", (0, 1), TRUE, True),
        ("n > 0 or n <= 0", (0, 0), FALSE, False),
        ("n <= 0 or n > 0", (0, 1), FALSE, False),
        ("T.if_then_else(n > 0, n >= 0, n < 1)", (0, 1), TRUE, True),
        ("T.if_then_else(n > 0, n >= 0, n < 1)", (0, 2), TRUE, True),
        ("T.if_then_else(n > 0, n >= 0, n < 1)", (0, 1), FALSE, False),
        ("T.if_then_else(n > 0, n >= 0, n < 1)", (0, 2), FALSE, False),
        ("T.if_then_else(n > 0, n >= 0, n < 1)", (0, 0), TRUE, False),
        ("T.if_then_else(n > 0, n >= 0, n < 1)", (0, 0), FALSE, False),
    ],
)
def test_an_operand_holds_where_the_next_one_is_evaluated(
    condition: str, where: tuple[int, ...], new: Expr, fine: bool
) -> None:
    f = program(f"if {condition}:\n    B[0] = 1", ABN)
    if fine:
        accepted(f, Rewrite((), where, new))
    else:
        refused(f, Rewrite((), where, new), "equal: ")


@pytest.mark.parametrize("op", ["and", "or"])
def test_operands_with_lanes_are_evaluated_both(op: str) -> None:
    f = program(f"B[0:4] = T.Select(A[0:4] > B[0:4] {op} B[0:4] < A[0:4], A[0:4], B[0:4])")
    both = next(n for n in walk(f) if isinstance(n, Binary) and n.op == op)
    accepted(f, Rewrite((), (0, 0, 1), both.a))


def test_what_was_safe_under_a_condition_is_safe_under_it_only() -> None:
    f = program("B[0] = T.if_then_else(n > 0, 8 // n, 0)", ABN)
    n = variable(f, "n")
    refused(f, Rewrite((), (0,), Select(n > 0, 8 // n, const(0))), "safety: 8 // n: no division by zero (Refuted)")
    accepted(f, Rewrite((), (0,), IfThenElse(n <= 0, const(0), 8 // n)))


def test_a_let_binds_in_its_body_only() -> None:
    f = program("B[0] = 1", ABN)
    v, w, n = Var.fresh("v"), Var.fresh("w"), variable(f, "n")
    f = f.with_body(store(buffer(f, "B"), LetExpr(v, n + 1, v - 1), 0))
    refused(f, Rewrite((), (0, 0), v), "v is not in scope here")
    accepted(f, Rewrite((), (0, 1), n))
    accepted(f, Rewrite((), (0,), n), Rewrite((), (0,), LetExpr(w, const(0), n + w)))
    refused(f, Rewrite((), (0,), LetExpr(w, const(0), n // 2 + w)), "equal: ")
    refused(f, Rewrite((), (0, 2), n), "there is no such expression in the statement")


def test_a_let_of_data_stays_one() -> None:
    f = program("B[0] = 1", ABN)
    v, n = Var.fresh("v"), variable(f, "n")
    data = Cast(n.dtype, Cast(n.dtype.parse("int64"), n))
    f = f.with_body(store(buffer(f, "B"), LetExpr(v, data, v * 65536), 0))
    refused(f, Rewrite((), (0, 0), n), "what wrapped would overflow")
    accepted(f, Rewrite((), (0, 1), v * 32768 * 2))


def test_arguments_of_pure_calls_only() -> None:
    f = program("F[0] = T.exp(F[1] * T.float32(1))", FLOATS)
    gives(f, Rewrite((), (0, 0), load(buffer(f, "F"), 1)), "F[0] = T.exp(F[1])")
    f = program('T.evaluate(T.call_extern("int32", "g", A[0] + 0))')
    refused(f, Rewrite((), (0, 0), load(buffer(f, "A"), 0)), "may take its argument by address and not by value")


def test_what_cannot_take_the_place() -> None:
    f = program("B[0] = 1", ABN)
    elsewhere = Buffer.declare("C", (4,), "int32")
    refused(f, Rewrite((), (0,), load(elsewhere, 0)), "buffer C is not alive here")
    refused(f, Rewrite((), (), const(1)), "the place names no expression")
    one = FloatImm(load(buffer(f, "A"), 0).dtype.parse("float32"), 1.0)
    refused(f, Rewrite((), (0,), one), "the old expression has type int32, the new one float32")
    f = program('T.assume(A[0] == T.undef("int32"))\nB[0] = 1')
    refused(f, Rewrite((0,), (0,), TRUE), "`x == undef` is no comparison that could be replaced")
