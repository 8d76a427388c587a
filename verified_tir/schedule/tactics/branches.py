"""Branches: each of them in turn, and those whose condition is decided."""

from __future__ import annotations

from collections.abc import Callable

from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import If, Stmt
from verified_tir.kernel.rules.branch import Decide
from verified_tir.schedule.session import Session


def decide_branches(session: Session, under: Path = ()) -> int:
    """Replace branches whose condition is provably constant by the side taken; gives how many went."""

    def decide(path: Path, stmt: If) -> int:
        del stmt
        return int(session.attempt(Decide(path, True)) or session.attempt(Decide(path, False)))

    return each_branch(session, under, decide)


def each_branch(session: Session, under: Path, remove: Callable[[Path, If], int], *, last_first: bool = False) -> int:
    """Offer every branch at or below a place to ``remove``, in program order or against it, as often as it succeeds."""
    removed = 0
    skipped: set[Stmt] = set()
    while True:
        found = list(places(session.stmt(under), lambda s: isinstance(s, If) and s not in skipped))
        if not found:
            return removed
        path, stmt = found[-1 if last_first else 0]
        assert isinstance(stmt, If)
        gained = remove((*under, *path), stmt)
        if not gained:
            skipped.add(stmt)
        removed += gained
