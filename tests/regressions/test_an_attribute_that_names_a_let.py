"""Whether a variable holds data was asked of each let where it was met first, and an attribute may name an expression
outside of the let that it reads: there the variable counted as an index, whose overflow is undefined.
"""

from __future__ import annotations

import numpy as np

from verified_tir import Schedule
from verified_tir.ir.expr import Expr, LetExpr, Load, Var
from verified_tir.ir.find import data_vars
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import AttrStmt, LetStmt, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import run

COPY = parse_func("""
@T.prim_func
def f(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = A[0]
""")


def told_by_an_attribute(value: Expr) -> tuple[Var, Var, Stmt]:
    """``with attr(let): x = value; B[0] = let``, where ``let`` is of y, which is x; x, y and the statement."""
    x, y = Var.fresh("x"), Var.fresh("y")
    let = LetExpr(y, x + 0, y + (2**31 - 1))
    body = LetStmt(x, value, Store(COPY.buffers[1], let, (const(0),)))
    return x, y, AttrStmt("note", let, const(0), body)


def test_what_an_attribute_names_is_data_as_where_it_stands() -> None:
    x, y, body = told_by_an_attribute(Load(COPY.buffers[0], (const(0),)))
    assert data_vars(body) == {x, y}
    program = COPY.with_body(body)
    outcome = run(program, {"A": np.ones(1, np.int32), "B": np.zeros(1, np.int32)})
    assert outcome.arrays["B"].tolist() == [-(2**31)]
    assert Schedule(program).steps


def test_an_index_remains_one() -> None:
    _, _, body = told_by_an_attribute(const(0))
    assert data_vars(body) == frozenset()
