"""A copy for consumers in several nests, made where their input is written.

    for i: A(tile i); B(tile i)                for i: A(tile i); copy tile i; B, which reads the copy
    for i: C                           ⟶       for i: C, which reads the copy

No one statement holds just the consumers, so nothing can be staged.  The copy is allocated and filled (``insert``: what
it holds before is undefined), and each read of the buffer becomes one of the copy, which has the same value there
(``rewrite``).
"""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Load
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Block, Stmt, Store
from verified_tir.ir.sugar import all_of, const
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.scope import Declare
from verified_tir.schedule import codes
from verified_tir.schedule.edits import parts, rewritten, together
from verified_tir.schedule.moves import NewLoop, nest
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.buffers import home_of
from verified_tir.schedule.tactics.regions import box_of


def copied_where_written(session: Session, source: Buffer, consumers: Sequence[Path], scope: str, name: str) -> Buffer:
    """Let the reads of a buffer at some places read a copy, which is made after the last write before them.

    :raises TacticFailed: if nothing writes the buffer before, or a read may find something else in the copy.
    """
    first = min(consumers)
    writers = [p for p, _ in session.stores_to(source) if p < first]
    steps = session.parting(writers[-1], first) if writers else None
    if steps is None:
        raise fail(f"nothing writes {source.name} before its consumers", first, code=codes.NOT_USED_THERE)
    where = writers[-1][: steps + 1]
    box = box_of(session.stmt(where), source, session.ranges(where), reads=False)
    assert box is not None
    copy = Buffer.declare(name, source.shape, source.dtype, scope=scope)
    layout = box.layout()
    loops = [NewLoop(y, const(0, y.dtype), n) for y, n in zip(layout.inverse_inputs, layout.shape, strict=True)]
    filled: Stmt = Block.label(name, Store(copy, Load(source, layout.inverse), layout.inverse))
    filled = nest(loops, [all_of(inside)] if (inside := box.inside(layout.inverse_inputs)) else [], filled)
    home = home_of(session, source)
    session.apply(Declare(home, copy))
    session.apply(Insert(_below(home, where), filled, "after"))
    for place in consumers:
        _redirect(session, _below(home, place), source, copy, after=_below(home, where))
    return copy


def _below(home: Path, place: Path) -> Path:
    """A place below ``home``, where one statement more stands around it."""
    return (*home, 0, *place[len(home) :])


def _redirect(session: Session, place: Path, source: Buffer, copy: Buffer, after: Path) -> None:
    """Let the reads of ``source`` at a place read the copy, which was inserted in a sequence ``after`` a place."""
    where, position = after[:-1], after[-1]
    if place[: len(where)] == where and place[len(where)] > position:
        place = (*where, place[len(where)] + 1, *place[len(where) + 1 :])
    edits = [
        rewritten(path, at, Load(copy, e.indices))
        for path, stmt in session.find(Stmt, under=place)
        for at, e in parts(stmt)
        if isinstance(e, Load) and e.buffer is source
    ]
    if not edits:
        raise fail(f"{source.name} is not read there", place, code=codes.NOT_USED_THERE)
    session.apply(together(edits))
