"""Fused multiply-add on numpy arrays, which numpy does not offer.

Both functions round to odd where a first rounding must not disturb a second one (S. Boldo and G. Melquiond, "Emulation
of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from verified_tir.ir.dtype import FLOAT64
from verified_tir.semantics.rounding import fma_operation

Floats32: TypeAlias = NDArray[np.float32] | np.float32
Floats64: TypeAlias = NDArray[np.float64] | np.float64


def fma_float32(a: Floats32, b: Floats32, c: Floats32) -> NDArray[np.float32]:
    """``a * b + c`` rounded once; at least one operand is an array."""
    product = np.multiply(a, b, dtype=np.float64)  # exact: 24 bits times 24 bits
    return _sum_to_odd(product, np.asarray(c, np.float64)).astype(np.float32)


def fma_float64(a: Floats64, b: Floats64, c: Floats64) -> NDArray[np.float64]:
    """``a * b + c`` rounded once; at least one operand is an array.

    Sums of floats where no step can overflow or underflow; exact integers elsewhere.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    product, error = _two_product(a, b)
    high, low = _two_sum(c, error)
    top, rest = _two_sum(product, high)
    zero = (a == 0.0) | (b == 0.0)
    result: NDArray[np.float64] = np.where(zero, product + c, top + _sum_to_odd(rest, low))
    plain = _moderate(a) & _moderate(b) & _moderate(c) & (np.abs(product) > 1e-200)
    exact = fma_operation(FLOAT64)
    for k in zip(*np.nonzero(~(plain | zero)), strict=True):
        result[k] = exact(float(a[k]), float(b[k]), float(c[k]))
    return result


def _moderate(a: NDArray[np.float64]) -> NDArray[np.bool_]:
    size = np.abs(a)
    moderate: NDArray[np.bool_] = (size < 1e140) & ((size > 1e-200) | (size == 0.0))
    return moderate


def _two_sum(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    total = a + b
    added = total - a
    return total, (a - (total - added)) + (b - added)


def _two_product(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The product and its error, by halves of 26 bits (T. J. Dekker, 1971)."""
    product = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def _halves(a: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scaled = a * 134217729.0  # 2**27 + 1
    first = scaled - (scaled - a)
    return first, a - first


def _sum_to_odd(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """``a + b``, and where that is inexact the neighbour whose last bit is odd."""
    total, error = _two_sum(a, b)
    inexact = (error != 0.0) & np.isfinite(error) & (total.view(np.int64) & 1 == 0)
    return np.where(inexact, np.nextafter(total, np.copysign(np.inf, error)), total)
