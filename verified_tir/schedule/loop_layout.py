"""Loops that run through a buffer in the order of its layout: the index map of an access, turned round.

The indices of an access, as functions of the loops around it, are an index map.  Its outputs become loops, and its
inverse says what the old ones were.  Where the indices do not determine the iteration, some old loops stay beside them.
Untrusted: whoever uses the result for a step has it proved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from verified_tir.index.bounds import Bounds, Ranges
from verified_tir.index.fold import folded
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.poly import Poly, as_poly, render
from verified_tir.ir.stmt import For
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.schedule.moves import NewLoop

ATTEMPTS = 12
"""How many choices of loops that stay are looked at for one access."""

Place = tuple[Expr, Expr]
"""An index and the buffer's extent in that dimension."""


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """The loops that follow a layout, and what the old loops are in them."""

    order: tuple[For, ...]
    """The old loops that the indices use,"""
    outputs: tuple[Expr, ...]
    """the new loops' values over these,"""
    loops: tuple[NewLoop, ...]
    inverse: tuple[Expr, ...]
    """and the old loops' values over the new ones."""
    hole: Expr
    """Where the new loops run over places that no old iteration has."""

    @property
    def ranges(self) -> Ranges:
        """Of the new loops."""
        return {s.var: (s.min, s.extent) for s in self.loops}


def choices(order: Sequence[For], first: Sequence[For]) -> list[list[For]]:
    """Which loops may stay, the most promising choices first: few, and those of ``first``."""
    found = [*_subsets(first), *(c for c in _subsets(order) if not set(c) <= set(first))]
    return found[:ATTEMPTS]


def _subsets(loops: Sequence[For]) -> Iterator[list[For]]:
    """Small choices first; never all loops, for then nothing would follow the layout."""
    for count in range(len(loops) + 1):
        yield from (list(c) for c in itertools.combinations(loops, count))


def layout_of(order: Sequence[For], places: Sequence[Place], kept: Sequence[For], *, guarded: bool) -> Layout:
    """The map from loops (each from zero) to indices, made injective by loops that stay, and its inverse.

    :param guarded: whether conditions keep the loops from places outside of the buffer.

    :raises IndexMapError: if it is not injective, or cannot be inverted.
    """
    zero = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in order}
    shift: dict[Var, Expr] = {s.var: zero[s.var] + s.min for s in order}
    bounds = Bounds({s.var: (s.min, s.extent) for s in order})
    outputs = (*(e for e, _ in places), *(s.var for s in kept))
    same = [next((s for s in order if s.var is e), None) for e in outputs]
    lows = [s.min if s is not None else _least(bounds, order, e, guarded) for e, s in zip(outputs, same, strict=True)]
    from_zero = [zero[s.var] if s is not None else _less(substitute(e, shift), low)
                 for e, s, low in zip(outputs, same, lows, strict=True)]  # fmt: skip
    box = IndexMap(tuple(zero.values()), tuple(from_zero)).on([s.extent for s in order])
    fresh = [Var.fresh(n, e.dtype) for e, n in zip(outputs, _names(order, kept, outputs, box.hit_vars), strict=True)]
    loops: list[NewLoop] = []
    for d, (v, s, low, extent) in enumerate(zip(fresh, same, lows, box.padded, strict=True)):
        if s is not None:
            loops.append(NewLoop(v, s.min, s.extent, s.kind, s.thread, s.annotations))
        else:
            loops.append(NewLoop(v, *_within(low, extent, places[d][1] if guarded else None)))
    at = {v: _less(n, low) for v, n, low in zip(box.hit_vars, fresh, lows, strict=True)}
    inverse = tuple(folded(substitute(g, at) + s.min) for s, g in zip(order, box.inverse, strict=True))
    return Layout(tuple(order), outputs, tuple(loops), inverse, substitute(box.padding(True), at))


def _least(bounds: Bounds, order: Sequence[For], e: Expr, guarded: bool) -> Expr:
    """The least value of an index, if that is known: a constant, or what no loop moves and a constant.

    One below zero only where a guard rules it out.
    """
    own = {s.var for s in order}
    poly = as_poly(e)
    fixed = Poly({m: k for m, k in poly.terms.items() if m and not any(own & set(free_vars(a)) for a in m)})
    low, _ = bounds.interval(poly - fixed)
    if not fixed.is_zero and low is not None:
        return render(fixed + low, e.dtype)
    return const(0 if low is None or (low < 0 and not guarded) else low, e.dtype)


def _less(e: Expr, low: Expr) -> Expr:
    return e if (isinstance(low, IntImm) and low.value == 0) else folded(e - low)


def _within(low: Expr, extent: Expr, shape: Expr | None) -> tuple[Expr, Expr]:
    """The range of a new loop: that of the index, without what lies outside of the buffer (where a guard skips it)."""
    match low, extent, shape:
        case IntImm(value=a), IntImm(value=n), IntImm(value=size):
            first, end = max(a, 0), min(a + n, size)
            return const(first, low.dtype), const(max(0, end - first), low.dtype)
        case IntImm(value=a), _, _ if a < 0:
            return const(0, low.dtype), folded(extent + a)
    return low, extent


def _names(order: Sequence[For], kept: Sequence[For], outputs: Sequence[Expr], hit: Sequence[Var]) -> list[str]:
    """Loops that stay keep their names; the parts of one that is split are called ``j_0``, ``j_1``, …"""
    names: list[str] = []
    counts: dict[str, int] = {}
    for e, v in zip(outputs, hit, strict=True):
        inside = [s.var for s in order if s not in kept and s.var in free_vars(e)]
        if isinstance(e, Var):
            names.append(e.name)
        elif len(inside) == 1:
            name = inside[0].name
            names.append(f"{name}_{counts.get(name, 0)}")
            counts[name] = counts.get(name, 0) + 1
        else:
            names.append(v.name)
    return names
