"""Cut off the iterations of loops in which their body does nothing (RFC 77, "New Transform - Reduce Loop Extents").

    for i in range(16):                       for i in range(3, 14):
        if i >= 3 and i < 14 and c:     ⟶         if c:
            S                                         S

The branch may also stand in further loops, right within each other: ``for i: for j: if i < 14: S``.  The range is cut
where a part of the condition changes, the side on which it is false is erased, and what is left is simplified.  Bounds
need not be constants: a cut that may lie outside the range is clamped to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from verified_tir.index.conditions import conjuncts
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.find import places_of
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import Block, For, If, Stmt
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import substitute
from verified_tir.kernel.rules.erase import Erase
from verified_tir.schedule import codes, moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.boundaries import boundaries
from verified_tir.schedule.tactics.loops import cut
from verified_tir.schedule.tactics.simplify import simplify


def reduce_loop_extents(session: Session, under: Path = ()) -> int:
    """Cut off the iterations in which a part of the condition is false, of every serial or parallel loop at or below a
    place that holds nothing but a branch without ``else``; gives how many conditions went that way."""
    reduced = 0
    tried: set[tuple[Var, Expr]] = set()
    while True:
        found = next(_candidates(session.left(under), tried), None)
        if found is None:
            return reduced
        where, loop, condition = found
        tried.add((loop.var, condition))
        reduced += session.succeeds(partial(_reduce, session, (*under, *where), condition))


def _candidates(root: Stmt, tried: set[tuple[Var, Expr]]) -> Iterator[tuple[Path, For, Expr]]:
    for path, loop in places_of(root, For, lambda s: s.kind in ("serial", "parallel")):
        branch = at(loop, _to_branch(loop))
        if isinstance(branch, If) and branch.else_body is None:
            for condition in conjuncts(branch.condition):
                if (loop.var, condition) not in tried:
                    yield path, loop, condition


def _to_branch(loop: For) -> Path:
    """The way from a loop to what it holds, through labels and loops that hold nothing else."""
    path: Path = (0,)
    while isinstance(s := at(loop, path), For) or (isinstance(s, Block) and s.is_label):
        path = (*path, 0)
    return path


def _between(loop: For) -> tuple[For, ...]:
    """The loops between a loop and the branch in it."""
    way = _to_branch(loop)
    return tuple(s for k in range(1, len(way)) if isinstance(s := at(loop, way[:k]), For))


def _reduce(session: Session, path: Path, condition: Expr) -> None:
    """Cut until the condition is always true in what is left.

    :raises TacticFailed: if no cut brings that about.
    """
    loop = session.at(path, For)
    for mid in list(boundaries(loop, condition, _between(loop))):
        if not session.succeeds(partial(_cut_off, session, path, mid)):
            continue
        left = session.at(path, For)
        condition, loop = substitute(condition, {loop.var: left.var}), left
        if _drop(session, path, condition):
            simplify(session, path)
            return
    raise fail(f"no cut of the loop over {loop.var.name} decides the condition", path, code=codes.NOTHING_TO_CHANGE)


def _cut_off(session: Session, path: Path, mid: Expr) -> None:
    """Cut the loop and erase the part in which the condition is false.

    That it is false there is asked before anything else: of a part that does something, the question whether it does
    harm is a long one.
    """
    first, second = cut(session, path, mid)
    if not session.attempt(moves.decide(_branch_of(session, second), False), Erase(second)):
        session.follow(session.stmt(first), session.stmt(second))
        session.apply(moves.decide(_branch_of(session, first), False))
        session.apply(Erase(first))


def _branch_of(session: Session, path: Path) -> Path:
    """The place of the branch in a loop."""
    return (*path, *_to_branch(session.at(path, For)))


def _drop(session: Session, path: Path, condition: Expr) -> bool:
    """Take a part out of the condition of the branch in a loop, if it is always true there."""
    where = _branch_of(session, path)
    parts = conjuncts(session.at(where, If).condition)
    others = [c for c in parts if c is not condition]
    if len(others) == len(parts):
        return False
    return session.attempt(rewritten(where, (0,), all_of(others)) if others else moves.decide(where, True))
