"""What was written when: one account of time, shared by all rules by which something appears, goes or is copied.

When an access happens, and which of two comes first, says ``verified_tir.kernel.moments``.

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
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import SKIP, Allocate, Assert, For, Seq, Stmt, While
from verified_tir.ir.visit import walk
from verified_tir.kernel.access import Access, conflicts, overlap
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, opaque_calls, read_blocks, written_blocks
from verified_tir.kernel.obligation import Question
from verified_tir.kernel.region import evaluation, instance
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.guess import solve_address
from verified_tir.semantics.encode import fresh

# -- last writes -------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Ran:
    """A statement that ran once for each value of ``unknowns`` that ``given`` allows; ``context`` is where it began."""

    context: Context
    stmt: Stmt
    given: tuple[Term, ...] = ()
    unknowns: tuple[Term, ...] = ()


def earlier_iterations(context: Context, loop: For, now: Term) -> Ran:
    """The body of a loop in the iterations before ``now``; ``context`` is where the loop begins."""
    v = fresh(loop.var.name, f.INT)
    given = (f.le(context.encoder().value(loop.min), v), f.lt(v, now))
    return Ran(context.bound([loop.var], [v]), loop.body, given, (v,))


def overwrites(ran: Iterable[Ran], a: Access) -> Term:
    """That some instance of a store in what ran certainly writes the element of ``a``.

    What it loads from memory that it writes itself is a fresh variable, so nothing is known of it.
    """
    found: list[Term] = []
    for r in ran:
        if a.buffer is None or a.buffer.data not in written_blocks(r.stmt):
            continue
        run = instance(r.context, r.stmt, given=r.given)
        for b in run.outer():
            if not b.write or b.buffer is None or b.buffer.data is not a.buffer.data:
                continue
            if b.buffer.dtype is not a.buffer.dtype:
                continue
            solved = solve_address(b.address, a.address, [*r.unknowns, *b.inner], b.given)
            if solved is None:
                continue
            witness = {**solved[0], **run.renamed_apart()}
            memo: dict[Term, Term] = {}
            conditions = [f.replace(g, witness, memo) for g in b.given]
            reached = [f.eq(f.replace(x, witness, memo), y) for x, y in zip(b.address, a.address, strict=True)]
            found.append(f.and_(*conditions, *reached))
    return f.or_(*found)


@final
@dataclass(frozen=True, slots=True)
class Moment:
    """A statement that is about to run in a walk, at ``place``: where it begins, and what ran since the walk began."""

    place: Path
    stmt: Stmt
    context: Context
    ran: tuple[Ran, ...]


def moments(
    context: Context, stmt: Stmt, wanted: Callable[[Path, Stmt], bool], ran: tuple[Ran, ...] = (), place: Path = ()
) -> Iterator[Moment]:
    """The statements in ``stmt``, run from ``context``, that are wanted, within wanted ones; outermost first."""
    if not wanted(place, stmt):
        return
    yield Moment(place, stmt, context, ran)
    for k, sub, inside in context.inside(stmt):
        before = ran
        if isinstance(stmt, For):
            before = (*ran, earlier_iterations(context, stmt, inside.env[stmt.var].value))
        elif isinstance(stmt, While):  # perhaps some iterations ran: of no element it is certain that they wrote it
            before = (*ran, Ran(context, stmt, (fresh("repeated", f.BOOL),)))
        yield from moments(inside, sub, wanted, before, (*place, k))
        if isinstance(stmt, Seq):
            ran = (*ran, Ran(inside, sub))


@final
@dataclass(frozen=True, slots=True)
class Read:
    """A read, where it happens, and a condition under which its element was written before, since the walk began.

    ``given`` is what leads to the read within the walk: facts about what was passed on the way are wanted, too.
    """

    context: Context
    access: Access
    given: tuple[Term, ...]
    written: Term
    place: Path


def reads_of(context: Context, stmt: Stmt, blocks: set[Var], place: Path = ()) -> Iterator[Read]:
    """Every read that ``stmt``, run from ``context``, makes of the blocks."""
    for m in moments(context, stmt, lambda _, s: not {*blocks, EVERYTHING}.isdisjoint(read_blocks(s))):
        run = evaluation(m.context, m.stmt)
        for a in run.outer():
            if not a.write and a.buffer is not None and a.buffer.data in blocks:
                given = (*run.context.path[len(context.path) :], *a.given)
                yield Read(run.context, a, given, overwrites(m.ran, a), (*place, *m.place))


# -- dead stores -------------------------------------------------------------------------------------------------------


def dead(
    context: Context, stores: Sequence[Access], later: Iterable[Stmt], path: Path, where: str, *, outlived: bool
) -> Iterator[Question]:
    """Questions that make stores dead which have just happened, at ``path``; ``later`` are the statements after them.

    :param outlived: their blocks live on after the last of these statements.
    """
    blocks = {a.buffer.data for a in stores if a.buffer is not None}
    run = Seq((*later, SKIP))
    for read in reads_of(context, run, blocks):
        for _, a in conflicts([read.access], stores):
            claim = _not_read(a) if outlived else f"what is read of {name_of(a)} was written after the erased statement"
            given = (*a.given, *read.given, overlap(a, read.access))
            yield Question("dead", claim, read.context, given, read.written, (*path, *a.place), where)
    if not outlived:
        return
    ran = [Ran(here, s) for _, s, here in context.inside(run)]
    for r in ran:
        for a in stores if may_not_pass(r.stmt) else ():  # somebody else may read, or the run may end here
            yield Question("dead", _not_read(a), r.context, a.given, f.FALSE, (*path, *a.place), where)
    for a in stores:
        claim = f"the store to {name_of(a)} is dead: it is certainly overwritten later"
        yield Question("dead", claim, ran[-1].context, a.given, overwrites(ran, a), (*path, *a.place), where)


def _not_read(a: Access) -> str:
    return f"the store to {name_of(a)} is dead: what is overwritten later is not read before that"


def name_of(a: Access) -> str:
    """The name of the buffer that an access goes through."""
    return "" if a.buffer is None else a.buffer.name


def may_not_pass(stmt: Stmt) -> bool:
    """Whether a statement may have other effects than its stores, or keep what follows from running."""
    return opaque_calls(stmt) or any(isinstance(n, (Assert, While)) for n in walk(stmt))


def unread_blocks(func: PrimFunc, path: Path | None = None) -> set[Var]:
    """Local blocks that nothing in the function reads, except the statement at ``path``: stores to them are dead."""
    read = read_blocks(func.body if path is None else put(func.body, path, SKIP))
    if EVERYTHING in read:
        return set()
    return {n.buffer.data for n in walk(func.body) if isinstance(n, Allocate)} - read
