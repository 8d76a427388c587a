"""The order of instances: swap, distribute, partition.  (``reindex`` has its own file; it is the same theorem.)

Theorem.  A run of a region is a sequence of instances of its statements.  If another sequence has the same instances,
and every two instances that touch one element, one of them writing, stand in the same order in both, then both end in
the same memory: each instance reads what it read before, by induction along the new order.  Undefined behaviour
belongs to the whole run, so neither order can hide the other's.  What bounds, guards and indices read counts as read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import final

from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Expr, binary
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import For, If, Seq, Stmt, seq
from verified_tir.ir.visit import refresh_binders, substitute
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import changes, evaluated_safely, never_meet, replaced
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.semantics.encode import Encoded, fresh


@final
@dataclass(frozen=True, slots=True)
class Swap:
    """``A; B`` ⟶ ``B; A`` for the two statements of the sequence at ``path`` that start at ``position``.

    Owes: no instance of A meets one of B.
    """

    path: Path
    position: int

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        place = (*self.path, self.position)
        a, b = _neighbours(before, self.path, self.position)
        questions = self._questions(context_at(before, place, entry), a, b)
        return Rewrite(replaced(before, place, 2, seq(b, a)), questions)

    def _questions(self, context: Context, a: Stmt, b: Stmt) -> Iterator[Question]:

        first = instance(context, a, also_written=written_blocks(b))
        second = instance(context, b, also_written=written_blocks(a))
        why = "the two statements may change places"
        yield from never_meet(context, first.outer(), second.outer(), (), why, (*self.path, self.position))


def _neighbours(func: PrimFunc, path: Path, position: int) -> tuple[Stmt, Stmt]:
    """Two adjacent statements of the sequence at ``path``.

    :raises IRError: if there are none.
    """
    match at(func.body, path):
        case Seq(stmts=stmts) if 0 <= position < len(stmts) - 1:
            return stmts[position], stmts[position + 1]
    raise IRError("there are no two adjacent statements here")


@final
@dataclass(frozen=True, slots=True)
class Distribute:
    """``for i: A; B`` ⟶ ``for i: A`` then ``for i: B``, split before statement ``position`` of the body.

    Also for ``if c: A; B``.  Owes: B of an earlier iteration never meets A of a later one; A changes nothing that the
    bounds (or the condition) read, since they are evaluated again.
    """

    path: Path
    position: int

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = at(before.body, self.path)
        match target:
            case For(body=Seq(stmts=stmts)) | If(then_body=Seq(stmts=stmts), else_body=None) if (
                0 < self.position < len(stmts)
            ):
                a, b = seq(*stmts[: self.position]), seq(*stmts[self.position :])
            case _:
                return NoMatch(self.path, "not a loop (or an if without else) over a sequence that can be split there")
        questions: Iterable[Question] = ()
        if isinstance(target, If):
            if changes(a, (target.condition,)):
                return NoMatch(self.path, "the first part writes what the condition reads")
            parts = seq(If(target.condition, a), If(target.condition, b))
        else:
            if changes(a, (target.min, target.extent)):
                return NoMatch(self.path, "the first part writes what the loop bounds read")
            parts = seq(replace(target, body=a), refresh_binders(replace(target, body=b))[0])
            context = context_at(before, self.path, entry)
            questions = iterations_may_separate(context, target, b, a, self.path, "the loop may be split in two")
        return Rewrite(before.with_body(put(before.body, self.path, parts)), questions)


def iterations_may_separate(
    context: Context, loop: For, early: Stmt, late: Stmt, path: Path, why: str
) -> Iterator[Question]:
    """``early`` of an iteration never meets ``late`` of a later iteration."""

    encoder = context.encoder()
    low, extent = encoder.value(loop.min), encoder.value(loop.extent)
    i, j = fresh(loop.var.name, f.INT), fresh(loop.var.name, f.INT)
    context.names[str(i.payload)] = loop.var.name
    context.names[str(j.payload)] = f"{loop.var.name}'"
    domain = tuple(f.and_(f.le(low, v), f.lt(v, f.add(low, extent))) for v in (i, j))
    both = written_blocks(early) | written_blocks(late)
    first = instance(context, early, env={loop.var: Encoded(i, f.TRUE, False)}, also_written=both)
    second = instance(context, late, env={loop.var: Encoded(j, f.TRUE, False)}, also_written=both)
    context.names.update({**first.context.names, **second.context.names, **context.names})
    yield from never_meet(context, first.outer(), second.outer(), (*domain, f.lt(i, j)), why, path)


@final
@dataclass(frozen=True, slots=True)
class Fuse:
    """``for i: A`` then ``for j: B`` ⟶ ``for i: A; B[i]``: distribute read from right to left.

    The loops are neighbours in the sequence at ``path``.  Owes: equal bounds; B of an earlier iteration never meets A
    of a later one (all of A ran before; now only the iterations up to this one have); A writes nothing that B's bounds
    read.
    """

    path: Path
    position: int

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        place = (*self.path, self.position)
        first, second = _neighbours(before, self.path, self.position)
        if not (isinstance(first, For) and isinstance(second, For)):
            return NoMatch(self.path, "the two statements are not both loops")
        if first.var.dtype is not second.var.dtype or (first.kind, first.thread) != (second.kind, second.thread):
            return NoMatch(self.path, "the two loops differ in type or kind")
        if changes(first, (second.min, second.extent)):
            return NoMatch(self.path, "the first loop writes what the second loop's bounds read")
        if changes(seq(first.body, second.body), (first.min, first.extent)):
            return NoMatch(self.path, "the loops write what their bounds read")
        moved = substitute(second.body, {second.var: first.var})
        fused = replace(first, body=seq(first.body, moved))
        questions = self._questions(context_at(before, place, entry), first, second, moved)
        return Rewrite(replaced(before, place, 2, fused), questions)

    def _questions(self, context: Context, first: For, second: For, moved: Stmt) -> Iterator[Question]:
        encoder = context.encoder()
        place = (*self.path, self.position)
        for name, a, b in (("start", first.min, second.min), ("extent", first.extent, second.extent)):
            goal = f.eq(encoder.value(a), encoder.value(b))
            claim = f"the loops over {first.var.name} and {second.var.name} have the same {name}"
            yield Question("domain", claim, context, (), goal, place)
        yield from iterations_may_separate(context, first, moved, first.body, place, "the loops may be merged")


@final
@dataclass(frozen=True, slots=True)
class Partition:
    """``for i in [a, b): S`` ⟶ ``for i in [a, mid): S`` then ``for i in [mid, b): S``.

    Owes: ``a <= mid <= b`` (so an empty or negative range must stay one), ``mid`` is safe to evaluate; S changes
    nothing that the bounds or ``mid`` read.  The order of instances does not change at all.
    """

    path: Path
    mid: Expr

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = at(before.body, self.path)
        if not isinstance(target, For):
            return NoMatch(self.path, "not a loop")
        if self.mid.dtype is not target.var.dtype:
            return NoMatch(self.path, f"the middle has type {self.mid.dtype}, the loop {target.var.dtype}")
        if changes(target.body, (target.min, target.extent, self.mid)):
            return NoMatch(self.path, "the body writes what the bounds read")
        low, mid, extent = target.min, self.mid, target.extent
        first = replace(target, extent=binary("sub", mid, low))
        second, _ = refresh_binders(replace(target, min=mid, extent=binary("sub", binary("add", low, extent), mid)))
        context = context_at(before, self.path, entry)
        after = before.with_body(put(before.body, self.path, seq(first, second)))
        questions = self._questions(context, target, (first.extent, second.extent))
        return Rewrite(after, questions)

    def _questions(self, context: Context, loop: For, new: tuple[Expr, ...]) -> Iterator[Question]:
        encoder = context.encoder()
        low, mid = encoder.value(loop.min), encoder.value(self.mid)
        high = f.add(low, encoder.value(loop.extent))
        goal = f.and_(f.le(low, mid), f.le(mid, high))
        claim = f"the middle lies within the range of {loop.var.name}"
        yield Question("domain", claim, context, (), goal, self.path)
        yield from evaluated_safely(context, (self.mid, *new), (), self.path)


@final
@dataclass(frozen=True, slots=True)
class Join:
    """``for i in [a, mid): S`` then ``for i in [mid, b): S`` ⟶ ``for i in [a, b): S``: partition read backwards.

    Owes: the second loop starts where the first ends; neither extent is negative; the bodies are the same; S changes
    nothing that the bounds read.
    """

    path: Path
    position: int

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        place = (*self.path, self.position)
        a, b = _neighbours(before, self.path, self.position)
        if not (isinstance(a, For) and isinstance(b, For) and a.var.dtype is b.var.dtype):
            return NoMatch(self.path, "the two statements are not loops of one type")
        if not structural_equal(a.body, substitute(b.body, {b.var: a.var})) or (a.kind, a.thread) != (b.kind, b.thread):
            return NoMatch(self.path, "the two loops differ in body or kind")
        if changes(a.body, (a.min, a.extent, b.min, b.extent)):
            return NoMatch(self.path, "the body writes what the bounds read")
        whole = replace(a, extent=binary("add", a.extent, b.extent))
        questions = self._questions(context_at(before, place, entry), a, b, whole)
        return Rewrite(replaced(before, place, 2, whole), questions)

    def _questions(self, context: Context, a: For, b: For, whole: For) -> Iterator[Question]:
        encoder = context.encoder()
        place = (*self.path, self.position)
        one, two = encoder.value(a.extent), encoder.value(b.extent)
        zero = f.integer(0)
        follows = f.eq(f.add(encoder.value(a.min), one), encoder.value(b.min))
        yield Question("domain", "the second loop starts where the first ends", context, (), follows, place)
        claim = "neither loop has a negative extent"
        yield Question("domain", claim, context, (), f.and_(f.le(zero, one), f.le(zero, two)), place)
        yield from evaluated_safely(context, (whole.extent,), (), place)
        exact = f.eq(encoder.value(whole.extent), f.add(one, two))  # the sum of two loaded extents could wrap
        if exact is not f.TRUE:
            yield Question("domain", "the extents can be added", context, (), exact, place)
