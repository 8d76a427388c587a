"""Mathematical constants as fractions, to as many digits as the expansions need, computed from their series."""

from __future__ import annotations

from fractions import Fraction

_BITS = 1400
"""2/π is needed to 1248 bits, by the reduction of the largest float64."""


def _arctangent_of_inverse(n: int) -> int:
    """``atan(1/n) * 2**_BITS``, a little too small."""
    term = (1 << _BITS) // n
    total, k = term, 1
    while term:
        term //= n * n
        k += 2
        total += term // k if k % 4 == 1 else -(term // k)
    return total


def _area_hyperbolic_tangent_of_inverse(n: int) -> int:
    """``atanh(1/n) * 2**_BITS``, a little too small."""
    term = (1 << _BITS) // n
    total, k = term, 1
    while term:
        term //= n * n
        k += 2
        total += term // k
    return total


_ONE = 1 << _BITS
PI = Fraction(4 * (4 * _arctangent_of_inverse(5) - _arctangent_of_inverse(239)), _ONE)  # J. Machin, 1706
LN2 = Fraction(2 * _area_hyperbolic_tangent_of_inverse(3), _ONE)
LN10 = 3 * LN2 + Fraction(2 * _area_hyperbolic_tangent_of_inverse(9), _ONE)  # 10 = 8 * (1 + 1/9) / (1 - 1/9)


def bits_of_two_over_pi(count: int) -> int:
    """The first ``count`` bits of 2/π after the point, as an integer."""
    return int(2 / PI * (1 << count))
