"""Stores that change nothing go (RFC 77, "Enhancement - Remove No Op").

Five kinds, each an ``erase`` of the kernel:

* a store, or a whole loop nest or block, that a later one overwrites before anything reads it;
* a value that is read and written back to where it came from;
* a value that is there already, because it was stored or assumed;
* a statement that never stores at all: loops and branches around nothing, the value of a pure expression;
* a store to a local buffer that nothing reads any more.
"""

from __future__ import annotations

from verified_tir.ir.expr import Load
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import SKIP, Allocate, Assume, Block, DeclBuffer, Evaluate, For, If, Seq, Stmt, Store
from verified_tir.ir.visit import mentions, nodes_of
from verified_tir.kernel.effects import EVERYTHING, written_blocks
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.rewrite import expressions
from verified_tir.kernel.rules.scope import Drop
from verified_tir.schedule.edits import accesses
from verified_tir.schedule.session import Session
from verified_tir.schedule.tactics.conditionals import trim
from verified_tir.schedule.tactics.simplify import remove_trivial_loops

FARTHEST = 8
"""How many statements later one is looked for that overwrites what was stored."""


def remove_no_op(session: Session, under: Path = ()) -> int:
    """Erase statements at or below a place that have no effect; gives how many.

    The last ones go first: what is overwritten by a statement that goes itself has to wait for the next one.
    """
    erased = 0
    behind = 0  # how many of the last ones were looked at, and stay
    found = _candidates(session.left(under))
    while len(found) > behind:
        place = found[-1 - behind]
        with session.hastily():
            gone = erase(session, (*under, *place))
        if gone:
            erased += 1
            behind -= sum(p[: len(place)] == place for p in found) - 1  # what stood in it
            found = _candidates(session.left(under))
        else:
            behind += 1
    erased += remove_trivial_loops(session, under)
    erased += remove_unused(session, under)
    half_empty = session.find(If, lambda s: SKIP in (s.then_body, s.else_body), under)
    for path, _ in reversed(half_empty):  # what goes moves what stands behind it
        trim(session, path)
    return erased


def _candidates(root: Stmt) -> list[Path]:
    """What may go.  Where a block is nothing but a label, it is tried, and not what it names."""
    found = dict(places(root, _may_go))
    if isinstance(found.get(()), Block):
        del found[()]
    return [p for p in found if not (p and isinstance(b := found.get(p[:-1]), Block) and b.is_label)]


def _may_go(stmt: Stmt) -> bool:
    """Assumptions stay: they have no effect, but later steps rest on them."""
    return isinstance(stmt, (Store, For, If, Block, Evaluate)) and not nodes_of(stmt, Assume)


def remove_unused(session: Session, under: Path = ()) -> int:
    """Remove allocations and views that nothing uses; gives how many."""

    def remove(path: Path, _: Stmt) -> int:
        return int(session.attempt(Drop(path)))

    def views(s: DeclBuffer) -> bool:
        return not accesses(s.body, s.buffer)

    def blocks(s: Allocate) -> bool:
        return not mentions(s.body, frozenset({s.buffer.data}))

    gone = session.each(DeclBuffer, remove, views, under, last_first=True)
    return gone + session.each(Allocate, remove, blocks, under, last_first=True)


def _never_read(session: Session, path: Path) -> bool:
    """Erase stores to local buffers that no later statement reads."""
    written = written_blocks(session.stmt(path))
    local = {s.buffer.data for _, s in session.find(Allocate)}
    if not written or not written <= local:
        return False
    later = (s for p, s in session.find(Stmt) if p > path and p[: len(path)] != path)
    if any(load.buffer.data in written for s in later for e in expressions(s) for load in nodes_of(e, Load)):
        return False
    return session.attempt(Erase(path, dead_at_end=True))


def erase(session: Session, path: Path) -> bool:
    """Erase the statement at a place, if it changes nothing or a later one overwrites what it wrote."""
    if session.attempt(Erase(path)) or _never_read(session, path):
        return True
    around = session.stmt(path[:-1]) if path else None
    if not isinstance(around, Seq):
        return False
    wanted = written_blocks(session.stmt(path))
    if EVERYTHING in wanted:
        return False
    later = around.stmts[path[-1] + 1 :][:FARTHEST]
    return any(
        bool(wanted & written_blocks(s)) and session.attempt(Erase(path, k)) for k, s in enumerate(later, start=1)
    )
