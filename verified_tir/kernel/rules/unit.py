"""A loop that runs once is its body.

    for i in [a, a + 1): S        ⟷        S[i := a]

Theorem.  With extent 1 the range holds exactly the value a, so there is one instance, S at i = a.  The start is
evaluated again wherever S uses i, so S must change nothing that it reads.

With ``partition`` this peels iterations off a loop, and repeated, unrolls it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Var, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import For, Stmt
from verified_tir.ir.visit import substitute
from verified_tir.kernel.context import Entry, context_at
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.rules.common import changes, occurs, statement_at
from verified_tir.kernel.theorem import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class Unit:
    """Replace the loop of extent 1 at ``path`` by its body."""

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        if not isinstance(target, For):
            return NoMatch(self.path, "not a loop")
        if changes(target.body, (target.min,)):
            return NoMatch(self.path, "the body writes what the loop's start reads")
        body = substitute(target.body, {target.var: target.min})
        after = before.with_body(put(before.body, self.path, body))
        return Rewrite(after, self._questions(before, target, entry))

    def _questions(self, before: PrimFunc, loop: For, entry: Entry) -> Iterator[Question]:
        context = context_at(before, self.path, entry)
        goal = f.eq(context.encoder().value(loop.extent), f.integer(1))
        yield Question("domain", f"the loop over {loop.var.name} runs exactly once", context, (), goal, self.path)


@final
@dataclass(frozen=True, slots=True)
class WrapUnit:
    """``S`` ⟶ ``for var in range(1): S`` with a fresh variable that S does not use.  Owes nothing."""

    path: Path
    var: Var

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target: Stmt | NoMatch = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        if occurs(before, self.var) or not self.var.dtype.is_int:
            return NoMatch(self.path, "the loop variable is not a fresh integer")
        one = For(self.var, const(0, self.var.dtype), const(1, self.var.dtype), target)
        return Rewrite(before.with_body(put(before.body, self.path, one)), ())
