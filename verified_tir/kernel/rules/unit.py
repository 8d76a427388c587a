"""A loop that runs once is its body.

    for i in [a, a + 1): S        ⟷        S[i := a]

Theorem.  With extent 1 the range holds exactly the value a, so there is one instance, S at i = a.  The start is
evaluated again wherever S uses i, so S must change nothing that it reads.

With ``partition`` this peels iterations off a loop.  Repeated until nothing is left, it unrolls it:

    for i in [a, a + n): S        ⟶        S[i := a]; S[i := a + 1]; … S[i := a + n - 1]

which for constants a and n is a rule of its own, so that a long body is looked at once and not n times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Binary, Expr, IntImm, Var, binary, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import For, Stmt, seq
from verified_tir.ir.visit import refresh_binders, rewrite, substitute, walk
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.rules.common import changes, kept, occurs, statement_at
from verified_tir.kernel.step import Rewrite
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
        return Rewrite(after, self._questions(before, target, entry), kept=kept(before, self.path))

    def _questions(self, before: PrimFunc, loop: For, entry: Entry) -> Iterator[Question]:
        context = context_at(before, self.path, entry)
        goal = f.eq(context.encoder().value(loop.extent), f.integer(1))
        yield Question("domain", f"the loop over {loop.var.name} runs exactly once", context, (), goal, self.path)


@final
@dataclass(frozen=True, slots=True)
class Unroll:
    """Replace the loop at ``path``, whose start and extent are constants, by its iterations.

    Each gets binders of its own.  Integer constants are folded by the constructor
    :func:`~verified_tir.ir.expr.binary`, which does so only where the value fits: what overflowed still does.
    """

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match statement_at(before, self.path):
            case NoMatch() as refusal:
                return refusal
            case For(var=v, min=IntImm(value=low), extent=IntImm(value=n), body=body) if n > 0:
                if low + n - 1 > v.dtype.max_value:
                    return NoMatch(self.path, f"the loop's last value does not fit {v.dtype}")
                copies = [body, *(refresh_binders(body)[0] for _ in range(n - 1))]
                unrolled = seq(*[_at_value(copy, v, const(low + k, v.dtype)) for k, copy in enumerate(copies)])
                return Rewrite(
                    before.with_body(put(before.body, self.path, unrolled)), (), kept=kept(before, self.path)
                )
        return NoMatch(self.path, "not a loop with a constant start and a positive constant extent")


def _at_value(body: Stmt, var: Var, value: Expr) -> Stmt:
    """``body`` with the constant for the variable, integer constants folded."""

    def visit(n: Node) -> Node | None:
        if n is var:
            return value
        if isinstance(n, Binary) and n.dtype.lanes == 1 and n.a.dtype.is_int:
            return binary(n.op, n.a, n.b)
        return None

    return rewrite(body, visit) if any(n is var for n in walk(body)) else body


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
        return Rewrite(before.with_body(put(before.body, self.path, one)), (), kept=kept(before, self.path))
