"""Integers that are known: index arithmetic and constants, in bulk, on int64 arrays (uint64 is never kept so).

Each function gives the results, and where the operation has undefined behaviour (``None``: nowhere).  There the results
mean nothing.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from verified_tir.ir.dtype import DType
from verified_tir.validate.terms import Ids

Trouble: TypeAlias = "npt.NDArray[np.bool_] | None"

_COMPARE: dict[str, Any] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_RING: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
_PLAIN: dict[str, Any] = {
    "min": np.minimum, "max": np.maximum, "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor,
}  # fmt: skip


def largest(a: Ids) -> int:
    return max(abs(int(a.min())), abs(int(a.max()))) if a.size else 0


def operate(op: str, dtype: DType, a: Ids, b: Ids, *, index: bool) -> tuple[Ids, Trouble]:
    """``a op b`` in the integer type (or bool) ``dtype``; overflow is undefined for an ``index``, and wraps in data."""
    if op in _COMPARE:
        return _COMPARE[op](a, b).astype(np.int64), None
    if op in _PLAIN:
        return _PLAIN[op](a, b), None
    if op in _RING:
        x, y = largest(a), largest(b)
        reach = x * y if op == "mul" else x + y
        wide = reach < 1 << 63
        return fit(dtype, _RING[op](a if wide else a.astype(object), b), index=index)
    if op in ("shl", "shr"):
        trouble = (b < 0) | (b >= dtype.bits)
        amount = np.clip(b, 0, dtype.bits - 1)
        if op == "shr":
            return np.right_shift(a, amount), trouble if trouble.any() else None
        result, more = fit(dtype, np.left_shift(a.astype(object), amount), index=index)
        return result, _either(trouble, more)
    return _divide(op, dtype, a, b)


def fit(dtype: DType, exact: npt.NDArray[Any], *, index: bool) -> tuple[Ids, Trouble]:
    """Exact results in their type: those of an index must fit, data wraps."""
    low, high = dtype.min_value, dtype.max_value
    if exact.size == 0 or (int(exact.min()) >= low and int(exact.max()) <= high):
        return exact.astype(np.int64), None
    outside = ((exact < low) | (exact > high)).astype(np.bool_)
    if exact.dtype != object and dtype.bits > 32:
        exact = exact.astype(object)
    wrapped = (((exact - low) & ((1 << dtype.bits) - 1)) + low).astype(np.int64)
    return wrapped, outside if index else None


def leaves_uint64(op: str, a: Ids, b: Ids) -> Trouble:
    """Where index arithmetic overflows uint64, whose numbers are given modulo 2**64."""
    if op not in (*_RING, "shl"):
        return None
    x, y = a.astype(object) % (1 << 64), b.astype(object) % (1 << 64)
    exact = x << np.minimum(y, 64) if op == "shl" else _RING[op](x, y)
    outside = np.asarray((exact < 0) | (exact >= 1 << 64)).astype(np.bool_)
    return outside if outside.any() else None


def _divide(op: str, dtype: DType, a: Ids, b: Ids) -> tuple[Ids, Trouble]:
    trouble = b == 0
    if dtype.code == "int":
        trouble = trouble | ((b == -1) & (a == dtype.min_value))
    divisor = np.where(trouble, 1, b)
    if op == "floordiv":
        result = np.floor_divide(a, divisor)
    elif op == "floormod":
        result = np.remainder(a, divisor)
    elif op == "truncdiv":
        quotient = np.floor_divide(a, divisor)
        result = quotient + ((np.remainder(a, divisor) != 0) & (quotient < 0))
    else:
        assert op == "truncmod", op
        result = np.fmod(a, divisor)
    return result, trouble if trouble.any() else None


def _either(a: npt.NDArray[np.bool_], b: Trouble) -> Trouble:
    found: npt.NDArray[np.bool_] = a if b is None else a | b
    return found if found.any() else None
