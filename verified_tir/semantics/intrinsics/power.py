"""Powers and the reciprocal square root.

    |x|**y = 2**(y log2|x|)

The logarithm is multiplied by up to 1100, so in float64 it is computed, and multiplied, in two parts.  For float32 the
float64 logarithm alone is good enough.
"""

from __future__ import annotations

import math

from verified_tir.ir.dtype import FLOAT64
from verified_tir.ir.expr import Expr
from verified_tir.ir.sugar import const
from verified_tir.semantics.intrinsics import coefficients as c
from verified_tir.semantics.intrinsics.constants import LN2
from verified_tir.semantics.intrinsics.exponential import exp2_of_pair
from verified_tir.semantics.intrinsics.logarithm import log2_inside
from verified_tir.semantics.intrinsics.words import (
    Pair,
    between,
    bits,
    cast,
    clamp,
    exponent_and_fraction,
    fma,
    magnitude,
    operate,
    or_zero,
    polynomial,
    quick_two_sum,
    select,
    split,
    square_root,
    two_product,
    with_sign_of,
)

_LARGEST_EXPONENT = 1100.0
"""2**1100 is infinite and 2**-1100 zero, as rounded numbers."""


def rsqrt(x: Expr) -> Expr:
    """``1 / sqrt(x)``, each rounded."""
    return 1.0 / square_root(x)


def pow_(x: Expr, y: Expr) -> Expr:
    """``x**y`` with the special values of C (ISO/IEC 9899, annex F.10.4.4)."""
    x_wide, y_wide = cast(FLOAT64, or_zero(x)), cast(FLOAT64, or_zero(y))
    a = magnitude(x_wide)
    logarithm = _log2(between(a, 0.0)) if x.dtype.scalar is FLOAT64 else _log2_of_float32(between(a, 0.0))
    at_the_end = select(a.equal(0.0), const(-math.inf, a.dtype), select(a.equal(math.inf), a, logarithm[0]))
    size = exp2_of_pair(_exponent(y_wide, (at_the_end, logarithm[1])))
    whole, odd = _whole_and_odd(y_wide)
    signed = select(odd, with_sign_of(size, x_wide), size)
    # a negative number has no power that is not whole, but zero and infinity count as if they had no sign
    some = select(
        bits(x_wide) < 0, select(whole, signed, select(a > 0.0, select(a < math.inf, math.nan, size), size)), signed
    )
    known = cast(x.dtype.scalar, some)
    known = select(x.equal(x), select(y.equal(y), known, y), x)
    known = select(x.equal(-1.0), select(magnitude(y).equal(math.inf), 1.0, known), known)
    return select(x.equal(1.0), 1.0, select(y.equal(0.0), 1.0, known))


def _exponent(y: Expr, logarithm: Pair) -> Pair:
    """``y`` times the logarithm, in two parts and within ±1100.  (Zero times infinity gives anything in that range.)"""
    product, lost = two_product(y, logarithm[0])
    lost = fma(y, logarithm[1], lost)
    moderate = magnitude(product) < _LARGEST_EXPONENT
    inside = clamp(product, -_LARGEST_EXPONENT, _LARGEST_EXPONENT)
    return quick_two_sum(inside, select(moderate, lost, 0.0))


def _whole_and_odd(y: Expr) -> tuple[Expr, Expr]:
    """Whether a float64 is a whole number, or infinite, and whether it is an odd one."""
    a = magnitude(y)
    shifted = a + 2.0**52  # its last bit has weight 1, if a is smaller
    small = a < 2.0**52
    last = operate("bitand", bits(select(small, shifted, a)), 1)
    whole = select(small, (shifted - 2.0**52).equal(a), const(True, small.dtype))
    odd = select(whole, select(a < 2.0**53, last, 0) > 0, const(False, small.dtype))
    return whole, odd


def _log2_of_float32(x: Expr) -> Pair:
    return log2_inside(x), const(0.0, x.dtype)


def _log2(x: Expr) -> Pair:
    """The logarithm of a positive finite float64 in two parts, with a relative error of about 2**-65."""
    k, m = exponent_and_fraction(x)
    s = _quotient(m - 1.0)
    z = _product(s, s)
    # log(m) = s (2 + z r(z))
    r_tail = polynomial(z[0], c.LOG_64[1:])
    p, p_lost = two_product(z[0], r_tail)
    r, r_lost = quick_two_sum(const(c.LOG_64[0], x.dtype), p)
    v = _product(z, (r, r_lost + fma(z[1], r_tail, p_lost)))
    g, g_lost = quick_two_sum(const(2.0, x.dtype), v[0])
    natural = _product(s, (g, g_lost + v[1]))
    factor = split(1 / LN2, FLOAT64)
    fraction = _product(natural, (const(factor[0], x.dtype), const(factor[1], x.dtype)))
    total, lost = quick_two_sum(k, fraction[0])
    return quick_two_sum(total, lost + fraction[1])


def _quotient(f: Expr) -> Pair:
    """``f / (2 + f)`` in two parts."""
    d, d_lost = quick_two_sum(const(2.0, f.dtype), f)
    q = f / d
    return q, (fma(q * -1.0, d, f) - q * d_lost) / d


def _product(a: Pair, b: Pair) -> Pair:
    """The product of two pairs, the product of the second parts left out."""
    p, lost = two_product(a[0], b[0])
    return p, fma(a[0], b[1], fma(a[1], b[0], lost))
