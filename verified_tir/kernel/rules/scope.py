"""Declarations appear and go, allocations move.

    S                                  ⟷   B = alloc(s); S                       (declare, drop: S does not use B)
    S                                  ⟷   V = decl_buffer(s, data=B.data); S    (the same, of a view)
    for i: B = alloc(s); S             ⟷   B = alloc(s); for i: S                (move: hoist and sink)
    B = alloc(s); A; S; C              ⟷   A; B = alloc(s); S; C                 (move: A and C do not use B)

Theorem.  What nobody uses means nothing, and a view is but a way to name the bytes of a block.  An allocation may stand
around any place where all uses of its block lie.  Its extents read no memory, so where its variables are in scope they
have one value.  Contents may now survive longer: what was read there before it was written was undefined, and undefined
may become anything.  Or they are gone earlier, if a loop stands around the new place that did not stand around the old
one: then every read must see a write since its own run of the place began, or must have been undefined.  Up to the
first read both programs do the same, so this is asked of the new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import SKIP, Allocate, DeclBuffer, For, Stmt, While
from verified_tir.ir.visit import nodes_of
from verified_tir.kernel.begin import context_at, declared_by
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Allocated, Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.rules.common import evaluated_safely, replaced, together
from verified_tir.kernel.rules.last_write import reads_of
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


def _occurs(declared: Allocate | DeclBuffer, node: Node) -> bool:
    """Whether what is declared occurs in a node: the view, or the block of an allocation."""
    own = declared.buffer if isinstance(declared, DeclBuffer) else declared.buffer.data
    return own in nodes_of(node, type(own))


@final
@dataclass(frozen=True, slots=True)
class Declare:
    """Declare ``buffer``, which nobody uses yet, around the statement at ``path``: an allocation, or another view of a
    block that is there.  Owes: its extents are safe and not negative."""

    path: Path
    buffer: Buffer
    view: bool = False

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        target = at(before.body, self.path)
        declared = (DeclBuffer if self.view else Allocate)(self.buffer, target)
        if _occurs(declared, before):
            raise Misfit(f"{self.buffer.name} is not fresh")
        context = context_at(before, self.path, entry)
        after = before.with_body(put(before.body, self.path, declared))
        return Rewrite(after, extents_safe(context, self.buffer, self.path))


def extents_safe(context: Context, buffer: Buffer, path: Path) -> Iterator[Question]:
    """The extents can be evaluated here and are not negative."""
    yield from evaluated_safely(context, declared_by(buffer), (), path)
    for e in buffer.shape:
        goal = f.le(f.integer(0), context.encoder().value(e))
        if goal is not f.TRUE:
            yield Question("safety", f"the extents of {buffer.name} are not negative", context, (), goal, path, "after")


@final
@dataclass(frozen=True, slots=True)
class Drop:
    """Remove the declaration at ``path``, whose block (or view) nobody uses."""

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        declared = at(before.body, self.path)
        if not isinstance(declared, (Allocate, DeclBuffer)):
            raise Misfit("no buffer is declared here")
        if _occurs(declared, declared.body):
            raise Misfit(f"{declared.buffer.name} is used")
        return Rewrite(before.with_body(put(before.body, self.path, declared.body)), ())


@final
@dataclass(frozen=True, slots=True)
class Move:
    """The allocation at ``path`` goes, and stands around ``count`` statements at ``to`` instead.

    :param to: in the program without the allocation: a place from which on all uses of the block lie.
    """

    path: Path
    to: Path
    count: int = 1

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        allocation = at(before.body, self.path)
        if not isinstance(allocation, Allocate):
            raise Misfit("no buffer is allocated here")
        b, without = allocation.buffer, replaced(before.body, self.path, 1, allocation.body)
        target = together(without, self.to, self.count)
        if _occurs(allocation, replaced(without, self.to, self.count, SKIP)):
            raise Misfit(f"{b.name} is used outside of its new place")
        after = before.with_body(replaced(without, self.to, self.count, Allocate(b, target, allocation.annotations)))
        context = context_at(after, self.to, entry)
        owed = extents_safe(context, b, self.to)
        if not self._several(without):
            return Rewrite(after, owed)
        if opaque_calls(target):
            raise Misfit(f"an opaque call may read what an earlier iteration left in {b.name}")
        return Rewrite(after, chain(owed, self._written_first(context, b, target)))

    def _several(self, without: Stmt) -> bool:
        """Whether a loop stands around the new place, and not around the old one."""
        pairs = zip(self.path[:-1], self.to, strict=False)
        shared = next((k for k, (x, y) in enumerate(pairs) if x != y), min(len(self.path) - 1, len(self.to)))
        inside = (at(without, self.to[:k]) for k in range(shared + 1, len(self.to)))
        return any(isinstance(s, (For, While)) for s in inside)

    def _written_first(self, context: Context, buffer: Buffer, target: Stmt) -> Iterator[Question]:
        """Every read sees a write since its run of the new place began."""
        inside = context.fork()
        inside.shadow = buffer.data
        inside.becomes(buffer.data, Allocated())
        for read in reads_of(inside, target, {buffer.data}, place=(*self.to, 0)):
            claim = f"the read of {buffer.name} sees a write of its own iteration"
            known = read.access.value.defined if read.access.value is not None else f.FALSE
            yield Question("scope", claim, read.context, read.given, f.or_(read.written, known), read.place, "after")
