"""StorageRewrite: local buffers that are never alive at the same time share one block.

    t = T.alloc_buffer((8,), "float32")              t_u = T.alloc_buffer((8,), "float32")
    u = T.alloc_buffer((4,), "float32")              with T.decl_buffer((8,), "float32", data=t_u.data) as t:
    for i in range(8): … t …               ⟶             for i in range(8): … t …
    for i in range(4): … u …                         with T.decl_buffer((4,), "float32", data=t_u.data) as u:
                                                          for i in range(4): … u …

Blocks that nothing uses go first, and a buffer that is computed element by element from another one, which is not
needed any more then, takes its place (``reuse_in_place.py``).  Allocations around one sequence whose lifetimes cross
are grouped by a linear scan (``share_blocks.py``).  For the others:

A buffer is alive from the first statement of a sequence that uses it to the last.  Allocations are first narrowed to
these statements, and taken out of serial loops; then those that stand in one sequence, in one scope, share.  A block
has the type of the widest element, and room for the largest buffer: constant sizes are compared, symbolic ones must be
the same.  Buffers with several physical axes are shared like others, since a view keeps its axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import IntImm
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, For, If, Seq, Stmt
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.lower.passes import Lowering, Pass, reason
from verified_tir.lower.reuse_in_place import reuse_in_place
from verified_tir.lower.share_blocks import comparable, name_views, share_among
from verified_tir.schedule.rule_builders import moved
from verified_tir.schedule.session import Session, TacticFailed
from verified_tir.schedule.tactics.no_op import remove_unused

SERIAL = ("serial", "unrolled")
"""Loops of which a buffer may be taken out: one buffer for all iterations, one after the other."""


@final
@dataclass(frozen=True, repr=False)
class StorageRewrite(Pass):
    """Let local buffers share memory where their lifetimes do not overlap."""

    def lower(self, work: Lowering) -> None:
        remove_unused(work.session)
        name_views(work.session)
        reuse_in_place(work.session)
        share_among(work.session, _block)
        _narrow(work.session)
        work.each(Seq, lambda path, s: _share(work, path, s))


def _narrow(session: Session) -> None:
    """Shrink the scope of every allocation as far as it goes, inner ones first."""
    tried: set[Stmt] = set()
    while True:
        found = session.find(Allocate, lambda s: isinstance(s.body, (Seq, If)) and s not in tried)
        if not found:
            return
        path, stmt = found[-1]
        before = session.theorem
        session.attempt(moved(path, "narrow"))
        if session.func is before.after:
            session.theorem = before
            tried.add(stmt)


def _share(work: Lowering, path: Path, sequence: Seq) -> None:
    """One block for the buffers that are allocated by statements of the sequence at ``path``."""
    session = work.session
    candidates = [k for k, s in enumerate(sequence.stmts) if _allocated_in(s) is not None]
    if len(candidates) < 2:
        return
    before = session.theorem
    for k in candidates:
        _hoist(session, (*path, k))
    shared = 0
    for group in _groups(session, path):
        shared += _share_group(work, path, group)
    if not shared:
        session.theorem = before


def _allocated_in(stmt: Stmt) -> Buffer | None:
    """The buffer that a statement allocates, or would if it were taken out of the loops around it."""
    while isinstance(stmt, For) and stmt.kind in SERIAL:
        stmt = stmt.body
    return stmt.buffer if isinstance(stmt, Allocate) else None


def _hoist(session: Session, path: Path) -> None:
    """Take the allocation in a nest of loops out of it, as far as it goes."""
    loops: list[Path] = []
    while isinstance(session.stmt(path), For):
        loops.append(path)
        path = (*path, 0)
    before = session.theorem
    for p in reversed(loops):
        if not session.attempt(moved(p, "hoist")):
            session.theorem = before
            return


def _groups(session: Session, path: Path) -> list[tuple[int, ...]]:
    """Positions of allocations that may share: the same scope, comparable sizes."""
    found: dict[object, list[int]] = {}
    for k, s in enumerate(session.at(path, Seq).stmts):
        if isinstance(s, Allocate) and not s.buffer.strides:
            found.setdefault(comparable(s.buffer), []).append(k)
    return [tuple(positions) for positions in found.values() if len(positions) > 1]


def _share_group(work: Lowering, path: Path, positions: tuple[int, ...]) -> bool:
    session = work.session
    while isinstance(session.stmt(path), Allocate):  # other groups were shared: it stands inside their allocations now
        path = (*path, 0)
    buffers = [session.at((*path, k), Allocate).buffer for k in positions]
    try:
        session.apply(MergeAllocations(path, positions, _block(buffers)))
    except TacticFailed as refused:
        names = ", ".join(b.name for b in buffers)
        work.note(f"{names} do not share memory: {reason(refused.refusal)}")
        return False
    return True


def _block(buffers: list[Buffer]) -> Buffer:
    """A block with room for each of the buffers."""
    name = "_".join(dict.fromkeys(b.name for b in buffers))
    first = buffers[0]
    if not all(isinstance(e, IntImm) for e in first.shape):
        return Buffer.declare(name, first.shape, first.dtype, scope=first.scope, axis_separators=first.axis_separators)
    widest = max((b.dtype for b in buffers), key=lambda t: t.nbytes)
    total = max(_bytes(b) for b in buffers)
    return Buffer.declare(name, (-(-total // widest.nbytes),), widest, scope=first.scope)


def _bytes(buffer: Buffer) -> int:
    """Of a buffer of constant shape."""
    return buffer.dtype.nbytes * prod(e.value for e in buffer.shape if isinstance(e, IntImm))
