"""Bind a value to a variable by a let, or inline a let.

    S[e]        ⟷        let x = e in S[x]

Theorem.  If nothing that e reads is written in S, then e has one value throughout S, and x has it too.  A store writes
after all that it evaluates, so there the premise is not needed; nor is it where x does not occur.  Naming evaluates e
once, also where S would not have, so e must be safe there; putting it back evaluates it only where x was used, after it
had been evaluated once without trouble.

S begins by evaluating something in the memory in which e is named; that this was safe may be used.

A let is index arithmetic when its value is, so whether operations on x wrap or must not overflow does not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir import ir
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit
from verified_tir.kernel.rules.common import changes, safe_questions
from verified_tir.kernel.rules.skeleton import known_of
from verified_tir.kernel.step import Rewrite
from verified_tir.semantics.encode import Safety


@final
@dataclass(frozen=True, slots=True)
class Bind:
    """``S`` ⟶ ``let var = value in S`` with every occurrence of ``value`` in S replaced by ``var``.

    :param replace: without it no occurrence is replaced: ``rewrite`` may do that one by one, each with its obligation.
    """

    path: ir.Path
    var: ir.Var
    value: ir.Expr
    replace: bool = True

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        target = ir.at(before.body, self.path)
        if ir.nodes_of(self.value, ir.Undef):
            raise Misfit("undef cannot be bound to a name: each evaluation gives a fresh value")
        body = ir.rewrite(target, lambda n: self.var if n is self.value else None) if self.replace else target
        let = ir.LetStmt(self.var, self.value, body)
        _check_same_throughout(let)
        context = context_at(before, self.path, entry)
        safety: list[Safety] = []
        context.encoder(safety).encode(self.value, context.any_lane(self.value))
        given = tuple(known_of(context, target))
        after = before.with_body(ir.put(before.body, self.path, let))
        return Rewrite(after, safe_questions(context, safety, given, self.path))


@final
@dataclass(frozen=True, slots=True)
class Inline:
    """``let x = e in S`` ⟶ ``S[x := e]``.  Owes nothing beyond: S writes nothing that e reads, or writes last."""

    path: ir.Path

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        let = ir.at(before.body, self.path)
        if not isinstance(let, ir.LetStmt):
            raise Misfit("not a let")
        _check_same_throughout(let)
        return Rewrite(
            before.with_body(ir.put(before.body, self.path, ir.substitute(let.body, {let.var: let.value}))), ()
        )


def _check_same_throughout(let: ir.LetStmt) -> None:
    """Check that the bound value is the same wherever the variable is used."""
    if opaque_calls(let.value):
        raise Misfit("an opaque call is evaluated where it stands, and once")
    writes_last = isinstance(let.body, ir.Store) and not opaque_calls(let.body)
    if ir.mentions(let.body, frozenset((let.var,))) and not writes_last and changes(let.body, (let.value,)):
        raise Misfit("the statement writes what the value reads")
