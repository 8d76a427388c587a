"""reindex, reindex_cache_read, reindex_cache_write, cache_index: copies indexed by a block's iteration variables.

    S(i): … A[x(i)] …      ⟶      for i: T[y(i)] = A[x(i)]            (reading)
                                   S(i): … T[y(i)] …

    S(i): C[x(i)] = …      ⟶      S(i): T[y(i)] = …                   (writing)
                                   for i: C[x(i)] = T[y(i)]

The copy of what is read is a new statement (``insert``), and each read is then another expression of the same value
(``rewrite``): so one element may be copied to several places, as im2col does.  The copy of what is written is the rule
``stage`` with a layout, which needs that no two iterations share an element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

from verified_tir.index.conditions import negate
from verified_tir.index.map import IndexMap
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, IntImm, Load, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, For, If, Stmt, Store
from verified_tir.ir.sugar import any_of
from verified_tir.ir.visit import free_vars, nodes_of, substitute
from verified_tir.kernel.effects import read_blocks, written_blocks
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.rewrite import Edit, ExprPath, Rewrite
from verified_tir.kernel.rules.scope import Declare
from verified_tir.kernel.rules.stage import Stage
from verified_tir.schedule import codes
from verified_tir.schedule.edits import accesses, parts
from verified_tir.schedule.rule_builders import labelled
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.block_domain import (
    BlockMap,
    applied,
    block_loops,
    check_box,
    map_of_block,
    ranges_of,
    scope_of,
    shorter,
)
from verified_tir.schedule.tactics.buffers import checked_scope
from verified_tir.schedule.tactics.layout import BufferIn, buffer_in
from verified_tir.schedule.tactics.regions import box_of
from verified_tir.schedule.tactics.simplify import simplify_expressions

# -- the primitives ----------------------------------------------------------------------------------------------------


def reindex(session: Session, block: str, which: BufferIn) -> str:
    """Let a block read (or write) a copy that is indexed by its iteration variables; gives the block that copies."""
    buffer, write = _buffer(session, block, which)
    access = _access(session, block, buffer, write=write)
    name = fresh_name(session, f"{buffer.name}_reindex")
    if write:
        _copy_out(session, block, access, buffer, name, "global", tuple(s.var for s in access.loops))
        return name
    label = fresh_name(session, f"{name}_reindex")
    _copy_in(session, access, Load(buffer, access.simple), (name, label), "global", tuple(s.var for s in access.loops))
    return label


def reindex_cache(
    session: Session, block: str, which: BufferIn, scope: str, index_map: BlockMap, *, write: bool
) -> Buffer:
    """Let a block read (or write) a copy in another scope, indexed by a map of its iteration variables; gives it."""
    checked_scope(scope)
    buffer = buffer_in(session, block, which)
    access = _access(session, block, buffer, write=write)
    outputs = applied(map_of_block(session, block, index_map), block_loops(session, block))
    used = {v for e in outputs for v in free_vars(e)}
    for s in access.loops:
        if s.var not in used and not _once(s):
            raise fail(
                f"an index of {buffer.name} in block {block} depends on {s.var.name}, which the map does not mention",
                access.path,
                code=codes.INDEX_MAP,
            )
    own = {s.var for s in access.loops}
    for s in block_loops(session, block):
        if s.var in used and s.var not in own and write:
            raise fail(
                f"the map mentions {s.var.name}, which is no index of {buffer.name} in block {block}: "
                "several elements of the copy would stand for one",
                access.path,
                code=codes.NOT_INVERTIBLE,
            )
    access = replace(access, loops=tuple(s for s in block_loops(session, block) if s.var in used | own))
    name = fresh_name(session, f"{buffer.name}_{scope.replace('.', '_')}")
    if write:
        return _copy_out(session, block, access, buffer, name, scope, outputs)
    return _copy_in(session, access, Load(buffer, access.simple), (name, name), scope, outputs)


def cache_index(session: Session, block: str, scope: str, threshold: int) -> list[str]:
    """Compute the indices of what a block reads before it; gives the blocks that compute them."""
    path, label = session.block(block)
    checked_scope(scope, path)
    if isinstance(threshold, bool) or not isinstance(threshold, int) or threshold < 0:
        raise fail(f"the threshold is a number of repetitions, not {threshold!r}", path, code=codes.WRONG_ARGUMENT)
    loads = [n for n in nodes_of(label.body, Load) if n.buffer.data not in written_blocks(label)]
    indices = [e for n in loads for e in n.indices if not isinstance(e, (Var, IntImm, Load)) and e.dtype.lanes == 1]
    wanted = [e for e in dict.fromkeys(indices) if indices.count(e) >= threshold]
    loops = block_loops(session, block)
    own = {s.var for s in loops}
    made: list[str] = []
    for e in wanted:
        used, (path, _) = [s for s in loops if s.var in free_vars(e)], session.block(block)
        if not used or any(v not in own and not _outside(session, path, v) for v in free_vars(e)):
            continue  # it is the same in all instances, or changes within one
        k = len(made)
        names = fresh_name(session, f"index_var_{k}"), fresh_name(session, f"index_{k}")
        _copy_in(session, _Access(path, (e,), (e,), tuple(used)), e, names, scope, tuple(s.var for s in used))
        made.append(names[1])
    return made


def cache_inplace(session: Session, block: str, which: BufferIn, scope: str) -> tuple[str, str]:
    """Let a block work on a copy of a buffer that it reads and writes, filled before and copied back afterwards."""
    path, label = session.block(block)
    checked_scope(scope, path)
    buffer = buffer_in(session, block, which)
    if buffer.data not in read_blocks(label) or buffer.data not in written_blocks(label):
        raise fail(
            f"block {block} does not both read and write {buffer.name}: use cache_read or cache_write",
            path,
            code=codes.NOT_USED_THERE,
        )
    box = box_of(label, buffer, session.ranges(path), writes=True, only=())
    if box is None:
        raise fail(f"{buffer.name} is not used there", path, code=codes.NOT_USED_THERE)
    name = fresh_name(session, f"{buffer.name}_{scope.replace('.', '_')}")
    session.apply(Stage(path, buffer, box.layout(), name, scope, True, ()))
    simplify_expressions(session, path)
    for k, called in ((0, name), (2, f"{name}_back")):
        session.apply(labelled(session.find(Store, under=(*path, 0, k))[0][0], called))
    return name, f"{name}_back"


# -- what is accessed --------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class _Access:
    """An access in the block at ``path``: its indices, these in their simplest form, and the iteration variables on
    which they depend."""

    path: Path
    indices: tuple[Expr, ...]
    simple: tuple[Expr, ...]
    loops: tuple[For, ...]


def _buffer(session: Session, block: str, which: BufferIn) -> tuple[Buffer, bool]:
    """A buffer of a block, and whether the block writes it."""
    found = buffer_in(session, block, which)
    path, label = session.block(block)
    if not isinstance(which, tuple):
        return found, found.data in written_blocks(label)
    if which[0] == "read" and found.data in written_blocks(label):
        raise fail(
            f"block {block} writes {found.name}, too: what it reads would not be what it wrote; "
            f'use ("write", …), or cache_inplace',
            path,
            code=codes.NOT_OF_THIS_FORM,
        )
    return found, which[0] == "write"


def _access(session: Session, block: str, buffer: Buffer, *, write: bool) -> _Access:
    """The one access of a block to a buffer.

    :raises TacticFailed: if there are several, or its indices depend on what the block itself binds.
    """
    path, label = session.block(block)
    nodes = accesses(label, buffer)
    found = list(dict.fromkeys(n.indices for n in nodes if write or isinstance(n, Load)))
    if len(found) != 1:
        verb = "writes" if write else "reads"
        raise fail(
            f"block {block} {verb} {len(found)} elements of {buffer.name} in one instance, not a single one",
            path,
            code=codes.NOT_OF_THIS_FORM,
        )
    if any(e.dtype.lanes > 1 for e in found[0]):
        raise fail(
            f"block {block} accesses several elements of {buffer.name} at once, as lanes of a vector",
            path,
            code=codes.VECTORS,
        )
    loops = block_loops(session, block)
    own = {s.var for s in loops}
    for v in dict.fromkeys(v for e in found[0] for v in free_vars(e)):
        if v not in own and not _outside(session, path, v):
            raise fail(
                f"an index of {buffer.name} depends on {v.name}, which changes within block {block}: "
                "a single element is wanted; blockize or name the inner block",
                path,
                code=codes.NOT_OF_THIS_FORM,
            )
    simple = tuple(shorter(e, ranges_of(loops)) for e in found[0])
    return _Access(path, found[0], simple, tuple(s for s in loops if any(s.var in free_vars(e) for e in simple)))


def _outside(session: Session, path: Path, var: Var) -> bool:
    """Whether a variable is bound around a place, or a parameter."""
    return var in session.context(path).env


def _once(loop: For) -> bool:
    return isinstance(loop.extent, IntImm) and loop.extent.value == 1


def fresh_name(session: Session, name: str) -> str:
    """A name that no block and no buffer has."""
    taken = session.block_names() | {b.name for b in session.buffers}
    k, found = 0, name
    while found in taken:
        k += 1
        found = f"{name}_{k}"
    return found


# -- copies ------------------------------------------------------------------------------------------------------------


def _copy_in(
    session: Session, access: _Access, value: Expr, names: tuple[str, str], scope: str, outputs: tuple[Expr, ...]
) -> Buffer:
    """Store a value for all instances of a block, before the loops around it, and let the block read it there.

    :param names: of the new buffer, and of the block that fills it.
    :param outputs: the index of the new buffer, over the loops of the access.
    """
    name, label = names
    place = _before(session, access.path, value)
    loops = [s for s in access.loops if session.loop(s.var)[0][: len(place)] == place]
    check_box(loops, place)
    shape = _shape(outputs, access.loops)
    copy = Buffer.fresh(name, value.dtype, shape, scope)
    again = {s.var: Var.fresh(f"ax{k}", s.var.dtype) for k, s in enumerate(loops)}
    nest: Stmt = Store(copy, substitute(value, again), tuple(substitute(e, again) for e in outputs))
    conditions = [substitute(c, again) for c in _conditions(session, access.path, place, set(again))]
    for c in reversed(conditions):
        nest = If(c, nest)
    for s in reversed(loops):
        nest = For(again[s.var], s.min, s.extent, nest)
    old = value if not isinstance(value, Load) else Load(value.buffer, access.indices)
    session.apply(Declare(place, copy), Insert((*place, 0), nest))
    inner = (*place, 0, 1, *access.path[len(place) :])
    session.apply(labelled(session.find(Store, under=(*place, 0, 0))[0][0], label))
    _read(session, inner, old, Load(copy, outputs), indices=not isinstance(value, Load))
    return copy


def _read(session: Session, path: Path, old: Expr, new: Expr, *, indices: bool) -> None:
    """Let every occurrence of an expression in the block at a place become another one, in one step.

    :param indices: only where it is an index of a load, of a buffer that the block does not write.
    """
    edits: list[Edit] = []
    written = written_blocks(session.stmt(path))
    for where, stmt in places(session.stmt(path), lambda s: True):
        found: list[ExprPath] = []
        loads = {at for at, e in parts(stmt) if isinstance(e, Load) and e.buffer.data not in written}
        for at, e in parts(stmt):
            wanted = e is old and (not indices or at[:-1] in loads)
            if wanted and not any(at[: len(outer)] == outer for outer in found):
                found.append(at)
        edits += [Edit(where, at, new) for at in found]
    session.apply(Rewrite(path, tuple(edits)))


def _before(session: Session, path: Path, value: Expr) -> Path:
    """The outermost statement around a block, within the next block, that changes nothing which a value reads."""
    reads = read_blocks(value)
    for k in range(scope_of(session, path), len(path)):
        stmt = session.stmt(path[:k])
        if isinstance(stmt, (For, If)) and not reads & written_blocks(stmt) and _known_before(session, path[:k], reads):
            return path[:k]
    return path


def _known_before(session: Session, place: Path, reads: set[Var] | frozenset[Var]) -> bool:
    """Whether the blocks that are read are alive at a place."""
    return all(v in session.context(place).env or v in session.context(place).views for v in reads)


def _conditions(session: Session, path: Path, place: Path, known: set[Var]) -> list[Expr]:
    """Conditions around a block, below a place, over the loops that are run through again."""
    around = [(k, session.stmt(path[:k])) for k in range(len(place), len(path))]
    bound = {s.var for _, s in around if isinstance(s, For)}
    found = [s.condition for k, s in around if isinstance(s, If) and path[k] == 0]
    return [c for c in found if not (set(free_vars(c)) & bound) - known and not read_blocks(c)]


def _shape(outputs: Sequence[Expr], loops: Sequence[For]) -> tuple[Expr, ...]:
    """The extents of a buffer that is indexed by functions of loops.

    :raises TacticFailed: if an index has no bound, or may be negative.
    """
    by_var = {s.var: s for s in loops}
    plain = [by_var.get(e) if isinstance(e, Var) else None for e in outputs]
    if all(s is not None and isinstance(s.min, IntImm) and s.min.value == 0 for s in plain):
        return tuple(s.extent for s in plain if s is not None)
    try:
        mapping = IndexMap(tuple(by_var), tuple(outputs))
        return mapping.padded_shape([s.extent for s in loops])
    except IRError as problem:
        raise fail(f"the copy's index: {problem}", code=codes.INDEX_MAP) from problem


def _copy_out(
    session: Session, block: str, access: _Access, buffer: Buffer, name: str, scope: str, outputs: tuple[Expr, ...]
) -> Buffer:
    """Let a block, and all under the same loops, work on a copy with other indices, which is copied back afterwards."""
    path = access.path
    first = scope_of(session, path)
    place = next((path[:k] for k in range(first, len(path)) if isinstance(session.stmt(path[:k]), For)), path)
    check_box(access.loops, place)
    conditions = _conditions(session, path, place, {s.var for s in access.loops})
    layout = _layout(access, buffer, outputs, conditions)
    session.apply(Stage(place, buffer, layout, name, scope, True))
    copied_in = not session.attempt(Erase((*place, 0, 0), dead_at_end=True))
    allocation = session.at(place, Allocate)
    _straighten(session, block, allocation.buffer, outputs)
    simplify_expressions(session, place)
    session.apply(labelled(session.find(Store, under=(*place, 0, 1 + int(copied_in)))[0][0], name))
    if copied_in:
        session.apply(labelled(session.find(Store, under=(*place, 0, 0))[0][0], fresh_name(session, f"{name}_in")))
    return allocation.buffer


def _layout(access: _Access, buffer: Buffer, outputs: tuple[Expr, ...], conditions: Sequence[Expr]) -> LayoutMap:
    """The layout that leads from an element of the buffer to that of the copy for the same iteration.

    :param conditions: those under which the block runs: elsewhere, and where the map leaves a hole, is padding.

    :raises TacticFailed: if the iteration does not follow from the element, or from the new index.
    """
    loops = access.loops
    extents = [s.extent for s in loops]
    xs = tuple(Var.fresh(f"x{k}", n.dtype) for k, n in enumerate(buffer.shape))
    identity = len(outputs) == len(loops) and all(e is s.var for e, s in zip(outputs, loops, strict=True))
    shape = tuple(extents) if identity else _shape(outputs, loops)
    ys = tuple(Var.fresh(f"ax{k}", n.dtype) for k, n in enumerate(shape))
    try:
        of_element = _inverse(loops, access.simple, xs)
        of_copy = list(ys) if identity else _inverse(loops, outputs, ys)
        holes = [] if identity else _holes(loops, outputs, ys)
    except IRError as problem:
        raise fail(
            f"the iteration does not follow from the index of {buffer.name}: two iterations would share an element of "
            f"it, but not of the copy ({problem})",
            access.path,
            code=codes.NOT_INVERTIBLE,
        ) from problem
    to = dict(zip((s.var for s in loops), of_element, strict=True))
    back = dict(zip((s.var for s in loops), of_copy, strict=True))
    there, again = (tuple(substitute(e, to) for e in outputs), tuple(substitute(e, back) for e in access.simple))
    holes += [negate(substitute(c, back)) for c in conditions]
    padding = any_of(holes) if holes else FALSE
    return LayoutMap(xs, there, ys, again, shape, padding)


def _holes(loops: Sequence[For], outputs: Sequence[Expr], at: Sequence[Var]) -> list[Expr]:
    """Where no iteration is mapped to, if anywhere."""
    box = IndexMap(tuple(s.var for s in loops), tuple(outputs)).on([s.extent for s in loops])
    padding = box.padding(True)
    return [] if padding is FALSE else [substitute(padding, dict(zip(box.hit_vars, at, strict=True)))]


def _inverse(loops: Sequence[For], indices: Sequence[Expr], at: Sequence[Var]) -> list[Expr]:
    """The loops' variables as functions of indices."""
    if len(indices) == len(loops) and all(e is s.var for e, s in zip(indices, loops, strict=True)):
        return list(at)
    box = IndexMap(tuple(s.var for s in loops), tuple(indices)).on([s.extent for s in loops])
    return [substitute(g, dict(zip(box.hit_vars, at, strict=True))) for g in box.inverse]


def _straighten(session: Session, block: str, copy: Buffer, outputs: tuple[Expr, ...]) -> None:
    """Put the index as the map gives it in the place of the one by way of the buffer's own."""
    edits: list[Edit] = []
    path, label = session.block(block)
    for where, stmt in places(label, lambda s: True):
        if isinstance(stmt, Store) and stmt.buffer is copy:
            edits += [Edit(where, (1 + k,), e) for k, e in enumerate(outputs) if stmt.indices[k] is not e]
        for at, e in parts(stmt):
            if isinstance(e, Load) and e.buffer is copy:
                edits += [Edit(where, (*at, k), new) for k, new in enumerate(outputs) if e.indices[k] is not new]
    if edits:
        session.attempt(Rewrite(path, tuple(edits)))
