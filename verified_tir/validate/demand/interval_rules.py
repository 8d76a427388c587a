"""Interval arithmetic, forwards and backwards, on many intervals at once.

For each operator: the interval of the result, given those of the operands; and intervals for the operands, given that
of the result and what is known of them already (:data:`FREE` where nothing follows).  Booleans are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from verified_tir.validate.memory import Mask
from verified_tir.validate.terms import Ids

HUGE: Final = 1 << 61  # stands for "unbounded"; sums of two still fit 64 bits
Pair: TypeAlias = tuple[Ids, Ids]
FREE: Final[Pair] = (np.array([-HUGE]), np.array([HUGE]))


# --------------------------------------------------------------------------------------------------------- forward


def product(a: Ids, b: Ids) -> Ids:
    """``a * b``, at most :data:`HUGE` in size."""
    if a.size and b.size:
        reach = float(np.abs(a).max()) * float(np.abs(b).max())
        if reach >= HUGE:
            exact = np.clip(a.astype(np.float64) * b.astype(np.float64), -HUGE, HUGE)
            near = np.abs(exact) >= HUGE / 2
            safe: Ids = np.where(near, 0, a) * np.where(near, 0, b)
            rounded = np.where(exact > 0, HUGE, -HUGE)
            return np.where(near, rounded, safe)
    found: Ids = a * b
    return found


def _clip(a: Ids) -> Ids:
    return np.clip(a, -HUGE, HUGE)


def _add(al: Ids, ah: Ids, bl: Ids, bh: Ids) -> Pair:
    return _clip(al + bl), _clip(ah + bh)


def _sub(al: Ids, ah: Ids, bl: Ids, bh: Ids) -> Pair:
    return _clip(al - bh), _clip(ah - bl)


def _mul(al: Ids, ah: Ids, bl: Ids, bh: Ids) -> Pair:
    if bl is bh and bl.size == 1:
        return (product(al, bl), product(ah, bl)) if bl[0] >= 0 else (product(ah, bl), product(al, bl))
    corners = [product(x, y) for x in (al, ah) for y in (bl, bh)]
    return np.minimum.reduce(np.broadcast_arrays(*corners)), np.maximum.reduce(np.broadcast_arrays(*corners))


def _floordiv(al: Ids, ah: Ids, bl: Ids, bh: Ids) -> Pair:
    good = bl > 0
    x, y = np.where(good, bl, 1), np.where(good, bh, 1)
    lo = np.minimum(np.floor_divide(al, x), np.floor_divide(al, y))
    hi = np.maximum(np.floor_divide(ah, x), np.floor_divide(ah, y))
    reach = np.maximum(np.abs(al), np.abs(ah))
    return _where(good, (lo, hi), (-reach, reach))


def _floormod(al: Ids, ah: Ids, bl: Ids, bh: Ids) -> Pair:
    good = (bl > 0) & (bl == bh)
    k = np.where(good, bl, 1)
    quotient = np.floor_divide(al, k)
    one = good & (quotient == np.floor_divide(ah, k))
    reach = np.maximum(np.maximum(np.abs(bl), np.abs(bh)) - 1, 0)
    least = np.where(bl > 0, 0, -reach)
    return np.where(one, al - quotient * k, least), np.where(one, ah - quotient * k, reach)


def _truncdiv(al: Ids, ah: Ids, bl: Ids, bh: Ids) -> Pair:
    reach = np.maximum(np.abs(al), np.abs(ah))
    return _where(_plain(al, bl), _floordiv(al, ah, bl, bh), (-reach, reach))


def _truncmod(al: Ids, ah: Ids, bl: Ids, bh: Ids) -> Pair:
    reach = np.maximum(np.abs(bl), np.abs(bh))
    return _where(_plain(al, bl), _floormod(al, ah, bl, bh), (-reach, reach))


def _plain(al: Ids, bl: Ids) -> Mask:
    """Whether rounding down is rounding towards zero."""
    return (al >= 0) & (bl > 0)


def _where(good: Mask, found: Pair, other: Pair) -> Pair:
    return np.where(good, found[0], other[0]), np.where(good, found[1], other[1])


def _bool(true: Mask, false: Mask) -> Pair:
    return true.astype(np.int64), (~false).astype(np.int64)


FORWARD: Final[dict[str, Callable[[Ids, Ids, Ids, Ids], Pair]]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "floordiv": _floordiv,
    "floormod": _floormod,
    "truncdiv": _truncdiv,
    "truncmod": _truncmod,
    "min": lambda al, ah, bl, bh: (np.minimum(al, bl), np.minimum(ah, bh)),
    "max": lambda al, ah, bl, bh: (np.maximum(al, bl), np.maximum(ah, bh)),
    "lt": lambda al, ah, bl, bh: _bool(ah < bl, al >= bh),
    "le": lambda al, ah, bl, bh: _bool(ah <= bl, al > bh),
    "eq": lambda al, ah, bl, bh: _bool((al == ah) & (bl == bh) & (al == bl), (ah < bl) | (bh < al)),
    "and": lambda al, ah, bl, bh: (al & bl, ah & bh),
    "or": lambda al, ah, bl, bh: (al | bl, ah | bh),
}


def choice(cl: Ids, ch: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> Pair:
    lo = np.where(cl == 1, al, np.where(ch == 0, bl, np.minimum(al, bl)))
    hi = np.where(cl == 1, ah, np.where(ch == 0, bh, np.maximum(ah, bh)))
    return lo, hi


# -------------------------------------------------------------------------------------------------------- backward


def _add_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    return (lo - bh, hi - bl), (lo - ah, hi - al)


def _sub_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    return (lo + bl, hi + bh), (al - hi, ah - lo)


def _quotient(lo: Ids, hi: Ids, bl: Ids, bh: Ids) -> Pair:
    """What times a known factor other than 0 lies in [lo, hi]."""
    known = (bl == bh) & (bl != 0)
    k = np.where(known, bl, 1)
    up, down = np.where(k > 0, lo, hi), np.where(k > 0, hi, lo)
    return _where(known, (-np.floor_divide(-up, k), np.floor_divide(down, k)), FREE)


def _mul_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    return _quotient(lo, hi, bl, bh), _quotient(lo, hi, al, ah)


def _floordiv_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    known = (bl == bh) & (bl > 0)
    k = np.where(known, bl, 1)
    return _where(known, (product(lo, k), product(hi, k) + k - 1), FREE), FREE


def _floormod_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    """The nearest numbers inside [al, ah] that have a remainder in [lo, hi]."""
    known = (bl == bh) & (bl > 0) & (lo <= hi)
    k = np.where(known, bl, 1)
    first = np.remainder(al, k)
    least = al + np.where(first < lo, lo - first, np.where(first > hi, k - first + lo, 0))
    final_ = np.remainder(ah, k)
    most = ah - np.where(final_ > hi, final_ - hi, np.where(final_ < lo, final_ + k - hi, 0))
    return _where(known, (least, most), FREE), FREE


def _truncdiv_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    return _where(al >= 0, _floordiv_back(lo, hi, al, ah, bl, bh)[0], FREE), FREE


def _truncmod_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    return _where(al >= 0, _floormod_back(lo, hi, al, ah, bl, bh)[0], FREE), FREE


def _min_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    return (lo, np.where(bl > hi, hi, HUGE)), (lo, np.where(al > hi, hi, HUGE))


def _max_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    return (np.where(bh < lo, lo, -HUGE), hi), (np.where(ah < lo, lo, -HUGE), hi)


def _lt_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    true, false = lo == 1, hi == 0
    return (
        (np.where(false, bl, -HUGE), np.where(true, bh - 1, HUGE)),
        (np.where(true, al + 1, -HUGE), np.where(false, ah, HUGE)),
    )


def _le_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    true, false = lo == 1, hi == 0
    return (
        (np.where(false, bl + 1, -HUGE), np.where(true, bh, HUGE)),
        (np.where(true, al, -HUGE), np.where(false, ah - 1, HUGE)),
    )


def _eq_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    true, false = lo == 1, hi == 0

    def away(xl: Ids, xh: Ids, yl: Ids, yh: Ids) -> Pair:
        single = false & (yl == yh)
        return np.where(single & (xl == yl), xl + 1, -HUGE), np.where(single & (xh == yl), xh - 1, HUGE)

    one, other = away(al, ah, bl, bh), away(bl, bh, al, ah)
    return (
        (np.where(true, bl, one[0]), np.where(true, bh, one[1])),
        (np.where(true, al, other[0]), np.where(true, ah, other[1])),
    )


def _and_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    return (lo, np.where((hi == 0) & (bl == 1), 0, 1)), (lo, np.where((hi == 0) & (al == 1), 0, 1))


def _or_back(lo: Ids, hi: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair]:
    return (np.where((lo == 1) & (bh == 0), 1, 0), hi), (np.where((lo == 1) & (ah == 0), 1, 0), hi)


BACKWARD: Final[dict[str, Callable[[Ids, Ids, Ids, Ids, Ids, Ids], tuple[Pair, Pair]]]] = {
    "add": _add_back,
    "sub": _sub_back,
    "mul": _mul_back,
    "floordiv": _floordiv_back,
    "floormod": _floormod_back,
    "truncdiv": _truncdiv_back,
    "truncmod": _truncmod_back,
    "min": _min_back,
    "max": _max_back,
    "lt": _lt_back,
    "le": _le_back,
    "eq": _eq_back,
    "and": _and_back,
    "or": _or_back,
}


def choice_back(lo: Ids, hi: Ids, cl: Ids, ch: Ids, al: Ids, ah: Ids, bl: Ids, bh: Ids) -> tuple[Pair, Pair, Pair]:
    """For a condition and the two values it chooses from."""
    yes, no = cl == 1, ch == 0
    never_a, never_b = (ah < lo) | (al > hi), (bh < lo) | (bl > hi)
    return (
        (np.where(never_b, 1, 0), np.where(never_a, 0, 1)),
        _where(yes, (lo, hi), FREE),
        _where(no, (lo, hi), FREE),
    )
