"""Python numbers in tensor expressions: an int is an int32 and a float a float32, and types meet, as in TVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from verified_tir.ir.expr import BinaryOp, Expr
from verified_tir.ir.script.values import operands_of
from verified_tir.ir.sugar import MATCHED, ExprLike

_own: ContextVar[bool] = ContextVar("_own", default=False)


@contextmanager
def as_in_tvm() -> Iterator[None]:
    """Within the block ``A[i] * 2`` of int8 is an int32, and ``A[i] * 0.5`` of float16 a float32."""
    given = MATCHED.set(None if _own.get() else _operands)
    try:
        yield
    finally:
        MATCHED.reset(given)


@contextmanager
def of_the_other_operand() -> Iterator[None]:
    """Within the block numbers in tensor expressions have the type of what they meet, as everywhere else in Python."""
    given = _own.set(True)
    try:
        yield
    finally:
        _own.reset(given)


def _operands(op: BinaryOp, a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    return operands_of(op, a, b, None)


__all__ = ["as_in_tvm", "of_the_other_operand"]
