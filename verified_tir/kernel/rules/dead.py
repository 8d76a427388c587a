"""Stores that nobody sees: shared by ``insert`` and ``erase``.

A store to x is *dead* when a later statement of the same sequence, its killer, certainly overwrites x, and nothing in
between, nor the killer itself, reads x; or when it goes to a local buffer that nothing outside the statement reads.
Whether it happens or not, x holds the same afterwards, and so does everything else.
"""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.expr import Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Stmt
from verified_tir.ir.visit import children, sub_statements, walk
from verified_tir.kernel.access import Access, overlap
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, read_blocks
from verified_tir.kernel.obligation import Question
from verified_tir.kernel.region import instance
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.guess import solve_address
from verified_tir.semantics.encode import Encoded


def unread_blocks(func: PrimFunc, path: Path | None = None) -> set[Var]:
    """Local blocks that nothing in the function reads, except the statement at ``path``."""
    read = _blocks_read(func.body, path)
    if EVERYTHING in read:
        return set()
    return {n.buffer.data for n in walk(func.body) if isinstance(n, Allocate)} - read


def _blocks_read(stmt: Stmt, skip: Path | None) -> set[Var]:
    """Blocks read in a statement, the sub-statement at ``skip`` (this occurrence only) left out."""
    if skip is None:
        return read_blocks(stmt)
    if not skip:
        return set()
    found = {n.buffer.data for e in children(stmt) if not isinstance(e, Stmt) for n in walk(e) if isinstance(n, Load)}
    for k, sub in enumerate(sub_statements(stmt)):
        found |= _blocks_read(sub, skip[1:] if k == skip[0] else None)
    return found


def killed(
    context: Context, a: Access, between: Sequence[Stmt], killer: Stmt, name: str, path: tuple[int, ...], where: str
) -> list[Question]:
    """Questions that make the store ``a``, run from ``context``, dead.

    ``between`` are the statements after it and before ``killer``, in order.
    """
    here = context.fork()
    questions: list[Question] = []
    for s in (*between, killer):
        run = instance(here, s)
        for r in run.outer():
            if r.write and r.buffer is not None:
                continue
            goal = f.not_(overlap(here, a, r))
            claim = f"{name}: what is overwritten later is not read before that"
            questions.append(Question("dead", claim, here.fork(), (*a.given, *r.given), goal, path, where))
        if s is not killer:
            here.execute(s)
    goal = f.or_(*overwrites(here, a, killer))
    claim = f"{name}: it is certainly overwritten later"
    questions.append(Question("dead", claim, here, a.given, goal, path, where))
    return questions


def overwrites(
    context: Context,
    a: Access,
    killer: Stmt,
    env: dict[Var, Encoded] | None = None,
    given: tuple[Term, ...] = (),
    unknowns: tuple[Term, ...] = (),
) -> list[Term]:
    """Conditions under which some instance of a store in ``killer`` writes the element of ``a``.

    What the killer loads from memory that it writes itself is a fresh variable in them, so nothing is known of it.

    :param env: values for variables bound around ``killer``: those of ``unknowns`` may be chosen, within ``given``.
    """
    found: list[Term] = []
    run = instance(context, killer, env=env, given=given)
    for b in run.outer():
        if not b.write or b.buffer is None or a.buffer is None or b.buffer.data is not a.buffer.data:
            continue
        if b.buffer.dtype is not a.buffer.dtype:
            continue
        solved = solve_address(b.address, a.address, [*unknowns, *b.inner], b.given)
        if solved is None:
            continue
        witness = {**solved[0], **run.renamed_apart()}
        memo: dict[Term, Term] = {}
        conditions = [f.replace(g, witness, memo) for g in b.given]
        reached = [f.eq(f.replace(x, witness, memo), y) for x, y in zip(b.address, a.address, strict=True)]
        found.append(f.and_(*conditions, *reached))
    return found
