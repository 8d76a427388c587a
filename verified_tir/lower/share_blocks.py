"""Sharing among allocations that stand around one sequence, whatever order their lifetimes come in.

    t = alloc(8)                            t_v = alloc(8)
    u = alloc(8)                            u = alloc(8)
    v = alloc(8)                ⟶           t = decl_buffer((8,), data=t_v.data)
    t … ; t, u … ; u, v … ; v …             v = decl_buffer((8,), data=t_v.data)
                                            t … ; t, u … ; u, v … ; v …

A part of :class:`~verified_tir.lower.storage_rewrite.StorageRewrite`.  The lifetimes of t and u overlap, and neither
contains the other's; so not all allocations can be narrowed to the statements that use them, but one group's can.
Groups are made by a linear scan, as in register allocation: buffers of one scope and comparable size in the order in
which they are used first, each to the first group that is free by then.  A group's allocations are brought next to the
sequence, narrowed, and merged; the views that are left then move out again, out of the next group's way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import IntImm
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, DeclBuffer, Seq, Stmt
from verified_tir.ir.visit import mentions
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.schedule import codes
from verified_tir.schedule.edits import accesses, moves_of, redirected
from verified_tir.schedule.rule_builders import moved
from verified_tir.schedule.session import Session, fail


@final
@dataclass(slots=True)
class _Group:
    """Buffers that may share, and where in the sequence the last of them is used last."""

    members: list[Buffer]
    last: int


def share_among(session: Session, block_for: Callable[[list[Buffer]], Buffer]) -> int:
    """Let allocations around a sequence share; gives how many blocks went.

    :param block_for: a block with room for each of some buffers.
    """
    gone = 0
    for top, _ in reversed(session.find(Allocate, lambda s: isinstance(s.body, Allocate))):
        if not (top and isinstance(session.stmt(top[:-1]), Allocate)):
            for group in _groups(session, top):
                gone += (len(group) - 1) * session.succeeds(partial(_merge, session, top, group, block_for))
    return gone


def comparable(b: Buffer) -> object:
    """A key that buffers have in common that may share a block."""
    return (b.scope, "constant") if all(isinstance(e, IntImm) for e in b.shape) else (b.scope, b.dtype, b.shape)


def _chain(session: Session, top: Path) -> tuple[list[Buffer], Path]:
    """The buffers allocated one right within the other from a place on, and the place of what stands within them."""
    found: list[Buffer] = []
    while isinstance(stmt := session.stmt(top), Allocate | DeclBuffer):
        if isinstance(stmt, Allocate):
            found.append(stmt.buffer)
        top = (*top, 0)
    return found, top


def _groups(session: Session, top: Path) -> list[list[Buffer]]:
    """Groups of two or more buffers whose lifetimes in the sequence do not overlap; none if no lifetimes cross."""
    buffers, inside = _chain(session, top)
    body = session.stmt(inside)
    if not isinstance(body, Seq):
        return []
    uses = {b: [k for k, s in enumerate(body.stmts) if mentions(s, frozenset({b.data}))] for b in buffers}
    if not any(_cross(a, b) for a in uses.values() for b in uses.values()):
        return []  # to narrow all of them is enough
    groups: dict[object, list[_Group]] = {}
    for b in sorted((b for b in buffers if uses[b] and not b.strides), key=lambda b: uses[b][0]):
        open_ones = groups.setdefault(comparable(b), [])
        free = next((g for g in open_ones if g.last < uses[b][0]), None)
        if free is None:
            open_ones.append(_Group([b], uses[b][-1]))
        else:
            free.members.append(b)
            free.last = uses[b][-1]
    return [g.members for found in groups.values() for g in found if len(g.members) > 1]


def _cross(a: list[int], b: list[int]) -> bool:
    """Whether a lifetime begins in another and ends after it."""
    return bool(a and b) and a[0] < b[0] <= a[-1] < b[-1]


def _merge(session: Session, top: Path, group: list[Buffer], block_for: Callable[[list[Buffer]], Buffer]) -> None:
    """Merge a group.

    :raises TacticFailed: if it may not be, or something stands between its allocations and the sequence.
    """
    for b in group:
        path = _place(session, b)
        while isinstance(session.at(path, Allocate).body, Allocate):
            session.apply(moved(path, "narrow"))
            path = (*path, 0)
        session.apply(moved(path, "narrow"))
    sequence = _chain(session, top)[1]
    positions = tuple(
        k for k, s in enumerate(session.at(sequence, Seq).stmts) if isinstance(s, Allocate) and s.buffer in group
    )
    if len(positions) != len(group):
        raise fail("the lifetimes of the buffers overlap", sequence, code=codes.NOTHING_TO_CHANGE)
    block = block_for(group)
    session.apply(MergeAllocations(sequence, positions, block))
    while inner := session.find(DeclBuffer, lambda s: s.buffer.data is block.data and _is_inner(session, s), under=top):
        _take_out(session, (*sequence, 0), *inner[-1])


def _is_inner(session: Session, view: Stmt) -> bool:
    """Whether a view stands in a sequence."""
    path = next(p for p, s in session.find(DeclBuffer) if s is view)
    return bool(path) and isinstance(session.stmt(path[:-1]), Seq)


def _take_out(session: Session, sequence: Path, path: Path, view: DeclBuffer) -> None:
    """Declare a view around the whole sequence instead of a part of it."""
    old = view.buffer
    new = Buffer.declare(
        old.name, old.shape, old.dtype, data=old.data, elem_offset=old.elem_offset, scope=old.scope,
        axis_separators=old.axis_separators,
    )  # fmt: skip
    session.apply(Declare(sequence, new, True))
    path = (*sequence, 0, *path[len(sequence) :])
    body = session.at(path, DeclBuffer).body
    if accesses(body, old):
        session.apply(redirected((*path, 0), old, new, moves_of(body, old)))
    session.apply(Drop(path))


def _place(session: Session, buffer: Buffer) -> Path:
    return session.find(Allocate, lambda s: s.buffer is buffer)[0][0]


def name_views(session: Session) -> int:
    """Allocate blocks that are only accessed through one view as that view; gives how many."""
    changed = 0
    declared = [s.buffer for _, s in session.find(DeclBuffer)]
    for _, stmt in session.find(Allocate):
        views = [b for b in declared if b.data is stmt.buffer.data]
        if len(views) == 1 and not accesses(session.func.body, stmt.buffer) and not views[0].strides:
            changed += session.succeeds(partial(_name, session, stmt.buffer, views[0]))
    return changed


def _name(session: Session, old: Buffer, view: Buffer) -> None:
    """``B_data = alloc(…); B = decl_buffer(…, data=B_data)`` ⟶ ``B = alloc(…)``.

    :raises TacticFailed: if the view is not all of the block.
    """
    block = Buffer.declare(
        view.name, view.shape, view.dtype, data=old.data, scope=old.scope, axis_separators=view.axis_separators
    )
    path = _place(session, old)
    session.apply(MergeAllocations(path, (), block), Drop((*path, 0)))
    inner = session.find(DeclBuffer, lambda s: s.buffer is view)[0][0]
    body = session.at(inner, DeclBuffer).body
    session.apply(redirected((*inner, 0), view, block, moves_of(body, view)))
    session.apply(Drop(inner))
