"""Under which condition a place is reached: else branches, arms that are not taken, later rounds of a ``while``."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, accepted, buffer, program, refused, steps, store, variable
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Call, StringImm, Var
from verified_tir.ir.stmt import If, LetStmt, Stmt, seq
from verified_tir.ir.sugar import binary
from verified_tir.kernel.rules.insert import Insert
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.rule_builders import with_else

PARAMS = AB + ", n: T.int32"


def test_an_inserted_else_runs_where_the_condition_is_false() -> None:
    f = program("if A[0] == 1:\n    A[0] = 1\n    B[0] = 2", PARAMS)
    a = buffer(f, "A")
    refused(steps(f, with_else(())), Insert((1,), store(a, 1, 0)), "writes the bits that are there already")
    g = program("if A[0] != 1:\n    A[0] = 3\n    B[0] = 2", PARAMS)
    accepted(g, with_else(()), Insert((1,), store(buffer(g, "A"), 1, 0)))


def test_what_an_inserted_else_evaluates_is_safe_where_it_runs() -> None:
    f = program("if 0 <= n and n < 4:\n    B[n] = A[n]\n    A[0] = 1", PARAMS)
    a, n = buffer(f, "A"), variable(f, "n")
    refused(steps(f, with_else(())), Insert((1,), store(a, a[n], n)), "in bounds")


def test_the_false_arm_is_evaluated_where_the_condition_is_false() -> None:
    f = program("B[0] = T.if_then_else(n > 0, n, n)", PARAMS)
    n = variable(f, "n")
    least, most = binary("min", n, 0), binary("max", n, 0)
    for arm, same, other in ((1, most, least), (2, least, most)):
        accepted(f, rewritten((), (0, arm), same))
        refused(f, rewritten((), (0, arm), other), "equals n")


def test_the_right_operand_is_evaluated_where_the_left_one_does_not_decide() -> None:
    f = program("if n < 0 or n == 3:\n    B[0] = 1", PARAMS)
    n = variable(f, "n")
    accepted(f, rewritten((), (0, 1), binary("eq", binary("max", n, 0), 3)))
    refused(f, rewritten((), (0, 1), binary("eq", n, binary("max", n, 3))), "equals n == 3")
    g = program("if n < 0 and n == -3:\n    B[0] = 1", PARAMS)
    n = variable(g, "n")
    accepted(g, rewritten((), (0, 1), binary("eq", binary("min", n, 0), -3)))


def test_what_was_known_before_a_while_loop_is_not_known_in_its_rounds() -> None:
    text = """
A[0] = 0
A[1] = 5
while A[0] < 3:
    if A[{k}] == {v}:
        B[0] = 1
    A[0] = A[0] + 1
"""
    refused(program(text.format(k=0, v=0)), moves.decide((2, 0, 0), True), "the branch is always taken here")
    refused(program(text.format(k=1, v=5)), moves.decide((2, 0, 0), False), "the statement is still run")
    accepted(program(text.format(k=1, v=5)), moves.decide((2, 0, 0), True))


@pytest.mark.parametrize("how", ["condition", "let"])
def test_what_was_known_before_an_opaque_call_is_not_known_after_it(how: str) -> None:
    """The call stands where a condition or a value is computed; it may store to everything."""
    f = program("A[0] = 0\nif A[0] == 0:\n    B[0] = 1")
    accepted(f, moves.decide((1,), True))
    first, branch = f.body.stmts  # type: ignore[attr-defined]
    answer = Call(INT32, "call_extern", (StringImm("ask"),))
    around: Stmt = (
        If(binary("gt", answer, 0), branch) if how == "condition" else LetStmt(Var.fresh("x"), answer, branch)
    )
    asked = f.with_body(seq(first, around))
    refused(asked, moves.decide((1, 0), True), "the branch is always taken here")


def test_an_else_branch_runs_where_the_condition_is_false() -> None:
    f = program("if n > 0:\n    B[0] = 1\nelse:\n    if n > 0:\n        B[1] = 1", PARAMS)
    accepted(f, moves.decide((1,), False))
    refused(f, moves.decide((1,), True), "the branch is always taken here")
