"""Operators and casts on scalars: the one definition of what each of them computes.

``binary_operation``, ``negation`` and ``cast_operation`` give the function of one lane, undefined operands included;
the interpreter asks for it once per expression.  ``apply_binary`` and ``apply_cast`` call it, for tests of other
definitions against this one.
"""

from __future__ import annotations

import math
import operator
from functools import cache
from typing import Any

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import BinaryOp
from verified_tir.ir.node import IRError
from verified_tir.semantics.errors import UndefinedBehaviour
from verified_tir.semantics.rounding import round_integer, rounder
from verified_tir.semantics.values import UNDEF, Number, Operation, Scalar, fits, wrap

COMPARISONS: dict[str, Operation] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def _minimum(a: Any, b: Any) -> Any:
    return a if a < b else b  # so min(NaN, b) = b, min(a, NaN) = NaN, min(0.0, -0.0) = -0.0


def _maximum(a: Any, b: Any) -> Any:
    return a if a > b else b


_EXTREMA: dict[str, Operation] = {"min": _minimum, "max": _maximum}


# ------------------------------------------------------------------------------------------------------- integers


def _truncated_quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))


def _truncated_remainder(a: int, b: int) -> int:
    return a - b * _truncated_quotient(a, b)


_RINGS: dict[str, Operation] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
_DIVISIONS: dict[str, Operation] = {
    "floordiv": operator.floordiv, "floormod": operator.mod,
    "truncdiv": _truncated_quotient, "truncmod": _truncated_remainder,
}  # fmt: skip
_BITWISE: dict[str, Operation] = {"bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor}


def fitted(op: str, dtype: DType, exact: int, index: bool) -> int:
    """The exact result of ``op`` in its type: data wraps.

    :raises UndefinedBehaviour: if index arithmetic overflows.
    """
    if index and not fits(dtype, exact):
        raise UndefinedBehaviour("index-overflow", f"{op} gives {exact}, which no {dtype} holds")
    return wrap(dtype, exact)


def _division(op: str, dtype: DType) -> Operation:
    """Division and remainder; the divisor is neither zero nor, under the least integer, -1."""
    exact = _DIVISIONS[op]
    least = dtype.min_value if dtype.code == "int" else None

    def compute(a: int, b: int) -> int:
        if b == 0:
            raise UndefinedBehaviour("division-by-zero", f"{op} of {a} by zero")
        if b == -1 and a == least:
            raise UndefinedBehaviour("division-overflow", f"{op} of the least {dtype} by -1")
        result: int = exact(a, b)
        return result

    return compute


def _shift(op: str, dtype: DType, index: bool) -> Operation:
    """Shifts by less than the width; to the right it is arithmetic for signed types."""

    def compute(a: int, b: int) -> int:
        if not 0 <= b < dtype.bits:
            raise UndefinedBehaviour("shift", f"{op} of a {dtype} by {b}")
        return a >> b if op == "shr" else fitted(op, dtype, a << b, index)

    return compute


def _integer_operation(op: str, dtype: DType, index: bool) -> Operation:
    if op in _DIVISIONS:
        return _division(op, dtype)
    if op in _BITWISE:
        return _BITWISE[op]  # of two numbers of one type, Python's results stay in the type
    if op in _EXTREMA:
        return _EXTREMA[op]
    return _shift(op, dtype, index)


# --------------------------------------------------------------------------------------------------------- floats


def _divide(a: float, b: float) -> float:
    """The IEEE-754 quotient in float64 (Python raises for a zero divisor)."""
    if b != 0.0:
        return a / b
    if a == 0.0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _float_operation(op: str, dtype: DType) -> Operation:
    if op in _EXTREMA:
        return _EXTREMA[op]
    exact: Operation = _divide if op == "div" else _RINGS[op]
    if dtype.bits == 64:
        return exact
    narrow = rounder(dtype)
    return lambda a, b: narrow(exact(a, b))


# ------------------------------------------------------------------------------------------------ binary operators


def _defined_operation(op: str, dtype: DType, index: bool) -> Operation:
    """``op`` on two defined scalars of type ``dtype``."""
    if op in COMPARISONS:
        return COMPARISONS[op]
    if dtype.is_bool:
        return _BITWISE[op]
    return _float_operation(op, dtype) if dtype.is_float else _integer_operation(op, dtype, index)


def _undefined(op: str, dtype: DType, b: Scalar) -> Scalar:
    """``op`` when an operand is undefined: undefined, unless some value of that operand would be undefined behaviour.

    (If it were not so, to make the operand more defined could turn a run with a meaning into one without.)
    """
    if op in _DIVISIONS:
        if b is UNDEF:
            raise UndefinedBehaviour("undef-divisor", f"{op} by undef")
        if b == 0:
            raise UndefinedBehaviour("division-by-zero", f"{op} of undef by zero")
        if b == -1 and dtype.code == "int":
            raise UndefinedBehaviour("undef-divisor", f"{op} of undef, perhaps the least {dtype}, by -1")
    if op in ("shl", "shr"):
        if b is UNDEF:
            raise UndefinedBehaviour("undef-shift", f"{op} by undef")
        if not 0 <= b < dtype.bits:
            raise UndefinedBehaviour("shift", f"{op} of a {dtype} by {b}")
    return UNDEF


def _lazy(op: str) -> Operation:
    """``and`` and ``or`` of two values at hand: if the left one decides, the right one does not matter."""
    decides = op == "or"

    def compute(a: Scalar, b: Scalar) -> Scalar:
        if a is UNDEF:
            raise UndefinedBehaviour("undef-branch", f"the left operand of {op} is undef")
        return decides if a is decides else b

    return compute


@cache
def binary_operation(op: BinaryOp, dtype: DType, index: bool = False) -> Operation:
    """The function ``(a, b) -> a op b`` of scalars of type ``dtype``, strict in undefined ones.

    :param index: whether the operation is index arithmetic, where overflow is undefined behaviour; data wraps.
    :raises IRError: if there is no such operation on that type.
    """
    if dtype.lanes != 1 or dtype.code in ("handle", "void"):
        raise IRError(f"there is no {op} of two scalars of type {dtype}")
    if op in ("and", "or"):
        return _lazy(op)
    if op in _RINGS and dtype.is_int:
        return _ring(op, dtype, index)
    compute = _defined_operation(op, dtype, index)

    def strict(a: Scalar, b: Scalar) -> Scalar:
        if a is UNDEF or b is UNDEF:
            return _undefined(op, dtype, b)
        result: Number = compute(a, b)
        return result

    return strict


def _ring(op: str, dtype: DType, index: bool) -> Operation:
    """Addition, subtraction, multiplication of integers: index arithmetic may not overflow, data wraps.

    Strict in one function: loops spend most of their time here.
    """
    exact = _RINGS[op]
    low, high = dtype.min_value, dtype.max_value

    def strict(a: Scalar, b: Scalar) -> Scalar:
        if a is UNDEF or b is UNDEF:
            return UNDEF
        result: int = exact(a, b)
        return result if low <= result <= high else fitted(op, dtype, result, index)

    return strict


def negation(a: Scalar) -> Scalar:
    """Logical negation."""
    return UNDEF if a is UNDEF else not a


# ---------------------------------------------------------------------------------------------------------- casts


def _to_integer(target: DType) -> Operation:
    """Floats are truncated, and undefined if that does not fit (so are NaN and infinities)."""

    def convert(a: float) -> Scalar:
        if not math.isfinite(a):
            return UNDEF
        whole = int(a)
        return whole if fits(target, whole) else UNDEF

    return convert


@cache
def cast_operation(source: DType, target: DType) -> Operation:
    """The function that converts a scalar of type ``source`` to ``target``.

    :raises IRError: if the types do not convert into each other (pointers do not).
    """
    for dtype in (source, target):
        if dtype.lanes != 1 or dtype.code in ("handle", "void"):
            raise IRError(f"there is no cast from {source} to {target}")
    if source is target:
        return lambda a: a
    convert: Operation
    if target.is_bool:
        convert = _is_not_zero
    elif target.is_float:
        convert = rounder(target) if source.is_float else lambda a: round_integer(target, int(a))
    elif source.is_float:
        convert = _to_integer(target)
    else:
        convert = lambda a: wrap(target, int(a))  # noqa: E731
    return lambda a: UNDEF if a is UNDEF else convert(a)


def _is_not_zero(a: Number) -> bool:
    return a != 0  # true of NaN
