"""Branches: overcompute instead of branching, and decided conditions."""

from __future__ import annotations

from verified_tir.ir.paths import places
from verified_tir.ir.stmt import SKIP, If
from verified_tir.kernel.rules.branch import Decide, Merge
from verified_tir.kernel.rules.insert import Insert
from verified_tir.schedule.session import Session, TacticFailed, fail


def remove_branching_through_overcompute(session: Session) -> int:
    """Remove every ``if`` whose body may as well run always; gives how many went.

    RFC 77, "New Primitive - Remove Branching Through Overcompute".  For ``if c: S`` the kernel is asked to insert S
    into
    the missing else branch (where it must write the bits that are there already, or where nothing is defined) and then
    to merge the equal branches.

    :raises TacticFailed: if there is a branch and none can be removed; with the reason for the first.
    """
    removed = 0
    first_problem: TacticFailed | None = None
    skipped: set[object] = set()
    while True:
        found = next(
            ((p, s) for p, s in places(session.func.body, lambda s: isinstance(s, If) and s not in skipped)), None
        )
        if found is None:
            break
        path, stmt = found
        assert isinstance(stmt, If)
        before = session.theorem
        try:
            if stmt.else_body is None or stmt.else_body is SKIP:
                session.apply(Insert(path, stmt.then_body, "else"))
            session.apply(Merge(path))
            removed += 1
        except TacticFailed as problem:
            session.theorem = before
            first_problem = first_problem or problem
            skipped.add(stmt)
    if removed == 0:
        raise first_problem or fail("there is no branch to remove")
    return removed


def decide_branches(session: Session) -> int:
    """Replace branches whose condition is provably constant by the side taken; gives how many went."""
    decided = 0
    skipped: set[object] = set()
    while True:
        found = next(
            ((p, s) for p, s in places(session.func.body, lambda s: isinstance(s, If) and s not in skipped)), None
        )
        if found is None:
            return decided
        path, stmt = found
        if session.attempt(Decide(path, True)) or session.attempt(Decide(path, False)):
            decided += 1
        else:
            skipped.add(stmt)
