"""What the typing rules of expressions refuse, each part on its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verified_tir.ir.dtype import BOOL, FLOAT32, HANDLE, INT32, INT64, VOID, PointerType
from verified_tir.ir.expr import TRUE, Broadcast, FloatImm, IfThenElse, IntImm, LetExpr, Shuffle, Undef, Var
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.sugar import const

X, P, VECTOR = Var.fresh("x"), Undef(BOOL), Broadcast(const(1), 2)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: IntImm(FLOAT32, 1), "an integer constant cannot have type float32"),
        (lambda: IntImm(HANDLE, 1), "an integer constant cannot have type handle"),
        (lambda: IntImm(INT32.with_lanes(2), 1), "an integer constant cannot have type int32x2"),
        (lambda: FloatImm(INT32, 1.0), "a float constant cannot have type int32"),
        (lambda: FloatImm(VOID, 1.0), "a float constant cannot have type void"),
        (lambda: FloatImm(FLOAT32.with_lanes(2), 1.0), "a float constant cannot have type float32x2"),
        (lambda: Shuffle((), ()), "a shuffle needs vectors"),
        (lambda: Shuffle((VECTOR, const(1, "int64")), (0,)), "of one element type"),
        (lambda: Shuffle((VECTOR,), (0, 2)), "outside the 2 lanes"),
        (lambda: Shuffle((VECTOR,), (-1, 0)), "outside the 2 lanes"),
        (lambda: LetExpr(X, const(1, "int64"), X), "x has type int32, its value int64"),
        (lambda: IfThenElse(Broadcast(P, 2), VECTOR, VECTOR), "takes a scalar condition"),
    ],
)
def test_it_is_no_expression(make: Callable[[], Node], why: str) -> None:
    with pytest.raises(IRError, match=why):
        make()


def test_it_is_an_expression() -> None:
    assert TRUE.dtype is BOOL and IntImm(INT64, 2**40).dtype is INT64 and FloatImm(FLOAT32, 1.0).dtype is FLOAT32
    assert IfThenElse(P, VECTOR, VECTOR).dtype is VECTOR.dtype
    assert Shuffle((VECTOR, const(1)), (2, 0)).dtype is VECTOR.dtype
    assert Var.fresh("p", PointerType(FLOAT32)).dtype is HANDLE
