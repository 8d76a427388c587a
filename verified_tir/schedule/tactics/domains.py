"""Other domains of loops: images under index maps, parts of ranges, loops of one iteration; and notes for memory."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.index.conditions import negate
from verified_tir.index.map import IndexMap
from verified_tir.ir.expr import FALSE, Expr, IntImm, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import For, If
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import substitute
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import annotated, in_a_loop
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics import fission, loops
from verified_tir.schedule.tactics.layout import MapLike, buffer_in
from verified_tir.schedule.tactics.tidy import fold_at, join_guards


def transform_block_layout(session: Session, block: str, index_map: MapLike) -> list[Var]:
    """Let the loops directly around a block run over the image of their indices under a map."""
    path, _ = session.block(block)
    nest, around, guards = _around(session, path)
    if not around:
        raise fail(f"no loop stands directly around block {block}", path)
    dtype = around[0].var.dtype
    try:
        mapping = index_map if isinstance(index_map, IndexMap) else IndexMap.from_func(index_map, len(around), dtype)
        box = mapping.on([s.extent for s in around])
        hit, inverse, extents, padding = box.hit_vars, box.inverse, box.padded, box.padding(True)
    except IRError as problem:
        raise fail(f"the loops around {block}: {problem}", path) from problem
    new = [Var.fresh(v.name, v.dtype) for v in hit]
    renamed = dict(zip(hit, new, strict=True))
    starts = {v: s.var - s.min for v, s in zip(box.box.vars, around, strict=True)}
    old_of_new = tuple(substitute(e, renamed) + s.min for e, s in zip(inverse, around, strict=True))
    new_of_old = tuple(substitute(e, starts) for e in box.outputs)
    values = dict(zip([s.var for s in around], old_of_new, strict=True))
    conditions = [] if padding is FALSE else [negate(substitute(padding, renamed))]
    conditions += [substitute(c, values) for c in guards]
    made = tuple(NewLoop(v, const(0, v.dtype), e) for v, e in zip(new, extents, strict=True))
    session.apply(moves.reindex(nest, len(path) - len(nest), made, tuple(conditions), old_of_new, new_of_old))
    for s in around:
        session.gone[s.var] = f"the loops around block {block} run over another domain now"
    join_guards(session, nest)
    fold_at(session, nest)
    return new


def _around(session: Session, path: Path) -> tuple[Path, list[For], list[Expr]]:
    """The nest of serial loops directly around a place: where it begins, its loops, and the conditions in it."""
    nest, around, guards = path, list[For](), list[Expr]()
    for k in range(len(path) - 1, -1, -1):
        stmt = session.stmt(path[:k])
        if isinstance(stmt, For) and stmt.kind == "serial":
            nest = path[:k]
            around.insert(0, stmt)
        elif isinstance(stmt, If) and stmt.else_body is None:
            guards.insert(0, stmt.condition)
        else:
            break
    return nest, around, guards


def loop_partition(session: Session, loop: Handle, factors: Sequence[int | None]) -> list[Var]:
    """Cut a loop's range into parts of given lengths, and what is left."""
    path, target = session.loop(loop)
    if not isinstance(target.extent, IntImm):
        raise fail(
            f"loop_partition takes a loop of a known number of iterations, not that over {target.var.name}", path
        )
    lengths = [f for f in factors if f is not None]
    if any(isinstance(f, bool) or not isinstance(f, int) or f < 1 for f in lengths) or len(factors) - len(lengths) > 1:
        raise fail(f"loop_partition takes positive lengths, one of them None, not {list(factors)}", path)
    left = target.extent.value - sum(lengths)
    if left < 0 or (None in factors and left == 0):
        total = target.extent.value
        raise fail(f"the loop over {target.var.name} has {total} iterations; {list(factors)} needs more", path)
    parts = [left if f is None else f for f in factors] + ([left] if None not in factors and left else [])
    rest, found, at = target.var, list[Var](), target.min
    for length in parts[:-1]:
        at = at + length
        first, rest = loops.partition(session, rest, at)
        found.append(first)
    return [*found, rest]


def merge(session: Session, handles: Sequence[Handle]) -> Var:
    """Merge loops one after the other into the first."""
    if len(handles) < 2:
        raise fail("merge takes two loops or more")
    merged = handles[0]
    for other in handles[1:]:
        merged = fission.merge(session, merged, other)
    assert isinstance(merged, Var)
    return merged


def add_unit_loop(session: Session, handle: Handle) -> Var:
    """Put a loop of one iteration around a block or a loop."""
    path = session.place(handle)
    var = Var.fresh("u", const(0).dtype)
    session.apply(in_a_loop(path, var))
    return var


def storage_align(session: Session, block: str, index: int, axis: int, factor: int, offset: int) -> None:
    """Note how a dimension of a local buffer should be aligned."""
    path, label = session.block(block)
    buffer = buffer_in(session, block, ("write", index))
    if session.allocation(buffer) is None:
        raise fail(f"{buffer.name} is a parameter, whose memory is the caller's", path)
    rank = len(buffer.shape)
    if not -rank <= axis < rank:
        raise fail(f"{buffer.name} has {rank} dimensions, and no dimension {axis}", path)
    if factor < 1:
        raise fail(f"a factor is positive, not {factor}", path)
    key, said = "buffer_dim_align", (index, axis % rank, factor, offset)
    known = dict(label.annotations).get(key, ())
    others = [v for v in known if isinstance(v, tuple) and v[:2] != said[:2]] if isinstance(known, tuple) else []
    notes = [(k, v) for k, v in label.annotations if k != key]
    session.apply(annotated(path, (*notes, (key, (*others, said)))))
