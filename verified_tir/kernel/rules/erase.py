"""A statement goes.

    A               A
    S; B     ⟶     B

Theorem.  Let M be the memory at this place.  Suppose each store of S writes, evaluated on M, either the bits that M has
there already or an undefined value; or that all of them are dead (see ``dead``).  Then S ends in a memory at most as
defined as M (by
induction every state in
between is), so leaving it out refines the rest of the program.  Note the direction: a store that *fills* an undefined
place may not be erased.

A statement that never runs, or whose loops are empty, is erased by the same rule: its stores have contradictory
premises.  An opaque call, ``assert`` or ``while`` is not erased.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import SKIP, Assert, Stmt, While
from verified_tir.ir.visit import walk
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls, read_blocks, written_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import following, kept, statement_at
from verified_tir.kernel.rules.dead import killed, unread_blocks
from verified_tir.kernel.rules.insert import unchanged
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class Erase:
    """Remove the statement at ``path``.

    :param killer: how many statements later, in the same sequence, one stands that overwrites all that this one stored;
        0 if the stores wrote what was there already.
    """

    path: Path
    killer: int = 0

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        if opaque_calls(target) or any(isinstance(n, (Assert, While)) for n in walk(target)):
            return NoMatch(self.path, "an opaque call, an assert or a while loop cannot be erased")
        later = following(before, self.path, self.killer)
        if isinstance(later, NoMatch):
            return later
        context = context_at(before, self.path, entry)
        unread = unread_blocks(before, self.path)
        if not written_blocks(target) <= unread:
            unread -= read_blocks(target)  # such a store could feed another one, which must be looked at as it was
        questions = self._dead(context, target, later, unread) if later else self._no_op(context, target, unread)
        return Rewrite(before.with_body(put(before.body, self.path, SKIP)), questions, kept=kept(before, self.path))

    def _no_op(self, context: Context, target: Stmt, unread: set[Var]) -> Iterator[Question]:
        run = instance(context, target, share_loads=True)
        for a in run.outer():
            if not a.write or a.buffer is None or a.value is None or a.buffer.data in unread:
                continue
            old = context.load_from(context.memory, a.buffer, a.indices, a.lane)
            claim = f"the erased store to {a.buffer.name} wrote the bits that were there already"
            goal = f.and_(old.defined, unchanged(context, a, old))
            yield Question("no-op", claim, run.context, (*a.given, a.value.defined), goal, (*self.path, *a.place))

    def _dead(self, context: Context, target: Stmt, later: tuple[Stmt, ...], unread: set[Var]) -> Iterator[Question]:
        """Every store is overwritten.  Its address may depend on what S wrote before, so loads of that are fresh."""
        run = instance(context, target)
        after = run.context.fork()
        after.execute(target)
        for a in run.outer():
            if a.write and a.buffer is not None and a.buffer.data not in unread:
                name = f"the store to {a.buffer.name} is dead"
                yield from killed(after, a, later[:-1], later[-1], name, (*self.path, *a.place), "before")
