"""Logarithms: log, log2, log10, log1p.

    x = 2**k m,  m from √½ to √2,  f = m - 1,      log(x) = k ln 2 + log(1 + f)

k and m are read off the bits; a subnormal x is scaled first.  float32 takes a polynomial in f.  float64 takes one in
``s² = (f / (2 + f))²``, added to ``f - f²/2`` such that its rounding errors are small against the result.
"""

from __future__ import annotations

import math

from verified_tir.ir.dtype import FLOAT32, FLOAT64
from verified_tir.ir.expr import Expr
from verified_tir.ir.sugar import const
from verified_tir.semantics.intrinsics import coefficients as c
from verified_tir.semantics.intrinsics.constants import LN2, LN10
from verified_tir.semantics.intrinsics.words import (
    Pair,
    as_float,
    between,
    exponent_and_fraction,
    fma,
    polynomial,
    quick_two_sum,
    select,
    split,
    two_product,
    two_sum,
)


def at_the_ends(x: Expr, result: Expr, pole: float = 0.0) -> Expr:
    """The result for finite x above the pole; infinity at infinity, -infinity at the pole, NaN below it."""
    above = select(x < math.inf, result, math.inf)
    return select(x > pole, above, select(x.equal(pole), const(-math.inf, x.dtype), math.nan))


def _tail_32(f: Expr) -> Expr:
    """``log(1 + f) - f + f²/2`` in float32."""
    return (f * f * f) * polynomial(f, c.LOG_32)


def tail_64(f: Expr) -> tuple[Expr, Expr]:
    """(h, t) with ``log(1 + f) = f - (h - t)`` in float64: h is ``f²/2``, and t is small against it."""
    half_square = f * f * 0.5
    s = f / (f + 2.0)
    z = s * s
    return half_square, s * fma(z, polynomial(z, c.LOG_64), half_square)


def log(x: Expr) -> Expr:
    """The natural logarithm."""
    k, m = exponent_and_fraction(select(x > 0.0, x, 1.0))
    f = m - 1.0
    if x.dtype.scalar is FLOAT32:
        fraction = fma(f * f, fma(f, polynomial(f, c.LOG_32), -0.5), f)
        return at_the_ends(x, fma(k, as_float(LN2, FLOAT32), fraction))
    high, low = split(LN2, FLOAT64, 42)
    h, t = tail_64(f)
    return at_the_ends(x, fma(k, high, f - (h - fma(k, low, t))))


def log1p(x: Expr) -> Expr:
    """``log(1 + x)``: of the rounded sum, plus what the rounding lost divided by the sum.  float64 only."""
    inside = between(x, -1.0)
    total, lost = two_sum(const(1.0, x.dtype), inside)
    k, m = exponent_and_fraction(total)
    f = m - 1.0
    h, t = tail_64(f)
    high, low = split(LN2, FLOAT64, 42)
    result = fma(k, high, f - (h - (fma(k, low, t) + lost / total)))
    return select(x.equal(0.0), x, at_the_ends(x, result, -1.0))


def log2(x: Expr) -> Expr:
    """The logarithm to base 2, exact at powers of two."""
    if x.dtype.scalar is FLOAT32:
        k, m = exponent_and_fraction(between(x, 0.0))
        f = m - 1.0
        rest = fma(f * -0.5, f, _tail_32(f))
        in_base_2 = fma(f, as_float(1 / LN2 - 1, FLOAT32), rest * as_float(1 / LN2, FLOAT32))
        return at_the_ends(x, k + (f + in_base_2))
    return at_the_ends(x, log2_inside(between(x, 0.0)))


def log2_inside(x: Expr) -> Expr:
    """``log2(x)`` in float64, for positive finite x."""
    k, m = exponent_and_fraction(x)
    return _in_base(m - 1.0, split(1 / LN2, FLOAT64), (k, const(0.0, x.dtype)))


def log10(x: Expr) -> Expr:
    """The logarithm to base 10.  float64 only."""
    k, m = exponent_and_fraction(between(x, 0.0))
    high, low = split(LN2 / LN10, FLOAT64, 42)
    return at_the_ends(x, _in_base(m - 1.0, split(1 / LN10, FLOAT64), (k * high, k * low)))


def _in_base(f: Expr, factor: tuple[float, float], whole: Pair) -> Expr:
    """``log(1 + f) * factor + whole`` in float64, with products and sums in two parts."""
    h, t = tail_64(f)
    first = f - h
    second = ((f - first) - h) + t
    product, error = two_product(first, factor[0])
    error = fma(second, factor[0], fma(first, factor[1], error)) + whole[1]
    total, lost = quick_two_sum(whole[0], product)
    return total + (lost + error)
