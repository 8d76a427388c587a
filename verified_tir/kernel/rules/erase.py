"""Remove a statement: it has no effect, or its stores are dead.

    A               A
    S; B     ⟶     B

Theorem.  It may be removed in each of these cases; let M be the memory at this place.

*It has no effect.*  Each store of S writes, evaluated on M, either the bits that M has there already or an undefined
value.  Then S ends in a memory at most as defined as M (by induction every state in between is), so leaving it out
refines the rest of the program.  Note the direction: a store that *fills* an undefined place may not be erased.  A
statement that never runs, or whose loops are empty, is such a case: its stores have contradictory premises.

*It is overwritten by a later statement.*  All its stores are dead (see ``last_write``) once that statement, which
stands later in the same sequence, has run: each read up to there sees a later write, and each element is written again.

*It is dead at the end.*  All its stores go to local blocks, between whose allocations and S stands no loop, and are
dead when these allocations end: each read after S sees a later write, or an element that S does not store.  S may have
stored more than is ever read (a producer whose consumer computes again what it needs: see ``recompute``).

Of dead stores only those count that store something defined.  The others leave a place less defined than it is without
them; so, by induction, whatever sees such a place in the new program finds there at least what it found in the old one.

A store to a local block that nothing but S reads does not count.  An opaque call, ``assert`` or ``while`` stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from verified_tir import ir
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls, read_blocks, written_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import following
from verified_tir.kernel.rules.insert import stores_seen, unchanged
from verified_tir.kernel.rules.last_write import dead_stores, may_not_pass, unread_blocks
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class Erase:
    """Remove the statement at ``path``.

    :param overwritten_by: how many statements later, in the same sequence, the statement stands that overwrites all
        that this one stored; 0 if its stores wrote what was there already, or are dead at the end.
    :param dead_at_end: no read sees what it stores before the lifetime of its blocks ends.
    """

    path: ir.Path
    overwritten_by: int = 0
    dead_at_end: bool = False

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        target = ir.at(before.body, self.path)
        if may_not_pass(target):
            raise Misfit("an opaque call, an assert or a while loop cannot be erased")
        context = context_at(before, self.path, entry)
        unread = unread_blocks(before, self.path)
        if not written_blocks(target) <= unread:
            unread -= read_blocks(target)  # such a store could feed another one, which must be looked at as it was
        if self.dead_at_end:
            questions = self._dead_stores(context, target, self._while_alive(before.body, target), unread)
        elif later := following(before.body, self.path, self.overwritten_by):
            questions = self._dead_stores(context, target, later, unread)
        else:
            questions = self._no_op(context, target, unread)
        return Rewrite(before.with_body(ir.put(before.body, self.path, ir.SKIP)), questions)

    def _no_op(self, context: Context, target: ir.Stmt, unread: set[ir.Var]) -> Iterator[Question]:
        run = instance(context, target, written=())
        for a in stores_seen(run, unread):
            old, new, same = unchanged(context, a)
            claim = f"the erased store to {a.buffer.name} wrote the bits that were there already"
            yield Question("no-op", claim, run.context, (*a.given, new), f.and_(old, same), (*self.path, *a.place))

    def _dead_stores(
        self, context: Context, target: ir.Stmt, later: tuple[ir.Stmt, ...], unread: set[ir.Var]
    ) -> Iterator[Question]:
        """Questions whether every store is dead.  Its address may depend on what S wrote before, so loads of that are
        havocked."""
        run = instance(context, target)
        stores = [replace(a, given=(*a.given, a.value.defined)) for a in stores_seen(run, unread)]
        after = run.context.fork()
        after.execute(target)
        yield from dead_stores(after, stores, later, self.path, "before", outlived=not self.dead_at_end)

    def _while_alive(self, body: ir.Stmt, target: ir.Stmt) -> tuple[ir.Stmt, ...]:
        """The statements that run after this one during the lifetime of the blocks to which it stores, in order."""
        blocks = written_blocks(target) - {s.buffer.data for s in ir.nodes_of(target, ir.Allocate)}
        later, path = list[ir.Stmt](), self.path
        while blocks:
            if not path:
                raise Misfit(f"{min(v.name for v in blocks)} outlives the function, so what is stored there is seen")
            path, step = path[:-1], path[-1]
            match ir.at(body, path):
                case ir.For() | ir.While():
                    raise Misfit("a loop stands between an allocation and this; sink the allocation first")
                case ir.Seq(stmts=stmts):
                    later += stmts[step + 1 :]
                case ir.Allocate(buffer=b):
                    blocks.discard(b.data)
        if opaque_calls(*later):
            raise Misfit("an opaque call comes later, which may read everything")
        return tuple(later)
