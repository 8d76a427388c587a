"""The region of a buffer that a statement touches: a box, its corner and extents over the variables from around.

Input: a statement and a buffer.  Output: a :class:`Box` that, as far as this module can tell, holds every element that
the statement reads (or writes) of the buffer.  It is *never trusted*: the kernel proves that the accesses lie inside.

Each index is bounded below and above by elimination of the loops inside the statement (``index/bounds.py``); of
several accesses the outermost bounds are taken.  A dimension for which this fails, because an index reads memory or two
bounds cannot be compared, is taken whole.  Where a bound may lie outside the buffer (a halo), the box is cut by a
condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

from verified_tir.index.bounds import Bounds, Ranges
from verified_tir.index.conditions import conjuncts, facts_of
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Broadcast, Expr, IntImm, Not, Ramp, Var
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, at
from verified_tir.ir.poly import Poly, as_poly, render
from verified_tir.ir.stmt import For, Stmt
from verified_tir.ir.sugar import all_of, binary, const
from verified_tir.ir.visit import free_vars
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.schedule.footprint_accesses import pieces


@final
@dataclass(frozen=True, slots=True)
class Side:
    """One dimension of a box: where it starts and how many elements it has; whether either end may stick out."""

    start: Expr
    extent: Expr
    below: bool = False
    above: bool = False


@final
@dataclass(frozen=True, slots=True)
class Box:
    """A region of a buffer, dimension by dimension."""

    buffer: Buffer
    sides: tuple[Side, ...]

    def inside(self, place: tuple[Expr, ...]) -> list[Expr]:
        """Conditions under which the element at ``place``, counted from the corner, exists."""
        found: list[Expr] = []
        for side, y, extent in zip(self.sides, place, self.buffer.shape, strict=True):
            if side.below:
                found.append(binary("ge", y + side.start, 0))
            if side.above:
                found.append(binary("lt", y + side.start, extent))
        return found

    def layout(self, names: str = "ax") -> LayoutMap:
        """The map onto a buffer of the box's size, which starts at 0."""
        xs = tuple(Var.fresh(f"x{k}", s.start.dtype) for k, s in enumerate(self.sides))
        ys = tuple(Var.fresh(f"{names}{k}", s.start.dtype) for k, s in enumerate(self.sides))
        inside = self.inside(ys)
        return LayoutMap(
            xs, tuple(x - s.start for x, s in zip(xs, self.sides, strict=True)),
            ys, tuple(_plus(y, s.start) for y, s in zip(ys, self.sides, strict=True)),
            tuple(s.extent for s in self.sides), Not(all_of(inside)) if inside else FALSE,
        )  # fmt: skip


def _plus(place: Expr, start: Expr) -> Expr:
    """The sum; a negative constant is written as a difference."""
    return place - -start.value if isinstance(start, IntImm) and start.value < 0 else place + start


def box_of(
    stmt: Stmt, buffer: Buffer, around: Ranges, *, reads: bool = True, writes: bool = True, only: Sequence[Path] = (),
    guarded: bool = False, relaxed: Ranges | None = None,
) -> Box | None:  # fmt: skip
    """The box of what ``stmt`` touches of ``buffer``; ``None`` if it does not touch it at all.

    :param around: the ranges of the loops around the statement.
    :param only: places within the statement, if what happens elsewhere in it does not count.
    :param guarded: whether to use the conditions on the way to an access.
    :param relaxed: loops around the statement over which the box is to reach, too.
    """
    found: list[Access] = []
    for place in only or [()]:
        outer_loops = [s for k in range(len(place)) if isinstance(s := at(stmt, place[:k]), For)]
        for p in pieces(at(stmt, place), buffer):
            if p.direct and (writes if p.write else reads):
                ranges = {**(relaxed or {}), **{s.var: (s.min, s.extent) for s in (*outer_loops, *p.loops)}}
                facts = tuple(facts_of(c for given in p.conditions for c in conjuncts(given))) if guarded else ()
                found.append((_shortened(p.indices, ranges, facts) if guarded else p.indices, ranges, facts))
    if not found:
        return None
    outer = Bounds(around)
    return Box(buffer, tuple(_side(found, k, buffer.shape[k], outer, around) for k in range(len(buffer.shape))))


Access = tuple[tuple[Expr | None, ...], dict[Var, tuple[Expr, Expr]], tuple[Poly, ...]]
"""Indices, the loops that move them, and what is ≥ 0 there."""


def _shortened(indices: tuple[Expr | None, ...], ranges: Ranges, facts: tuple[Poly, ...]) -> tuple[Expr | None, ...]:
    """Indices, simplified by what is known of them: ``(i * 255 + j) // 255`` is i, if j is less than 255."""
    simplifier = Simplifier(Bounds(ranges, facts))
    plain = (i is not None and i.dtype.lanes == 1 and is_index(i) for i in indices)
    return tuple(
        simplifier.expr(i) if simple and i is not None else i for i, simple in zip(indices, plain, strict=True)
    )


def _side(found: list[Access], dim: int, size: Expr, outer: Bounds, around: Ranges) -> Side:
    """One dimension of the box; the whole of the buffer's if the accesses say nothing better."""
    whole = Side(const(0, size.dtype), size)
    lows: list[Poly] = []
    highs: list[Poly] = []
    for indices, ranges, facts in found:
        index = indices[dim]
        ends = None if index is None else _extremes(index, Bounds(ranges, facts))
        if ends is None:
            return whole
        lows.append(ends[0])
        highs.append(ends[1])
    first, last = _outermost(lows, highs, outer)
    if first is None or last is None:
        return whole
    try:
        start, extent = render(first, size.dtype), render(last - first + 1, size.dtype)
    except IRError:  # the loops count in a type of more bits, and go farther
        return whole
    if not outer.nonneg(last - first + 1) or _unknown((start, extent), found, around):
        return whole
    if outer.nonneg(last - first + 1 - as_poly(size)):
        return whole  # guards leave out the rest
    below, above = not outer.nonneg(first), not outer.nonneg(as_poly(size) - last - 1)
    return Side(start, extent, below, above)


def _extremes(index: Expr, inner: Bounds) -> tuple[Poly, Poly] | None:
    """Bounds of an index over the loops inside."""
    found = []
    for e in ends_of(index):
        if e.dtype.lanes > 1 or not is_index(e):
            return None
        low, high = inner.lower(as_poly(e)), inner.upper(as_poly(e))
        if low is None or high is None:
            return None
        found.append((low, high))
    low, high = _outermost([a for a, _ in found], [b for _, b in found], inner)
    return None if low is None or high is None else (low, high)


def _outermost(lows: list[Poly], highs: list[Poly], outer: Bounds) -> tuple[Poly | None, Poly | None]:
    """The least of some lower bounds and the greatest of some upper ones, if they can be compared."""
    first = next((a for a in lows if all(outer.nonneg(b - a) for b in lows)), None)
    last = next((a for a in highs if all(outer.nonneg(a - b) for b in highs)), None)
    return first, last


def index_bounds(indices: Sequence[Expr], inner: Bounds, outer: Bounds) -> tuple[Expr | None, Expr | None]:
    """The least and the greatest of some indices, over the loops that ``inner`` knows; what cannot be compared by what
    ``outer`` knows becomes a minimum or maximum.  ``None`` where an index has no bound."""
    found = [_extremes(e, inner) for e in indices]
    known = [ends for ends in found if ends is not None]
    if not known or len(known) < len(found):
        return None, None
    dtype = indices[0].dtype.scalar
    first, last = _outermost([a for a, _ in known], [b for _, b in known], outer)
    low, high = (list(dict.fromkeys(render(ends[k], dtype) for ends in known)) for k in (0, 1))
    return (
        render(first, dtype) if first is not None else reduce(lambda a, b: binary("min", a, b), low),
        render(last, dtype) if last is not None else reduce(lambda a, b: binary("max", a, b), high),
    )


def ends_of(index: Expr) -> tuple[Expr, ...]:
    """An index; of a vector of indices the first and the last, between which the others lie."""
    match index:
        case Ramp(base=base, stride=stride, lanes=lanes):
            return base, base + stride * (lanes - 1)
        case Broadcast(value=value):
            return (value,)
    return (index,)


def _unknown(exprs: tuple[Expr, ...], found: list[Access], around: Ranges) -> bool:
    """Whether a loop inside the statement is left in a bound."""
    inner = {v for _, ranges, _ in found for v in ranges} - set(around)
    return any(v in inner for e in exprs for v in free_vars(e))
