"""Branches of the same or the opposite condition become one (RFC 77, "Enhancement - Simplify").

    if c: S₁ else: T₁                                    if c: S₁ else: T₁
    if d: S₂ else: T₂        ⟶   if c: S₁; S₂            if d: S₂ else: T₂        ⟶   if c: S₁; T₂
                                 else: T₁; T₂                                         else: T₁; S₂
    where d is what c is                                 where d is what c is not

Both statements are put under c (``introduce``), and there each of the four branches is decided.  So the kernel proves
that c and d agree, whatever they look like, and where the first statement changes what d reads it says no.

A branch under labels of its own counts too.  Its labels go with what it does, into the arm; the labels of a branch that
does something on both sides are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from verified_tir.ir.equal import structural_equal
from verified_tir.ir.find import places_of
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import SKIP, Block, If, Seq, Stmt
from verified_tir.ir.visit import free_vars
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import annotated, labelled, unwrapped
from verified_tir.schedule.session import Session


def merge_conditionals(session: Session, under: Path = ()) -> int:
    """Merge adjacent branches of the same or the opposite condition, and branches with the same statement on both
    sides into that statement; gives how many branches went."""
    merged = 0
    tried: set[tuple[Stmt, Stmt]] = set()
    while True:
        found = next(_adjacent(session.left(under), tried), None)
        if found is None:
            return merged + _merge_identical(session, under)
        where, k, pair = found
        tried.add(pair)
        merged += int(merge_pair(session, (*under, *where), k))


def _adjacent(root: Stmt, tried: set[tuple[Stmt, Stmt]]) -> Iterator[tuple[Path, int, tuple[Stmt, Stmt]]]:
    """The places of adjacent branches that may have to do with each other."""
    for where, stmt in places_of(root, Seq, lambda _: True):
        for k, (a, b) in enumerate(zip(stmt.stmts, stmt.stmts[1:], strict=False)):
            if (a, b) not in tried and _related(_labelled_branch(a), _labelled_branch(b)):
                yield where, k, (a, b)


def _labelled_branch(stmt: Stmt) -> If | None:
    """The branch that a statement is, labels around it left aside."""
    while isinstance(stmt, Block) and stmt.is_label:
        stmt = stmt.body
    return stmt if isinstance(stmt, If) else None


def _related(a: If | None, b: If | None) -> bool:
    """Whether two conditions could be the same: they mention a variable in common."""
    return a is not None and b is not None and bool(set(free_vars(a.condition)) & set(free_vars(b.condition)))


def _labels_inside(session: Session, path: Path) -> None:
    """``with block: if c: S`` ⟶ ``if c: with block: S``; of a branch with two arms the label is dropped."""
    label = session.stmt(path)
    if not isinstance(label, Block):
        return
    session.apply(unwrapped(path))
    _labels_inside(session, path)
    if session.at(path, If).else_body is None:
        session.apply(labelled((*path, 0), label.name))
        if label.annotations:
            session.apply(annotated((*path, 0), label.annotations))


def merge_pair(session: Session, where: Path, k: int) -> bool:
    """Merge the ``k``-th statement of a sequence and the next one, two branches, if their conditions allow it."""
    return session.succeeds(partial(_merge, session, where, k))


def _merge(session: Session, where: Path, k: int) -> None:
    for branch in ((*where, k), (*where, k + 1)):
        _labels_inside(session, branch)
    first = session.at((*where, k), If)
    whole = len(session.at(where, Seq).stmts) == 2
    session.apply(moves.introduce((*where, k), first.condition, 2))
    branch = where if whole else (*where, k)
    for arm, holds in ((0, True), (1, False)):
        second = (*branch, arm, 1)  # before the first goes: places behind it would move
        if not session.attempt(moves.decide(second, holds)):
            session.apply(moves.decide(second, not holds))
        inner = session.stmt((*branch, arm))
        session.apply(moves.decide((*branch, arm, 0) if isinstance(inner, Seq) else (*branch, arm), holds))
    trim(session, branch)


def trim(session: Session, path: Path) -> None:
    """Remove an empty arm: the else arm, or after a negation the other."""
    branch = session.at(path, If)
    if branch.else_body is SKIP:
        session.apply(moves.reshape(path, "trim"))
    elif branch.then_body is SKIP and branch.else_body is not None:
        session.apply(moves.reshape(path, "negate"))
        session.apply(moves.reshape(path, "trim"))


def _merge_identical(session: Session, under: Path) -> int:
    def same(branch: If) -> bool:
        return branch.else_body is not None and structural_equal(branch.then_body, branch.else_body)

    return session.each(If, lambda path, _: int(session.attempt(moves.merge(path))), same, under, last_first=True)
