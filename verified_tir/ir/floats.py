"""Rounding of Python floats to the float types, and their bits.

numpy does the rounding for float16/32/64 and ml_dtypes for bfloat16; both are correctly rounded to nearest even.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from verified_tir.ir.dtype import DType


@lru_cache(maxsize=None)
def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """numpy's type for one lane of ``dtype`` (bool for bool; ml_dtypes' bfloat16)."""
    if dtype.code == "bfloat":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    if dtype.is_bool:
        return np.dtype(np.bool_)
    return np.dtype(f"{dtype.code}{dtype.bits}")


def round_to(dtype: DType, value: float) -> float:
    """``value`` rounded to the float type ``dtype``, as a Python float."""
    if dtype.bits == 64:
        return value
    with np.errstate(all="ignore"):
        return float(np.float64(value).astype(numpy_dtype(dtype)))


def bits_of(dtype: DType, value: float) -> int:
    """The bits of ``value`` in the float type ``dtype`` (NaN: the canonical quiet one)."""
    width = dtype.bits
    if value != value:
        exponent, significand = exponent_bits(dtype), significand_bits(dtype)
        return (((1 << exponent) - 1) << (significand - 1)) | (1 << (significand - 2))
    array = np.array([value], dtype=np.float64)
    with np.errstate(all="ignore"):
        return int(array.astype(numpy_dtype(dtype)).view(f"uint{width}")[0])


def exponent_bits(dtype: DType) -> int:
    """Width of the exponent field."""
    return {("float", 16): 5, ("float", 32): 8, ("float", 64): 11, ("bfloat", 16): 8}[(dtype.code, dtype.bits)]


def significand_bits(dtype: DType) -> int:
    """Width of the significand, hidden bit included (SMT-LIB's convention)."""
    return dtype.bits - exponent_bits(dtype)
