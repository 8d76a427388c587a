"""reindex: a block reads or writes a copy of a buffer whose indices are the loops around the block (TVM's primitive).

What is read is copied before the nest, once for each combination of the loops that the indices mention: a declaration,
an inserted nest of stores, and loads that are rewritten.  What is written goes to a copy that ``cache_write`` makes,
whose dimensions are then put in the order of the loops.
"""

from __future__ import annotations

from verified_tir.index.bounds import Ranges
from verified_tir.index.conditions import conjuncts
from verified_tir.index.map import IndexMap
from verified_tir.index.simplify import simplify
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Load, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block, For, If, Stmt, Store
from verified_tir.ir.sugar import all_of, const
from verified_tir.ir.visit import free_vars, nodes_of, substitute
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.scope import Declare
from verified_tir.schedule.edits import parts, rewritten
from verified_tir.schedule.rule_builders import labelled
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.layout import BufferIn, buffer_in, transform_layout
from verified_tir.schedule.tactics.staging import cache_write


def reindex(session: Session, block: str, which: BufferIn) -> Buffer:
    """Let a block use a copy of a buffer, indexed by loops; gives the copy, ``<buffer>_reindex``."""
    path, label = session.block(block)
    buffer = buffer_in(session, block, which)
    nest = _nest(session, path)
    ranges = session.ranges(path)
    read = isinstance(which, tuple) and which[0] == "read"
    if not read and any(n.buffer is buffer for n in nodes_of(label.body, Store)):
        return _written(session, block, buffer, label, nest, ranges)
    loads = [n for n in nodes_of(label.body, Load) if n.buffer is buffer]
    if not loads:
        raise fail(f"block {block} does not read {buffer.name}", path)
    indices = _indices(block, buffer, [n.indices for n in loads], ranges, path)
    return _read(session, path, nest, buffer, loads, indices)


def _read(
    session: Session, path: Path, nest: Path, buffer: Buffer, loads: list[Load], indices: tuple[Expr, ...]
) -> Buffer:
    """Copy what is read, in the order of the loops, before the nest."""
    depth = len(nest)
    chain = [session.stmt(path[:k]) for k in range(depth, len(path))]
    used = {v for e in indices for v in free_vars(e)}
    loops = [s for s in chain if isinstance(s, For) and s.var in used]
    guards = [c for s in chain if isinstance(s, If) for c in conjuncts(s.condition)]
    variables = {s.var for s in chain if isinstance(s, For)}
    kept = [c for c in guards if variables.intersection(free_vars(c)) <= {s.var for s in loops}]
    shape = tuple(s.extent for s in loops)
    if any(variables.intersection(free_vars(e)) for e in shape):
        raise fail("the range of a loop depends on another loop around the block", path)
    copy = Buffer.declare(f"{buffer.name}_reindex", shape, buffer.dtype)
    new = [Var.fresh(f"ax{k}", s.var.dtype) for k, s in enumerate(loops)]
    values: dict[Var, Expr] = {s.var: v + s.min for s, v in zip(loops, new, strict=True)}
    body: Stmt = Store(copy, Load(buffer, tuple(substitute(e, values) for e in indices)), tuple(new))
    if kept:
        body = If(substitute(all_of(kept), values), body)
    for v, s in reversed([*zip(new, loops, strict=True)]):
        body = For(v, const(0, v.dtype), s.extent, body)
    session.apply(Declare(nest, copy))
    inner = (*nest, 0)
    session.apply(Insert(inner, body))
    session.apply(labelled(session.find(Store, under=(*inner, 0))[0][0], copy.name))
    place = (*inner, 1, *path[depth:])
    own = tuple(s.var - s.min for s in loops)
    for where, stmt in session.find(Store, lambda s: any(n in loads for n in nodes_of(s, Load)), place):
        for at, e in list(parts(stmt)):
            if e in loads:
                session.apply(rewritten(where, at, Load(copy, own)))
    return copy


def _written(session: Session, block: str, buffer: Buffer, label: Block, nest: Path, ranges: Ranges) -> Buffer:
    """Store to a copy in the order of the loops, which is copied back behind the nest."""
    stores = [n for n in nodes_of(label.body, Store) if n.buffer is buffer]
    indices = _indices(block, buffer, [n.indices for n in stores], ranges, nest)
    order = [v for v in ranges if v in indices]
    plain = [e for e in indices if not isinstance(e, IntImm)]
    if len(set(plain)) < len(plain) or not set(plain) <= set(order):
        shown = ", ".join(repr(e) if not isinstance(e, Var) else e.name for e in plain)
        raise fail(f"{buffer.name} is written at ({shown}); reindex takes each index to be one loop", nest)
    copy = cache_write(session, block, buffer, name=f"{buffer.name}_reindex")
    places = [indices.index(v) for v in order]
    if places != [*range(len(indices))]:
        transform_layout(
            session, copy, IndexMap.from_func(lambda *i: [i[k] for k in places], len(indices), buffer.shape[0].dtype)
        )
    return next(b for b in session.buffers if b.name == copy.name)


def _indices(block: str, buffer: Buffer, found: list[tuple[Expr, ...]], ranges: Ranges, path: Path) -> tuple[Expr, ...]:
    """The indices by which the block accesses the buffer, simplified."""
    simple = {tuple([simplify(e, ranges) for e in indices]) for indices in found}
    if len(simple) != 1:
        raise fail(f"block {block} accesses {buffer.name} by {len(simple)} different indices, not by one", path)
    (indices,) = simple
    return indices


def _nest(session: Session, path: Path) -> Path:
    """The outermost loop of the nest around a block: of the loops between which nothing else stands."""
    nest = path
    for k in range(len(path) - 1, -1, -1):
        stmt = session.stmt(path[:k])
        if isinstance(stmt, For):
            nest = path[:k]
        elif not isinstance(stmt, If) or stmt.else_body is not None:
            break
    return nest
