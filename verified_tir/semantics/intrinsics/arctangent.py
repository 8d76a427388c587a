"""atan and atan2, in float64.

    atan(n / d), 0 <= n / d,       by one division of two numbers that depend on the size of n / d:

    below tan(π/8)     n / d               atan(u)
    up to tan(3π/8)    (n - d) / (n + d)   atan(u) + π/4
    above              -d / n              atan(u) + π/2

For atan2, n and d are the absolute values of its arguments; the signs say in which quadrant the angle lies.
"""

from __future__ import annotations

import math

from verified_tir.ir.dtype import FLOAT64
from verified_tir.ir.expr import Expr
from verified_tir.ir.sugar import const
from verified_tir.semantics.intrinsics import coefficients as c
from verified_tir.semantics.intrinsics.constants import PI
from verified_tir.semantics.intrinsics.words import (
    Pair,
    bits,
    clamp,
    fma,
    magnitude,
    or_zero,
    polynomial,
    quick_two_sum,
    select,
    split,
    two_sum,
    with_sign_of,
)


def _angle(n: Expr, d: Expr) -> Pair:
    """``atan(n / d)``, not negative and in two parts, for ``0 <= n`` and ``0 <= d``, the larger of them normal."""
    low, high = n < d * (math.sqrt(2) - 1), n > d * (math.sqrt(2) + 1)
    difference, sum_ = two_sum(n, d * -1.0), two_sum(n, d)
    numerator = select(low, n, select(high, d * -1.0, difference[0]))
    denominator = select(low, d, select(high, n, sum_[0]))
    u = numerator / denominator
    # what the division lost, and the sum and difference before it
    middle = fma(u * -1.0, sum_[1], difference[1])
    remainder = fma(u * -1.0, denominator, numerator) + select(low, 0.0, select(high, 0.0, middle))
    z = u * u
    first, second = (
        select(low, 0.0, select(high, const(half, n.dtype), quarter))
        for quarter, half in zip(split(PI / 4, FLOAT64), split(PI / 2, FLOAT64), strict=True)
    )
    total, lost = quick_two_sum(first, u)
    return total, lost + fma(u * z, polynomial(z, c.ATAN_64), second + remainder / denominator)


def atan(x: Expr) -> Expr:
    """The angle whose tangent is x."""
    n = clamp(magnitude(or_zero(x)), 0.0, 2.0**60)  # above, the angle is π/2 as a rounded number
    first, second = _angle(n, const(1.0, x.dtype))
    return select(x.equal(x), with_sign_of(first + second, or_zero(x)), x)


def atan2(y: Expr, x: Expr) -> Expr:
    """The angle of the point (x, y): y is the first argument."""
    nan = select(x.equal(x), y, x)
    y, x = or_zero(y), or_zero(x)
    n, d = _comparable(magnitude(y), magnitude(x))
    first, second = _angle(n, d)
    pi, rest = split(PI, FLOAT64)
    left = bits(x) < 0  # also for -0.0
    total, lost = quick_two_sum(const(pi, x.dtype), first * -1.0)
    angle = select(left, total + (lost - second + rest), first + second)
    return select(nan.equal(nan), with_sign_of(angle, y), nan)


def _comparable(n: Expr, d: Expr) -> Pair:
    """Two numbers with the same quotient, as far as it matters; the larger is neither huge nor subnormal.

    Both zero count as 0 / 1, both infinite as 1 / 1, one of them infinite as 0 / 1 or 1 / 0.
    """
    endless_n, endless_d = n.equal(math.inf), d.equal(math.inf)
    n, d = (
        select(endless_n, 1.0, select(endless_d, 0.0, n)),
        select(endless_d, 1.0, select(endless_n, 0.0, d)),
    )
    most = select(n > d, n, d)
    factor = select(most > 2.0**1000, 2.0**-100, select(most < 2.0**-900, const(2.0**100, n.dtype), 1.0))
    n, d = n * factor, d * factor
    return n, select(n.equal(0.0), select(d.equal(0.0), 1.0, d), d)
