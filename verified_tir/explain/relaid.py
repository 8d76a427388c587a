"""The layouts that a step changes, at sizes that can be drawn.

A layout is drawn whole where it is small.  Of a large dimension the first and the last indices are shown; symbols get
small values, such as show padding where there may be some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, final

import numpy as np

from verified_tir.explain.touched import Index
from verified_tir.index.evaluate import evaluate
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Binary, Expr, IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import at
from verified_tir.ir.stmt import Allocate, Assume, Seq, Stmt
from verified_tir.ir.visit import free_vars, nodes_of
from verified_tir.kernel.obligation import ParameterMap
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.stage import Stage
from verified_tir.kernel.theorem import Step

COLUMNS, ROWS = 16, 16
"""How many columns and rows of a grid are drawn, at most (or a few more)."""
CELLS = 400
"""How many cells of a logical grid, where its shape makes them many."""
COMBINATIONS = 400
"""How many choices of sizes are tried."""


@final
@dataclass(frozen=True, slots=True)
class Relaid:
    """One change of a layout: the element x of ``before`` is the element φ(x) of ``after``, or a copy of it.

    ``shared``: several elements take one place in turn.  ``copied``: ``after`` is a new buffer beside ``before``.
    """

    before: Buffer
    after: Buffer
    layout: LayoutMap
    shared: bool = False
    copied: bool = False


def relaid_by(rules: Iterable[Step], before: PrimFunc) -> Iterator[Relaid]:
    """The layouts that the kernel's steps from a program changed; those that leave every element where it is are left
    out."""
    for step in rules:
        found = _relaid(step, before)
        before = step.after
        if found is not None and not _is_identity(found):
            yield found


def as_wanted(m: ParameterMap) -> Relaid:
    """A layout that was refused: its map need not be one-to-one, so several elements may have one place."""
    nowhere = LayoutMap(m.inputs, m.outputs, m.inverse_inputs, m.inverse, m.after.shape, FALSE)
    return Relaid(m.before, m.after, nowhere, shared=True)


def _relaid(step: Step, before: PrimFunc) -> Relaid | None:
    match step.rule:
        case Relayout(buffer=old, layout=layout) if step.made.moved is not None:
            return Relaid(old, step.made.moved.after, layout)
        case Couple(path=path, layout=layout, live=live):
            was, now = at(before.body, path), at(step.made.after.body, path)
            assert isinstance(was, Allocate) and isinstance(now, Allocate)
            return Relaid(was.buffer, now.buffer, layout, shared=live == "in turn")
        case Stage(buffer=old, layout=layout):
            made = [s.buffer for s in nodes_of(step.made.after.body, Allocate) if s.buffer.shape is layout.shape]
            return Relaid(old, made[0], layout, copied=True) if made else None
    return None


def _is_identity(r: Relaid) -> bool:
    straight = dict(zip(r.layout.inputs, r.layout.outputs, strict=False))
    return len(r.before.shape) == len(r.after.shape) and all(v is e for v, e in straight.items())


# -- sizes -------------------------------------------------------------------------------------------------------------


def sizes_of(r: Relaid, assumed: Sequence[Expr]) -> dict[Var, int] | None:
    """Small values for the symbols of a layout with which all holds that is ``assumed`` of them, as far as that is
    index arithmetic; ``None`` if none are found."""
    own = {*r.layout.inputs, *r.layout.inverse_inputs}
    exprs = (*r.before.shape, *r.after.shape, *r.layout.outputs)
    wanted = [v for v in dict.fromkeys(v for e in exprs for v in free_vars(e)) if v not in own]
    extents = {v for e in r.before.shape for v in free_vars(e)}
    ladders = [_ladder(v, r) if v in extents else [0, 1] for v in wanted]
    ranks = sorted(product(*(range(len(x)) for x in ladders)), key=lambda t: (sum(t), t))
    for t in ranks[:COMBINATIONS]:
        values = {v: x[k] for v, x, k in zip(wanted, ladders, t, strict=True)}
        if all(_may_hold(e, values) for e in assumed) and _extents(r.before, values) and _extents(r.after, values):
            return values
    return None


def _ladder(v: Var, r: Relaid) -> list[int]:
    """Values of an extent: first one that leaves a part of the last tile empty."""
    axes = {i for i, e in zip(r.layout.inputs, r.before.shape, strict=True) if v in free_vars(e)}
    parts = [n for e in r.layout.outputs for n in nodes_of(e, Binary) if n.op in ("floordiv", "floormod")]
    divisors = [n.b.value for n in parts if isinstance(n.b, IntImm) and axes.intersection(free_vars(n.a))]
    d = max(divisors, default=0)
    tiled = [d + (d + 1) // 2, 2 * d, d] if d > 0 else []
    few = [2, 3] if len(r.before.shape) > 2 else [6, 3, 2]
    return list(dict.fromkeys([*tiled, *few, 4, 8, 16, 5, 32, 64, 1]))


def _may_hold(condition: Expr, values: Mapping[Var, int]) -> bool:
    try:
        return bool(np.all(evaluate([condition], values)[0]))
    except IRError:  # it is about contents, or about other symbols
        return True


def _extents(buffer: Buffer, values: Mapping[Var, int]) -> tuple[int, ...]:
    """The shape; empty for what cannot be drawn: no element, no dimension, or an extent that is not arithmetic."""
    try:
        found = tuple(int(x) for x in evaluate(buffer.shape, values))
    except (IRError, OverflowError):
        return ()
    return found if all(n > 0 for n in found) else ()


def assumptions_of(body: Stmt) -> list[Expr]:
    """The conditions that a program assumes first of all."""
    parts = body.stmts if isinstance(body, Seq) else (body,)
    return [s.condition for s in parts if isinstance(s, Assume)]


# -- what is drawn -----------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension: the name of its index, its extent, and the indices that are drawn."""

    name: str
    extent: int
    shown: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        return len(self.shown) == self.extent


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """A layout with numbers: what is drawn of its two grids, and which element is where.

    ``places`` are those of the logical indices that are drawn; ``padding`` are drawn places where no element lives.
    """

    relaid: Relaid
    sizes: Mapping[Var, int]
    logical: tuple[Axis, ...]
    physical: tuple[Axis, ...]
    places: Mapping[Index, Index]
    padding: frozenset[Index]

    @property
    def is_whole(self) -> bool:
        return all(a.is_whole for a in (*self.logical, *self.physical))


def layout_of(
    r: Relaid, sizes: Mapping[Var, int], also: Iterable[Index] = (), elements: Iterable[Index] = ()
) -> Layout | None:
    """What to draw of a layout; ``None`` for one that is not arithmetic or has no element.

    :param also: places that must be drawn.
    :param elements: elements that must be drawn, of a layout in which several may share a place.
    """
    old, new = _extents(r.before, sizes), _extents(r.after, sizes)
    if not old or not new:
        return None
    physical = tuple(map(_axis, r.layout.inverse_inputs, new, shown(new, also)))
    try:
        chosen = shown(old, elements) if r.shared else _origins(r, sizes, old, physical)
        logical = tuple(map(_axis, r.layout.inputs, old, chosen))
        places = _places(r, sizes, logical, new)
        padding = frozenset() if r.shared else _padding(r, sizes, physical)
    except IRError:
        return None
    return Layout(r, sizes, logical, physical, places, padding)


def _axis(v: Var, extent: int, indices: Iterable[int]) -> Axis:
    return Axis(v.name, extent, tuple(sorted(indices)))


def shown(extents: Sequence[int], also: Iterable[Index] = ()) -> list[set[int]]:
    """The indices of each dimension that are drawn: the first and the last ones, and those that must be."""
    across = columns(extents)
    counts = [*_shares(extents[:-across], ROWS), *_shares(extents[-across:], COLUMNS)]
    found = [_ends(n, count) for n, count in zip(extents, counts, strict=True)]
    for index in also:
        for inside, k, n in zip(found, index, extents, strict=True):
            inside.update({k} if 0 <= k < n else ())
    return found


def columns(extents: Sequence[int]) -> int:
    """How many of the last dimensions run across; the others run down, at least one if there are several."""
    count = 1
    while count < len(extents) - 1 and prod(extents[-count - 1 :]) <= COLUMNS:
        count += 1
    return count


def _shares(extents: Sequence[int], most: int) -> list[int]:
    """How many indices of each dimension are drawn, so that all together are about ``most``."""
    counts = [min(2, n) for n in extents]
    while True:
        for k in reversed(range(len(extents))):
            more = [*counts[:k], counts[k] + 1, *counts[k + 1 :]]
            if counts[k] < extents[k] and prod(more) <= most:
                counts = more
                break
        else:
            return counts


def _ends(extent: int, count: int) -> set[int]:
    last = max(1, count // 3) if count > 1 else 0
    return set(range(extent)) if count >= extent else {*range(count - last), *range(extent - last, extent)}


def _grid(axes: Sequence[Axis]) -> list[Index]:
    return list(product(*(a.shown for a in axes)))


def values_at(
    exprs: Sequence[Expr], variables: Sequence[Var], at: Sequence[Index], sizes: Mapping[Var, int]
) -> list[Index]:
    """Expressions at every one of some indices.

    :raises IRError: for what is not index arithmetic.
    """
    grids = np.array(at, np.int64).reshape(len(at), len(variables)).T
    given: dict[Var, Any] = {**sizes, **dict(zip(variables, grids, strict=True))}
    rows = [np.broadcast_to(np.asarray(x, np.int64), (len(at),)) for x in evaluate(exprs, given)]
    return [tuple(int(x) for x in row) for row in zip(*rows, strict=True)] if rows else [()] * len(at)


def _origins(r: Relaid, sizes: Mapping[Var, int], old: Index, physical: tuple[Axis, ...]) -> list[set[int]]:
    """The logical indices, dimension by dimension, of what stands in the places that are drawn."""
    places = [p for p in _grid(physical) if p not in _padding(r, sizes, physical)]
    origins = values_at(r.layout.inverse, r.layout.inverse_inputs, places, sizes)
    found = [{o[k] for o in origins if 0 <= o[k] < n} or {0} for k, n in enumerate(old)]
    return found if prod(map(len, found)) <= CELLS else [a & b or a for a, b in zip(shown(old), found, strict=True)]


def _padding(r: Relaid, sizes: Mapping[Var, int], physical: tuple[Axis, ...]) -> frozenset[Index]:
    places = _grid(physical)
    inside = values_at([r.layout.padding], r.layout.inverse_inputs, places, sizes)
    return frozenset(p for p, (is_padding,) in zip(places, inside, strict=True) if is_padding)


def _places(r: Relaid, sizes: Mapping[Var, int], logical: tuple[Axis, ...], new: Index) -> dict[Index, Index]:
    """Where each logical index that is drawn is mapped to; those that are mapped nowhere, since nobody touches them,
    are left out."""
    indices = _grid(logical)
    places = values_at(r.layout.outputs, r.layout.inputs, indices, sizes)
    return {x: y for x, y in zip(indices, places, strict=True) if all(0 <= k < n for k, n in zip(y, new, strict=True))}
