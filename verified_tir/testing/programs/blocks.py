"""Blocks: labels, and blocks with iteration variables in their own loops, whose claims are true."""

from __future__ import annotations

from dataclasses import replace

from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import TRUE, Expr, Load, Var
from verified_tir.ir.find import reads_of, writes_of
from verified_tir.ir.stmt import Assert, Block, DeclBuffer, For, IterKind, IterVar, Region, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk
from verified_tir.testing.programs.kinds import separate
from verified_tir.testing.programs.reach import Ranged, Reach
from verified_tir.testing.programs.sketch import LOOP_NAMES, Body, Place, Sketch


def label(s: Sketch, place: Place, body: Body) -> Stmt:
    """A block that only names its body."""
    name = s.block_name()
    return Block.label(name, body(s, place.inner()))


def block(s: Sketch, place: Place, body: Body) -> Stmt:
    """A nest of one or two loops, and in it a block with an axis for each loop, or one for a loop in two tiles."""
    loops: list[tuple[Var, int]] = []
    axes: list[tuple[Var, int, Expr]] = []
    predicate: Expr = TRUE
    inside = place
    name = s.block_name()
    for k in range(s.pick.one(1, 2)):
        extent = s.pick.one(2, 3, 4, 5, 8)
        letter = LOOP_NAMES[(place.loops + k) % len(LOOP_NAMES)]
        axis = Var.fresh(f"v{letter}", INT32)
        if s.pick.rarely(4):
            factor = s.pick.one(2, 3)
            outer, inner = Var.fresh(f"{letter}o", INT32), Var.fresh(f"{letter}i", INT32)
            tiles = -(-extent // factor)
            loops += [(outer, tiles), (inner, factor)]
            binding = outer * factor + inner
            if extent % factor:
                predicate = binding < extent if predicate is TRUE else predicate
                extent = extent if predicate is not TRUE and k == 0 else tiles * factor
        else:
            var = Var.fresh(letter, INT32)
            loops.append((var, extent))
            binding = var
        axes.append((axis, extent, binding))
        inside = inside.with_index(Ranged(axis, 0, Reach(extent - 1)))
    made: Stmt = _claims(s, place, name, axes, predicate, body(s, inside))
    for var, extent in reversed(loops):
        made = For(var, const(0), const(extent), made)
    return made


def _claims(
    s: Sketch, place: Place, name: str, axes: list[tuple[Var, int, Expr]], predicate: Expr, inside: Stmt
) -> Block:
    """The block, with axes as spatial as they are, and with regions, sometimes."""
    iter_vars = []
    # two instances that may end the run are in conflict, whatever they write
    alone = not place.indices and not any(isinstance(n, Assert) for n in walk(inside))
    for axis, extent, binding in axes:
        kind: IterKind = "spatial" if alone and separate(axis, inside) else "opaque"
        iter_vars.append(IterVar(axis, const(0), const(extent), kind, binding))
    if any(iv.kind == "opaque" for iv in iter_vars):
        iter_vars = [replace(iv, kind="opaque") for iv in iter_vars]
    reads = regions(inside, reads_of(inside)) if s.pick.flip() else None
    writes = regions(inside, writes_of(inside)) if reads is not None else None
    return Block(name, tuple(iter_vars), predicate, reads, writes, None, inside)


def regions(inside: Stmt, accesses: list[Load] | list[Store]) -> tuple[Region, ...] | None:
    """One region for each access, exact; ``None`` if an index mentions what only the body knows."""
    bound = {n.var for n in walk(inside) if hasattr(n, "var")}
    declared = {n.buffer for n in walk(inside) if isinstance(n, DeclBuffer)}
    found: list[Region] = []
    for a in accesses:
        parts = [n for e in a.indices for n in walk(e)]
        if (
            a.buffer in declared
            or any(isinstance(n, Load) or n in bound for n in parts)
            or any(e.dtype.lanes != 1 for e in a.indices)
        ):
            return None
        found.append(Region(a.buffer, a.indices, (const(1),) * len(a.indices)))
    return tuple(dict.fromkeys(found))
