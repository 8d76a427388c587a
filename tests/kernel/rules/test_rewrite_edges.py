"""What is known on the way to an expression, and what may not take its place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import AB, accepted, body_of, buffer, gives, load, program, refused, store, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, TRUE, Binary, Broadcast, Cast, Expr, FloatImm, IfThenElse, LetExpr, Select, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import walk
from verified_tir.kernel.rules.rewrite import Edit, ExprPath, Rewrite
from verified_tir.schedule.edits import rewritten

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
        accepted(f, rewritten((), where, new))
    else:
        refused(f, rewritten((), where, new), "equal: ")


@pytest.mark.parametrize("op", ["and", "or"])
def test_operands_with_lanes_are_evaluated_both(op: str) -> None:
    f = program(f"B[0:4] = T.Select(A[0:4] > B[0:4] {op} B[0:4] < A[0:4], A[0:4], B[0:4])")
    both = next(n for n in walk(f) if isinstance(n, Binary) and n.op == op)
    accepted(f, rewritten((), (0, 0, 1), both.a))


def test_what_was_safe_under_a_condition_is_safe_under_it_only() -> None:
    f = program("B[0] = T.if_then_else(n > 0, 8 // n, 0)", ABN)
    n = variable(f, "n")
    refused(f, rewritten((), (0,), Select(n > 0, 8 // n, const(0))), "safety: 8 // n: no division by zero (Refuted)")
    accepted(f, rewritten((), (0,), IfThenElse(n <= 0, const(0), 8 // n)))


def test_a_let_binds_in_its_body_only() -> None:
    f = program("B[0] = 1", ABN)
    v, w, n = Var.fresh("v"), Var.fresh("w"), variable(f, "n")
    f = f.with_body(store(buffer(f, "B"), LetExpr(v, n + 1, v - 1), 0))
    refused(f, rewritten((), (0, 0), v), "variable v is not in scope")
    accepted(f, rewritten((), (0, 1), n))
    accepted(f, rewritten((), (0,), n), rewritten((), (0,), LetExpr(w, const(0), n + w)))
    refused(f, rewritten((), (0,), LetExpr(w, const(0), n // 2 + w)), "equal: ")
    refused(f, rewritten((), (0, 2), n), "there is no such expression in the statement")


def test_a_let_of_data_stays_one() -> None:
    f = program("B[0] = 1", ABN)
    v, n = Var.fresh("v"), variable(f, "n")
    data = Cast(n.dtype, Cast(n.dtype.parse("int64"), n))
    f = f.with_body(store(buffer(f, "B"), LetExpr(v, data, v * 65536), 0))
    refused(f, rewritten((), (0, 0), n), "what wrapped would overflow")
    accepted(f, rewritten((), (0, 1), v * 32768 * 2))


def test_arguments_of_pure_calls_only() -> None:
    f = program("F[0] = T.exp(F[1] * T.float32(1))", FLOATS)
    gives(f, rewritten((), (0, 0), load(buffer(f, "F"), 1)), "F[0] = T.exp(F[1])")
    f = program('T.evaluate(T.call_extern("int32", "g", A[0] + 0))')
    refused(f, rewritten((), (0, 0), load(buffer(f, "A"), 0)), "may take its argument by address and not by value")


def test_what_cannot_take_the_place() -> None:
    f = program("B[0] = 1", ABN)
    elsewhere = Buffer.declare("C", (4,), "int32")
    refused(f, rewritten((), (0,), load(elsewhere, 0)), "buffer C is used outside of its lifetime")
    refused(f, rewritten((), (), const(1)), "the place names no expression")
    loop = program("for i in range(4):\n    A[0] = 1")
    refused(loop, rewritten((), (), load(buffer(loop, "A"), 0)), "the place names no expression, and no store")
    one = FloatImm(load(buffer(f, "A"), 0).dtype.parse("float32"), 1.0)
    refused(f, rewritten((), (0,), one), "the old expression has type int32, the new one float32")
    f = program('T.assume(A[0] == T.undef("int32"))\nB[0] = 1')
    refused(f, rewritten((0,), (0,), TRUE), "`x == undef` is not a comparison that could be replaced")


# -- a statement that makes an opaque call -----------------------------------------------------------------------------

CALL = 'T.call_extern("int32", "g", A.data)'


@pytest.mark.parametrize(
    ("text", "path", "where", "new"),
    [
        (f"A[0] = 5\nB[0] = {CALL} + A[0]", (1,), (0, 1), const(5)),
        (f"B[0] = T.if_then_else(A[0] == 1, {CALL} + A[0], 0)", (), (0, 1, 1), const(1)),
    ],
)
def test_a_load_may_come_after_a_call_that_writes(text: str, path: Path, where: ExprPath, new: Expr) -> None:
    refused(program(text), rewritten(path, where, new), "equal: ")


def test_a_let_may_have_read_what_the_call_writes() -> None:
    f = program(f"B[0] = {CALL} + A[0]")
    v, a = Var.fresh("v"), load(buffer(f, "A"), 0)
    call = f.body.value.a  # type: ignore[attr-defined]
    let = LetExpr(v, a, binary("add", call, binary("sub", v, a)))
    f = f.with_body(store(buffer(f, "B"), let, 0))
    refused(f, rewritten((), (0, 1, 1), const(0)), "not in scope")


def test_what_reads_nothing_is_rewritten_beside_a_call() -> None:
    f = program(f"B[n * 1] = {CALL}", AB + ", n: T.int32")
    assert "B[n] = " in body_of(accepted(f, rewritten((), (1,), variable(f, "n"))))


# -- many edits at once ------------------------------------------------------------------------------------------------


def test_many_edits_are_one_step() -> None:
    f = program("for i in range(4):\n    B[i * 1] = A[i + 0] + A[0 + i]\n    A[i * 1] = 0")
    i = variable(f, "i")
    edits = (Edit((0,), (1,), i), Edit((0,), (0, 0, 0), i), Edit((0,), (0, 1, 0), i), Edit((1,), (1,), i))
    done = accepted(f, Rewrite((0,), edits))
    assert body_of(done) == "for i in range(4):\n    B[i] = A[i] + A[i]\n    A[i] = 0"
    refused(f, Rewrite((0,), (*edits[:3], Edit((1,), (1,), i + 1))), "equal: ")
    refused(f, Rewrite((0,), (*edits, Edit((2,), (1,), i))), "no statement at step 2")


def test_two_edits_may_turn_data_into_index_arithmetic_together() -> None:
    """Each alone leaves a load in the sum, which wraps; both leave none."""
    f = program("B[0] = (A[0] * 0 + n) + (A[0] * 0 + n)", AB + ", n: T.int32")
    n = variable(f, "n")
    one, two = Edit((), (0, 0), n), Edit((), (0, 1), n)
    accepted(f, Rewrite((), (one,)))
    accepted(f, Rewrite((), (two,)))
    refused(f, Rewrite((), (one, two)), "what wrapped would overflow")


def test_edits_are_asked_about_in_the_memory_of_the_old_program() -> None:
    f = program("A[0] = 1 + 1\nB[0] = A[0]")
    accepted(f, Rewrite((), (Edit((0,), (0,), const(2)), Edit((1,), (0,), const(2)))))
    refused(f, Rewrite((), (Edit((0,), (0,), const(2)), Edit((1,), (0,), const(3)))), "equal: ")


def test_a_store_goes_where_it_went() -> None:
    f = program("B[n * 1] = 1\nA[0] = 1", AB + ", n: T.int32")
    n, a, b = variable(f, "n"), buffer(f, "A"), buffer(f, "B")
    accepted(f, Rewrite((), (Edit((0,), (), load(b, n)),)))
    refused(f, Rewrite((), (Edit((0,), (), load(b, n + 1)),)), "(Refuted)")
    refused(f, Rewrite((), (Edit((0,), (), load(a, n)),)), "A is not a view of the block of B")
    refused(f, Rewrite((), (Edit((0,), (), n),)), "no store that could go")
    refused(f, Rewrite((), (Edit((), (), n),)), "no store that could go")


def test_a_let_of_a_vector_has_no_value_and_is_passed_by() -> None:
    f = program("B[0:4] = A[0:4]", ABN)
    assert isinstance(f.body, Store)
    value, n = f.body.value, variable(f, "n")
    v = Var.fresh("v", value.dtype)
    f = f.with_body(replace(f.body, value=LetExpr(v, value, v + Broadcast(n + n, 4))))
    accepted(f, rewritten((), (0, 1, 1, 0), n * 2))
    refused(f, rewritten((), (0, 1, 1, 0), n), "equals n + n (Refuted)")
