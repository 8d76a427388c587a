"""Give a value a name, or put the value back.

    S[e]        ⟷        let x = e in S[x]

Theorem.  If nothing that e reads is written in S, then e has one value throughout S, and x has it too.  Naming
evaluates e once, also where S would not have, so e must be safe there; putting it back evaluates it only where x was
used, after it had been evaluated once without trouble.

A let is index arithmetic when its value is, so whether operations on x wrap or must not overflow does not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Call, Expr, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import LetStmt
from verified_tir.ir.visit import free_vars, rewrite, substitute, walk
from verified_tir.kernel.context import Entry, context_at
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.rules.common import changes, kept, occurs, safe_questions, statement_at
from verified_tir.kernel.theorem import Rewrite
from verified_tir.logic import formula as f
from verified_tir.semantics.encode import Safety, fresh


@final
@dataclass(frozen=True, slots=True)
class Bind:
    """``S`` ⟶ ``let var = value in S`` with every occurrence of ``value`` in S replaced by ``var``."""

    path: Path
    var: Var
    value: Expr

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        if occurs(before, self.var) or self.var.dtype is not self.value.dtype:
            return NoMatch(self.path, "the variable is not fresh, or not of the value's type")
        if any(isinstance(n, Call) and not is_pure(n.op) for n in walk(self.value)):
            return NoMatch(self.path, "an opaque call cannot be evaluated early")
        if any(isinstance(n, Undef) for n in walk(self.value)):
            return NoMatch(self.path, "undef takes no name: each evaluation is a fresh one, and assumptions ask for it")
        if changes(target, (self.value,)):
            return NoMatch(self.path, "the statement writes what the value reads")
        context = context_at(before, self.path, entry)
        out = [v.name for v in free_vars(self.value) if v.dtype.code != "handle" and v not in context.env]
        if out:
            return NoMatch(self.path, f"the value mentions {out[0]}, which is not in scope here")

        def name_it(n: Node) -> Node | None:
            return self.var if n is self.value else None

        after = before.with_body(put(before.body, self.path, LetStmt(self.var, self.value, rewrite(target, name_it))))
        safety: list[Safety] = []
        lane = fresh("lane", f.INT) if self.value.dtype.lanes > 1 else None
        context.encoder(safety).encode(self.value, lane)
        given = () if lane is None else (f.between(f.integer(0), lane, f.integer(self.value.dtype.lanes)),)
        questions: list[Question] = list(safe_questions(context, safety, given, self.path))
        return Rewrite(after, questions, kept=kept(before, self.path, (self.value,)))


@final
@dataclass(frozen=True, slots=True)
class Inline:
    """``let x = e in S`` ⟶ ``S[x := e]``.  Owes nothing beyond: S writes nothing that e reads."""

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match statement_at(before, self.path):
            case NoMatch() as refusal:
                return refusal
            case LetStmt(var=v, value=value, body=body):
                if any(isinstance(n, Call) and not is_pure(n.op) for n in walk(value)):
                    return NoMatch(self.path, "an opaque call is evaluated once")
                if changes(body, (value,)):
                    return NoMatch(self.path, "the body writes what the value reads")
                return Rewrite(
                    before.with_body(put(before.body, self.path, substitute(body, {v: value}))),
                    (),
                    kept=kept(before, self.path),
                )
        return NoMatch(self.path, "not a let")
