"""The error function.

Up to 1 it is ``x + x p(x²)``.  Above it is ``1 - exp(-q(x))``: ``q(x) = -log(erfc(x))`` is smooth, and its errors count
less and less, as erfc falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.dtype import FLOAT32, FLOAT64
from verified_tir.ir.expr import Expr
from verified_tir.semantics.intrinsics import coefficients as c
from verified_tir.semantics.intrinsics.exponential import exp_inside
from verified_tir.semantics.intrinsics.words import clamp, fma, magnitude, or_zero, polynomial, select, with_sign_of


@final
@dataclass(frozen=True)
class _Format:
    """The polynomials of a float type: p in ``x²``, and q in ``x - 1``."""

    near_zero: tuple[float, ...]
    tail: tuple[float, ...]
    one: float  # erf(x) is 1 from here on, as a rounded number


_FORMATS = {
    FLOAT32: _Format(c.ERF_32, c.ERFC_32, 4.0),
    FLOAT64: _Format(c.ERF_64, c.ERFC_64, 6.0),
}


def erf(x: Expr) -> Expr:
    """``2 / sqrt(π)`` times the integral of ``exp(-t²)`` from zero to x."""
    form = _FORMATS[x.dtype.scalar]
    a = clamp(magnitude(or_zero(x)), 0.0, form.one)
    near_zero = fma(a, polynomial(a * a, form.near_zero), a)
    complement = exp_inside(polynomial(a - 1.0, form.tail) * -1.0)
    return select(x.equal(x), with_sign_of(select(a < 1.0, near_zero, 1.0 - complement), or_zero(x)), x)
