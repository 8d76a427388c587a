"""What sampling instructions decide: the numbers that a schedule leaves open (TVM's ``sample_*``).

Nothing here changes a program.  A decision that makes a step wrong ends in its refusal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Final, final

COMPUTE_ROOT: Final = "<root>"
"""The location that leaves a block where it is: TVM's -1."""
COMPUTE_INLINE: Final = "<inline>"
"""The location of a block that is computed where it is read: TVM's -2."""


@final
class Sampled(int):
    """A number that was sampled.  A trace knows by the object itself where the number came from; what is computed from
    it is an ordinary number."""


def unsampled(value: object) -> object:
    """An argument with ordinary numbers in place of sampled ones, also within lists and tuples."""
    if isinstance(value, Sampled):
        return int(value)
    if type(value) in (list, tuple):
        assert isinstance(value, (list, tuple))
        return type(value)([unsampled(v) for v in value])
    return value


def categorical(random: Random, probs: Sequence[float]) -> int:
    """The number of a category, drawn by its probability."""
    return random.choices(range(len(probs)), weights=probs)[0]


def perfect_tile(random: Random, extent: int, n: int, most: int) -> list[int]:
    """``n`` factors whose product is ``extent``, the last at most ``most``; each such list is as likely."""
    if n == 1:
        return [extent]
    weights = [(d, _tilings(extent // d, n - 1)) for d in divisors(extent) if d <= most]
    last = random.choices([d for d, _ in weights], weights=[w for _, w in weights])[0]
    found, left = [last], extent // last
    for k in range(n - 1, 1, -1):
        possible = divisors(left)
        factor = random.choices(possible, weights=[_tilings(left // d, k - 1) for d in possible])[0]
        found.insert(0, factor)
        left //= factor
    return [left, *found]


def refitted(decision: Sequence[int], extent: int) -> list[int]:
    """A decision for another extent, as TVM refits one: factors that do not divide become what is left, and the
    outermost becomes the rest."""
    found = list(decision)
    left = extent
    for k in range(len(found) - 1, 0, -1):
        if left % found[k]:
            found[k] = left
        left //= found[k]
    return [left, *found[1:]]


@cache
def divisors(n: int) -> tuple[int, ...]:
    """The divisors of a number, the smallest first."""
    small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    return tuple(sorted({*small, *(n // d for d in small)}))


@cache
def _tilings(n: int, parts: int) -> int:
    """The number of lists of ``parts`` factors whose product is ``n``."""
    if parts <= 1:
        return int(parts == 1 or n == 1)
    return sum(_tilings(n // d, parts - 1) for d in divisors(n))
