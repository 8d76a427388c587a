"""Rounding of Python floats to the float types, and their bits.

Rounding is to nearest, ties to even, subnormals kept.  It is written out here because ml_dtypes rounds a float64 to
bfloat16 by way of float32, that is twice.
"""

from __future__ import annotations

import math
import struct

from verified_tir.ir.dtype import DType

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


def bits_of(dtype: DType, value: float) -> int:
    """The bits of ``value`` in the float type ``dtype`` (NaN: the canonical quiet one)."""
    if math.isnan(value):
        exponent, significand = exponent_bits(dtype), significand_bits(dtype)
        return (((1 << exponent) - 1) << (significand - 1)) | (1 << (significand - 2))
    width = 32 if dtype.code == "bfloat" else dtype.bits  # a bfloat16 is the upper half of a float32
    packed = struct.pack({16: "<e", 32: "<f", 64: "<d"}[width], round_to(dtype, value))
    return int.from_bytes(packed, "little") >> (width - dtype.bits)


def exponent_bits(dtype: DType) -> int:
    """Width of the exponent field."""
    return {("float", 16): 5, ("float", 32): 8, ("float", 64): 11, ("bfloat", 16): 8}[(dtype.code, dtype.bits)]


def significand_bits(dtype: DType) -> int:
    """Width of the significand, hidden bit included (SMT-LIB's convention)."""
    return dtype.bits - exponent_bits(dtype)
