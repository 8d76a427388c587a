"""A let in a condition was still known where statements inside of the branch were edited in the same step.

One ``LetExpr`` may stand in several places; where it stands behind an opaque call it has another value than before.
"""

from __future__ import annotations

import pytest

from verified_tir import ir, parse_func
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.rewrite import Edit, Rewrite
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.logic.solver import Solver

TEXT = """
@T.prim_func
def f(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
    A[0] = 5
    if A[0] > 0:
        B[0] = 1
"""


def branch(called: bool) -> ir.PrimFunc:
    """``if (let x = A[0] in x > 0): B[0] = g() + select(let x = A[0] in x > 0, 1, 2)``."""
    func = parse_func(TEXT)
    a, b = func.buffers
    x, zero = ir.Var.fresh("x", ir.INT32), ir.const(0)
    positive = ir.LetExpr(x, ir.Load(a, (zero,)), ir.Binary("gt", x, zero))
    other = ir.Call(ir.INT32, "call_extern", (ir.StringImm("g"), a.data)) if called else ir.Load(b, (zero,))
    stored = ir.Binary("add", other, ir.Select(positive, ir.const(1), ir.const(2)))
    first = func.body.stmts[0]
    return func.with_body(ir.Seq((first, ir.If(positive, ir.Store(b, stored, (zero,)), None))))


CONDITION, WITHIN = Edit((), (0, 1), ir.TRUE), Edit((0,), (0, 1, 0, 1), ir.TRUE)


@pytest.mark.parametrize("edits", [(CONDITION, WITHIN), (WITHIN,)])
def test_a_let_behind_a_call_is_another_one(edits: tuple[Edit, ...]) -> None:
    made = apply(Rewrite((1,), edits), reflexive(branch(called=True)), Prover(Solver()))
    assert isinstance(made, NoMatch) and "variable x is not in scope" in made.reason


def test_where_nothing_is_called_both_are_replaced() -> None:
    """The nearest right step."""
    assert isinstance(
        apply(Rewrite((1,), (CONDITION, WITHIN)), reflexive(branch(called=False)), Prover(Solver())), Refines
    )
