"""Views declared anew with shorter extents and offsets: ``elem_offset=(i - i) * 16 + j`` becomes ``elem_offset=j``.

What a buffer is declared with is no expression that a ``rewrite`` could replace.  So another view is declared, all
accesses are redirected to it (that they name the same bytes is proved), and the old one goes.
"""

from __future__ import annotations

from functools import partial

from verified_tir.index.bounds import Bounds
from verified_tir.index.fold import size
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import DeclBuffer
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.schedule.edits import moves_of, redirected
from verified_tir.schedule.session import Session
from verified_tir.schedule.tactics.simplify import known_at


def shorten_views(session: Session) -> int:
    """Declare views anew whose extents or offsets can be shorter; gives how many."""
    changed = 0
    for path, stmt in reversed(session.find(DeclBuffer)):
        new = _shorter(session, path, stmt.buffer)
        if new is not None:
            changed += session.succeeds(partial(_declare_anew, session, path, stmt, new))
    return changed


def _shorter(session: Session, path: Path, old: Buffer) -> Buffer | None:
    ranges, known = known_at(session, path)
    simplifier = Simplifier(Bounds(ranges, known.facts))

    def short(e: Expr) -> Expr:
        new = simplifier.expr(e) if is_index(e) else e
        return new if new.dtype is e.dtype and size(new) < size(e) else e

    shape, offset = tuple(map(short, old.shape)), short(old.elem_offset)
    strides = tuple(map(short, old.strides))
    if (shape, strides, offset) == (old.shape, old.strides, old.elem_offset):
        return None
    return Buffer(old.name, old.data, old.dtype, shape, strides, offset, old.axis_separators)


def _declare_anew(session: Session, path: Path, stmt: DeclBuffer, new: Buffer) -> None:
    session.apply(Declare((*path, 0), new, True))
    inside = (*path, 0, 0)
    moves = moves_of(session.stmt(inside), stmt.buffer)
    if moves:
        session.apply(redirected(inside, stmt.buffer, new, moves))
    session.apply(Drop(path))
