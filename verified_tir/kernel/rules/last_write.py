"""Last writes and dead stores: one account of time, shared by all rules that insert, remove or copy something.

Which of two accesses comes first says ``access.happens_before``.

*Last writes.*  A read of an element sees the last write to it.  ``reads_of`` walks over a statement and gives, for each
read, a condition under which its element was *written* since the walk began: some statement that ran before, an earlier
one of a sequence or the body of a loop in an earlier iteration, has an instance that certainly stores to it.  The
instance is a witness, found by solving the address of the store for the element (``overwrites``); that it runs is part
of what is to be proved.  Several stores may share the work.  Nothing is said of *what* was written: a store of undef is
a write, too.

*Dead stores.*  Stores that happened are dead if every later read of an element of theirs sees a later write, and if, as
far as their blocks live on, each of their elements is certainly written later.  Take two runs that differ in these
stores only.  By induction every later read gives the same in both, so both take the same way and store the same; at the
end each element in which they differed was stored by both, or is gone.  So whether the stores happen does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from verified_tir import ir
from verified_tir.kernel.access import Access, conflicts, equal, overlap
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, opaque_calls, read_blocks, written_blocks
from verified_tir.kernel.obligation import Question
from verified_tir.kernel.region import evaluation, instance
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.guess import solve_address
from verified_tir.semantics.encode import fresh

# -- last writes -------------------------------------------------------------------------------------------------------

Executed: TypeAlias = tuple[Context, ir.Stmt]
"""A statement that was executed, with the context in which it began."""


def earlier_iterations(context: Context, loop: ir.For, now: Term) -> Executed:
    """The iterations of a loop before ``now``: a loop with fewer of them; ``context`` is where the loop begins."""
    low = context.encoder().value(loop.min)
    first, count = ir.Var.fresh("first", loop.var.dtype), ir.Var.fresh("count", loop.var.dtype)
    return context.bound([first, count], [low, f.sub(now, low)]), ir.For(loop.var, first, count, loop.body)


def may_have_run(context: Context, stmt: ir.Stmt) -> Executed:
    """A statement of which it is not known whether it was executed: it stands under an arbitrary condition."""
    condition = ir.Var.fresh("may_run", ir.BOOL)
    return context.bound([condition], [fresh("may_run", f.BOOL)]), ir.If(condition, stmt, ir.SKIP)


def overwrites(ran: Iterable[Executed], a: Access) -> Term:
    """That some instance of a store in what was executed certainly writes the element of ``a``.

    What it loads from memory that it writes itself is a fresh variable, so nothing is known of it.
    """
    found: list[Term] = []
    for run in [instance(begun, stmt) for begun, stmt in ran if a.buffer.data in written_blocks(stmt)]:
        for b in run.stores_to(a.buffer.data):
            solved = solve_address(b.address, a.address, list(b.inner), b.given)
            if solved is not None and b.buffer.dtype is a.buffer.dtype:
                witness = b.at({**solved[0], **run.renamed_apart()})  # other instances see other values
                found.append(f.and_(*witness.given, equal(witness.address, a.address)))
    return f.or_(*found)


def with_past(
    context: Context,
    stmt: ir.Stmt,
    blocks: set[ir.Var],
    wanted: Callable[[ir.Path, ir.Stmt], bool],
    ran: tuple[Executed, ...] = (),
    place: ir.Path = (),
) -> Iterator[tuple[ir.Path, ir.Stmt, Context, tuple[Executed, ...]]]:
    """The wanted statements in ``stmt`` (within wanted ones), outermost first: place, statement, the context in which
    it begins, and what was executed since ``context`` that may have written one of the blocks."""
    if not wanted(place, stmt):
        return
    yield place, stmt, context, ran
    subs = enumerate(ir.sub_statements(stmt))
    steps = {k for k, sub in subs if wanted((*place, k), sub) or not blocks.isdisjoint(written_blocks(sub))}
    for k, sub, inside in context.inside(stmt, steps):
        before = ran
        if isinstance(stmt, ir.For):
            before = (*ran, earlier_iterations(context, stmt, inside.env[stmt.var].value))
        elif isinstance(stmt, ir.While):  # of no element it is certain that an iteration wrote it
            before = (*ran, may_have_run(context, stmt))
        yield from with_past(inside, sub, blocks, wanted, before, (*place, k))
        if isinstance(stmt, ir.Seq):
            ran = (*ran, (inside, sub))


def reads_of(context: Context, stmt: ir.Stmt, blocks: set[ir.Var]) -> Iterator[tuple[Context, Access, Term]]:
    """Every read that ``stmt``, run from ``context``, makes of the blocks: what is known there, the access, and when
    its element was written since the walk began."""
    for place, s, here, ran in with_past(context, stmt, blocks, lambda _, s: not blocks.isdisjoint(read_blocks(s))):
        run = evaluation(here, s)
        for a in run.outer():
            if not a.write and a.buffer.data in blocks:
                yield run.context, replace(a, place=place), overwrites(ran, a)


# -- dead stores -------------------------------------------------------------------------------------------------------


def dead_stores(
    context: Context, stores: Sequence[Access], later: tuple[ir.Stmt, ...], path: ir.Path, where: str, *, outlived: bool
) -> Iterator[Question]:
    """Questions whose truth makes stores dead that were just executed at ``path``; ``later`` are the statements after
    them.

    :param outlived: their blocks live on after the last of these statements.
    """
    blocks = {a.buffer.data for a in stores}
    for here, read, written in reads_of(context, ir.Seq(later), blocks):
        for _, a in conflicts([read], stores):
            claim = f"the store to {a.buffer.name} is dead: no later read sees it"
            given = (*a.given, *read.given, overlap(a, read))
            yield Question("dead-store", claim, here, given, written, (*path, *a.place), where)
    if not outlived:
        return
    steps = {k for k, s in enumerate(later) if not blocks.isdisjoint(written_blocks(s))}
    ran = [(here, s) for _, s, here in context.inside(ir.Seq(later), steps)]
    ends = not any(map(may_not_pass, later))  # otherwise somebody else may read, or the run may end there
    for a in stores:
        claim = f"the store to {a.buffer.name} is dead: it is certainly overwritten later"
        here, goal = (ran[-1][0], overwrites(ran, a)) if ran and ends else (context, f.FALSE)
        yield Question("dead-store", claim, here, a.given, goal, (*path, *a.place), where)


def may_not_pass(stmt: ir.Stmt) -> bool:
    """Whether a statement may have other effects than its stores, or keep what follows from running."""
    return opaque_calls(stmt) or any(isinstance(n, (ir.Assert, ir.While)) for n in ir.walk(stmt))


def unread_blocks(func: ir.PrimFunc, path: ir.Path | None = None) -> set[ir.Var]:
    """Local blocks that nothing in the function reads, except the statement at ``path``: stores to them are dead."""
    read = read_blocks(func.body if path is None else ir.put(func.body, path, ir.SKIP))
    if EVERYTHING in read:
        return set()
    return {n.buffer.data for n in ir.walk(func.body) if isinstance(n, ir.Allocate)} - read
