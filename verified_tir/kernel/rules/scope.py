"""Add and remove declarations, move allocations.

    S                                  ⟷   B = alloc(s); S                       (declare, drop: S does not use B)
    S                                  ⟷   V = decl_buffer(s, data=B.data); S    (the same, of a view)
    for i: B = alloc(s); S             ⟷   B = alloc(s); for i: S                (move: hoist and sink)
    B = alloc(s); A; S; C              ⟷   A; B = alloc(s); S; C                 (move: A and C do not use B)

Theorem.  What nobody uses means nothing, and a view is but a way to name the bytes of a block.  An allocation may stand
around any place where all uses of its block lie.  (That a block is bound once and used in its scope only, is asked of
every new program before anything is proved of it: see ``theorem.apply``.)  Its extents read no memory, so where its
variables are in scope they have one value.  Contents may now survive longer: what was read there before it was written
was undefined, and undefined may become anything.  Or they are gone earlier, if a loop stands around the new place that
did not stand around the old one: then every read must see a write since its own run of the place began, or must have
been undefined.  Up to the first read both programs do the same, so this is asked of the new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir import ir
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import escapes, opaque_calls
from verified_tir.kernel.memory import Allocated, Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import evaluation
from verified_tir.kernel.rules.common import replaced, safe_questions, together
from verified_tir.kernel.rules.last_write import reads_of
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class Declare:
    """Declare ``buffer`` around the statement at ``path``: an allocation, or another view of a block that is there.
    Owes: its extents are safe and not negative."""

    path: ir.Path
    buffer: ir.Buffer
    view: bool = False

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        declared = (ir.DeclBuffer if self.view else ir.Allocate)(self.buffer, ir.at(before.body, self.path))
        context = context_at(before, self.path, entry)
        return Rewrite(
            before.with_body(ir.put(before.body, self.path, declared)), extents_safe(context, self.buffer, self.path)
        )


def extents_safe(context: Context, buffer: ir.Buffer, path: ir.Path) -> Iterator[Question]:
    """Questions whether the extents can be evaluated here and are not negative."""
    run = evaluation(context, ir.Allocate(buffer, ir.SKIP))
    yield from safe_questions(run.context, (s for _, s in run.safety), (), path)


@final
@dataclass(frozen=True, slots=True)
class Drop:
    """Remove the declaration at ``path``, whose block (or view) nobody uses."""

    path: ir.Path

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        declared = ir.at(before.body, self.path)
        if not isinstance(declared, (ir.Allocate, ir.DeclBuffer)):
            raise Misfit("no buffer is declared here")
        return Rewrite(before.with_body(ir.put(before.body, self.path, declared.body)), ())


def _loops_around(root: ir.Stmt, path: ir.Path) -> set[ir.Path]:
    """The places of the loops around a place."""
    around = [path[:k] for k in range(len(path))]
    return {place for place in around if isinstance(ir.at(root, place), (ir.For, ir.While))}


@final
@dataclass(frozen=True, slots=True)
class Move:
    """Move the allocation at ``path`` around ``count`` statements at ``to``.

    :param to: in the program without the allocation: a place from which on all uses of the block lie.
    """

    path: ir.Path
    to: ir.Path
    count: int = 1

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        allocation = ir.at(before.body, self.path)
        if not isinstance(allocation, ir.Allocate):
            raise Misfit("no buffer is allocated here")
        b, without = allocation.buffer, replaced(before.body, self.path, 1, allocation.body)
        target = together(without, self.to, self.count)
        after = before.with_body(replaced(without, self.to, self.count, ir.Allocate(b, target, allocation.annotations)))
        several = not _loops_around(without, self.to) <= _loops_around(before.body, self.path)
        if several and opaque_calls(target):
            raise Misfit(f"an opaque call may read what an earlier iteration left in {b.name}")
        wider, rest = self.to == self.path[:-1][: len(self.to)], replaced(without, self.to, self.count, ir.SKIP)
        if not wider and opaque_calls(rest) and escapes(b.data, target):
            raise Misfit(f"an opaque call may access {b.name}, whose address escaped, after its lifetime")
        return Rewrite(after, self._questions(after, entry, b, target if several else ir.SKIP))

    def _questions(self, after: ir.PrimFunc, entry: Entry, buffer: ir.Buffer, target: ir.Stmt) -> Iterator[Question]:
        """The extents are safe; and in ``target``, every read sees a write since its run of the new place began."""
        context = context_at(after, self.to, entry)
        yield from extents_safe(context, buffer, self.to)
        context.shadow = buffer.data
        context.new_versions(Allocated(), buffer.data)
        for here, read, written in reads_of(context, target, {buffer.data}):
            claim = f"the read of {buffer.name} sees a write of its own iteration"
            goal = f.or_(written, read.value.defined)
            yield Question("scope", claim, here, read.given, goal, (*self.to, 0, *read.place), "after")
