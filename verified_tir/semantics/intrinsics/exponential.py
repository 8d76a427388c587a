"""Exponentials, and the functions that are made of them: exp, exp2, sigmoid, tanh, sinh, cosh.

    x = n ln 2 + r,  n whole, |r| <= ln(2) / 2,      exp(x) = 2**n (1 + r + r² q(r))

The first part of ln 2 has so few bits that its product with n is exact, and so is the first difference (W. J. Cody and
W. Waite, *Software Manual for the Elementary Functions*, 1980).  ``exp(x) - 1`` keeps its accuracy near zero because
``2**n - 1`` is added to ``2**n (r + r² q)`` by one fused operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.dtype import FLOAT32, FLOAT64, DType
from verified_tir.ir.expr import Expr
from verified_tir.ir.sugar import const
from verified_tir.semantics.intrinsics import coefficients as c
from verified_tir.semantics.intrinsics.constants import LN2
from verified_tir.semantics.intrinsics.words import (
    Pair,
    as_float,
    clamp,
    fma,
    magnitude,
    nearest_whole,
    or_zero,
    polynomial,
    power_of_two,
    quick_two_sum,
    rounding_shift,
    scaled,
    select,
    split,
    two_product,
    two_sum,
    with_sign_of,
)


@final
@dataclass(frozen=True)
class _Format:
    """What the exponentials need to know of a float type."""

    dtype: DType
    tail: tuple[float, ...]  # q
    bits_of_n: int
    underflow: float  # exp(x) is zero below, as a rounded number
    overflow: float  # and infinite above

    @property
    def ln2(self) -> tuple[float, float]:
        """ln 2 as a short number, whose products with n are exact, and the rest."""
        precision = 24 if self.dtype.bits == 32 else 53
        return split(LN2, self.dtype, precision - self.bits_of_n)


_FORMATS = {
    FLOAT32: _Format(FLOAT32, c.EXP_32, 8, -104.0, 89.0),
    FLOAT64: _Format(FLOAT64, c.EXP_64, 11, -746.0, 710.0),
}


def reduced(x: Expr) -> tuple[Expr, Expr]:
    """(n, r) with ``x = n ln 2 + r``: a whole number as an integer, and the rest."""
    form = _FORMATS[x.dtype.scalar]
    high, low = form.ln2
    whole, n = nearest_whole(fma(x, as_float(1 / LN2, form.dtype), rounding_shift(form.dtype)))
    return n, fma(whole, -low, fma(whole, -high, x))


def _exp_minus_one_at_zero(r: Expr) -> Expr:
    """``exp(r) - 1`` for a reduced argument; in float32 its error is small against exp(r) only."""
    return fma(r * r, polynomial(r, _FORMATS[r.dtype.scalar].tail), r)


def exp_inside(x: Expr) -> Expr:
    """``exp(x)`` where neither x nor the result is extreme: the result is a normal number."""
    n, r = reduced(x)
    return (_exp_minus_one_at_zero(r) + 1.0) * power_of_two(n)


def exp_scaled(x: Expr, shift: int = 0) -> Expr:
    """``exp(x) * 2**shift`` for any x that is no NaN."""
    form = _FORMATS[x.dtype.scalar]
    n, r = reduced(clamp(x, form.underflow, form.overflow + 1.0))
    return scaled(_exp_minus_one_at_zero(r) + 1.0, n + shift)


def expm1_inside(x: Expr) -> Expr:
    """``exp(x) - 1`` in float64, for x from zero to about 40."""
    n, r = reduced(x)
    power = power_of_two(n)
    return fma(power, _exp_minus_one_at_zero(r), power - 1.0)


def exp(x: Expr) -> Expr:
    """``e**x``, rounded once also where it is subnormal."""
    return select(x.equal(x), exp_scaled(x), x)


def exp2(x: Expr) -> Expr:
    """``2**x``; exact for whole x."""
    if x.dtype.scalar is FLOAT64:
        return select(x.equal(x), exp2_of_pair((clamp(x, -1080.0, 1025.0), const(0.0, x.dtype))), x)
    inside = clamp(x, -151.0, 129.0)
    whole, n = nearest_whole(inside + rounding_shift(FLOAT32))
    r = inside - whole
    return select(x.equal(x), scaled(fma(r, polynomial(r, c.EXP2_32), 1.0), n), x)


def exp2_of_pair(x: Pair) -> Expr:
    """``2**(high + low)`` in float64, for ``|high| <= 1100`` and ``|low|`` below one half."""
    whole, n = nearest_whole(x[0] + rounding_shift(FLOAT64))
    r, lost = two_sum(x[0] - whole, x[1])
    ln2, rest = split(LN2, FLOAT64)
    t, error = two_product(r, ln2)
    error = fma(lost, ln2, fma(r, rest, error))
    tail = fma(t * t, polynomial(t, c.EXP_64), fma(error, t, error))
    return scaled((t + tail) + 1.0, n)


def sigmoid(x: Expr) -> Expr:
    """``1 / (1 + exp(-x))``, as ``exp(x) / (1 + exp(x))`` for negative x, which does not overflow."""
    z, rest = exp_of_negative(magnitude(x) * -1.0)
    negative = x < 0.0
    numerator, numerator_rest = select(negative, z, 1.0), select(negative, rest, 0.0)
    denominator, lost = quick_two_sum(const(1.0, x.dtype), z)
    quotient = numerator / denominator
    # the remainder of the division, and of what was rounded before it, times 1 / denominator
    remainder = fma(quotient, denominator * -1.0, numerator) + fma(quotient, (lost + rest) * -1.0, numerator_rest)
    inverse = select(negative, 1.0 - quotient, quotient)
    return select(x.equal(x), fma(remainder, inverse, quotient), x)


def exp_of_negative(x: Expr) -> Pair:
    """``exp(x)`` for ``x <= 0`` (or a NaN) in two parts; the second is good for nothing below the normal numbers."""
    form = _FORMATS[x.dtype.scalar]
    n, r = reduced(clamp(x, form.underflow, 0.0))
    y, rest = quick_two_sum(const(1.0, x.dtype), _exp_minus_one_at_zero(r))
    return scaled(y, n), scaled(rest, n)


def tanh(x: Expr) -> Expr:
    """``1 - 2 / (exp(2 |x|) + 1)`` with the sign of x.

    Near zero float32 takes a polynomial; float64 takes ``e / (e + 2)`` for ``e = exp(2 |x|) - 1`` everywhere.
    """
    if x.dtype.scalar is FLOAT32:
        return _tanh_32(x)
    inside = clamp(magnitude(or_zero(x)), 0.0, 19.25)
    e = expm1_inside(inside + inside)
    return select(x.equal(x), with_sign_of(e / (e + 2.0), or_zero(x)), x)


def _tanh_32(x: Expr) -> Expr:
    """The two parts meet at 0.65.  NaN is not less than that, and fails no other test: the polynomial makes NaN of it.

    For ``exp(2 |x|)``, the reduction is ``|x| = n ln(2) / 2 + r``, in one step: the larger n, the less the result
    depends on r.  The polynomial adds ``u x`` to x, where u is 0.0, not -0.0, at zero: so x keeps its sign there.
    """
    square = x * x
    near_zero = fma(fma(square, polynomial(square, c.TANH_32), 0.0), x, x)
    size = magnitude(x)
    inside = select(size < 9.25, size, 9.25)
    whole, n = nearest_whole(fma(inside, as_float(2 / LN2, FLOAT32), rounding_shift(FLOAT32)))
    r = fma(whole, -as_float(LN2 / 2, FLOAT32), inside)
    series = (1.0, 2.0, *[q * 2.0 ** (k + 2) for k, q in enumerate(c.EXP_32)])
    quotient = 2.0 / fma(power_of_two(n), polynomial(r, series), 1.0)
    return select(square >= 0.65**2, select(x < 0.0, quotient - 1.0, 1.0 - quotient), near_zero)


def sinh(x: Expr) -> Expr:
    """``(e + e / (e + 1)) / 2`` for ``e = exp(|x|) - 1``; ``exp(|x|) / 2`` where the rest is too small to count."""
    a = magnitude(x)
    e = expm1_inside(clamp(a, 0.0, 25.0))
    result = select(a < 24.0, (e + e / (e + 1.0)) * 0.5, exp_scaled(a, -1))
    return select(x.equal(x), with_sign_of(result, or_zero(x)), x)


def cosh(x: Expr) -> Expr:
    """``h + 1 / (4 h)`` for ``h = exp(|x|) / 2``."""
    h = exp_scaled(magnitude(x), -1)
    return select(x.equal(x), h + const(0.25, x.dtype) / h, x)
