"""sin, cos and tan: reduced to an eighth of a turn, then polynomials in float64.

The reduced argument of a float64 has two parts, r and s.  To first order s adds ``s cos(r)`` to the sine, ``-s sin(r)``
to the cosine.
"""

from __future__ import annotations

import math

from verified_tir.ir.dtype import FLOAT64, INT64
from verified_tir.ir.expr import Expr
from verified_tir.ir.sugar import const
from verified_tir.semantics.intrinsics import coefficients as c
from verified_tir.semantics.intrinsics.reduction import reduced
from verified_tir.semantics.intrinsics.words import (
    bits,
    cast,
    fma,
    from_bits,
    magnitude,
    operate,
    or_zero,
    polynomial,
    select,
)


def _sine(r: Expr, s: Expr | None) -> Expr:
    """``sin(r + s)`` for up to an eighth of a turn."""
    z = r * r
    cubic = r * z
    series = polynomial(z, c.SIN_64)
    return fma(cubic, series, r) if s is None else r + fma(cubic, series, fma(s * -0.5, z, s))


def _cosine(r: Expr, s: Expr | None) -> Expr:
    """``cos(r + s)`` for up to an eighth of a turn: ``1 - z/2`` in two parts, and the rest."""
    z = r * r
    first = fma(z, -0.5, 1.0)
    series = polynomial(z, c.COS_64)
    if s is None:
        return fma(z * z, series, first)
    lost = fma(z, -0.5, 1.0 - first) - fma(r, r, z * -1.0) * 0.5
    return first + fma(z * z, series, fma(r * -1.0, s, lost))


def _negated_where(a: Expr, sign: Expr) -> Expr:
    """``a``, negated where the sign bit of the integer ``sign`` is set."""
    return from_bits(operate("bitxor", bits(a), operate("bitand", sign, sign.dtype.min_value)))


def _sign_bit(q: Expr, bit: int) -> Expr:
    """An int64 whose sign bit is the given bit of the quadrant."""
    return operate("shl", cast(INT64, q), 63 - bit)


def _sign(x: Expr) -> Expr:
    """An int64 with the sign bit of ``x``."""
    return bits(cast(FLOAT64, or_zero(x)))


def _finished(x: Expr, value: Expr) -> Expr:
    """The value rounded to x's type; NaN at infinities and NaN."""
    return select(magnitude(x) < math.inf, cast(x.dtype.scalar, value), const(math.nan, x.dtype))


def _is_odd(q: Expr) -> Expr:
    return operate("bitand", q, 1) > 0


def sin(x: Expr) -> Expr:
    """The sine: in odd quadrants a cosine of the reduced argument, negated in the second half turn."""
    q, r, s = reduced(x)
    value = select(_is_odd(q), _cosine(r, s), _sine(r, s))
    return _finished(x, _negated_where(value, operate("bitxor", _sign_bit(q, 1), _sign(x))))


def cos(x: Expr) -> Expr:
    """The cosine: in odd quadrants a sine, negated in the second and third quadrant."""
    q, r, s = reduced(x)
    value = select(_is_odd(q), _sine(r, s), _cosine(r, s))
    return _finished(x, _negated_where(value, _sign_bit(q + 1, 1)))


def tan(x: Expr) -> Expr:
    """The tangent: in odd quadrants the negated cotangent."""
    q, r, s = reduced(x)
    odd, sine, cosine = _is_odd(q), _sine(r, s), _cosine(r, s)
    value = select(odd, cosine, sine) / select(odd, sine, cosine)
    return _finished(x, _negated_where(value, operate("bitxor", _sign_bit(q, 0), _sign(x))))
