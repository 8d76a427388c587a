"""Last resorts for small constant boxes: inverses and padding predicates read off an enumeration.

Where neither the structural solver nor isl finds an expression, the points themselves still say what it must be.  The
results are exact and may be long; past :data:`PIECES` pieces they are not worth having.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from verified_tir.ir.expr import Expr, Select, Var
from verified_tir.ir.sugar import all_of, const

Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

PIECES = 256
"""The most pieces that an enumerated function or union may have."""


def tabulated(hits: Sequence[Var], images: Ints, points: Ints) -> list[Expr] | None:
    """Expressions in ``hits`` that take row k of ``images`` to row k of ``points``, for images that all differ.

    The images are numbered in row-major order, and each coordinate is a function of that number in affine pieces.
    """
    low, high = images.min(axis=0), images.max(axis=0)
    number: Expr = const(0, hits[0].dtype) if hits else const(0)
    numbers = np.zeros(len(images), dtype=np.int64)
    for k, y in enumerate(hits):
        width = int(high[k] - low[k]) + 1
        number = number * width + (y - int(low[k]))
        numbers = numbers * width + (images[:, k] - low[k])
    if numbers.max(initial=0) > number.dtype.max_value:
        return None
    order = np.argsort(numbers)
    keys = numbers[order]
    found = [_piecewise(number, keys, points[order, axis]) for axis in range(points.shape[1])]
    return None if any(f is None for f in found) else [f for f in found if f is not None]


def _piecewise(x: Expr, keys: Ints, values: Ints) -> Expr | None:
    """A function of ``x`` with the given values at the ascending ``keys``."""
    pieces: list[tuple[int, Expr]] = []
    start = 0
    while start < len(keys):
        if len(pieces) == PIECES:
            return None
        first, value = int(keys[start]), int(values[start])
        rise, run, end = 0, 1, start + 1
        if end < len(keys):
            rise, run = int(values[end]) - value, int(keys[end]) - first
        while end < len(keys) and (int(values[end]) - value) * run == rise * (int(keys[end]) - first):
            end += 1
        offset = value * run - first * rise
        pieces.append((first, (x * rise + offset) // run if rise else const(value, x.dtype)))
        start = end
    return _tree(x, pieces)


def _tree(x: Expr, pieces: Sequence[tuple[int, Expr]]) -> Expr:
    """A balanced choice among the pieces, each of which begins at its number."""
    if len(pieces) == 1:
        return pieces[0][1]
    middle = len(pieces) // 2
    return Select(x < pieces[middle][0], _tree(x, pieces[:middle]), _tree(x, pieces[middle:]))


def cover(missing: Mask, variables: Sequence[Var]) -> list[Expr] | None:
    """The marked points as blocks ``first <= y <= last``, each grown greedily from the first point not yet covered."""
    left = missing.copy()
    blocks: list[Expr] = []
    while left.any():
        if len(blocks) == PIECES:
            return None
        corner = np.unravel_index(int(left.argmax()), left.shape)
        bounds = [(int(c), int(c) + 1) for c in corner]
        for axis in reversed(range(len(bounds))):
            bounds[axis] = _grown(missing, bounds, axis)
        left[tuple(slice(a, b) for a, b in bounds)] = False
        blocks.append(_block(bounds, missing.shape, variables))
    return blocks


def _grown(missing: Mask, bounds: Sequence[tuple[int, int]], axis: int) -> tuple[int, int]:
    """The block's bounds along ``axis``, as far up as every point is marked."""
    window = [slice(a, b) for a, b in bounds]
    window[axis] = slice(bounds[axis][0], None)
    others = tuple(k for k in range(len(bounds)) if k != axis)
    full = np.asarray(missing[tuple(window)].all(axis=others))
    length = len(full) if full.all() else int(np.argmin(full))
    return bounds[axis][0], bounds[axis][0] + length


def _block(bounds: Sequence[tuple[int, int]], shape: tuple[int, ...], variables: Sequence[Var]) -> Expr:
    conditions: list[Expr] = []
    for y, extent, (first, end) in zip(variables, shape, bounds, strict=True):
        if end - first == 1 and extent > 1:
            conditions.append(y.equal(first))
            continue
        if first > 0:
            conditions.append(y >= first)
        if end < extent:
            conditions.append(y < end)
    return all_of(conditions)
