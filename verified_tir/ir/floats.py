"""Rounding of Python floats to the float types, and their bits.

Rounding is to nearest, ties to even, subnormals kept.  It is written out here because ml_dtypes rounds a float64 to
bfloat16 by way of float32, that is twice.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from verified_tir.ir.dtype import DType

_BINARY32 = struct.Struct("<f")


@cache
def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """numpy's type for one lane of ``dtype`` (bool for bool; ml_dtypes' bfloat16)."""
    if dtype.code == "bfloat":
        import ml_dtypes

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    if dtype.is_bool:
        return np.dtype(np.bool_)
    return np.dtype(f"{dtype.code}{dtype.bits}")


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


def bits_of(dtype: DType, value: float) -> int:
    """The bits of ``value`` in the float type ``dtype`` (NaN: the canonical quiet one)."""
    width = dtype.bits
    if math.isnan(value):
        exponent, significand = exponent_bits(dtype), significand_bits(dtype)
        return (((1 << exponent) - 1) << (significand - 1)) | (1 << (significand - 2))
    array = np.array([round_to(dtype, value)], dtype=np.float64)
    with np.errstate(all="ignore"):
        return int(array.astype(numpy_dtype(dtype)).view(f"uint{width}")[0])


def float_of(dtype: DType, bits: int) -> float:
    """The float of type ``dtype`` with these bits, as a Python float."""
    width = 32 if dtype.code == "bfloat" else dtype.bits  # a bfloat16 is the upper half of a float32
    unsigned, real = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}[width]
    return float(struct.unpack(real, struct.pack(unsigned, bits << (width - dtype.bits)))[0])


def exponent_bits(dtype: DType) -> int:
    """Width of the exponent field."""
    return {("float", 16): 5, ("float", 32): 8, ("float", 64): 11, ("bfloat", 16): 8}[(dtype.code, dtype.bits)]


def significand_bits(dtype: DType) -> int:
    """Width of the significand, hidden bit included (SMT-LIB's convention)."""
    return dtype.bits - exponent_bits(dtype)
