"""Give a value a name, or put the value back.

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

from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Call, Expr, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Block, If, LetStmt, Seq, Stmt, Store
from verified_tir.ir.visit import children, rewrite, substitute, walk
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.rules.common import changes, check_scope, occurs, safe_questions
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Safety, fresh


@final
@dataclass(frozen=True, slots=True)
class Bind:
    """``S`` ⟶ ``let var = value in S`` with every occurrence of ``value`` in S replaced by ``var``.

    :param replace: without it no occurrence is replaced: ``rewrite`` may do that one by one, each with its obligation.
    """

    path: Path
    var: Var
    value: Expr
    replace: bool = True

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        target = at(before.body, self.path)
        if occurs(before, self.var) or self.var.dtype is not self.value.dtype:
            raise Misfit("the variable is not fresh, or not of the value's type")
        if any(isinstance(n, Call) and not is_pure(n.op) for n in walk(self.value)):
            raise Misfit("an opaque call cannot be evaluated early")
        if any(isinstance(n, Undef) for n in walk(self.value)):
            raise Misfit("undef takes no name: each evaluation is a fresh one, and assumptions ask for it")
        if self.replace and not _writes_last(target) and changes(target, (self.value,)):
            raise Misfit("the statement writes what the value reads")
        context = context_at(before, self.path, entry)
        check_scope(context, self.value)

        def name_it(n: Node) -> Node | None:
            return self.var if n is self.value else None

        body = rewrite(target, name_it) if self.replace else target
        after = before.with_body(put(before.body, self.path, LetStmt(self.var, self.value, body)))
        safety: list[Safety] = []
        lane = fresh("lane", f.INT) if self.value.dtype.lanes > 1 else None
        context.encoder(safety).encode(self.value, lane)
        given = () if lane is None else (f.between(f.integer(0), lane, f.integer(self.value.dtype.lanes)),)
        given = (*given, *_evaluated_first(context, target))
        questions: list[Question] = list(safe_questions(context, safety, given, self.path))
        return Rewrite(after, questions)


@final
@dataclass(frozen=True, slots=True)
class Inline:
    """``let x = e in S`` ⟶ ``S[x := e]``.  Owes nothing beyond: S writes nothing that e reads, or writes last."""

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        match at(before.body, self.path):
            case LetStmt(var=v, value=value, body=body):
                if any(isinstance(n, Call) and not is_pure(n.op) for n in walk(value)):
                    raise Misfit("an opaque call is evaluated once")
                if any(n is v for n in walk(body)) and not _writes_last(body) and changes(body, (value,)):
                    raise Misfit("the body writes what the value reads")
                return Rewrite(before.with_body(put(before.body, self.path, substitute(body, {v: value}))), ())
        raise Misfit("not a let")


def _writes_last(stmt: Stmt) -> bool:
    """Whether a statement evaluates all that it evaluates before it writes."""
    return isinstance(stmt, Store) and not opaque_calls(stmt)


def _evaluated_first(context: Context, stmt: Stmt) -> tuple[Term, ...]:
    """What a statement evaluates in the memory in which it begins was safe, and what that says of memory."""
    while isinstance(stmt, (Seq, Block)) and (isinstance(stmt, Seq) or stmt.is_label):
        if isinstance(stmt, Seq) and not stmt.stmts:
            return ()
        stmt = stmt.stmts[0] if isinstance(stmt, Seq) else stmt.body
    if not isinstance(stmt, (Store, If, LetStmt)) or opaque_calls(stmt):
        return ()  # in an assumption a comparison with undef is none
    safety: list[Safety] = []
    encoder = context.encoder(safety)
    for e in children(stmt):
        if isinstance(e, Expr) and e.dtype.lanes == 1 and e is not getattr(stmt, "var", None):
            encoder.encode(e)
    return tuple(f.implies(f.and_(*s.premises), s.condition) for s in safety if _of_memory(s.condition))


def _of_memory(condition: Term) -> bool:
    return any(t.op == "app" for t in f.subterms(condition))
