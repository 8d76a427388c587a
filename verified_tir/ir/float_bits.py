"""Floats from wider ones, from exact rationals and from bits; what the kernel needs of floats is in ``floats``.

Rounding is to nearest, ties to even, subnormals kept.  It is written out here because ml_dtypes rounds a float64 to
bfloat16 by way of float32, that is twice.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

from verified_tir.ir.dtype import DType
from verified_tir.ir.floats import bits_of, exponent_bits, significand_bits

_BINARY32 = struct.Struct("<f")


def round_to(dtype: DType, value: float) -> float:
    """``value`` rounded to the float type ``dtype``, as a Python float; overflow gives an infinity."""
    if dtype.bits == 64 or not math.isfinite(value):
        return value
    if dtype.bits == 32:
        try:
            return float(_BINARY32.unpack(_BINARY32.pack(value))[0])
        except OverflowError:
            return math.copysign(math.inf, value)
    precision, largest = significand_bits(dtype), 1 << (exponent_bits(dtype) - 1)
    exponent = math.frexp(value)[1]
    if exponent > largest:
        return math.copysign(math.inf, value)
    unit = max(exponent, 3 - largest) - precision  # 2**unit is the spacing of the type at value
    rounded = math.ldexp(round(math.ldexp(value, -unit)), unit)
    return math.copysign(rounded if abs(rounded) < math.ldexp(1.0, largest) else math.inf, value)


def round_exact(dtype: DType, value: Fraction | int) -> float:
    """A rational rounded once into the float type ``dtype``: nearest, ties to even; overflow gives an infinity.

    A negative number that rounds to zero gives -0.0, zero itself +0.0.
    """
    value = Fraction(value)
    if value == 0:
        return 0.0
    sign, value = (-1.0, -value) if value < 0 else (1.0, value)
    precision, largest = significand_bits(dtype), 1 << (exponent_bits(dtype) - 1)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()  # 2**exponent is near the value:
    if value >= Fraction(2) ** exponent:  # make it 2**(exponent - 1) <= value < 2**exponent
        exponent += 1
    unit = max(exponent, 3 - largest) - precision  # 2**unit is the spacing of the type at the value
    multiple = round(value / Fraction(2) ** unit)  # Python rounds a Fraction half to even
    if multiple.bit_length() + unit > largest:
        return sign * math.inf
    return sign * math.ldexp(multiple, unit)


def largest(dtype: DType) -> float:
    """The largest finite number of a float type."""
    return float_of(dtype, bits_of(dtype, math.inf) - 1)


def float_of(dtype: DType, bits: int) -> float:
    """The float of type ``dtype`` with these bits, as a Python float."""
    width = 32 if dtype.code == "bfloat" else dtype.bits  # a bfloat16 is the upper half of a float32
    unsigned, real = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}[width]
    return float(struct.unpack(real, struct.pack(unsigned, bits << (width - dtype.bits)))[0])
