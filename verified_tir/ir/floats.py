"""Floats as bits."""

from __future__ import annotations

import math

from verified_tir.ir.dtype import FLOATS, DType


def bits_of(dtype: DType, value: float) -> int:
    """The bits of ``value`` rounded to the float type ``dtype``: to nearest, ties to even, subnormals kept (NaN: the
    canonical quiet one).

    The magnitude is a multiple of the spacing of the type there.  Bits of neighbours are neighbours: where the multiple
    has no hidden bit the number is subnormal, where it is rounded up to a power of two the exponent grows, and past the
    largest number comes infinity.
    """
    precision, largest = significand_bits(dtype), 1 << (exponent_bits(dtype) - 1)
    infinity = (2 * largest - 1) << (precision - 1)
    if math.isnan(value):
        return infinity | 1 << (precision - 2)
    magnitude = infinity if value else 0
    if math.isfinite(value) and value:
        binade = max(math.frexp(value)[1], 3 - largest)  # above 0 where 2**(binade - precision) is the spacing
        multiple = round(math.ldexp(abs(value), precision - binade))
        magnitude = min(infinity, ((binade - 3 + largest) << (precision - 1)) + multiple)
    return magnitude | (math.copysign(1.0, value) < 0.0) << (dtype.bits - 1)


def exponent_bits(dtype: DType) -> int:
    """Width of the exponent field."""
    return FLOATS[dtype.scalar].exponent


def significand_bits(dtype: DType) -> int:
    """Width of the significand, hidden bit included (SMT-LIB's convention)."""
    return dtype.bits - exponent_bits(dtype)
