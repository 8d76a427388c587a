"""Branches: overcompute instead of branching, and decided conditions."""

from __future__ import annotations

from collections.abc import Callable

from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import all_of
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import If, Stmt
from verified_tir.kernel.rules.branch import Decide, Merge, Reshape
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.rewrite import Rewrite
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.tactics.tidy import conjuncts

SWEEPS = 3
"""How often branches are tried again after others went."""


def remove_branching_through_overcompute(session: Session) -> int:
    """Remove every ``if`` whose body may as well run always; gives how many conditions went.

    RFC 77, "New Primitive - Remove Branching Through Overcompute".  For ``if c: S`` the kernel is asked to insert S
    into the missing else branch (where it must write the bits that are there already, or where nothing is defined) and
    then to merge the equal branches.  Where that fails for ``c₁ and c₂``, it is tried for each of the two.

    Later branches go first: while an earlier one is guarded, what it would fill is still undefined.  But a later one
    may also need what an earlier one fills, so there are several sweeps.

    :raises TacticFailed: if there is a branch and none can be removed; with the reason for the first.
    """
    problems: list[TacticFailed] = []

    def overcompute(path: Path, stmt: If) -> int:
        try:
            with session.atomic():
                _run_always(session, path, stmt)
            return len(conjuncts(stmt.condition))
        except TacticFailed as problem:
            problems.append(problem)
        return int(any(_without(session, path, stmt, k) for k in range(len(conjuncts(stmt.condition)))))

    removed = _each_branch(session, (), overcompute, last_first=True)
    if removed == 0:
        raise problems[-1] if problems else fail("there is no branch to remove")
    for _ in range(SWEEPS - 1):
        more = _each_branch(session, (), overcompute, last_first=True)
        removed += more
        if not more:
            break
    return removed


def _run_always(session: Session, path: Path, stmt: If) -> None:
    if stmt.else_body is None:
        session.apply(Insert(path, stmt.then_body, "else"))
    elif not structural_equal(stmt.then_body, stmt.else_body):
        raise fail("the branch does something else where its condition is false", path)
    session.apply(Merge(path))


def _without(session: Session, path: Path, stmt: If, k: int) -> bool:
    """Try to remove the k-th of several conditions: it is put last, into an ``if`` of its own."""
    parts = conjuncts(stmt.condition)
    if len(parts) == 1 or stmt.else_body is not None:
        return False
    others = [c for j, c in enumerate(parts) if j != k]
    try:
        with session.atomic():
            if k < len(others) or all_of([*others, parts[k]]) is not stmt.condition:
                session.apply(Rewrite(path, (0,), all_of([*others, parts[k]])))
            session.apply(Reshape(path, "nest"))
            inner = session.stmt((*path, 0))
            assert isinstance(inner, If)
            _run_always(session, (*path, 0), inner)
    except TacticFailed:
        return False
    return True


def decide_branches(session: Session, under: Path = ()) -> int:
    """Replace branches whose condition is provably constant by the side taken; gives how many went."""

    def decide(path: Path, stmt: If) -> int:
        del stmt
        return int(session.attempt(Decide(path, True)) or session.attempt(Decide(path, False)))

    return _each_branch(session, under, decide)


def _each_branch(session: Session, under: Path, remove: Callable[[Path, If], int], *, last_first: bool = False) -> int:
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
