"""Layout primitives: transform_layout and sequential_buffer_access (RFC 39; RFC 77, "Enhancement - transform_layout",
"New Primitive - Reorder Loops According to Buffer").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Load, Not, Undef, Var, const
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, Block, For, If, Seq, Stmt, Store
from verified_tir.ir.visit import free_vars, substitute, walk
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.reindex import NewLoop, Reindex
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.storage import Storage
from verified_tir.schedule.index_map import IndexMap, IndexMapError, NotInjective
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.simplify_index import simplify as simplify_index
from verified_tir.schedule.tactics.simplify import simplify

MapLike = IndexMap | Callable[..., Any]


def find_buffer(session: Session, name: str | Buffer) -> tuple[Buffer, Path | None]:
    """A parameter (path ``None``) or an allocated buffer (the path of its allocation)."""
    wanted = name if isinstance(name, str) else name.name
    for b in session.func.buffers:
        if b is name or b.name == wanted:
            return b, None
    for path, stmt in places(session.func.body, lambda s: isinstance(s, Allocate)):
        assert isinstance(stmt, Allocate)
        if stmt.buffer is name or stmt.buffer.name == wanted:
            return stmt.buffer, path
    known = [b.name for b in session.func.buffers]
    known += [s.buffer.name for _, s in places(session.func.body, lambda s: isinstance(s, Allocate))
              if isinstance(s, Allocate)]  # fmt: skip
    raise fail(f"there is no buffer called {wanted!r}; the buffers are {', '.join(known)}")


def transform_layout(session: Session, name: str | Buffer, index_map: MapLike, pad_value: Any = None) -> None:
    """Move every element x of a buffer to ``index_map(x)``; a parameter's interface changes with it.

    :param pad_value: what padding holds: ``None`` (access forbidden), a number, ``T.undef()``, or a function of the new
        indices that gives one of these.
    """
    buffer, path = find_buffer(session, name)
    dtype = buffer.shape[0].dtype if buffer.shape else const(0).dtype
    try:
        mapping = (
            index_map if isinstance(index_map, IndexMap) else IndexMap.from_func(index_map, len(buffer.shape), dtype)
        )
        layout = _layout(mapping, buffer)
    except IRError as problem:
        raise fail(f"layout of {buffer.name}: {problem}", path or ()) from problem
    value = _pad_value(pad_value, layout, buffer)
    if path is None:
        session.apply(Relayout(buffer, layout, value, mapping.separators))
        return
    session.apply(Storage(path, layout, mapping.separators))
    allocation = session.stmt(path)
    assert isinstance(allocation, Allocate)
    if value is not None and not isinstance(value, Undef) and layout.padding is not const(0, "bool"):
        _write_padding(session, path, allocation.buffer, layout, value)


def _layout(mapping: IndexMap, buffer: Buffer) -> LayoutMap:
    """The map with its witnesses; one that is not injective keeps a wrong one, which the kernel refutes."""
    box = mapping.on(buffer.shape)
    shape = box.padded
    try:
        return LayoutMap(mapping.inputs, mapping.outputs, box.hit_vars, box.inverse, shape, box.padding(True))
    except NotInjective as collision:
        hit = tuple(Var.fresh(f"y{k}", e.dtype) for k, e in enumerate(shape))
        wrong = tuple(const(0, v.dtype) for v in mapping.inputs)
        del collision
        return LayoutMap(mapping.inputs, mapping.outputs, hit, wrong, shape, const(0, "bool"))


def _pad_value(pad_value: Any, layout: LayoutMap, buffer: Buffer) -> Expr | None:
    value = pad_value(*layout.inverse_inputs) if callable(pad_value) and not isinstance(pad_value, Expr) else pad_value
    if value is None:
        return None
    if isinstance(value, Undef):
        return Undef(buffer.dtype)
    try:
        return const(value, buffer.dtype) if not isinstance(value, Expr) else value
    except (IRError, TypeError, ValueError) as problem:
        raise fail(f"the padding of {buffer.name} cannot be {value!r}: {problem}") from problem


def _write_padding(session: Session, path: Path, buffer: Buffer, layout: LayoutMap, value: Expr) -> None:
    """Store the padding's value after the last statement that writes the buffer."""
    fresh = {v: Var.fresh(v.name, v.dtype) for v in layout.inverse_inputs}
    store: Stmt = Store(buffer, substitute(value, fresh), tuple(fresh.values()))
    store = Block.label(f"{buffer.name}_padding", If(substitute(layout.padding, fresh), store))
    for v, extent in reversed(list(zip(fresh.values(), layout.shape, strict=True))):
        store = For(v, const(0, v.dtype), extent, store)
    body_path = (*path, 0)
    body = session.stmt(body_path)
    if isinstance(body, Seq):
        writers = [k for k, s in enumerate(body.stmts) if _writes(s, buffer)]
        body_path = (*body_path, writers[-1] if writers else 0)
    session.apply(Insert(body_path, store, "after" if _writes(body, buffer) else "before"))


def _writes(stmt: Stmt, buffer: Buffer) -> bool:
    return any(isinstance(n, Store) and n.buffer is buffer for n in walk(stmt))


def sequential_buffer_access(session: Session, name: str | Buffer) -> list[Var]:
    """Make the loops around each access of a buffer follow its layout; gives the new loops of the last nest."""
    buffer, _ = find_buffer(session, name)
    done: list[Var] = []
    seen: set[Stmt] = set()
    problem: TacticFailed | None = None
    while True:
        found = next(
            ((p, s) for p, s in places(session.func.body, lambda s: s not in seen and _accesses(s, buffer))), None
        )
        if found is None:
            break
        path, stmt = found
        seen.add(stmt)
        before = session.theorem
        try:
            loops, rebuilt = _follow(session, path, stmt, buffer)
        except TacticFailed as refused:
            session.theorem = before
            problem = problem or refused
            continue
        done = loops or done
        seen.update(n for n in walk(rebuilt) if isinstance(n, Store))
    if not done and problem is not None:
        raise problem
    if not done:
        raise fail(f"no loop nest around an access of {buffer.name} can follow its layout")
    return done


def _accesses(stmt: Stmt, buffer: Buffer) -> bool:
    return isinstance(stmt, Store) and any(n is buffer for n in walk(stmt))


def _indices(stmt: Stmt, buffer: Buffer) -> tuple[Expr, ...]:
    if isinstance(stmt, Store) and stmt.buffer is buffer:
        return stmt.indices
    return next(n.indices for n in walk(stmt) if isinstance(n, Load) and n.buffer is buffer)


def _follow(session: Session, path: Path, stmt: Stmt, buffer: Buffer) -> tuple[list[Var], Stmt]:
    """Rebuild the nest around one access; gives the new loops and what was rebuilt."""
    indices = _indices(stmt, buffer)
    used = {v for e in indices for v in free_vars(e)}
    nest = _nest(session, path, used)
    if nest is None:
        return [], stmt
    start, chain = nest
    loops = [s for s in chain if isinstance(s, For)]
    if any(not isinstance(s.min, IntImm) or s.min.value != 0 for s in loops):
        raise fail("a loop that does not start at zero cannot follow a layout", path)
    others = [s for s in loops if s.var not in used]
    order = [s for s in loops if s.var in used]
    moving = {s.var for s in order}
    indices = tuple(e for e in indices if moving & set(free_vars(e)))  # the others are fixed outside the nest
    if indices == tuple(s.var for s in order):
        return [], stmt  # already in the order of the layout
    try:
        box = IndexMap(tuple(s.var for s in order), indices).on([s.extent for s in order])
        shape, inverse, hit, padding = box.padded, box.inverse, box.hit_vars, box.padding(True)
    except IndexMapError as reason:
        raise fail(f"the accesses of {buffer.name} do not determine the iteration: {reason}", path) from reason
    names = _names(order, indices, hit)
    fresh = {v: Var.fresh(n, v.dtype) for v, n in zip(hit, names, strict=True)}
    keep = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in others}
    news = [NewLoop(fresh[v], const(0, v.dtype), e) for v, e in zip(hit, shape, strict=True)]
    news += [NewLoop(keep[s.var], s.min, s.extent, s.kind, s.thread, s.annotations) for s in others]
    back = {s.var: substitute(g, fresh) for s, g in zip(order, inverse, strict=True)}
    old_of_new = tuple(keep.get(s.var) or back[s.var] for s in loops)
    mapping = {**keep, **back}
    guards = tuple(substitute(s.condition, mapping) for s in chain if isinstance(s, If))
    indices_of = (*indices, *(s.var for s in others))
    inside = _inside(order, inverse, fresh, hit, shape)
    if not session.attempt(Reindex(start, len(chain), tuple(news), (*inside, *guards), old_of_new, indices_of)):
        hole = substitute(padding, fresh)
        if not (isinstance(hole, IntImm) and hole.value == 0):
            guards = (_negation(hole), *guards)
        session.apply(Reindex(start, len(chain), tuple(news), guards, old_of_new, indices_of))
    session.renamed.update(keep)
    simplify(session, start)
    return list(fresh.values()), session.stmt(start)


def _inside(
    order: list[For], inverse: tuple[Expr, ...], fresh: dict[Var, Var], hit: tuple[Var, ...], shape: tuple[Expr, ...]
) -> tuple[Expr, ...]:
    """Conditions that the inverse leads into the old ranges, without those that the new ranges imply."""
    ranges: dict[Var, tuple[Expr, Expr]] = {fresh[v]: (const(0, v.dtype), e) for v, e in zip(hit, shape, strict=True)}
    found = []
    for s, g in zip(order, inverse, strict=True):
        value = simplify_index(substitute(g, fresh), ranges)
        for condition in (value >= 0, value < s.extent):
            known = simplify_index(condition, ranges)
            if not (isinstance(known, IntImm) and known.value == 1):
                found.append(condition)
    return tuple(found)


def _negation(e: Expr) -> Expr:
    from verified_tir.ir.expr import Binary

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


def _names(order: list[For], indices: tuple[Expr, ...], hit: tuple[Var, ...]) -> list[str]:
    """Loops that stay keep their names; the parts of one that is split are called ``j_0``, ``j_1``, …"""
    names: list[str] = []
    counts: dict[str, int] = {}
    for e, v in zip(indices, hit, strict=True):
        inside = [s.var for s in order if s.var in free_vars(e)]
        if isinstance(e, Var):
            names.append(e.name)
        elif len(inside) == 1:
            name = inside[0].name
            names.append(f"{name}_{counts.get(name, 0)}")
            counts[name] = counts.get(name, 0) + 1
        else:
            names.append(v.name)
    return names


def _nest(session: Session, path: Path, used: set[Var]) -> tuple[Path, list[Stmt]] | None:
    """The innermost loop over one of ``used`` around a place, and the perfect nest above it with more of them."""
    around = [(path[:k], session.stmt(path[:k])) for k in range(len(path))]
    innermost = next((k for k in range(len(path) - 1, -1, -1) if _is_over(around[k][1], used)), None)
    if innermost is None:
        return None
    start = innermost
    for k in range(innermost - 1, -1, -1):
        stmt = around[k][1]
        if _is_over(stmt, used):
            start = k
        elif not (isinstance(stmt, (For, Block)) or (isinstance(stmt, If) and stmt.else_body is None)):
            break
    return around[start][0], [s for _, s in around[start : innermost + 1]]


def _is_over(stmt: Stmt, used: set[Var]) -> bool:
    return isinstance(stmt, For) and stmt.var in used
