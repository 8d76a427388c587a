"""Reads that see a write of the same run: shared by ``repeat``, ``stage`` and ``outdated``.

A read of element x is preceded by a write when some statement that ran before it, since a given moment, has an instance
that certainly stores to x: an earlier statement of a sequence, or the body of a loop in an earlier iteration.  The
instance is a witness, found by solving the address of the store for x; that it runs is part of what is to be proved.
Several stores may share the work: each gives a condition on x, of which one must hold.

Nothing is said about *what* was written: a store of undef is a write, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import SKIP, Block, For, Seq, Stmt, While
from verified_tir.ir.visit import map_children, sub_statements
from verified_tir.kernel.access import Access
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, read_blocks, written_blocks
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.dead import overwrites
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, fresh


@final
@dataclass(frozen=True, slots=True)
class Ran:
    """A statement that ran once for each value of ``unknowns`` that ``given`` allows; ``context`` is where it began."""

    context: Context
    stmt: Stmt
    env: dict[Var, Encoded]
    given: tuple[Term, ...] = ()
    unknowns: tuple[Term, ...] = ()


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


def earlier_iterations(context: Context, loop: For, now: Term) -> Ran:
    """The body of a loop in the iterations before ``now``; ``context`` is where the loop begins."""
    v = fresh(loop.var.name, f.INT)
    given = (f.le(context.encoder().value(loop.min), v), f.lt(v, now))
    return Ran(context, loop.body, {loop.var: Encoded(v, f.TRUE, False)}, given, (v,))


def reads_of(
    context: Context,
    stmt: Stmt,
    blocks: set[Var],
    before: tuple[Ran, ...] = (),
    place: Path = (),
    begun: int | None = None,
) -> Iterator[Read]:
    """Every read that ``stmt``, run from ``context``, makes of the blocks; ``before`` are the statements that ran.

    :param begun: how many conditions ``context`` had when the walk began; all that it has unless given.
    """
    if blocks.isdisjoint(reads := read_blocks(stmt)) and EVERYTHING not in reads:
        return
    begun = len(context.path) if begun is None else begun
    if not isinstance(stmt, (Seq, Block)):
        own = map_children(stmt, lambda c: SKIP if isinstance(c, Stmt) else c)
        here = context.fork()
        if isinstance(stmt, While):  # its condition is evaluated again after each iteration
            here.repeat(stmt, stmt.body)
        run = instance(here, own, share_loads=True)
        for a in run.outer():
            if not a.write and a.buffer is not None and a.buffer.data in blocks:
                written = [t for s in before for t in overwrites(s.context, a, s.stmt, s.env, s.given, s.unknowns)]
                yield Read(run.context, a, (*here.path[begun:], *a.given), f.or_(*written), place)
    if isinstance(stmt, Seq):
        here = context.fork()
        for k, s in enumerate(stmt.stmts):
            yield from reads_of(here.fork(), s, blocks, before, (*place, k), begun)
            if not blocks.isdisjoint(written_blocks(s)):
                before = (*before, Ran(here.fork(), s, {}))
            here.execute(s)
        return
    for k in range(len(sub_statements(stmt))):
        inner = context.fork()
        sub = inner.enter(stmt, k)
        ran = before
        if isinstance(stmt, For):
            ran = (*before, earlier_iterations(context, stmt, inner.env[stmt.var].value))
        yield from reads_of(inner, sub, blocks, ran, (*place, k), begun)
