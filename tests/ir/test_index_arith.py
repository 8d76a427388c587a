"""The line between index arithmetic, which may not overflow, and data, which wraps."""

from __future__ import annotations

import pytest

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, INT32, INT64, DType
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    Undef,
    Var,
)
from verified_tir.ir.find import data_vars
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.stmt import SKIP, LetStmt, Store, seq
from verified_tir.ir.sugar import binary, const

A = Buffer.declare("A", (8,), "int32")
i, n, x, y = (Var.fresh(name) for name in "inxy")
flag, real, pointer = Var.fresh("flag", DType.parse("bool")), Var.fresh("real", DType.parse("float32")), A.data
READ = Load(A, (i,))

INDEX: list[Expr] = [
    const(3), i, flag, i * 4 + n // 2 - n % 3, binary("min", i, n), binary("shl", i, 2), binary("bitand", i, n),
    binary("truncdiv", i, n), i < n, Binary("and", i < n, flag), Not(flag), Select(i < n, i, n),
    IfThenElse(flag, i, n + 1), Ramp(i, n, 4), Broadcast(i, 4) + Ramp(i, n, 4), Shuffle((Ramp(i, n, 4),), (0,)),
    LetExpr(x, i + 1, x * x),
]  # fmt: skip
DATA: list[Expr] = [
    READ, READ + 1, (READ + 1) // 2, Cast(INT64, i), Cast(INT64, i) * 4, Call(INT32, "abs", (i,)) + 1,
    Call(BOOL, "likely", (i < n,)), Undef(INT32), real, FloatImm(real.dtype, 1.0), Select(READ < 1, i, n),
    Select(real < 1.0, i, n), IfThenElse(flag, i, READ), Ramp(i, READ, 4), Broadcast(READ, 4),
    Shuffle((i, READ), (0,)), LetExpr(x, READ, i + 1), LetExpr(x, i, READ), pointer,
]  # fmt: skip


@pytest.mark.parametrize("expr", INDEX, ids=repr)
def test_index_arithmetic(expr: Expr) -> None:
    assert is_index(expr)
    assert not is_index(expr, {i, n, flag}) or expr is INDEX[0]


@pytest.mark.parametrize("expr", DATA, ids=repr)
def test_data(expr: Expr) -> None:
    assert not is_index(expr)


def test_the_operations_beside_a_load_stay_index_arithmetic() -> None:
    inside = i + 1
    outside = READ + inside
    assert is_index(inside) and not is_index(outside)


def test_lets_pass_on_what_they_hold() -> None:
    body = Store(A, x + y, (i,))
    program = LetStmt(x, READ, LetStmt(y, x + 1, body))
    assert data_vars(program) == {x, y}
    assert data_vars(LetStmt(x, i * 2, LetStmt(y, x + 1, body))) == set()
    assert data_vars(LetStmt(x, i * 2, LetStmt(y, x + READ, body))) == {y}
    assert not is_index(y + i, {y}) and is_index(x + i, {y})
    assert is_index(LetExpr(x, i, x + 1), {x})  # bound again here, to index arithmetic


def test_lets_of_expressions_are_found_too() -> None:
    store = Store(A, LetExpr(x, READ, x + 1), (i,))
    assert data_vars(seq(store, SKIP)) == {x}
    assert data_vars(LetStmt(y, LetExpr(x, i, x + 1), SKIP)) == set()
    assert data_vars(LetStmt(y, LetExpr(x, READ, x + 1), SKIP)) == {x, y}
