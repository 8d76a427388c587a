"""A statement goes whose results are written anew before anybody reads them.

    B = alloc(s)                 B = alloc(s)
    S                     ⟶     A
    A

Theorem.  Let S store to local blocks only, between whose allocations and S stands no loop, and let every read of these
blocks after S see an element that was written after S, or that S does not store.  Then A reads nothing that S stored,
so it does the same without S; and when the allocation ends nobody can tell.

``erase`` asks for one statement that overwrites everything; here each read has its own witness, so that S may have
stored more than is ever read (a producer whose consumer computes again what it needs: see ``repeat``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import SKIP, Allocate, Assert, Block, For, Seq, Stmt, While
from verified_tir.ir.visit import nodes_of, walk
from verified_tir.kernel.access import Access, conflicts, overlap
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls, written_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import kept, statement_at
from verified_tir.kernel.rules.written import Ran, reads_of
from verified_tir.kernel.step import Rewrite


@final
@dataclass(frozen=True, slots=True)
class Outdated:
    """Erase the statement at ``path``: what reads its results later reads what was written later."""

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        if opaque_calls(target) or any(isinstance(n, (Assert, While)) for n in walk(target)):
            return NoMatch(self.path, "an opaque call, an assert or a while loop cannot be erased")
        own = {n.buffer.data for n in walk(target) if isinstance(n, Allocate)}
        blocks = written_blocks(target) - own
        outermost = self._outermost(before, blocks)
        if isinstance(outermost, NoMatch):
            return outermost
        later = self._later(before, outermost)
        if any(opaque_calls(s) for _, s in later):
            return NoMatch(self.path, "an opaque call comes later, which may read everything")
        if any(not b.is_label for _, s in later for b in nodes_of(s, Block)):
            return NoMatch(self.path, "a block with iteration variables comes later; it must be expanded first")
        context = context_at(before, self.path, entry)
        stores = [a for a in instance(context, target).outer() if a.write]
        context.execute(target)
        after = before.with_body(put(before.body, self.path, SKIP))
        return Rewrite(after, self._questions(context, blocks, stores, later), kept=kept(before, self.path))

    def _outermost(self, before: PrimFunc, blocks: set[Var]) -> int | NoMatch:
        """How many steps of the path lead to the first allocation of one of the blocks."""
        around = [at(before.body, self.path[:k]) for k in range(len(self.path))]
        found = {s.buffer.data: k for k, s in enumerate(around) if isinstance(s, Allocate) and s.buffer.data in blocks}
        missing = next((v.name for v in blocks if v not in found), None)
        if missing is not None:
            return NoMatch(self.path, f"{missing} outlives the function, so what is stored there is seen")
        first = min(found.values(), default=len(self.path))
        loop = next((s for s in around[first:] if isinstance(s, (For, While))), None)
        if loop is not None:
            return NoMatch(self.path, "a loop stands between an allocation and this; sink the allocation first")
        return first

    def _later(self, before: PrimFunc, outermost: int) -> list[tuple[Path, Stmt]]:
        """What runs after the statement while one of the blocks is alive, in order."""
        found: list[tuple[Path, Stmt]] = []
        for k in range(len(self.path) - 1, outermost, -1):
            parent = at(before.body, self.path[:k])
            if isinstance(parent, Seq):
                found += [((*self.path[:k], j), s) for j, s in enumerate(parent.stmts) if j > self.path[k]]
        return found

    def _questions(
        self, here: Context, blocks: set[Var], stores: list[Access], later: list[tuple[Path, Stmt]]
    ) -> Iterator[Question]:
        ran: tuple[Ran, ...] = ()
        begun = len(here.path)
        for path, s in later:
            for read in reads_of(here.fork(), s, blocks, ran, path, begun):
                for a, b in conflicts([read.access], stores):
                    name = a.buffer.name if a.buffer is not None else ""
                    claim = f"what is read of {name} was written after the erased statement"
                    given = (*read.given, *b.given, overlap(read.context, a, b))
                    yield Question("outdated", claim, read.context, given, read.written, read.place)
            if not blocks.isdisjoint(written_blocks(s)):
                ran = (*ran, Ran(here.fork(), s, {}))
            here.execute(s)
