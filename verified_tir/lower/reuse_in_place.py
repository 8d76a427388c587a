"""In-place reuse: a local buffer whose elements are read for the last time where another's are stored becomes that one.

    for i: t[i] = A[i]                       for i: u[i] = A[i]
    for i: u[i] = 2 * t[i]         ⟶         for i: u[i] = 2 * u[i]
    for i: B[i] = u[i]                       for i: B[i] = u[i]

A part of :class:`~verified_tir.lower.storage_rewrite.StorageRewrite` (TVM's pass of this name does the same).  The
chain: where t is stored, u, which holds nothing yet, is stored too (``insert``); reads of t become reads of u
(``rewrite``); then nothing reads t any more (``erase``, ``drop``).  So a buffer that is summed up in place, whose first
values u may not keep, stays.
"""

from __future__ import annotations

from functools import partial

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Expr, Load
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, DeclBuffer, Stmt, Store
from verified_tir.ir.visit import nodes_of
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.rewrite import expressions
from verified_tir.kernel.rules.scope import Drop, Move
from verified_tir.schedule.edits import parts, rewritten, together
from verified_tir.schedule.session import Session


def reuse_in_place(session: Session) -> int:
    """Let each local buffer take the place of one that it is computed from, element by element; gives how many went."""
    gone = 0
    tried: set[tuple[Buffer, Buffer]] = set()
    while True:
        pair = next((p for p in _pairs(session) if p not in tried), None)
        if pair is None:
            return gone
        tried.add(pair)
        gone += int(session.succeeds(partial(_replace, session, *pair)))


def _pairs(session: Session) -> list[tuple[Buffer, Buffer]]:
    """Buffers that may become others: read only before these are stored for the first time, or where they are.  The
    last ones come first: what has taken the place of another has values of two kinds."""
    local = [s.buffer for _, s in session.find(Allocate)]
    viewed = {s.buffer.data for _, s in session.find(DeclBuffer)}
    plain = [b for b in local if b.data not in viewed and not b.strides]
    stores = {b: session.stores_to(b) for b in plain}
    found = []
    for new in plain:
        for old in plain:
            if old is new or not stores[old] or not stores[new] or not _alike(old, new):
                continue
            first = stores[new][0][0]
            storing = {p for p, _ in stores[new]}
            reads = [p for p, s in session.find(Stmt) if _reads(s, old)]
            elementwise = any(p in storing for p in reads) and all(p < first or p in storing for p in reads)
            once = not any(nodes_of(s.value, Load) and _reads(s, old) for _, s in stores[old])
            if elementwise and once and stores[old][-1][0] < first:
                found.append((first, (old, new)))
    return [pair for _, pair in sorted(found, key=lambda f: f[0], reverse=True)]


def _alike(a: Buffer, b: Buffer) -> bool:
    same = a.dtype is b.dtype and a.scope == b.scope and len(a.shape) == len(b.shape)
    return same and all(structural_equal(x, y) for x, y in zip(a.shape, b.shape, strict=True))


def _reads(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether the statement's own expressions read the buffer."""
    return any(load.buffer is buffer for e in expressions(stmt) for load in nodes_of(e, Load))


def _replace(session: Session, old: Buffer, new: Buffer) -> None:
    """Let ``new`` hold what ``old`` held.

    :raises TacticFailed: if it may not.
    """
    outer, inner = _place(session, old), _place(session, new)
    if inner[: len(outer)] == outer:
        session.apply(Move(inner, outer))
    for path, s in reversed(session.stores_to(old)):
        copy = Store(new, Load(old, s.indices, s.predicate), s.indices, s.predicate)
        session.apply(Insert(path, copy, "after"))
    copies = {p: v for p, s in session.stores_to(new) if (v := _copied(session, p, s, old)) is not None}
    for path, stmt in session.find(Stmt, lambda s: _reads(s, old)):
        loads = [(where, e) for where, e in parts(stmt) if isinstance(e, Load) and e.buffer is old]
        if path not in copies:
            edits = [rewritten(path, where, Load(new, e.indices, e.predicate)) for where, e in loads]
            session.apply(together(edits))
    for path, value in copies.items():
        session.apply(rewritten(path, (0,), value))
    for path, _ in reversed(session.stores_to(old)):
        session.apply(Erase(path))
    session.apply(Drop(_place(session, old)))
    for path, s in reversed(session.stores_to(new)):
        if s.value is Load(new, s.indices, s.predicate):
            session.attempt(Erase(path))


def _place(session: Session, buffer: Buffer) -> Path:
    return session.find(Allocate, lambda s: s.buffer is buffer)[0][0]


def _copied(session: Session, path: Path, copy: Store, old: Buffer) -> Expr | None:
    """What was stored right before a store that copies it; ``None`` if the store does not."""
    if not path or path[-1] == 0 or copy.value is not Load(old, copy.indices, copy.predicate):
        return None
    before = session.stmt((*path[:-1], path[-1] - 1))
    stored = isinstance(before, Store) and before.buffer is old and before.indices == copy.indices
    return before.value if stored and isinstance(before, Store) else None
