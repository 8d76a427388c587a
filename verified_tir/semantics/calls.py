"""Pure calls on scalars: the one definition of what each of them computes.

``fma``, ``sqrt`` and the roundings to an integer are correctly rounded.  The transcendental functions are *defined* by
their expansions into basic operations (``semantics/intrinsics``), so that machine code can compute the same bits;
proofs know nothing about them but that equal arguments give equal results.
"""

from __future__ import annotations

import math
from functools import cache

from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import DType
from verified_tir.ir.node import IRError
from verified_tir.semantics.intrinsics import has_expansion, scalar_operation
from verified_tir.semantics.rounding import fma_operation, rounder
from verified_tir.semantics.values import UNDEF, Operation, wrap

# ----------------------------------------------------------------------------------------- rounding to an integer


def _whole(toward: Operation) -> Operation:
    """A rounding to integers, for floats: infinities and NaN stay, and the sign of a zero is the argument's."""
    return lambda a: math.copysign(float(toward(a)), a) if math.isfinite(a) else a


_TO_WHOLE: dict[str, Operation] = {
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "trunc": _whole(math.trunc),
    "nearbyint": _whole(round),  # Python rounds half to even
    "round": _whole(round),  # so does TVM since apache/tvm#19368, in its machine code as in the constants it folds
}


def _sqrt(a: float) -> float:
    return math.nan if a < 0.0 else math.sqrt(a)


_TESTS: dict[str, Operation] = {"isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite}

# ------------------------------------------------------------------------------------------------------- integers


def _integer_call(op: str, dtype: DType, result: DType) -> Operation:
    bits = (1 << dtype.bits) - 1
    match op:
        case "abs":
            return lambda a: wrap(dtype, abs(a))  # the least integer is its own absolute value
        case "bitwise_not":
            return lambda a: wrap(dtype, ~a)
        case "popcount":
            return lambda a: wrap(result, (a & bits).bit_count())
        case "clz":
            return lambda a: wrap(result, dtype.bits - (a & bits).bit_length())
    raise IRError(f"there is no {op} of a {dtype}")


# ---------------------------------------------------------------------------------------------------- the calls


def _float_call(op: str, dtype: DType) -> Operation:
    if op == "fma":
        return fma_operation(dtype)
    if op == "abs":
        return math.fabs
    if op in _TESTS:
        return _TESTS[op]
    if op in _TO_WHOLE:
        return _TO_WHOLE[op]  # a whole number near a value of a type is in the type
    if has_expansion(op, dtype):
        return scalar_operation(op, dtype)
    assert op == "sqrt", op
    narrow = rounder(dtype)  # rounding a float64 root once more is right, see rounding.py
    return lambda a: narrow(_sqrt(a))


@cache
def call_operation(op: str, operand: DType, result: DType) -> Operation:
    """The function that a pure call (other than ``reinterpret``) computes on scalars of type ``operand``.

    Strict: an undefined argument gives an undefined result.

    :raises IRError: if the call is not pure, or there is none on that type.
    """
    info = PURE_CALLS.get(op)
    kinds = {
        "float": operand.is_float,
        "int": operand.is_int,
        "number": operand.is_float or operand.is_int,
        "any": True,
    }
    if info is None or not kinds[info.operands] or operand.lanes != 1:
        raise IRError(f"there is no pure call {op} of a {operand}")
    if op == "likely":
        return lambda a: a
    compute = _float_call(op, operand) if operand.is_float else _integer_call(op, operand, result)
    return lambda *args: UNDEF if UNDEF in args else compute(*args)
