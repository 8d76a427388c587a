"""Arguments of the trigonometric functions, reduced by multiples of π/2: exact enough for every finite argument.

    |x| = m 2**e with a whole m,     |x| 2/π = m (2**e 2/π)

Of ``2**e 2/π`` the bits above weight 2 change the product by multiples of 4, that is of whole turns, and do not count.
So a window of the bits of 2/π, whose place depends on e, is multiplied by m in integers; what overflows are whole
turns.  The top two bits of the product are the quadrant, the rest is the fraction of a quarter turn (M. Payne and
R. Hanek, "Radian reduction for trigonometric functions", 1983).  No float comes so close to a multiple of π/2 that the
window would be too short: the nearest float64 leaves 61 of the 126 bits of the fraction zero.

Words are 32 bits in a uint64, so that products do not overflow.
"""

from __future__ import annotations

import math

from verified_tir.ir.dtype import FLOAT32, FLOAT64, INT64, DType
from verified_tir.ir.expr import Expr
from verified_tir.ir.sugar import const
from verified_tir.semantics.intrinsics.constants import PI, bits_of_two_over_pi
from verified_tir.semantics.intrinsics.words import (
    between,
    bits,
    cast,
    fma,
    magnitude,
    operate,
    quick_two_sum,
    select,
    split,
    two_product,
)

UINT64 = DType("uint", 64)
_WORD = (1 << 32) - 1
EIGHTH_TURN = math.pi / 4
"""Arguments below are not reduced.  (It is 2**-54 too small; any number near it would do.)"""


def reduced(x: Expr) -> tuple[Expr, Expr, Expr | None]:
    """(q, r, s) with ``|x| = q π/2 + r + s`` modulo whole turns and r at most about π/4, for finite x.

    q is a uint64 from 0 to 3; r and s are float64.  A float32 needs no s.
    """
    wide = cast(FLOAT64, magnitude(x))
    small = wide < EIGHTH_TURN
    large = between(magnitude(x), EIGHTH_TURN * 0.75)
    quadrant, r, s = _of_float32(large) if x.dtype.scalar is FLOAT32 else _of_float64(large)
    return (
        select(small, const(0, quadrant.dtype), quadrant),
        select(small, wide, r),
        None if s is None else select(small, 0.0, s),
    )


def _fields(x: Expr, fraction: int) -> tuple[Expr, Expr]:
    """The biased exponent and the significand of a positive normal number, as uint64."""
    pattern = cast(UINT64, bits(x))
    significand = operate("bitor", operate("bitand", pattern, (1 << fraction) - 1), 1 << fraction)
    return operate("shr", pattern, fraction), significand


def _double_words(count: int, padding: int) -> list[int]:
    """Numbers of 64 bits, each starting 32 bits after the one before, from 2/π with zeros before it."""
    total = 32 * (count + 1)
    number = bits_of_two_over_pi(total - padding)
    return [(number >> (total - 64 - 32 * k)) & ((1 << 64) - 1) for k in range(count)]


def _window(offset: Expr, words: int, padding: int, largest: int) -> list[Expr]:
    """``words`` words of the padded bits of 2/π from the bit ``offset`` (at most ``largest``) on.

    The list of double words is shifted by 32, 16, 8 … places, or not, as the bits of the offset say.
    """
    most = largest >> 5
    table: list[Expr] = [const(v, offset.dtype) for v in _double_words(most + words, padding)]
    step = 1 << (most.bit_length() - 1)
    while step:
        asked = operate("bitand", offset, 32 * step)
        shifted = asked > 0
        kept = min(len(table), words + step - 1)
        table = [select(shifted, table[k + step], table[k]) if k + step < len(table) else table[k] for k in range(kept)]
        step //= 2
    back = 32 - operate("bitand", offset, 31)
    return [operate("bitand", operate("shr", word, back), _WORD) for word in table]


def _low(a: Expr) -> Expr:
    return operate("bitand", a, _WORD)


def _high(a: Expr) -> Expr:
    return operate("shr", a, 32)


def _quadrant(top: Expr) -> tuple[Expr, Expr]:
    """The nearest quarter turn, and the signed rest: ``top = q 2**62 + rest`` modulo 2**64."""
    q = operate("shr", top + (1 << 61), 62)
    return q, cast(INT64, top - operate("shl", q, 62))


def _of_float32(x: Expr) -> tuple[Expr, Expr, None]:
    """24 bits of significand times 96 bits of the window; 62 bits of fraction are left."""
    exponent, m = _fields(x, 23)
    # the window starts at the bit of weight 2: bit e - 1 of 2/π, where e is the exponent less 150
    padding = 32
    w = _window(exponent - (152 - padding), 3, padding, 254 - 152 + padding)
    top = operate("shl", m * w[0], 32) + m * w[1] + _high(m * w[2])
    q, rest = _quadrant(top)
    return q, cast(FLOAT64, rest) * float(PI / 2 / (1 << 62)), None


def _of_float64(x: Expr) -> tuple[Expr, Expr, Expr]:
    """53 bits of significand times 192 bits of the window; 126 bits of fraction are left, as four words."""
    exponent, m = _fields(x, 52)
    padding = 64
    w = _window(exponent - (1077 - padding), 6, padding, 2046 - 1077 + padding)
    m0, m1 = _low(m), _high(m)
    carry = _high(m0 * w[5])  # what the words below this one add is lost
    product: list[Expr] = []
    for k in (4, 3, 2, 1, 0):  # from the least word up: m0 times this one, m1 times the one below
        column = _low(m0 * w[k]) + m1 * w[k + 1] + carry
        product.append(_low(column))
        carry = _high(column) + _high(m0 * w[k])
    _, low, high, second, first = product
    q, rest = _quadrant(operate("shl", first, 32) + second)
    parts = (operate("shr", rest, 32), operate("bitand", rest, _WORD), high, low)
    a, b, c, d = (cast(FLOAT64, part) * 2.0**scale for part, scale in zip(parts, (-30, -62, -94, -126), strict=True))
    fraction, error = quick_two_sum(a, b)
    fraction, error = quick_two_sum(fraction, error + (c + d))
    half_pi, remainder = split(PI / 2, FLOAT64)
    r, s = two_product(fraction, half_pi)
    return q, *quick_two_sum(r, fma(fraction, remainder, fma(error, half_pi, s)))
