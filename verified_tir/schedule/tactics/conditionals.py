"""Branches of the same or the opposite condition become one (RFC 77, "Enhancement - Simplify").

    if c: S₁ else: T₁                                    if c: S₁ else: T₁
    if d: S₂ else: T₂        ⟶   if c: S₁; S₂            if d: S₂ else: T₂        ⟶   if c: S₁; T₂
                                 else: T₁; T₂                                         else: T₁; S₂
    where d is what c is                                 where d is what c is not

Both statements are put under c (``introduce``), and there each of the four branches is decided.  So the kernel proves
that c and d agree, whatever they look like, and where the first statement changes what d reads it says no.
"""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.ir.equal import structural_equal
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import SKIP, If, Seq, Stmt
from verified_tir.ir.visit import free_vars
from verified_tir.kernel.rules.branch import Decide, Introduce, Merge, Reshape
from verified_tir.schedule.session import Session, TacticFailed


def merge_conditionals(session: Session, under: Path = ()) -> int:
    """Merge adjacent branches of the same or the opposite condition, and branches with the same statement on both
    sides into that statement; gives how many branches went."""
    merged = 0
    tried: set[tuple[Stmt, Stmt]] = set()
    while True:
        found = next(_adjacent(session.stmt(under), tried), None)
        if found is None:
            return merged + _merge_identical(session, under)
        where, k, pair = found
        tried.add(pair)
        merged += int(merge_pair(session, (*under, *where), k))


def _adjacent(root: Stmt, tried: set[tuple[Stmt, Stmt]]) -> Iterator[tuple[Path, int, tuple[Stmt, Stmt]]]:
    """The places of adjacent branches that may have to do with each other."""
    for where, stmt in places(root, lambda s: isinstance(s, Seq)):
        assert isinstance(stmt, Seq)
        for k, (a, b) in enumerate(zip(stmt.stmts, stmt.stmts[1:], strict=False)):
            if isinstance(a, If) and isinstance(b, If) and (a, b) not in tried and _related(a, b):
                yield where, k, (a, b)


def _related(a: If, b: If) -> bool:
    """Whether two conditions could be the same: they mention a variable in common."""
    return bool(set(free_vars(a.condition)) & set(free_vars(b.condition)))


def merge_pair(session: Session, where: Path, k: int) -> bool:
    first = session.stmt((*where, k))
    assert isinstance(first, If)
    try:
        with session.atomic():
            whole = len(session.stmt(where).stmts) == 2  # type: ignore[attr-defined]
            session.apply(Introduce((*where, k), first.condition, 2))
            branch = where if whole else (*where, k)
            for arm, holds in ((0, True), (1, False)):
                second = (*branch, arm, 1)  # before the first goes: places behind it would move
                if not session.attempt(Decide(second, holds)):
                    session.apply(Decide(second, not holds))
                inner = session.stmt((*branch, arm))
                session.apply(Decide((*branch, arm, 0) if isinstance(inner, Seq) else (*branch, arm), holds))
            trim(session, branch)
    except TacticFailed:
        return False
    return True


def trim(session: Session, path: Path) -> None:
    """An arm that does nothing goes: the else arm, or after a negation the other."""
    branch = session.stmt(path)
    assert isinstance(branch, If)
    if branch.else_body is SKIP:
        session.apply(Reshape(path, "trim"))
    elif branch.then_body is SKIP and branch.else_body is not None:
        session.apply(Reshape(path, "negate"))
        session.apply(Reshape(path, "trim"))


def _merge_identical(session: Session, under: Path) -> int:
    merged = 0
    skipped: set[Stmt] = set()
    while True:
        same = [
            (p, s)
            for p, s in places(session.stmt(under), lambda s: isinstance(s, If) and s not in skipped)
            if isinstance(s, If) and s.else_body is not None and structural_equal(s.then_body, s.else_body)
        ]
        if not same:
            return merged
        path, stmt = same[-1]
        skipped.add(stmt)
        merged += int(session.attempt(Merge((*under, *path))))
