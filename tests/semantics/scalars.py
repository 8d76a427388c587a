"""Operators, casts and calls on single scalars, by the operations of the semantics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import BinaryOp
from verified_tir.semantics.calls import call_operation
from verified_tir.semantics.memory import reinterpret
from verified_tir.semantics.operators import binary_operation, cast_operation
from verified_tir.semantics.values import UNDEF, Scalar, Undefined, Value, is_undef


def to_scalar(value: Any, dtype: DType) -> Scalar:
    """A Python or numpy number as a scalar of ``dtype`` (which it must fit)."""
    if isinstance(value, Undefined):
        return value
    if dtype.is_float:
        return float(value)
    return bool(value) if dtype.is_bool else int(value)


def apply_binary(op: BinaryOp, dtype: DType, a: object, b: object, *, index: bool = False) -> tuple[Scalar, bool]:
    """``a op b`` for Python or numpy scalars of type ``dtype`` (or ``UNDEF``), as (value, whether it is defined).

    :raises UndefinedBehaviour: division by zero, shift out of range, overflow of index arithmetic …
    """
    result: Scalar = binary_operation(op, dtype, index)(to_scalar(a, dtype), to_scalar(b, dtype))
    return result, result is not UNDEF


def apply_cast(source: DType, target: DType, a: object) -> tuple[Scalar, bool]:
    """The scalar ``a`` of type ``source`` converted to ``target``, as (value, whether it is defined)."""
    result: Scalar = cast_operation(source, target)(to_scalar(a, source))
    return result, result is not UNDEF


def apply_call(op: str, operand: DType, args: Sequence[object], result: DType | None = None) -> tuple[Value, bool]:
    """A pure call on Python or numpy scalars (or ``UNDEF``) of type ``operand``, as (value, whether it is defined).

    :param result: the type of the result, where the call must state it (``reinterpret``, ``clz``).  Only
        ``reinterpret`` takes and gives lanes, as tuples.
    """
    result = result or operand
    found: Value
    if op == "reinterpret":
        (given,) = args
        lanes = given if isinstance(given, tuple) else (given,)
        scalars: tuple[Scalar, ...] = tuple(to_scalar(a, operand.scalar) for a in lanes)
        found = reinterpret(scalars if operand.lanes > 1 else scalars[0], operand, result)
    else:
        found = call_operation(op, operand, result)(*[to_scalar(a, operand) for a in args])
    return found, not is_undef(found)
