"""Independent definitions of rounding, for the tests: floats as bit patterns, numbers as fractions.

Nothing here is shared with the interpreter.  The bit patterns of a float type's non-negative numbers, infinity
included, are in the order of their values, so rounding is a binary search among them.
"""

from __future__ import annotations

import math
from fractions import Fraction

from verified_tir.ir.dtype import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType

FLOATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
EXPONENT_BITS = {FLOAT16: 5, BFLOAT16: 8, FLOAT32: 8, FLOAT64: 11}
INTEGERS = tuple(DType(code, bits) for code in ("int", "uint") for bits in (8, 16, 32, 64))


def magnitude(dtype: DType, pattern: int) -> Fraction:
    """The number that a bit pattern without sign stands for; infinity counts as the next power of two."""
    fraction_bits = dtype.bits - 1 - EXPONENT_BITS[dtype]
    bias = (1 << (EXPONENT_BITS[dtype] - 1)) - 1
    exponent, fraction = pattern >> fraction_bits, pattern & ((1 << fraction_bits) - 1)
    if exponent == 0:
        return Fraction(fraction) * Fraction(2) ** (1 - bias - fraction_bits)
    return Fraction((1 << fraction_bits) + fraction) * Fraction(2) ** (exponent - bias - fraction_bits)


def infinity_pattern(dtype: DType) -> int:
    fraction_bits = dtype.bits - 1 - EXPONENT_BITS[dtype]
    return ((1 << EXPONENT_BITS[dtype]) - 1) << fraction_bits


def to_float(dtype: DType, pattern: int) -> float:
    """The Python float of a bit pattern without sign."""
    if pattern >= infinity_pattern(dtype):
        return math.inf if pattern == infinity_pattern(dtype) else math.nan
    return float(magnitude(dtype, pattern))


def nearest(dtype: DType, exact: Fraction) -> float:
    """``exact`` rounded to nearest, ties to the even pattern; a zero takes the sign of ``exact`` (0 is positive)."""
    low, high, wanted = 0, infinity_pattern(dtype), abs(exact)
    while high - low > 1:  # magnitude(low) <= wanted, and wanted < magnitude(high) or high is infinity
        middle = (low + high) // 2
        if magnitude(dtype, middle) <= wanted:
            low = middle
        else:
            high = middle
    below, above = wanted - magnitude(dtype, low), magnitude(dtype, high) - wanted
    up = below > above or (below == above and low % 2 == 1)
    result = to_float(dtype, high if up else low)
    return -result if exact < 0 else result


def interesting_floats(dtype: DType) -> list[float]:
    """Zeros, subnormals, ones and their neighbours, halfway cases, the largest, infinities, NaN."""
    inf = infinity_pattern(dtype)
    fraction_bits = dtype.bits - 1 - EXPONENT_BITS[dtype]
    one = ((1 << (EXPONENT_BITS[dtype] - 1)) - 1) << fraction_bits
    least_normal = 1 << fraction_bits
    patterns = [
        0, 1, 2, 3, least_normal - 1, least_normal, least_normal + 1, one - 1, one, one + 1, one + 2,
        one + least_normal, one + least_normal + least_normal // 2, one + 3 * least_normal + 5, one // 2, one // 2 + 3,
        (one + inf) // 2, inf - 2, inf - 1, inf, inf + least_normal // 2,
    ]  # fmt: skip
    values = [to_float(dtype, p) for p in patterns]
    return [*values, *[-v for v in values if not math.isnan(v)]]


def interesting_integers(dtype: DType) -> list[int]:
    """Around zero, around the ends of the range, and some in between."""
    low, high = dtype.min_value, dtype.max_value
    around = [0, 1, 2, 3, 5, 7, dtype.bits - 1, dtype.bits, low, low + 1, high, high - 1, high // 2, high // 3]
    return sorted({v for a in around for v in (a, -a) if low <= v <= high})


def key(value: object) -> object:
    """For comparing results: any two NaNs equal, zeros of different sign and numbers of different kind not."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else ("float", value, math.copysign(1.0, value))
    return (type(value).__name__, value)
