"""Reductions: an element folds many values, initialised by a store before the loop, by a block's ``init``, or not."""

from __future__ import annotations

from dataclasses import replace

from verified_tir.ir.dtype import INT32, DType
from verified_tir.ir.expr import TRUE, ArithmeticOp, Binary, Expr, Load, Var
from verified_tir.ir.stmt import Block, For, IterKind, IterVar, Region, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.testing.programs.indices import indices
from verified_tir.testing.programs.reach import Ranged, Reach
from verified_tir.testing.programs.sketch import LOOP_NAMES, Cells, Place, Sketch
from verified_tir.testing.programs.values import load, value


def identity(op: ArithmeticOp, dtype: DType) -> Expr:
    """What a reduction starts with.

    A float sum starts with 0.0, as people write it (its identity is −0.0).
    """
    match op:
        case "mul":
            return const(1, dtype)
        case "max":
            return const(float("-inf") if dtype.is_float else dtype.min_value, dtype)
        case "min":
            return const(float("inf") if dtype.is_float else dtype.max_value, dtype)
        case "bitand":
            return const(dtype.max_value if dtype.code == "uint" else -1, dtype)
    return const(0, dtype)


def _operation(s: Sketch, dtype: DType) -> ArithmeticOp:
    options: list[ArithmeticOp] = ["add", "add", "add", "max", "min", "mul"]
    if dtype.is_int:
        options += ["bitor", "bitand", "bitxor"]
    return s.pick.among(options)


def reduction(s: Sketch, place: Place) -> Stmt:
    """A reduction over one more loop, into one element or several at each iteration around it."""
    spatial: list[tuple[Var, int]] = []
    inner = place
    wanted = s.pick.one(1, 0, 2) if not place.indices else s.pick.one(0, 1)
    for _ in range(min(wanted, place.depth - 1)):
        var, extent = _loop(s, inner)
        spatial.append((var, extent))
        inner = inner.with_index(Ranged(var, 0, Reach(extent - 1)))
    var, extent = _loop(s, inner)
    reduced = (var, extent)
    block = s.has("blocks") and not place.indices and bool(spatial) and s.pick.flip()
    made = _block(s, place, spatial, reduced) if block else _plain(s, inner, reduced)
    if not block:
        for v, n in reversed(spatial):
            made = For(v, const(0), const(n), made)
    return made


def _loop(s: Sketch, place: Place) -> tuple[Var, int]:
    return Var.fresh(LOOP_NAMES[place.loops % len(LOOP_NAMES)], INT32), s.pick.one(2, 3, 4, 5, 8, 7, 2, 3, 4, 5, 1, 0)


def _target(s: Sketch, place: Place, dtype: DType) -> tuple[Cells, tuple[Expr, ...]]:
    """A new buffer, and the element of it that belongs to the iteration of the loops around."""
    cells = s.new(len(place.indices), dtype, local=s.has("locals") and s.pick.rarely(4))
    found = []
    for k, r in enumerate(place.indices):
        joined = cells.dims[k].join(replace(r.high, offset=r.high.offset + 1))
        usable = joined is not None and r.low >= 0
        if joined is not None and usable:
            cells.dims[k] = joined
        found.append(r.expr if usable else const(0))
    cells.written = True  # whether anybody but itself reads it will be seen
    return cells, tuple(found)


def _fold(s: Sketch, place: Place, cells: Cells, at: tuple[Expr, ...], op: ArithmeticOp) -> Stmt:
    """``B[i] = B[i] + value``."""
    before: Expr = Load(cells.buffer, at)
    if s.pick.flip():
        new = value(s, place, cells.dtype)
    else:
        new = load(s, place, cells.dtype)
    return Store(cells.buffer, Binary(op, before, new), at)


def _plain(s: Sketch, place: Place, reduced: tuple[Var, int]) -> Stmt:
    """``B[i] = 0`` and a loop of updates; or the loop alone."""
    var, extent = reduced
    inside = place.with_index(Ranged(var, 0, Reach(extent - 1)))
    starts: list[Stmt] = []
    updates: list[Stmt] = []
    several = s.pick.rarely(5)
    for _ in range(2 if several else 1):
        dtype = s.number()
        op = _operation(s, dtype)
        cells, at = _target(s, place, dtype)
        if s.pick.rarely(5) and not cells.local:
            cells.read = True  # adds to what is there
        else:
            starts.append(Store(cells.buffer, identity(op, dtype), at))
        updates.append(_fold(s, inside, cells, at, op))
    return seq(*starts, For(var, const(0), const(extent), seq(*updates)))


def _block(s: Sketch, place: Place, spatial: list[tuple[Var, int]], reduced: tuple[Var, int]) -> Stmt:
    """A block with ``init`` in its own nest of loops."""
    axes: list[IterVar] = []
    inside = place
    for (var, extent), kind in [*((x, "spatial") for x in spatial), (reduced, "reduce")]:
        axis = Var.fresh(f"v{var.name}", INT32)
        which: IterKind = "reduce" if kind == "reduce" else "spatial"
        axes.append(IterVar(axis, const(0), const(extent), which, var))
        inside = inside.with_index(Ranged(axis, 0, Reach(extent - 1)))
    around = replace(inside, indices=inside.indices[:-1])
    dtype = s.number()
    op = _operation(s, dtype)
    cells, at = _target(s, around, dtype)
    s.settling.append(cells)
    update = _fold(s, inside, cells, at, op)
    s.settling.pop()
    start = Store(cells.buffer, identity(op, dtype), at)
    regions = (Region(cells.buffer, at, (const(1),) * len(at)),) if s.pick.flip() else None
    made: Stmt = Block(s.block_name(), tuple(axes), TRUE, None, regions, start, update)
    for var, extent in reversed([*spatial, reduced]):
        made = For(var, const(0), const(extent), made)
    return made


__all__ = ["identity", "indices", "reduction"]
