"""A let within an expression binds its variable in its body, and nowhere else."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, accepted, buffer, program, refused, variable, why
from tests.kernel.rules.test_reorder import hole, link, loop, whole
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32, VOID, DType
from verified_tir.ir.expr import Broadcast, Call, LetExpr, Load, Shuffle, Var
from verified_tir.ir.stmt import Evaluate
from verified_tir.ir.sugar import const
from verified_tir.kernel.entry import prove_program
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.rules.rewrite import Edit, Rewrite
from verified_tir.logic import formula as f
from verified_tir.semantics.encode import Encoded, Encoder, Safety, in_range


def test_a_witness_may_bind_a_variable_of_the_program() -> None:
    """What is then said of an iteration is said of this one."""
    func = program("for i in range(10):\n    A[i + 1] = A[i]", 'A: T.Buffer((64,), "int32")')
    i, p, t = variable(func, "i"), Var.fresh("p"), Var.fresh("t")
    witness = LetExpr(t, i, LetExpr(i, t * 2, const(9) - t))
    reversal = whole(loop(p, 10, hole(0)), link(0, 0, (const(9) - p,), (witness,)), leaves=(((0,), 1),))
    refused(func, reversal, "iterations change their order")
    alone = program("for i in range(10):\n    A[i + 1] = 7", 'A: T.Buffer((64,), "int32")')
    i = variable(alone, "i")
    witness = LetExpr(t, i, LetExpr(i, t * 2, const(9) - t))
    accepted(alone, whole(loop(p, 10, hole(0)), link(0, 0, (const(9) - p,), (witness,)), leaves=(((0,), 1),)))


def test_an_edit_may_bind_a_variable_of_the_program() -> None:
    """The next edit of the statement sees what the variable was."""
    func = program("for i in range(4):\n    B[i] = A[0]")
    i, value = variable(func, "i"), Load(buffer(func, "A"), (const(0),))
    bound = Edit((0,), (0,), LetExpr(i, const(3), value))
    accepted(func, Rewrite((), (bound,)))
    refused(func, Rewrite((), (bound, Edit((0,), (1,), const(3)))), "3 equals i")


def test_a_let_changes_no_extent() -> None:
    n, x = Var.fresh("n"), f.var("x", f.INT)
    a = Buffer.declare("A", (n, n + 1), "int32")
    found: list[Safety] = []
    encoder = Encoder({n: Encoded(x, f.TRUE, False)}, lambda *_: (f.ZERO, f.TRUE), found)
    encoder.encode(LetExpr(n, const(100), Load(a, (n, const(50)))))
    conditions = {s.condition for s in found}
    assert f.between(f.ZERO, f.integer(100), x) in conditions
    assert f.between(f.ZERO, f.integer(50), f.add(x, f.ONE)) in conditions
    assert in_range(f.add(x, f.ONE), INT32) in conditions


def test_what_a_vector_was_bound_to_stands_where_it_was_bound() -> None:
    i, v = Var.fresh("i"), Var.fresh("v", INT32.with_lanes(4))
    first = Shuffle((v,), (0,))
    x = f.var("x", f.INT)
    encoder = Encoder({i: Encoded(x, f.TRUE, False)})
    assert encoder.value(LetExpr(v, Broadcast(i, 4), LetExpr(i, const(7), first))) is x
    inner, outer = Broadcast(const(1), 4), Broadcast(const(2), 4)
    assert encoder.value(LetExpr(v, outer, LetExpr(v, inner, first) + first)) is f.integer(3)


@pytest.mark.parametrize("result", [INT32, VOID])
def test_arguments_of_an_opaque_call_see_the_lets_around_it(result: DType) -> None:
    func = program("for i in range(3):\n    B[i] = 1")
    a, i, v, w = buffer(func, "A"), variable(func, "i"), Var.fresh("v"), Var.fresh("w")

    def called(index: Var) -> Call:
        return Call(result, "unknown", (Load(a, (index,)),))

    for value, safe in (
        (LetExpr(v, i + 1, called(v)), True),
        (LetExpr(v, i + 2, called(v)), False),
        (LetExpr(v, LetExpr(w, i, w + 1), called(v)), True),
        (LetExpr(v, i + 1, LetExpr(w, v + 1, called(w))), False),
    ):
        proved = prove_program(func.with_body(loop(i, 3, Evaluate(value))), PROVER, Entry())
        assert safe if isinstance(proved, tuple) else (not safe and "in bounds" in why(proved))
