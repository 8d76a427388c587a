"""One expression becomes another.

    … old …        ⟶        … new …

Theorem.  At this place, in every run without undefined behaviour, ``new`` is safe, and where ``old`` is defined, so is
``new``, with the same bits.  Statements are monotone in definedness, so the run goes on at least as defined.  The old
expression was evaluated here, so that it was safe may be used.  Where the expression stands in the lazy part of
``and``, ``or`` or ``if_then_else``, what leads there may be used too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Binary, Call, Expr, IfThenElse, LetExpr, Load, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Assume, LetStmt, Stmt, While
from verified_tir.ir.visit import children, map_children, refresh_binders, walk
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.rules.common import check_scope, safe_questions
from verified_tir.kernel.step import Rewrite as Rewritten
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Safety, fresh

ExprPath: TypeAlias = tuple[int, ...]
"""Positions among the direct expressions of a statement (or of an expression), outermost first."""


def expressions(node: Node) -> list[Expr]:
    """Direct sub-expressions of a statement or expression, binders, buffers and sub-statements excluded."""
    binder = getattr(node, "var", None)
    return [c for c in children(node) if isinstance(c, Expr) and not (c is binder and isinstance(c, Var))]


def replace_expression(node: Node, where: ExprPath, new: Expr) -> Node:
    """``node`` with the expression at ``where`` replaced."""
    if not where:
        return new
    binder = getattr(node, "var", None)
    position = -1

    def visit(child: Node) -> Node:
        nonlocal position
        if not isinstance(child, Expr) or (child is binder and isinstance(child, Var)):
            return child
        position += 1
        return replace_expression(child, where[1:], new) if position == where[0] else child

    return map_children(node, visit)


@final
@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace the expression at ``where`` within the statement at ``path`` by ``new``."""

    path: Path
    where: ExprPath
    new: Expr

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewritten:
        target = at(before.body, self.path)
        context = context_at(before, self.path, entry)
        if isinstance(target, While):
            context.repeat(target, target.body)  # its condition is evaluated in every iteration
        found = self.descend(context, target)
        old, premises = found
        if old.dtype is not self.new.dtype:
            raise Misfit(f"the old expression has type {old.dtype}, the new one {self.new.dtype}")
        if isinstance(target, Assume) and any(isinstance(n, Undef) for n in walk(old)):
            raise Misfit("in an assumption, `x == undef` is no comparison that could be replaced")
        check_scope(context, self.new)
        if self._unmasks(context, target):
            raise Misfit("the new expression is index arithmetic where data was before: what wrapped would overflow")
        try:
            changed = replace_expression(target, self.where, refresh_binders(self.new)[0])
        except IRError as problem:
            raise Misfit(f"the result is ill-typed: {problem}") from None
        assert isinstance(changed, Stmt)
        after = before.with_body(put(before.body, self.path, changed))
        return Rewritten(after, self.questions(context, old, premises))

    def _unmasks(self, context: Context, target: Stmt) -> bool:
        """Whether an operation around the place would turn from data, which wraps, to index arithmetic.

        Its overflow would become undefined behaviour, which nothing here rules out.
        """
        data = {v for v, e in context.env.items() if e.data}
        node: Node = target
        for k, step in enumerate(self.where):
            if isinstance(node, Expr) and not isinstance(node, Load) and not is_index(node, data):
                if is_index(replace_expression(node, self.where[k:], self.new), data):  # type: ignore[arg-type]
                    return True
            if isinstance(node, LetExpr) and step == 0 and not is_index(node.value, data):
                if is_index(replace_expression(node.value, self.where[k + 1 :], self.new), data):  # type: ignore[arg-type]
                    return True
            node = expressions(node)[step]
        binds = isinstance(target, LetStmt) and not is_index(target.value, data)
        return binds and is_index(replace_expression(target, self.where, self.new).value, data)  # type: ignore[attr-defined]

    def descend(self, context: Context, target: Stmt) -> tuple[Expr, tuple[Term, ...]]:
        """The old expression, and what holds where it is evaluated; lets on the way are bound in ``context``."""
        node: Node = target
        premises: list[Term] = []
        for step in self.where:
            parts = expressions(node)
            if not 0 <= step < len(parts):
                raise Misfit("there is no such expression in the statement")
            match node:
                case Call(op=op) if not is_pure(op):
                    raise Misfit(f"{op} may take its argument by address and not by value")
                case Binary(op="and", a=a) if step == 1 and a.dtype.lanes == 1:
                    premises.append(context.encoder().value(a))
                case Binary(op="or", a=a) if step == 1 and a.dtype.lanes == 1:
                    premises.append(f.not_(context.encoder().value(a)))
                case IfThenElse(condition=c) if step > 0:
                    value = context.encoder().value(c)
                    premises.append(value if step == 1 else f.not_(value))
                case LetExpr(var=v, value=bound) if step == 1:
                    context.env[v] = context.encoder().encode(bound, _lane(bound, premises))
                case _:
                    pass
            node = parts[step]
        if not self.where or not isinstance(node, Expr):
            raise Misfit("the place names no expression")
        return node, tuple(premises)

    def questions(self, context: Context, old: Expr, premises: tuple[Term, ...]) -> Iterator[Question]:
        """The new expression is safe, and as defined as the old one, with the same bits."""
        premise_list = list(premises)
        lane = _lane(old, premise_list)
        old_safety: list[Safety] = []
        was = context.encoder(old_safety).encode(old, lane)
        known = (*premise_list, *(f.implies(f.and_(*s.premises), s.condition) for s in old_safety))
        safety: list[Safety] = []
        now = context.encoder(safety).encode(self.new, lane)
        yield from safe_questions(context, safety, known, self.path)
        claim = (self.new, " equals ", old)
        goal = f.and_(f.eq(was.value, now.value), now.defined)
        yield Question("equal", claim, context, (*known, was.defined), goal, self.path)


def _lane(e: Expr, premises: list[Term]) -> Term | None:
    """An arbitrary lane of an expression that has several."""
    if e.dtype.lanes == 1:
        return None
    lane = fresh("lane", f.INT)
    premises.append(f.between(f.integer(0), lane, f.integer(e.dtype.lanes)))
    return lane
