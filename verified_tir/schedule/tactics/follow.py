"""sequential_buffer_access: loops that run through a buffer in the order of its layout (RFC 77, "New Utility - Reorder
Loops According to Buffer").

The indices of an access, as functions of the loops around it, are an index map; its outputs become the new loops and
its inverse says what the old ones were.  Where the indices do not determine the iteration (``A[i + f]`` in a
convolution), some loops stay, innermost; those of a reduction are tried first.  Statements that stand in the way are
taken out by fission.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Not, Var, const
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Block, For, If, Seq, Stmt, Store
from verified_tir.ir.visit import free_vars, substitute, walk
from verified_tir.kernel.rules.reindex import NewLoop, Reindex
from verified_tir.schedule.index_layout import MapOnBox
from verified_tir.schedule.index_map import IndexMap, IndexMapError, NegativeIndex, NotInjective
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.simplify_index import simplify as simplify_index
from verified_tir.schedule.tactics.branches import decide_branches
from verified_tir.schedule.tactics.fission import separate
from verified_tir.schedule.tactics.layout import find_buffer
from verified_tir.schedule.tactics.simplify import simplify_expressions
from verified_tir.schedule.tactics.tidy import guards_of, join_guards

ATTEMPTS = 12
"""How many choices of loops that stay are tried for one access."""


def sequential_buffer_access(session: Session, name: str | Buffer, block: str | None = None) -> list[Var]:
    """Make the loops around each access of a buffer follow its layout; gives the new loops of the last nest."""
    buffer, _ = find_buffer(session, name)
    if block is not None:
        session.block(block)
    done: list[Var] = []
    seen: set[Stmt] = set()
    problem: TacticFailed | None = None
    while True:
        found = next(_accesses(session, buffer, block, seen), None)
        if found is None:
            break
        path, stmt = found
        seen.add(stmt)
        try:
            with session.atomic():
                nest = _nest_of(session, path, stmt, buffer)
                loops = [] if nest is None else _follow(session, nest, buffer)
        except TacticFailed as refused:
            problem = problem or refused
            continue
        if loops:
            done = loops
            seen.update(n for n in walk(_around(session, loops[0])) if isinstance(n, Store))
    if not done:
        raise problem or fail(f"no loop nest around an access of {buffer.name} can follow its layout")
    return done


def _accesses(session: Session, buffer: Buffer, block: str | None, seen: set[Stmt]) -> Iterator[tuple[Path, Stmt]]:
    """Stores that use the buffer."""
    within = None if block is None else next((p for p, s in session.blocks() if s.name == block), None)
    for path, stmt in places(session.func.body, lambda s: isinstance(s, Store) and s not in seen):
        if any(n is buffer for n in walk(stmt)) and (within is None or path[: len(within)] == within):
            yield path, stmt


def _around(session: Session, var: Var) -> Stmt:
    return session.loop(var)[1]


# -- the nest ----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Nest:
    """A perfect nest around an access: where it begins, its statements, and the indices that its loops move."""

    start: Path
    chain: tuple[Stmt, ...]
    indices: tuple[Expr, ...]
    stored: frozenset[Var]
    """Variables in the indices of what is stored; the other loops are those of a reduction."""

    @property
    def loops(self) -> list[For]:
        return [s for s in self.chain if isinstance(s, For)]


def _nest_of(session: Session, path: Path, stmt: Stmt, buffer: Buffer) -> Nest | None:
    """The nest of the loops that an access uses; statements in the way are taken out first."""
    assert isinstance(stmt, Store)
    loads = (n.indices for n in walk(stmt) if isinstance(n, Load) and n.buffer is buffer)
    indices = stmt.indices if stmt.buffer is buffer else next(loads)
    if any(isinstance(n, Load) for e in indices for n in walk(e)):
        raise fail(f"the indices of {buffer.name} are read from memory, so no loops follow its layout", path)
    used = {v for e in indices for v in free_vars(e)}
    around = [path[:k] for k in range(len(path)) if _is_over(session.stmt(path[:k]), used)]
    if not around:
        return None
    innermost = around[-1]
    start = _start(session, around[0], innermost, used)
    inside = {s.var for k in range(len(start), len(innermost) + 1) if isinstance(s := session.stmt(path[:k]), For)}
    outside = {s.var for p in around if len(p) < len(start) and isinstance(s := session.stmt(p), For)}
    if any(set(free_vars(e)) & inside and set(free_vars(e)) & outside for e in indices):
        path = _isolate(session, path, around[0])
        return _nest_of(session, path, session.stmt(path), buffer)
    chain = tuple(session.stmt(path[:k]) for k in range(len(start), len(innermost) + 1))
    stored = frozenset(v for e in stmt.indices for v in free_vars(e))
    return Nest(start, chain, tuple(e for e in indices if inside & set(free_vars(e))), stored)


def _start(session: Session, outermost: Path, innermost: Path, used: set[Var]) -> Path:
    """Where the perfect nest that ends at ``innermost`` begins."""
    start = innermost
    for k in range(len(innermost) - 1, len(outermost) - 1, -1):
        stmt = session.stmt(innermost[:k])
        if _is_over(stmt, used):
            start = innermost[:k]
        elif not (isinstance(stmt, (For, Block)) or (isinstance(stmt, If) and stmt.else_body is None)):
            break
    return start


def _is_over(stmt: Stmt, used: set[Var]) -> bool:
    return isinstance(stmt, For) and stmt.var in used


def _isolate(session: Session, path: Path, top: Path) -> Path:
    """Take out of the loops from ``top`` on all that stands beside a store; gives the store's new place.

    Fission keeps the order in which stores stand in the text, so their number tells where it is now.
    """
    number = [p for p, _ in places(session.func.body, lambda s: isinstance(s, Store))].index(path)
    while True:
        depths = [k for k in range(len(top) + 1, len(path)) if isinstance(session.stmt(path[:k]), Seq)]
        if not depths:
            return path
        k = depths[-1]
        stmt = session.stmt(path[:k])
        assert isinstance(stmt, Seq)
        if path[k] + 1 < len(stmt.stmts):
            top, _ = separate(session, path[:k], path[k] + 1, top)
        else:
            _, top = separate(session, path[:k], path[k], top)
        path = [p for p, _ in places(session.func.body, lambda s: isinstance(s, Store))][number]


# -- following ---------------------------------------------------------------------------------------------------------


def _follow(session: Session, nest: Nest, buffer: Buffer) -> list[Var]:
    """Rebuild a nest, if it is not in the order of the layout already; gives the loops of the layout."""
    nest = _simplified(nest)
    used = {v for e in nest.indices for v in free_vars(e)}
    order = [s for s in nest.loops if s.var in used]
    if nest.indices == tuple(s.var for s in order):
        simplify_expressions(session, nest.start)
        return [s.var for s in order]
    inner = {s.var for s in nest.loops}
    if any(inner & {*free_vars(s.min), *free_vars(s.extent)} for s in nest.loops):
        raise fail("the range of one loop depends on another: not a box", nest.start)
    box, kept = _box(nest, order, buffer)
    hit = box.hit_vars
    outputs = (*nest.indices, *(s.var for s in kept))
    fresh = {v: Var.fresh(n, v.dtype) for v, n in zip(hit, _names(order, kept, outputs, hit), strict=True)}
    others = [s for s in nest.loops if s not in order]
    keep = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in others}
    news = [_new_loop(e, fresh[v], extent, order) for e, v, extent in zip(outputs, hit, box.padded, strict=True)]
    news += [NewLoop(keep[s.var], s.min, s.extent, s.kind, s.thread, s.annotations) for s in others]
    back = {s.var: substitute(g, fresh) + s.min for s, g in zip(order, box.inverse, strict=True)}
    mapping: dict[Var, Expr] = {**keep, **back}
    guards = guards_of(nest.chain, mapping)
    old_of_new = tuple(mapping[s.var] for s in nest.loops)
    new_of_old = (*nest.indices, *(s.var - s.min for s in kept), *(s.var for s in others))
    inside = _inside(order, box, fresh)
    start, depth = nest.start, len(nest.chain)
    if not session.attempt(Reindex(start, depth, tuple(news), (*inside, *guards), old_of_new, new_of_old)):
        hole = substitute(box.padding(True), fresh)
        if not (isinstance(hole, IntImm) and hole.value == 0):
            guards = (_negation(hole), *guards)
        session.apply(Reindex(start, depth, tuple(news), guards, old_of_new, new_of_old))
    session.renamed.update(keep)
    for s in order:
        same = next((fresh[v] for e, v in zip(outputs, hit, strict=True) if e is s.var), None)
        if same is not None:
            session.renamed[s.var] = same
        else:
            new = ", ".join(v.name for v in fresh.values())
            session.gone[s.var] = f"its nest was rebuilt to follow {buffer.name}: {new}"
    join_guards(session, start)
    simplify_expressions(session, start)
    decide_branches(session, start)
    return [fresh[v] for v in hit[: len(nest.indices)]]


def _simplified(nest: Nest) -> Nest:
    """The nest with its indices in their simplest form, as an earlier step may not have left them."""
    ranges = {s.var: (s.min, s.extent) for s in nest.loops}
    simpler = [simplify_index(e, ranges) for e in nest.indices]
    # a dimension stays one of the layout's, also where it has a single place
    indices = tuple(new if free_vars(new) else old for old, new in zip(nest.indices, simpler, strict=True))
    moving = tuple(e for e in indices if {s.var for s in nest.loops} & set(free_vars(e)))
    return Nest(nest.start, nest.chain, moving, nest.stored)


def _box(nest: Nest, order: list[For], buffer: Buffer) -> tuple[MapOnBox, list[For]]:
    """The map from loops (each from zero) to indices, made injective by loops that stay; and these."""
    zero = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in order}
    shift: dict[Var, Expr] = {s.var: zero[s.var] + s.min for s in order}
    extents = [s.extent for s in order]
    reduction = [s for s in order if s.var not in nest.stored]
    choices = [*_subsets(reduction), *(c for c in _subsets(order) if not set(c) <= set(reduction))]
    problem: IndexMapError | None = None
    for kept in choices[:ATTEMPTS]:
        outputs = (*(substitute(e, shift) for e in nest.indices), *(zero[s.var] for s in kept))
        try:
            box = IndexMap(tuple(zero.values()), outputs).on(extents)
            if box.inverse is not None and box.padded is not None:
                return box, kept
        except NotInjective as reason:
            problem = problem or reason
        except NegativeIndex as reason:
            raise fail(f"loops cannot follow negative indices of {buffer.name}: {reason}", nest.start) from reason
        except IndexMapError as reason:
            problem = problem or reason
            break
    raise fail(f"the accesses of {buffer.name} do not determine the iteration: {problem}", nest.start)


def _subsets(loops: list[For]) -> Iterator[list[For]]:
    """Small choices first; never all loops, for then nothing would follow the layout."""
    for size in range(len(loops) + 1):
        yield from (list(c) for c in itertools.combinations(loops, size))


def _new_loop(output: Expr, var: Var, extent: Expr, order: list[For]) -> NewLoop:
    """A loop of the layout; one that was there before keeps its kind."""
    same = next((s for s in order if s.var is output), None)
    if same is None:
        return NewLoop(var, const(0, var.dtype), extent)
    return NewLoop(var, const(0, var.dtype), extent, same.kind, same.thread, same.annotations)


def _inside(order: list[For], box: MapOnBox, fresh: dict[Var, Var]) -> tuple[Expr, ...]:
    """Conditions that the inverse leads into the old ranges, without those that the new ranges imply."""
    ranges: dict[Var, tuple[Expr, Expr]] = {
        fresh[v]: (const(0, v.dtype), e) for v, e in zip(box.hit_vars, box.padded, strict=True)
    }
    found = []
    for s, g in zip(order, box.inverse, strict=True):
        value = simplify_index(substitute(g, fresh), ranges)
        for condition in (value >= 0, value < s.extent):
            known = simplify_index(condition, ranges)
            if not (isinstance(known, IntImm) and known.value == 1):
                found.append(condition)
    return tuple(found)


def _negation(e: Expr) -> Expr:
    match e:
        case Binary(op="ge", a=a, b=b):
            return Binary("lt", a, b)
        case Binary(op="gt", a=a, b=b):
            return Binary("le", a, b)
        case Binary(op="le", a=a, b=b):
            return Binary("gt", a, b)
        case Binary(op="lt", a=a, b=b):
            return Binary("ge", a, b)
        case Not(a=a):
            return a
        case _:
            return Not(e)


def _names(order: list[For], kept: list[For], outputs: tuple[Expr, ...], hit: tuple[Var, ...]) -> list[str]:
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
