"""Local buffers become views of a block that is allocated around them.

    B = alloc(s); S         ⟶    W = alloc(s′); B = decl_buffer(s, data=W.data); S
    A = alloc(…) in S; …;   ⟶    W = alloc(s′); A = decl_buffer(…, data=W.data) in S; …;
    B = alloc(…) in S′              B = decl_buffer(…, data=W.data) in S′

Theorem.  W holds the bytes of each buffer, from its start; what is beyond nobody touches.  The scopes of A and B do not
overlap in time.  What B finds in its place, as A left it, was undefined before, and undefined may become anything;
nobody reads A any more.  A function of the module that is given the whole block would see its new shape: refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Allocate, DeclBuffer, Seq, Stmt
from verified_tir.ir.visit import substitute, walk
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.rules.common import check_scope
from verified_tir.kernel.rules.scope import extents_safe
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term


@final
@dataclass(frozen=True, slots=True)
class Share:
    """The buffers that some statements allocate become views of one block.

    :param path: the allocation, or the sequence in which several allocations stand.
    :param positions: of these in the sequence, at least two, ascending; none if ``path`` is the allocation itself.
    :param block: the buffer to allocate around.  For several it is a fresh one; for one it has the data variable of
        that buffer, so that all views of the block stay what they are.
    """

    path: Path
    positions: tuple[int, ...]
    block: Buffer

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        target, block = at(before.body, self.path), self.block
        chosen = self._chosen(target)
        if isinstance(chosen, str):
            raise Misfit(chosen)
        context = context_at(before, self.path, entry)
        problem = _problem(before, block, chosen)
        if problem is not None:
            raise Misfit(problem)
        check_scope(context, Allocate(block, Seq(())))
        made = [substitute(DeclBuffer(s.buffer, s.body), {s.buffer.data: block.data}) for s in chosen]
        if isinstance(target, Seq):
            stmts = dict(enumerate(target.stmts)) | dict(zip(self.positions, made, strict=True))
            new = Allocate(block, Seq(tuple(stmts.values())))
        else:
            new = Allocate(block, made[0], chosen[0].annotations)
        after = before.with_body(put(before.body, self.path, new))
        heirs = tuple((block.data, s.buffer.data) for s in chosen)
        return Rewrite(
            after, self._questions(context, target, chosen), heirs=heirs
        )  # fmt: skip

    def _chosen(self, target: Stmt) -> tuple[Allocate, ...] | str:
        """The allocations, or why they are none."""
        if not self.positions:
            return (target,) if isinstance(target, Allocate) else "no buffer is allocated here"
        if not isinstance(target, Seq) or len(self.positions) < 2 or list(self.positions) != sorted({*self.positions}):
            return "sharing takes a sequence and at least two of its statements, in order"
        if not 0 <= self.positions[0] <= self.positions[-1] < len(target.stmts):
            return f"the sequence has {len(target.stmts)} statements"
        found = tuple(s for s in (target.stmts[k] for k in self.positions) if isinstance(s, Allocate))
        return found if len(found) == len(self.positions) else "one of the statements allocates nothing"

    def _questions(self, context: Context, target: Stmt, chosen: tuple[Allocate, ...]) -> Iterator[Question]:
        """The block can be allocated, and holds each buffer where that is allocated."""
        yield from extents_safe(context, self.block, self.path)
        for k, s in zip(self.positions or (None,), chosen, strict=True):
            here = context.fork()
            if k is not None:
                here.enter(target, k)
            sizes = [_size(here, s.buffer), _size(here, self.block)]
            starts = [f.eq(here.encoder().value(b.elem_offset), f.integer(0)) for b in (s.buffer, self.block)]
            claim = f"the block of {self.block.name} holds {s.buffer.name}"
            path = self.path if k is None else (*self.path, k)
            yield Question("view", claim, here, (), f.and_(f.le(*sizes), *starts), path)


def _size(context: Context, buffer: Buffer) -> Term:
    """How many bytes a row-major buffer has."""
    size = f.integer(buffer.dtype.nbytes)
    for extent in buffer.shape:
        size = f.mul(size, context.encoder().value(extent))
    return size


def _problem(before: PrimFunc, block: Buffer, chosen: tuple[Allocate, ...]) -> str | None:
    """Why the block cannot hold the buffers: its form, its place, or who knows it."""
    if block.strides:
        return f"{block.name} must be row-major"
    for s in chosen:
        b = s.buffer
        if b.strides:
            return f"{b.name} has strides"
        if b.scope != block.scope:
            return f"{b.name} lives in scope {b.scope!r}, {block.name} in {block.scope!r}"
        passed = _passed_whole(s, b)
        if passed is not None:
            return passed
    if len(chosen) == 1 and block.data is not chosen[0].buffer.data:
        return f"{block.name} must have the data variable of {chosen[0].buffer.name}"
    if any(n is (block if len(chosen) == 1 else block.data) for n in walk(before)):
        return f"{block.name} is not fresh"
    return None


def _passed_whole(stmt: Stmt, buffer: Buffer) -> str | None:
    """Why the block of a buffer must stay: another function of the module is given it, and sees its shape."""
    for n in walk(stmt):
        if isinstance(n, Call) and n.op.startswith("@") and buffer.data in n.args:
            return f"{buffer.name} is passed to {n.op[1:]}, which would see another shape"
    return None
