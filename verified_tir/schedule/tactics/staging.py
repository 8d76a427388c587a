"""cache_read, cache_write: a block works on a copy of what it reads or writes.

Both guess a place and a region and ask for the kernel's ``stage``.  The place is the body of a loop that the caller
names, or the outermost loop or statement around the block at which the step makes sense.  The copies appear as blocks
``<copy>`` (in) and ``<copy>_back`` (out), under loops ``ax0``, ``ax1`` …
"""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer, For, If, Seq, Stmt, Store
from verified_tir.kernel.context import written_blocks
from verified_tir.kernel.rules.annotate import Label
from verified_tir.kernel.rules.stage import Stage
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.tactics.layout import BufferIn, buffer_in
from verified_tir.schedule.tactics.loops import Handle
from verified_tir.schedule.tactics.regions import Ranges, box_of
from verified_tir.schedule.tactics.simplify import simplify_expressions


def cache_read(
    session: Session, block: str, buffer: BufferIn, scope: str = "global", loop: Handle | None = None, name: str = ""
) -> Buffer:
    """Let ``block`` read a copy of a buffer; gives the copy, ``<buffer>_<scope>`` unless named.

    :param loop: the loop in each iteration of which what that iteration reads is copied.  Without it the copy is made
        once, before the outermost loop around the block in which nothing writes the buffer.
    """
    source = buffer_in(session, block, buffer)
    if loop is not None:
        path = _body_of(session, block, loop)
    else:
        around = _candidates(session, block, source)
        unwritten = [p for p in around if source.data not in written_blocks(session.stmt(p))]
        path = unwritten[0] if unwritten else around[-1]
    return _stage(session, path, source, scope, name, copy_in=True, copy_out=False)


def cache_write(
    session: Session, block: str, buffer: BufferIn, scope: str = "global", loop: Handle | None = None, name: str = ""
) -> Buffer:
    """Let ``block``, and what stands under the same loop, work on a copy of a buffer that is copied back afterwards;
    gives the copy.

    The copy is filled before only where something of the buffer's old contents may be wanted.

    :param loop: the loop in each iteration of which this happens; without it, it happens once around the whole nest.
    """
    target = buffer_in(session, block, buffer)
    path = _body_of(session, block, loop) if loop is not None else _candidates(session, block, target)[0]
    try:
        with session.atomic():
            return _stage(session, path, target, scope, name, copy_in=False, copy_out=True)
    except TacticFailed:
        return _stage(session, path, target, scope, name, copy_in=True, copy_out=True)


def _stage(
    session: Session, path: Path, buffer: Buffer, scope: str, name: str, *, copy_in: bool, copy_out: bool
) -> Buffer:
    box = box_of(session.stmt(path), buffer, ranges_around(session, path), writes=copy_out)
    if box is None:
        raise fail(f"{buffer.name} is not {'used' if copy_out else 'read'} there", path)
    called = name or f"{buffer.name}_{scope.replace('.', '_')}"
    session.apply(Stage(path, buffer, box.layout(), called, scope, copy_in, copy_out))
    allocation = session.stmt(path)
    assert isinstance(allocation, Allocate) and isinstance(allocation.body, Seq)
    copies = [*([(0, called)] if copy_in else [])]
    copies += [(len(allocation.body.stmts) - 1, f"{called}_back")] if copy_out else []
    simplify_expressions(session, path)
    for k, label in copies:
        nest = session.stmt((*path, 0, k))
        store = next(p for p, s in places(nest, lambda s: isinstance(s, Store)))
        session.apply(Label((*path, 0, k, *store), label))
    return allocation.buffer


def _body_of(session: Session, block: str, handle: Handle) -> Path:
    """The body of a loop that stands around the block."""
    where, loop = session.loop(handle)
    place, _ = session.block(block)
    if place[: len(where)] != where:
        raise fail(f"block {block} does not stand inside the loop over {loop.var.name}", where)
    return (*where, 0)


def _candidates(session: Session, block: str, buffer: Buffer) -> list[Path]:
    """Places around a block where the buffer is alive, outermost first: loops, conditions, the block itself."""
    place, _ = session.block(block)
    stmts = [(place[:k], session.stmt(place[:k])) for k in range(len(place) + 1)]
    born = max((k for k, (_, s) in enumerate(stmts) if _declares(s, buffer)), default=-1)
    return [p for p, s in stmts[born + 1 :] if isinstance(s, (For, If, Block))] or [place]


def _declares(stmt: Stmt, buffer: Buffer) -> bool:
    return isinstance(stmt, (Allocate, DeclBuffer)) and (stmt.buffer is buffer or stmt.buffer.data is buffer.data)


def ranges_around(session: Session, path: Path) -> Ranges:
    """The ranges of the loops around a place."""
    around = [session.stmt(path[:k]) for k in range(len(path))]
    return {s.var: (s.min, s.extent) for s in around if isinstance(s, For)}


__all__ = ["cache_read", "cache_write", "ranges_around"]
