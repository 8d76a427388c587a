"""Allocations appear, go and move.

    S                                  ⟷   B = alloc(s); S                       (allocate, drop: S does not use B)
    for i: B = alloc(s); S             ⟶   B = alloc(s); for i: S                (hoist)
    B = alloc(s); for i: S             ⟶   for i: B = alloc(s); S                (sink)
    B = alloc(s); A; S; C              ⟶   A; B = alloc(s); S; C                 (narrow: A and C do not use B)
    B = alloc(s); C = alloc(r); S      ⟶   C = alloc(r); B = alloc(s); S         (narrow: r does not read B)
    (B = alloc(s); S); C               ⟶   B = alloc(s); S; C                    (widen: narrow read backwards)
    B = alloc(s, scope="global"); S    ⟶   B = alloc(s, scope="shared"); S       (rescope)

Theorem.  *Hoist*: contents may now survive from one iteration to the next, but what was read there before it was
written
was undefined, and undefined may become anything.  *Sink*: contents no longer survive, so every read of an iteration
must see a write of its own iteration.  The extents must have the same value at both places.  *Rescope*: the serial
meaning does not look at a scope, so every run is the same run; which threads a scope lets share the block is a matter
of the licences, which are asked again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, put
from verified_tir.ir.stmt import Allocate, For, If, Seq, Stmt, seq
from verified_tir.ir.visit import free_vars, rewrite, walk
from verified_tir.kernel.context import Context, Entry, context_at, opaque_calls
from verified_tir.kernel.memory import Allocated, Version
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.rules.common import changes, evaluated_safely, following, occurs, statement_at
from verified_tir.kernel.rules.insert import scope_problem
from verified_tir.kernel.rules.last_write import reads_of
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


def uses(node: Stmt | Expr, buffer: Buffer) -> bool:
    """Whether the block of ``buffer`` occurs in ``node``."""
    return any(n is buffer.data for n in walk(node))


@final
@dataclass(frozen=True, slots=True)
class AllocateBuffer:
    """Allocate a fresh buffer around the statement at ``path``.  Owes: the extents are safe and not negative."""

    path: Path
    buffer: Buffer

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        target = statement_at(before, self.path)
        if isinstance(target, NoMatch):
            return target
        if occurs(before, self.buffer.data):
            return NoMatch(self.path, "the buffer is not fresh")
        context = context_at(before, self.path, entry)
        problem = scope_problem(context, Allocate(self.buffer, seq()))
        if problem is not None:
            return NoMatch(self.path, problem)
        after = before.with_body(put(before.body, self.path, Allocate(self.buffer, target)))
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
    """Remove the allocation at ``path``, whose buffer nobody uses."""

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match statement_at(before, self.path):
            case NoMatch() as refusal:
                return refusal
            case Allocate(buffer=b, body=body):
                if uses(body, b):
                    return NoMatch(self.path, f"{b.name} is used")
                return Rewrite(before.with_body(put(before.body, self.path, body)), ())
        return NoMatch(self.path, "no buffer is allocated here")


@final
@dataclass(frozen=True, slots=True)
class Move:
    """Hoist, sink, narrow or widen an allocation (see above); ``path`` is the outer of the two statements, or for
    ``widen`` the allocation, which the next statement of its sequence joins."""

    path: Path
    how: Literal["hoist", "sink", "narrow", "widen"]

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match self.how, statement_at(before, self.path):
            case _, NoMatch() as refusal:
                return refusal
            case "hoist", For(body=Allocate(buffer=b, body=body, annotations=notes)) as loop:
                if loop.var in {v for e in b.shape for v in free_vars(e)}:
                    return NoMatch(self.path, f"the extents of {b.name} depend on {loop.var.name}")
                if changes(body, b.shape):
                    return NoMatch(self.path, f"the extents of {b.name} change in the loop")
                context = context_at(before, self.path, entry)
                new: Stmt = Allocate(b, _around(loop, body), notes)
                return Rewrite(before.with_body(put(before.body, self.path, new)), extents_safe(context, b, self.path))
            case "sink", Allocate(buffer=b, body=For() as loop, annotations=notes):
                if uses(loop.min, b) or uses(loop.extent, b) or changes(loop.body, b.shape):
                    return NoMatch(
                        self.path, f"the loop's bounds read {b.name}, or the body writes what its extents read"
                    )
                if opaque_calls(loop.body):
                    return NoMatch(self.path, f"an opaque call may read what an earlier iteration left in {b.name}")
                new = _around(loop, Allocate(b, loop.body, notes))
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
        around, k = statement_at(before, self.path[:-1]), self.path[-1]
        assert isinstance(around, Seq)  # what follows cannot use the buffer: it was out of scope
        inside = Allocate(allocation.buffer, seq(allocation.body, *others), allocation.annotations)
        new = seq(*around.stmts[:k], inside, *around.stmts[k + 2 :])
        return Rewrite(before.with_body(put(before.body, self.path[:-1], new)), ())

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


@final
@dataclass(frozen=True, slots=True)
class Rescope:
    """The buffer allocated at ``path``, and every view of its block, lives in another storage scope.  Owes nothing but
    the licences."""

    path: Path
    scope: str

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match statement_at(before, self.path):
            case NoMatch() as refusal:
                return refusal
            case Allocate(buffer=old) as allocation:
                pointer = old.data.type
                assert isinstance(pointer, PointerType)
                data = Var.fresh(old.data.name, PointerType(pointer.element, self.scope))

                allocated = rewrite(allocation, lambda n: data if n is old.data else None)
                after = before.with_body(put(before.body, self.path, allocated))
                return Rewrite(after, (), heirs=((data, old.data),))
        return NoMatch(self.path, "no buffer is allocated here")


def _around(loop: For, body: Stmt) -> For:
    return For(loop.var, loop.min, loop.extent, body, loop.kind, loop.thread, loop.annotations)
