"""A statement goes.

    A               A
    S; B     ⟶     B

Theorem.  Let M be the memory at this place.  Suppose each store of S writes, evaluated on M, either the bits that M has
there already or an undefined value.  Then S ends in a memory at most as defined as M (by induction every state in
between is), so leaving it out refines the rest of the program.  Note the direction: a store that *fills* an undefined
place may not be erased.

A statement that never runs, or whose loops are empty, is erased by the same rule: its stores have contradictory
premises.  An opaque call, ``assert`` or ``while`` is not erased.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import SKIP, Assert, Stmt, While
from verified_tir.ir.visit import walk
from verified_tir.kernel.context import Context, Entry, context_at, opaque_calls
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import statement_at
from verified_tir.kernel.theorem import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class Erase:
    """Remove the statement at ``path``."""

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        if opaque_calls(target) or any(isinstance(n, (Assert, While)) for n in walk(target)):
            return NoMatch(self.path, "an opaque call, an assert or a while loop cannot be erased")
        context = context_at(before, self.path, entry)
        return Rewrite(before.with_body(put(before.body, self.path, SKIP)), self._questions(context, target))

    def _questions(self, context: Context, target: Stmt) -> Iterator[Question]:
        run = instance(context, target, share_loads=True)
        for a in run.outer():
            if not a.write or a.buffer is None or a.value is None:
                continue
            old = context.load_from(context.memory, a.buffer, a.indices, a.lane)
            claim = f"the erased store to {a.buffer.name} wrote the bits that were there already"
            goal = f.and_(old.defined, f.eq(a.value.value, old.value))
            yield Question("no-op", claim, run.context, (*a.given, a.value.defined), goal, (*self.path, *a.place))
