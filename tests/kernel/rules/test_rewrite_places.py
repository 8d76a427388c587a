"""Expressions that are replaced: which one it is, in which lanes, and what wraps around it."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, accepted, body_of, buffer, gives, load, program, refused, store, variable
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import TRUE, Binary, Broadcast, Cast, Expr, LetExpr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.sugar import const
from verified_tir.schedule.edits import rewritten

ABN = AB + ", n: T.int32"
OVERFLOW = "what wrapped would overflow"


def wide(n: Var) -> Expr:
    """n as data: by way of int64."""
    return Cast(n.dtype, Cast(DType.parse("int64"), n))


def with_let(value: object, body: object) -> tuple[PrimFunc, Var]:
    """``B[0] = let v = value(n) in body(v, A[0], n)``."""
    f = program("B[0] = A[0]", ABN)
    v, n, a = Var.fresh("v"), variable(f, "n"), load(buffer(f, "A"), 0)
    return f.with_body(store(buffer(f, "B"), LetExpr(v, value(n, a), body(v, n, a)), 0)), n  # type: ignore[operator]


def test_a_variable_is_an_expression_too() -> None:
    f = program("B[0] = n + A[1]", ABN)
    a, n = buffer(f, "A"), variable(f, "n")
    gives(f, rewritten((), (0, 0), Binary("max", n, n)), "B[0] = T.max(n, n) + A[1]")
    refused(f, rewritten((), (0, 0), load(a, 1)), "equal: A[1] equals n (Refuted)")
    f = program("x: T.let[T.int32] = n\nB[0] = x", ABN)
    n = variable(f, "n")
    gives(f, rewritten((), (0,), Binary("max", n, n)), "x: T.let[T.int32] = T.max(n, n)\nB[0] = x")


def test_a_condition_of_a_while_loop_is_evaluated_again() -> None:
    """It is true at first; were it always, the loop would not end."""
    f = program("B[0] = 0\nwhile B[0] < 3:\n    B[0] = 3")
    refused(f, rewritten((1,), (0,), TRUE), "equal: ")
    accepted(program("B[0] = 0\nwhile B[0] < 3:\n    A[0] = 1"), rewritten((1,), (0,), TRUE))


def test_what_takes_the_place_binds_its_own_variables() -> None:
    f = program("B[0] = n\nB[1] = n", ABN)
    v, n = Var.fresh("v"), variable(f, "n")
    one, other = (LetExpr(v, n, Binary(op, v, v)) for op in ("max", "min"))
    accepted(f, rewritten((0,), (0,), one), rewritten((1,), (0,), other))
    refused(f, rewritten((0,), (0,), Binary("max", v, LetExpr(v, n, v))), "variable v is not in scope")


@pytest.mark.parametrize(("first", "fine"), [(0, True), (1, False)])
def test_equal_in_each_lane(first: int, fine: bool) -> None:
    f = program(f"B[0:4] = A[0:4] + T.Ramp({first}, 1, 4) // T.Broadcast(4, 4)")
    rule = rewritten((), (0, 1), Broadcast(const(0), 4))
    accepted(f, rule) if fine else refused(f, rule, "equal: ")


# -- data that wraps ---------------------------------------------------------------------------------------------------


def test_a_let_of_data_stays_data() -> None:
    """v * 65536 wraps as long as v is data; were it n, the product would overflow."""
    f, n = with_let(lambda n, a: wide(n), lambda v, n, a: a + v * 65536)
    refused(f, rewritten((), (0, 0), n), OVERFLOW)
    accepted(f, rewritten((), (0, 0), Binary("max", wide(n), wide(n))))


def test_what_was_an_index_may_be_another() -> None:
    f, n = with_let(lambda n, a: Binary("max", n, n), lambda v, n, a: v)
    accepted(f, rewritten((), (0, 0), n))
    f, n = with_let(lambda n, a: a, lambda v, n, a: Binary("max", n, n))
    accepted(f, rewritten((), (0, 1), n))
    f = program("x: T.let[T.int32] = T.max(n, n)\nB[0] = x", ABN)
    gives(f, rewritten((), (0,), variable(f, "n")), "x: T.let[T.int32] = n\nB[0] = x")


def test_what_was_data_may_be_other_data() -> None:
    f = program("x: T.let[T.int32] = T.max(A[0], A[0])\nB[0] = x", ABN)
    assert body_of(accepted(f, rewritten((), (0,), load(buffer(f, "A"), 0)))) == "x: T.let[T.int32] = A[0]\nB[0] = x"
    f = program("A[0] = n\nx: T.let[T.int32] = A[0]\nB[0] = x * 65536", ABN)
    refused(f, rewritten((1,), (0,), variable(f, "n")), OVERFLOW)


def test_all_that_leads_to_a_place_may_be_used() -> None:
    f = program("B[0] = T.if_then_else(n > 0, T.if_then_else(A[0] > 0, T.max(n, 0), 1), 2)", ABN)
    n = variable(f, "n")
    accepted(f, rewritten((), (0, 1, 1), n))
    refused(f, rewritten((), (0, 1, 2), n), "equal: n equals 1 (Refuted)")


def test_another_element_of_the_same_value() -> None:
    f = program("A[0] = 5\nA[1] = 5\nB[0] = A[0]")
    gives(f, rewritten((2,), (0,), load(buffer(f, "A"), 1)), "A[0] = 5\nA[1] = 5\nB[0] = A[1]")
