"""The vocabulary in which the expansions are written: basic operations as expressions, and sums of two floats.

Every function takes and gives expressions of one number of lanes; Python numbers become constants of the right type.
Floats are taken apart by reinterpreting them as integers of their width.  A NaN has no bits, so each expansion replaces
it by a harmless number first (:func:`clamp` and :func:`between` do) and chooses the NaN again at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, BinaryOp, Call, Cast, Expr, Select
from verified_tir.ir.floats import bits_of, exponent_bits, significand_bits
from verified_tir.ir.node import Node
from verified_tir.ir.sugar import ExprLike, as_expr, binary, const
from verified_tir.semantics.rounding import round_exact

Pair: TypeAlias = tuple[Expr, Expr]
"""An unevaluated sum of two floats, the second at most about half an ulp of the first."""


def fma(a: Expr, b: ExprLike, c: ExprLike) -> Expr:
    """``a * b + c``, rounded once."""
    return Call(a.dtype, "fma", (a, as_expr(b, a.dtype), as_expr(c, a.dtype)))


def magnitude(a: Expr) -> Expr:
    """The absolute value of a float."""
    return Call(a.dtype, "abs", (a,))


def square_root(a: Expr) -> Expr:
    """The correctly rounded square root of a float."""
    return Call(a.dtype, "sqrt", (a,))


def select(condition: Expr, a: ExprLike, b: ExprLike) -> Expr:
    """``a`` where the condition holds, ``b`` elsewhere; at least one of them is an expression."""
    like = a.dtype if isinstance(a, Expr) else as_expr(b).dtype
    return Select(condition, as_expr(a, like), as_expr(b, like))


def cast(dtype: DType, a: Expr) -> Expr:
    """``a`` converted to the scalar type ``dtype``, lane by lane."""
    target = dtype.with_lanes(a.dtype.lanes)
    return a if a.dtype is target else Cast(target, a)


def operate(op: BinaryOp, a: Expr, b: ExprLike) -> Expr:
    """An operation without an operator of Python's: shifts, bitwise operations."""
    return binary(op, a, b)


def bits(a: Expr) -> Expr:
    """The bits of a float that is no NaN, as a signed integer of its width."""
    return Call(DType("int", a.dtype.bits, a.dtype.lanes), "reinterpret", (a,))


def from_bits(a: Expr) -> Expr:
    """The float32 or float64 with the bits of a signed integer."""
    return Call(DType("float", a.dtype.bits, a.dtype.lanes), "reinterpret", (a,))


def with_sign_of(a: Expr, sign: Expr) -> Expr:
    """``a``, which is not negative, with the sign of ``sign``; neither is a NaN."""
    return from_bits(operate("bitor", bits(a), operate("bitand", bits(sign), bits(sign).dtype.min_value)))


def polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """``c[0] + c[1] x + c[2] x² + …`` by Horner's rule, with fused operations."""
    result = const(coefficients[-1], x.dtype)
    for c in reversed(coefficients[:-1]):
        result = fma(result, x, c)
    return result


def clamp(x: Expr, low: float, high: float) -> Expr:
    """``x`` within the bounds; a NaN becomes ``low``."""
    raised = select(x > low, x, low)
    return select(raised < high, raised, high)


def or_zero(x: Expr) -> Expr:
    """``x``, zero where it is a NaN."""
    return select(x.equal(x), x, 0.0)


def between(x: Expr, low: float, otherwise: float = 1.0) -> Expr:
    """``x`` where ``low < x`` and x is finite, the given number elsewhere (at a NaN too)."""
    above = select(x > low, x, otherwise)
    return select(above < math.inf, above, otherwise)


# ------------------------------------------------------------------------------------------- exponents and whole parts


def rounding_shift(dtype: DType) -> float:
    """The float to which a small number is added so that it rounds to a whole one, which then are the last bits."""
    return 1.5 * 2.0 ** (significand_bits(dtype) - 1)


def nearest_whole(shifted: Expr) -> Pair:
    """Of ``x + rounding_shift``: the whole number nearest to x, as a float and as an integer.

    Right for less than a quarter of the powers of two below the shift; ties go to even.
    """
    shift = rounding_shift(shifted.dtype)
    return shifted - shift, bits(shifted) - bits_of(shifted.dtype.scalar, shift)


def power_of_two(n: Expr) -> Expr:
    """``2**n`` as a float of the integer's width, for an integer n that is the exponent of a normal number."""
    dtype = DType("float", n.dtype.bits)
    return from_bits(operate("shl", n + _bias(dtype), significand_bits(dtype) - 1))


def scaled(y: Expr, n: Expr) -> Expr:
    """``y * 2**n`` rounded once, for y near 1 and n up to twice the range of exponents.

    Two steps: the first stays among the normal numbers and is exact.
    """
    half = operate("shr", n, 1)
    return y * power_of_two(half) * power_of_two(n - half)


def as_scaled(e: Node) -> Pair | None:
    """(y, n) if an expression is what :func:`scaled` makes of y and n."""
    match e:
        case Binary(op="mul", a=Binary(a=y, b=Call(args=(Binary(a=Binary(a=Binary(op="shr", a=n))),)))):
            return (y, n) if scaled(y, n) is e else None
    return None


def _bias(dtype: DType) -> int:
    return (1 << (exponent_bits(dtype) - 1)) - 1


def exponent_and_fraction(x: Expr) -> tuple[Expr, Expr]:
    """(k, m) with ``x = m * 2**k`` and m from √½ to √2, for positive finite x; k is a float of x's type."""
    dtype = x.dtype.scalar
    fraction = significand_bits(dtype) - 1
    least = 2.0 ** (1 - _bias(dtype))
    subnormal = x < least
    normal = bits(select(subnormal, x * 2.0**fraction, x))
    low = bits_of(dtype, math.sqrt(0.5))
    k = operate("shr", normal - low, fraction)
    m = from_bits(normal - operate("shl", k, fraction))
    return cast(dtype, k) - select(subnormal, const(float(fraction), x.dtype), 0.0), m


# ------------------------------------------------------------------------------------------------------ sums of floats


def quick_two_sum(a: Expr, b: Expr) -> Pair:
    """``a + b`` as sum and error, exact if ``|a| >= |b|`` or a is zero (T. J. Dekker, 1971)."""
    s = a + b
    return s, b - (s - a)


def two_sum(a: Expr, b: Expr) -> Pair:
    """``a + b`` as sum and error, exact whatever the operands (D. E. Knuth)."""
    s = a + b
    added = s - a
    return s, (a - (s - added)) + (b - added)


def two_product(a: Expr, b: ExprLike) -> Pair:
    """``a * b`` as product and error, exact unless it underflows."""
    p = a * b
    return p, fma(a, b, p * -1.0)


def split(exact: Fraction, dtype: DType, bits_of_first: int | None = None) -> tuple[float, float]:
    """A constant as the sum of two floats of ``dtype``, the first perhaps with fewer significant bits."""
    precision = bits_of_first or significand_bits(dtype)
    unit = Fraction(2) ** (math.floor(math.log2(exact)) + 1 - precision)
    first = float(round(exact / unit) * unit)
    return first, as_float(exact - Fraction(first), dtype)


def as_float(exact: Fraction, dtype: DType) -> float:
    """A constant rounded once to the type."""
    return round_exact(dtype.scalar, exact)
