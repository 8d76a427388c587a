"""The footprint of one access, as a range for each dimension and a condition over the indices.

The indices are inverted as an index map (``loop_layout``).  Loops that they do not determine, and loops that only move
a condition, remain as witnesses: the element is accessed if the condition holds for some values of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias, final

import numpy as np

from verified_tir.index.bounds import Bounds, Ranges
from verified_tir.index.conditions import conjuncts
from verified_tir.index.evaluate import evaluate
from verified_tir.index.fold import size
from verified_tir.index.map import IndexMapError
from verified_tir.index.simplify import simplify as simplify_index
from verified_tir.ir.dtype import INT64
from verified_tir.ir.expr import FALSE, Expr, IntImm, Var
from verified_tir.ir.poly import as_poly, render
from verified_tir.ir.stmt import SKIP, For
from verified_tir.ir.sugar import all_of, binary, const
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.ir.widen import Widening
from verified_tir.schedule.footprint_accesses import Piece
from verified_tir.schedule.loop_layout import Layout, choices, layout_of

POINTS = 1 << 16
"""How many places, witnesses included, are looked at one by one."""


@final
@dataclass(frozen=True, slots=True)
class Solved:
    """The elements of one access."""

    ranges: tuple[tuple[Expr, Expr], ...]
    conditions: tuple[Expr, ...]
    witnesses: tuple[tuple[Var, Expr, Expr], ...]
    why: str


Shape: TypeAlias = "tuple[Expr, ...]"


def of_one_type(shape: Shape, parts: list[Piece]) -> tuple[Shape, list[Piece]]:
    """Everything in 64 bits, if some of it is: loops of int64 may well be beside a shape of int32."""
    exprs = [e for p in parts for e in p.indices if e is not None] + [s.var for p in parts for s in p.loops]
    if len({e.dtype for e in (*shape, *exprs)}) <= 1:
        return shape, parts
    narrow = [s for p in parts for s in p.loops if s.var.dtype is not INT64]
    by = Widening({s.var: Var.fresh(s.var.name, INT64) for s in narrow})

    def loop(s: For) -> For:
        return For(by.wide.get(s.var, s.var), by.widened(s.min), by.widened(s.extent), SKIP, s.kind, s.thread)

    wide = [
        replace(
            p,
            indices=tuple(e if e is None else by.widened(e) for e in p.indices),
            loops=tuple(loop(s) for s in p.loops),
            conditions=tuple(by.expr(c) for c in p.conditions),
        )
        for p in parts
    ]
    return tuple(by.widened(e) for e in shape), wide


def index_variables(buffer: str, shape: Shape, parts: Sequence[Piece]) -> tuple[Var, ...]:
    """Variables for the dimensions, named after a loop inside that is the index, where nothing else has its name."""
    bound = {s.var for p in parts for s in p.loops}
    exprs = [e for p in parts for e in (*p.indices, *p.conditions) if e is not None]
    exprs += [e for p in parts for s in p.loops for e in (s.min, s.extent)]
    names = [v.name for e in exprs for v in free_vars(e) if v not in bound]
    found: list[Var] = []
    for d, extent in enumerate(shape):
        own = next((e.name for p in parts if isinstance(e := p.indices[d], Var) and e in bound), f"i{d}")
        name = next(n for n in (own, f"i{d}", f"axis{d}", f"{buffer}_{d}") if n not in names)
        names.append(name)
        found.append(Var.fresh(name, extent.dtype))
    return tuple(found)


def solve(shape: Shape, indices: tuple[Var, ...], piece: Piece) -> Solved:
    """The condition that an access of some iteration touches the element."""
    loops = {s.var: s for s in piece.loops}
    moved = [d for d, e in enumerate(piece.indices) if e is not None and loops.keys() & set(free_vars(e))]
    order = [s for s in piece.loops if any(s.var in free_vars(_index(piece, d)) for d in moved)]
    box = not any(loops.keys() & set(free_vars(e)) for s in piece.loops for e in (s.min, s.extent))
    layout = _inverted(shape, piece, order, moved) if box else None
    if layout is None:
        return _searched(shape, indices, piece)
    kept = layout.loops[len(moved) :]
    at_index = {s.var: indices[d] for s, d in zip(layout.loops, moved, strict=False)}
    inverse = {s.var: substitute(g, at_index) for s, g in zip(layout.order, layout.inverse, strict=True)}
    ranges: list[tuple[Expr, Expr]] = []
    conditions: list[Expr] = []
    for d, (index, v, extent) in enumerate(zip(piece.indices, indices, shape, strict=True)):
        if d in moved:
            new = layout.loops[moved.index(d)]
            ranges.append((new.min, new.extent))
        elif index is None:
            ranges.append((const(0, v.dtype), extent))
        else:
            ranges.append((index, const(1, v.dtype)))
    for s in layout.order:
        conditions += [binary("le", s.min, inverse[s.var]), binary("lt", inverse[s.var], s.min + s.extent)]
    conditions += [binary("eq", substitute(_index(piece, d), inverse), indices[d]) for d in moved]
    witnesses = [(s.var, s.min, s.extent) for s in kept]
    others = _others(piece, order)
    witnesses += [(s.var, s.min, s.extent) for s in others]
    conditions += [substitute(c, inverse) for c in piece.conditions]
    conditions += _not_empty(piece, [*order, *others])
    return _tidied(Solved(tuple(ranges), tuple(conditions), tuple(witnesses), piece.why), indices)


def _index(piece: Piece, d: int) -> Expr:
    index = piece.indices[d]
    assert index is not None
    return index


def _inverted(shape: Shape, piece: Piece, order: Sequence[For], moved: Sequence[int]) -> Layout | None:
    """The indices turned round, with as few loops beside them as will do; ``None`` if that is not found."""
    if not order:
        return Layout((), (), (), (), FALSE)
    where = [(_index(piece, d), shape[d]) for d in moved]
    found: list[Layout] = []
    for kept in choices(order, []):
        if found and len(kept) > len(found[0].loops) - len(moved):
            break
        try:
            found.append(layout_of(order, where, kept, guarded=bool(piece.conditions)))
        except IndexMapError:
            continue
    return min(found, key=lambda x: sum(size(e) for e in x.inverse), default=None)


def _searched(shape: Shape, indices: tuple[Var, ...], piece: Piece) -> Solved:
    """Every loop is a witness: there is an iteration whose index is this one.  All elements, where a loop has no known
    range."""
    ranges = [(const(0, v.dtype), n) for v, n in zip(indices, shape, strict=True)]
    boxed = _boxed(piece.loops)
    if isinstance(boxed, str):
        return Solved(tuple(ranges), (), (), piece.why or boxed)
    conditions = [binary("eq", v, e) for v, e in zip(indices, piece.indices, strict=True) if e is not None]
    conditions += [c for s in piece.loops for c in (binary("le", s.min, s.var), binary("lt", s.var, s.min + s.extent))]
    witnesses = tuple((s.var, *boxed[s.var]) for s in piece.loops)
    return _tidied(Solved(tuple(ranges), (*conditions, *piece.conditions), witnesses, piece.why), indices)


def _boxed(loops: Sequence[For]) -> Ranges | str:
    """Ranges that mention no other loop of the nest: where one does, the greatest that it may be; or why that is not
    known."""
    known: Ranges = {}
    for s in loops:
        low, end = as_poly(s.min), as_poly(s.min + s.extent)
        bounds = Bounds(known)
        least, most = bounds.lower(low), bounds.upper(end)
        if least is None or most is None:
            return f"the range of {s.var.name} has no known bounds"
        known[s.var] = render(least, s.var.dtype), render(most - least, s.var.dtype)
    return known


def _others(piece: Piece, order: Sequence[For]) -> list[For]:
    """Loops that move no index, but a condition or the range of such a loop."""
    mentioned = {v for c in piece.conditions for v in free_vars(c)}
    found: list[For] = []
    for s in reversed(piece.loops):
        if s not in order and s.var in mentioned:
            found.insert(0, s)
            mentioned |= {*free_vars(s.min), *free_vars(s.extent)}
    return found


def _not_empty(piece: Piece, used: Sequence[For]) -> list[Expr]:
    """That the loops which move nothing run at all."""
    return [binary("gt", s.extent, const(0, s.var.dtype)) for s in piece.loops if s not in used]


def _tidied(solved: Solved, indices: Sequence[Var]) -> Solved:
    """Conditions in short form, those that the ranges imply left out."""
    ranges: Ranges = dict(zip(indices, solved.ranges, strict=True))
    ranges |= {v: (low, n) for v, low, n in solved.witnesses}
    found: dict[Expr, None] = {}
    for c in solved.conditions:
        short = simplify_index(c, ranges)
        if not (isinstance(short, IntImm) and short.value == 1):
            found[short if size(short) < size(c) else c] = None
    return _without_idle(Solved(solved.ranges, tuple(found), solved.witnesses, solved.why))


def _without_idle(solved: Solved) -> Solved:
    """Without conditions on witnesses alone, where some values of theirs are seen to satisfy these."""
    parts = [c for e in solved.conditions for c in conjuncts(e)]
    linked = {v for v, _, _ in solved.witnesses}
    idle = set(linked)
    while linked:  # what stands in a condition beside anything else is not idle
        linked = {v for c in parts if not set(free_vars(c)) <= idle for v in free_vars(c)} & idle
        idle -= linked
    alone = [c for c in parts if free_vars(c) and set(free_vars(c)) <= idle]
    axes = [(v, low, n) for v, low, n in solved.witnesses if v in idle]
    shape = [n.value for _, low, n in axes if isinstance(n, IntImm) and isinstance(low, IntImm)]
    if not alone or len(shape) < len(axes) or prod(shape) > POINTS:
        return solved
    values: dict[Var, Any] = {}
    for k, (v, low, n) in enumerate(axes):
        assert isinstance(low, IntImm) and isinstance(n, IntImm)
        values[v] = (np.arange(n.value) + low.value).reshape([-1 if d == k else 1 for d in range(len(axes))])
    (possible,) = evaluate([all_of(alone)], values)
    conditions = tuple(c for c in parts if c not in alone) if possible.any() else (FALSE,)
    return Solved(solved.ranges, conditions, tuple(w for w in solved.witnesses if w[0] not in idle), solved.why)
