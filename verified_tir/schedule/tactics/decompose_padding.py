"""decompose_padding: a block that copies or pads becomes a fill with the padding value and a copy of what is inside.

    for i in range(140):                               for i in range(140):
        y[i] = if_then_else(c(i), x[i - 6], 0)             y[i] = 0
                                                ⟶      for i in range(128):
                                                           y[i + 6] = x[i]

1.  The fill, a copy of the nest that stores the padding value, is inserted before the nest (``insert``): the nest
    overwrites all that it stores.  If the tiles of the nest overlap, the fill runs over the region that they store to.
2.  The store is put under its condition (``introduce``).  Where the condition is false it stores what the fill has
    stored, and goes (``erase``).
3.  Loops whose ranges the condition bounds by a constant distance run over what is left, from 0 (``reindex``).  Other
    parts of the condition stay a guard, as TVM's ``T.where``.

The idea, the names of the blocks and the arguments are those of TVM's ``decompose_padding``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from verified_tir.index.bounds import Bounds
from verified_tir.index.conditions import conjuncts
from verified_tir.index.fold import folded
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Expr, IfThenElse, Load, Select, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, at
from verified_tir.ir.poly import Poly, as_poly, render
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer, For, If, Seq, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import nodes_of, substitute
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.schedule import codes, moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.session import Handle, Session, TacticFailed, fail
from verified_tir.schedule.tactics.conditionals import trim
from verified_tir.schedule.tactics.merge import slot
from verified_tir.schedule.tactics.regions import box_of
from verified_tir.schedule.tactics.rfactor import unused_name
from verified_tir.schedule.tactics.simplify import simplify_expressions
from verified_tir.schedule.tactics.tidy import join_guards


def decompose_padding(session: Session, block: str, loop: Handle) -> str:
    """Split a block that pads into a fill before ``loop`` and a copy; gives the name of the fill."""
    place, store = _padded(session, block)
    where, outer = session.loop(loop)
    if place[: len(where)] != where:
        raise fail(
            f"block {block} does not stand inside the loop over {outer.var.name}", where, code=codes.STANDS_ELSEWHERE
        )
    allocated = session.allocation(store.buffer)
    if allocated is not None and allocated[: len(where)] == where:
        what = f"{store.buffer.name} is allocated inside the loop over {outer.var.name}"
        raise fail(f"{what}, so it cannot be filled before", allocated, code=codes.STANDS_ELSEWHERE)
    name = unused_name(f"{block}_pad_const", session.block_names())
    filling = _fill(session.stmt(where), place[len(where) :], store, name)
    again = _box_filled(session, where, store, name)
    ways = [partial(_decompose, session, place, where, f) for f in (filling, again) if f is not None]
    session.first_of(ways)
    return name


def _decompose(session: Session, place: Path, where: Path, filling: Stmt) -> None:
    """The same for the block at ``place`` and the loop at ``where``, with the fill as it is to be inserted."""
    choice = session.at((*place, 0), Store).value
    assert isinstance(choice, (IfThenElse, Select))
    top = slot(session, where)
    session.apply(Insert(top, filling, "before", overwritten_by=1))
    # behind the fill now, in the sequence that stands there or that the two have become
    before = top if isinstance(session.stmt(top), Seq) else top[:-1]
    nest = (*before, (0 if before == top else top[-1]) + 1)
    place = (*nest, *place[len(top) :])
    session.apply(moves.introduce(place, choice.condition))
    _take(session, (*place, 0), choice.true_value)
    _take(session, (*place, 1), choice.false_value)
    session.apply(Erase((*place, 1)))
    trim(session, place)
    _tighten(session, (*nest, *where[len(top) :]), place)


def can_decompose_padding(session: Session, block: str, loop: Handle) -> bool:
    """Whether :func:`decompose_padding` is possible; changes nothing."""
    try:
        with session.atomic():
            decompose_padding(session, block, loop)
            raise _Undone
    except _Undone:
        return True
    except TacticFailed:
        return False


class _Undone(Exception):
    """Takes back what was done to see whether it can be done."""


def _padded(session: Session, block: str) -> tuple[Path, Store]:
    """The place of a block that stores one of two values, and the store.

    :raises TacticFailed: if it does something else, or the padding value is read from memory.
    """
    path, label = session.block(block)
    store = label.body
    if not isinstance(store, Store):
        raise fail(f"block {block} contains more than one store", path, code=codes.NOT_OF_THIS_FORM)
    choice = store.value
    if not isinstance(choice, (IfThenElse, Select)):
        raise fail(
            f"block {block} does not store T.if_then_else(condition, value, padding)", path, code=codes.NOT_OF_THIS_FORM
        )
    if choice.dtype.lanes > 1 or store.predicate is not None:
        raise fail(f"block {block} stores a vector; decompose before vectorizing", path, code=codes.VECTORS)
    if nodes_of(choice.false_value, Load):
        raise fail(
            f"the padding value of block {block} is read from memory; it must be known to be filled in",
            path,
            code=codes.NOT_OF_THIS_FORM,
        )
    return path, store


# -- the fill ----------------------------------------------------------------------------------------------------------


def _fill(nest: Stmt, way: Path, store: Store, name: str) -> Stmt:
    """The loops and guards on the way from a loop to a store, around a store of the padding value.

    Allocations on the way are left out: what they allocate is not used.
    """
    if isinstance(nest, Block) and not way[1:]:
        way = way[:1]
    if not way:
        assert isinstance(store.value, (IfThenElse, Select))
        return Block.label(name, Store(store.buffer, store.value.false_value, store.indices))
    inner = _fill(at(nest, way[:1]), way[1:], store, name)
    match nest:
        case For(var=v):
            fresh = Var.fresh(f"{v.name}_pad", v.dtype)
            body = substitute(inner, {v: fresh})
            assert isinstance(body, Stmt)
            return For(fresh, nest.min, nest.extent, body, nest.kind, nest.thread, nest.annotations)
        case If(condition=c, else_body=None):
            return If(c, inner)
        case Seq() | Block(is_label=True) | Allocate() | DeclBuffer():
            return inner
    raise fail(
        "between the loop and the block stands something other than loops, guards and allocations",
        code=codes.NOT_PERFECTLY_NESTED,
    )


def _box_filled(session: Session, where: Path, store: Store, name: str) -> Stmt | None:
    """Loops over all that the nest at ``where`` stores to of a buffer, around a store of the padding value.

    Tiles that overlap fill some elements several times.  Of which tile an element is nobody need know if the fill runs
    over the elements themselves.
    """
    box = box_of(session.stmt(where), store.buffer, session.ranges(where), reads=False)
    if box is None:
        return None
    assert isinstance(store.value, (IfThenElse, Select))
    layout = box.layout()
    inside = box.inside(layout.inverse_inputs)
    loops = [NewLoop(v, const(0, v.dtype), n) for v, n in zip(layout.inverse_inputs, layout.shape, strict=True)]
    filled = Store(store.buffer, store.value.false_value, tuple(folded(e) for e in layout.inverse))
    return moves.nest(loops, inside, Block.label(name, filled))


def _take(session: Session, path: Path, value: Expr) -> None:
    """The block at ``path`` stores one of its two values."""
    session.apply(rewritten((*path, 0), (0,), value))


# -- the copy ----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class _Range:
    """What a loop runs over: from ``low`` to below ``high``; and the parts of the guard that say so."""

    low: Expr
    high: Expr
    said: tuple[Expr, ...]


def _tighten(session: Session, where: Path, place: Path) -> None:
    """Let loops run over what the guard at ``place`` leaves of their ranges, from 0.

    Loops from ``where`` on take part that stand around nothing but the guard.
    """
    guard = session.at(place, If)
    start = place
    while len(start) > len(where) and isinstance(session.stmt(start[:-1]), (For, If)):
        start = start[:-1]
    chain = [session.stmt(place[:k]) for k in range(len(start), len(place))]
    loops = [s for s in chain if isinstance(s, For)]
    parts = [c for s in [*chain, guard] if isinstance(s, If) for c in conjuncts(s.condition)]
    outer = Bounds(session.ranges(start))
    ranges = {s.var: _range(s, parts, outer) for s in loops}
    if all(not r.said for r in ranges.values()):
        join_guards(session, start)
        return
    news = {v: Var.fresh(v.name, v.dtype) for v in ranges}
    shifted = {v: _sum(news[v], r.low) for v, r in ranges.items()}
    said = {c for r in ranges.values() for c in r.said}
    guards = tuple(substitute(c, shifted) for c in parts if c not in said)
    new_loops = tuple(
        NewLoop(news[s.var], const(0, s.var.dtype), folded(ranges[s.var].high - ranges[s.var].low),
                s.kind, s.thread, s.annotations)
        for s in loops
    )  # fmt: skip
    new_of_old = tuple(folded(s.var - ranges[s.var].low) for s in loops)
    old_of_new = tuple(shifted[s.var] for s in loops)
    session.apply(moves.reindex(start, len(chain) + 1, new_loops, guards, old_of_new, new_of_old))
    session.renamed.update(news)
    simplify_expressions(session, start)


def _sum(var: Var, low: Expr) -> Expr:
    return folded(var + low)


def _range(loop: For, parts: Sequence[Expr], outer: Bounds) -> _Range:
    """The range that the parts of a guard leave to a loop, as far as they bound its variable by itself."""
    start, end = loop.min, folded(loop.min + loop.extent)
    said: list[Expr] = []
    for part in parts:
        bound = _bound(loop.var, part)
        if bound is None:
            continue
        at_least, limit = bound
        edge = _rendered(limit, loop.var.dtype)
        if edge is None:
            continue
        if at_least and outer.nonneg(limit - as_poly(start)):
            start = edge
            said.append(part)
        elif not at_least and outer.nonneg(as_poly(end) - limit):
            end = edge
            said.append(part)
    return _Range(start, end, tuple(said))


def _bound(var: Var, part: Expr) -> tuple[bool, Poly] | None:
    """``var >= limit`` (true) or ``var < limit`` (false), if a condition says one of these and no other loop's
    variable is in it."""
    match part:
        case Binary(op="lt", a=a, b=b) | Binary(op="gt", a=b, b=a) if a.dtype is var.dtype:
            gap = as_poly(b) - as_poly(a) - 1  # not negative
        case Binary(op="le", a=a, b=b) | Binary(op="ge", a=b, b=a) if a.dtype is var.dtype:
            gap = as_poly(b) - as_poly(a)
        case _:
            return None
    found = gap.coefficient(var)
    if found is None or found[0].constant not in (1, -1):
        return None
    rest = found[1]
    return (True, rest.scale(-1)) if found[0].constant == 1 else (False, rest + 1)


def _rendered(limit: Poly, dtype: DType) -> Expr | None:
    try:
        return render(limit, dtype)
    except IRError:
        return None


__all__ = ["can_decompose_padding", "decompose_padding"]
