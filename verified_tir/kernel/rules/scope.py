"""Declarations appear and go, allocations move.

    S                                  ⟷   B = alloc(s); S                       (declare, drop: S does not use B)
    S                                  ⟷   V = decl_buffer(s, data=B.data); S    (the same, of a view)
    for i: B = alloc(s); S             ⟶   B = alloc(s); for i: S                (hoist)
    B = alloc(s); for i: S             ⟶   for i: B = alloc(s); S                (sink)
    B = alloc(s); A; S; C              ⟶   A; B = alloc(s); S; C                 (narrow: A and C do not use B)
    B = alloc(s); C = alloc(r); S      ⟶   C = alloc(r); B = alloc(s); S         (narrow: r does not read B)
    (B = alloc(s); S); C               ⟶   B = alloc(s); S; C                    (widen: narrow read backwards)

Theorem.  What nobody uses means nothing, and a view is but a way to name the bytes of a block.  *Hoist*: contents may
now survive from one iteration to the next, but what was read there before it was written was undefined, and undefined
may become anything.  *Sink*: contents no longer survive, so every read of an iteration
must see a write of its own iteration.  The extents must have the same value at both places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Allocate, DeclBuffer, For, If, Seq, Stmt, seq
from verified_tir.ir.visit import free_vars, walk
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Allocated, Entry, Version
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.rules.common import changes, evaluated_safely, following, occurs, replaced
from verified_tir.kernel.rules.insert import scope_problem
from verified_tir.kernel.rules.last_write import reads_of
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


def uses(node: Stmt | Expr, buffer: Buffer) -> bool:
    """Whether the block of ``buffer`` occurs in ``node``."""
    return any(n is buffer.data for n in walk(node))


@final
@dataclass(frozen=True, slots=True)
class Declare:
    """Declare ``buffer``, which nobody uses yet, around the statement at ``path``: an allocation, or another view of a
    block that is there.  Owes: its extents are safe and not negative."""

    path: Path
    buffer: Buffer
    view: bool = False

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = at(before.body, self.path)
        if any(n is self.buffer for n in walk(before)) if self.view else occurs(before, self.buffer.data):
            return NoMatch(self.path, f"{self.buffer.name} is not fresh")
        context = context_at(before, self.path, entry)
        declared = (DeclBuffer if self.view else Allocate)(self.buffer, target)
        problem = scope_problem(context, declared)
        if problem is not None:
            return NoMatch(self.path, problem)
        after = before.with_body(put(before.body, self.path, declared))
        return Rewrite(after, extents_safe(context, self.buffer, self.path))


def extents_safe(context: Context, buffer: Buffer, path: Path) -> Iterator[Question]:
    """The extents can be evaluated here and are not negative."""
    yield from evaluated_safely(context, (*buffer.shape, *buffer.strides, buffer.elem_offset), (), path)
    for e in buffer.shape:
        goal = f.le(f.integer(0), context.encoder().value(e))
        yield Question("safety", f"the extents of {buffer.name} are not negative", context, (), goal, path, "after")


@final
@dataclass(frozen=True, slots=True)
class Drop:
    """Remove the declaration at ``path``, whose block (or view) nobody uses."""

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match at(before.body, self.path):
            case Allocate(buffer=b, body=body) | DeclBuffer(buffer=b, body=body) as declared:
                if uses(body, b) if isinstance(declared, Allocate) else any(n is b for n in walk(body)):
                    return NoMatch(self.path, f"{b.name} is used")
                return Rewrite(before.with_body(put(before.body, self.path, body)), ())
        return NoMatch(self.path, "no buffer is declared here")


@final
@dataclass(frozen=True, slots=True)
class Move:
    """Hoist, sink, narrow or widen an allocation (see above); ``path`` is the outer of the two statements, or for
    ``widen`` the allocation, which the next statement of its sequence joins."""

    path: Path
    how: Literal["hoist", "sink", "narrow", "widen"]

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match self.how, at(before.body, self.path):
            case "hoist", For(body=Allocate(buffer=b, body=body, annotations=notes)) as loop:
                if loop.var in {v for e in b.shape for v in free_vars(e)}:
                    return NoMatch(self.path, f"the extents of {b.name} depend on {loop.var.name}")
                if changes(body, b.shape):
                    return NoMatch(self.path, f"the extents of {b.name} change in the loop")
                context = context_at(before, self.path, entry)
                new: Stmt = Allocate(b, replace(loop, body=body), notes)
                return Rewrite(before.with_body(put(before.body, self.path, new)), extents_safe(context, b, self.path))
            case "sink", Allocate(buffer=b, body=For() as loop, annotations=notes):
                if uses(loop.min, b) or uses(loop.extent, b) or changes(loop.body, b.shape):
                    return NoMatch(
                        self.path, f"the loop's bounds read {b.name}, or the body writes what its extents read"
                    )
                if opaque_calls(loop.body):
                    return NoMatch(self.path, f"an opaque call may read what an earlier iteration left in {b.name}")
                new = replace(loop, body=Allocate(b, loop.body, notes))
                return Rewrite(before.with_body(put(before.body, self.path, new)), self._sunk(before, b, loop, entry))
            case "narrow", Allocate() as allocation:
                return self._narrower(before, allocation)
            case "widen", Allocate() as allocation:
                return self._wider(before, allocation)
        return NoMatch(self.path, f"no allocation of the form that {self.how!r} needs")

    def _narrower(self, before: PrimFunc, allocation: Allocate) -> Rewrite | NoMatch:
        b, notes = allocation.buffer, allocation.annotations
        match allocation.body:
            case Seq(stmts=stmts):
                used = [k for k, s in enumerate(stmts) if uses(s, b)]
                if not used:
                    return NoMatch(self.path, f"{b.name} is not used")
                first, last = used[0], used[-1] + 1
                if any(changes(s, b.shape) for s in stmts[:first]):
                    return NoMatch(self.path, f"the extents of {b.name} change before its first use")
                new = seq(*stmts[:first], Allocate(b, seq(*stmts[first:last]), notes), *stmts[last:])
            case If(condition=c, then_body=body, else_body=None):
                if uses(c, b):
                    return NoMatch(self.path, f"the condition reads {b.name}")
                new = If(c, Allocate(b, body, notes))
            case Allocate(buffer=c, body=body, annotations=others):
                if any(uses(e, b) for e in (*c.shape, *c.strides, c.elem_offset)):
                    return NoMatch(self.path, f"the extents of {c.name} read {b.name}")
                new = Allocate(c, Allocate(b, body, notes), others)
            case _:
                return NoMatch(self.path, "no allocation of the form that 'narrow' needs")
        return Rewrite(before.with_body(put(before.body, self.path, new)), ())

    def _wider(self, before: PrimFunc, allocation: Allocate) -> Rewrite | NoMatch:
        others = following(before, self.path, 1)
        if isinstance(others, NoMatch):
            return others
        inside = replace(allocation, body=seq(allocation.body, *others))  # which cannot use the buffer
        return Rewrite(replaced(before, self.path, 2, inside), ())

    def _sunk(self, before: PrimFunc, buffer: Buffer, loop: For, entry: Entry) -> Iterator[Question]:
        """Every read of an iteration sees a write of that iteration."""
        context = context_at(before, self.path, entry).fork()
        context.memory[buffer.data] = Version(buffer.data, Allocated())
        context.bind_loop(loop)
        context.repeat(loop, loop.body)
        context.shadow = buffer.data
        context.memory[buffer.data] = Version(buffer.data, Allocated())
        for read in reads_of(context, loop.body, {buffer.data}, place=(*self.path, 0, 0)):
            claim = f"the read of {buffer.name} sees a write of its own iteration"
            known = read.access.value.defined if read.access.value is not None else f.FALSE
            yield Question("scope", claim, read.context, read.given, f.or_(read.written, known), read.place)
