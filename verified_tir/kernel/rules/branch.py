"""Branches appear, go, move and merge.

    S                              ⟷   if c: S else: S                  (introduce, merge; S may be several statements)
    if c: S else: T                ⟶   S, or T                          (decide)
    for i: if c: S                 ⟷   if c: for i: S                   (hoist, sink)
    if a: if b: S                  ⟷   if a and b: S                    (nest, unnest)
    if c: S else: T                ⟷   if not c: T else: S              (negate)
    if c: S else: T                ⟶   if c: S; if not c: T             (split)
    if c: S else: pass             ⟶   if c: S                          (trim)

Theorem.  A branch runs one of two statements; where both are the same, or the condition's value is known, or the
condition has the same value at both places, the same statements run.  A condition that is newly evaluated must be safe
and defined there: also where a loop around it makes no iteration.  Moving it out of or into a loop needs the body to
change nothing that it reads; sinking needs the loop's bounds to be safe where the condition is false.  Splitting
evaluates the condition twice, so S must change nothing that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, final

from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Binary, Expr, Not
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import SKIP, Evaluate, For, If, Stmt, seq
from verified_tir.ir.visit import free_vars, refresh_binders
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.rules.common import (
    changes,
    evaluated_safely,
    following,
    has_effect,
    range_safely,
    replaced,
)
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class Introduce:
    """``S`` ⟶ ``if c: S else: S``.  Owes: c is safe and defined here.

    :param count: how many statements of a sequence S is, from the one at ``path`` on.
    """

    path: Path
    condition: Expr
    count: int = 1

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        first = at(before.body, self.path)
        others = following(before, self.path, self.count - 1)
        if isinstance(others, NoMatch):
            return others
        target = seq(first, *others)
        copy, _ = refresh_binders(target)
        context = context_at(before, self.path, entry)
        missing = [v.name for v in free_vars(self.condition) if v not in context.env and v.dtype.code != "handle"]
        if missing:
            return NoMatch(self.path, f"the condition mentions {missing[0]}, which is not in scope here")
        after = replaced(before, self.path, self.count, If(self.condition, target, copy))
        questions = evaluated_safely(context, (self.condition,), (), self.path)
        return Rewrite(after, questions)


@final
@dataclass(frozen=True, slots=True)
class Merge:
    """``if c: S else: S`` ⟶ ``S``.  Owes nothing: c is no longer evaluated.

    If an opaque call stands in c, it is still made: ``S`` stands behind ``T.evaluate(c)`` then.
    """

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match at(before.body, self.path):
            case If(condition=c, then_body=a, else_body=b) if structural_equal(a, b if b is not None else SKIP):
                new = seq(Evaluate(c), a) if has_effect((c,)) else a
                return Rewrite(before.with_body(put(before.body, self.path, new)), ())
        return NoMatch(self.path, "not a branch with the same statement on both sides")


@final
@dataclass(frozen=True, slots=True)
class Decide:
    """``if c: S else: T`` ⟶ ``S`` (``value`` true) or ``T``.  Owes: c has that value."""

    path: Path
    value: bool

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match at(before.body, self.path):
            case If(condition=c, then_body=a, else_body=b):
                taken = a if self.value else (b if b is not None else SKIP)
                after = before.with_body(put(before.body, self.path, taken))
                return Rewrite(after, self._questions(before, c, entry))
        return NoMatch(self.path, "not a branch")

    def _questions(self, before: PrimFunc, condition: Expr, entry: Entry) -> Iterator[Question]:
        context = context_at(before, self.path, entry)
        encoded = context.encoder().encode(condition)
        goal = encoded.value if self.value else f.not_(encoded.value)
        # the condition was evaluated, so it was defined: branching on undef has no meaning
        claim = f"the condition is always {'true' if self.value else 'false'} here"
        yield Question("branch", claim, context, (encoded.defined,), goal, self.path)


@final
@dataclass(frozen=True, slots=True)
class Hoist:
    """``for i: if c: S [else: T]`` ⟶ ``if c: for i: S [else: for i: T]``.

    Owes: c does not mention i, the body changes nothing that c reads, c is safe and defined outside the loop.
    """

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match at(before.body, self.path):
            case For(body=If(condition=c, then_body=a, else_body=b) as body) as loop:
                if loop.var in free_vars(c):
                    return NoMatch(self.path, f"the condition depends on {loop.var.name}")
                if changes(body, (c, loop.min, loop.extent)):
                    return NoMatch(self.path, "the body writes what the condition or the bounds read")
                other = refresh_binders(replace(loop, body=b))[0] if b is not None else None
                after = before.with_body(put(before.body, self.path, If(c, replace(loop, body=a), other)))
                context = context_at(before, self.path, entry)
                return Rewrite(after, evaluated_safely(context, (c,), (), self.path))
        return NoMatch(self.path, "not a loop directly over a branch")


@final
@dataclass(frozen=True, slots=True)
class Sink:
    """``if c: for i: S`` ⟶ ``for i: if c: S``.

    Owes: S changes nothing that c reads; the bounds are safe and defined also where c is false.
    """

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match at(before.body, self.path):
            case If(condition=c, then_body=For() as loop, else_body=None):
                if changes(loop.body, (c,)):
                    return NoMatch(self.path, "the body writes what the condition reads")
                after = before.with_body(put(before.body, self.path, replace(loop, body=If(c, loop.body))))
                context = context_at(before, self.path, entry)
                return Rewrite(after, range_safely(context, loop.min, loop.extent, (), self.path))
        return NoMatch(self.path, "not a branch (without else) over a loop")


@final
@dataclass(frozen=True, slots=True)
class Reshape:
    """Purely syntactic changes of a branch; they owe nothing, since ``and`` is lazy and evaluated left to right."""

    path: Path
    how: Literal["nest", "unnest", "negate", "split", "trim"]

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match self.how, at(before.body, self.path):
            case "nest", If(condition=Binary(op="and", a=a, b=b), then_body=body, else_body=None):
                new: Stmt = If(a, If(b, body))
            case "unnest", If(condition=a, then_body=If(condition=b, then_body=body, else_body=None), else_body=None):
                new = If(Binary("and", a, b), body)
            case "negate", If(condition=c, then_body=a_body, else_body=b_body):
                flipped = c.a if isinstance(c, Not) else Not(c)
                new = If(flipped, b_body if b_body is not None else SKIP, a_body)
            case "split", If(condition=c, then_body=a_body, else_body=Stmt() as other):
                if changes(a_body, (c,)):
                    return NoMatch(self.path, "the first arm writes what the condition reads")
                new = seq(If(c, a_body), If(Not(c), other))
            case "trim", If(condition=c, then_body=a_body, else_body=other) if other is SKIP:
                new = If(c, a_body)
            case _:
                return NoMatch(self.path, f"no branch of the form that {self.how!r} needs")
        return Rewrite(before.with_body(put(before.body, self.path, new)), ())
