"""Exact numbers into floats, and the operations that need them: fused multiply-add and conversion of large integers.

Elsewhere float64 is exact enough: a sum, difference, product, quotient or square root computed in float64 and then
rounded to a type of at most 24 significant bits is correctly rounded, because 53 >= 2 * 24 + 2 (S. A. Figueroa, "When
is double rounding innocuous?", 1995).  A fused multiply-add is not among these operations, whatever the width.
"""

from __future__ import annotations

import math
import struct
from functools import cache, partial

from verified_tir.ir.dtype import DType
from verified_tir.ir.float_bits import round_exact, round_to
from verified_tir.semantics.values import Operation

__all__ = ["fma_operation", "round_exact", "round_integer", "rounder"]

_BINARY32, _BINARY64, _INT64 = struct.Struct("<f"), struct.Struct("<d"), struct.Struct("<q")


@cache
def rounder(dtype: DType) -> Operation:
    """The function that rounds a float64 into ``dtype``: ``round_to``, without its test of the type."""
    if dtype.bits == 64:
        return float
    if dtype.bits == 32:
        return _round_to_float32
    return partial(round_to, dtype)


def _round_to_float32(value: float) -> float:
    try:
        return float(_BINARY32.unpack(_BINARY32.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


@cache
def fma_operation(dtype: DType) -> Operation:
    """The function ``(a, b, c) -> a * b + c``, rounded once into the float type ``dtype``."""
    if dtype.bits == 64:
        return _fma_in_integers
    narrow = rounder(dtype)

    def compute(a: float, b: float, c: float) -> float:
        """The product of two numbers of at most 24 bits is exact in float64; the sum is rounded to odd there.

        A last bit that is odd says "inexact" to the second rounding, which is then right (S. Boldo and G. Melquiond,
        "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
        """
        product = a * b
        total = product + c
        added = total - product
        error = (product - (total - added)) + (c - added)
        if error != 0.0 and error - error == 0.0:  # inexact, and finite
            (pattern,) = _INT64.unpack(_BINARY64.pack(total))
            if not pattern & 1:
                total = math.nextafter(total, math.copysign(math.inf, error))
        return narrow(total)  # type: ignore[no-any-return]

    return compute


def _fma_in_integers(a: float, b: float, c: float) -> float:
    """The fused operation of float64: Python's quotient of two integers is correctly rounded."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        if math.isfinite(a) and math.isfinite(b):
            return c  # the product is finite, though it might overflow float64
        return a * b + c
    (a1, a2), (b1, b2), (c1, c2) = a.as_integer_ratio(), b.as_integer_ratio(), c.as_integer_ratio()
    numerator = a1 * b1 * c2 + c1 * a2 * b2
    if numerator == 0:  # -0.0 only if both addends are -0.0; numbers that cancel give +0.0
        return -0.0 if math.copysign(1.0, a) * math.copysign(1.0, b) < 0 and math.copysign(1.0, c) < 0 else 0.0
    try:
        return numerator / (a2 * b2 * c2)
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def round_integer(dtype: DType, value: int) -> float:
    """An integer rounded once into the float type ``dtype``, without a detour through float64."""
    if -(1 << 53) <= value <= 1 << 53:
        return round_to(dtype, float(value))
    return round_exact(dtype, value)
