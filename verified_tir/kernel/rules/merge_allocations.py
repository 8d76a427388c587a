"""Allocation merging and reshaping: local buffers become views of one block that is allocated around them.

    B = alloc(s); S         ⟶    W = alloc(s′); B = decl_buffer(s, data=W.data); S
    A = alloc(…) in S; …;   ⟶    W = alloc(s′); A = decl_buffer(…, data=W.data) in S; …;
    B = alloc(…) in S′              B = decl_buffer(…, data=W.data) in S′

Theorem.  W holds the bytes of each buffer, from its start; what is beyond nobody touches.  The scopes of A and B, which
stand in different sub-statements of one statement, do not overlap in time.  What B finds in its place, as A left it (or
B itself, in an earlier iteration of a loop), was undefined before, and undefined may become anything; nobody reads A
any more.  A function of the module that is given the whole block would see its new shape: refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from verified_tir import ir
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.effects import address_taken
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.rules.scope import extents_safe
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class MergeAllocations:
    """Make the buffers that some statements allocate views of one block.

    :param path: the allocation, or the statement in which allocations stand: a sequence, most often.
    :param positions: of these among its sub-statements; none if ``path`` is the allocation itself.
    :param block: the buffer to allocate around.  Its data variable is fresh or that of one of the buffers, whose other
        views then stay what they are.
    """

    path: ir.Path
    positions: tuple[int, ...]
    block: ir.Buffer

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        block, target = self.block, ir.at(before.body, self.path)
        chosen: dict[ir.Path, ir.Allocate] = {}
        for place in [(*self.path, k) for k in self.positions] or [self.path]:
            allocation = ir.at(before.body, place)
            if not isinstance(allocation, ir.Allocate):
                raise Misfit("no buffer is allocated here")
            _check_kind(block, allocation)
            chosen[place] = allocation
        body = before.body
        for place, s in chosen.items():
            body = ir.put(body, place, ir.substitute(ir.DeclBuffer(s.buffer, s.body), {s.buffer.data: block.data}))
        annotations = target.annotations if isinstance(target, ir.Allocate) else ()
        after = before.with_body(ir.put(body, self.path, ir.Allocate(block, ir.at(body, self.path), annotations)))
        questions = self._questions(before, entry, chosen)
        return Rewrite(after, questions, heirs=tuple((block.data, s.buffer.data) for s in chosen.values()))

    def _questions(
        self, before: ir.PrimFunc, entry: Entry, chosen: Mapping[ir.Path, ir.Allocate]
    ) -> Iterator[Question]:
        """Questions whether the block can be allocated, and is large enough for each buffer."""
        yield from extents_safe(context_at(before, self.path, entry), self.block, self.path)
        for place, s in chosen.items():
            here = context_at(before, place, entry)
            encoder = here.encoder()
            starts = [f.eq(encoder.value(b.elem_offset), f.integer(0)) for b in (s.buffer, self.block)]
            fits = f.le(encoder.bytes_of(s.buffer), encoder.bytes_of(self.block))
            claim = f"the block of {self.block.name} is large enough for {s.buffer.name}"
            yield Question("view", claim, here, (), f.and_(fits, *starts), place)


def _check_kind(block: ir.Buffer, allocation: ir.Allocate) -> None:
    """Check that the buffer may become a view of the block.

    :raises Misfit: for other scopes or strides, or if another function of the module would see the block's shape.
    """
    b = allocation.buffer
    if block.strides or b.strides:
        raise Misfit(f"{block.name if block.strides else b.name} has strides")
    if b.scope != block.scope:
        raise Misfit(f"{b.name} lives in scope {b.scope!r}, {block.name} in {block.scope!r}")
    functions = [call.op[1:] for call in ir.nodes_of(allocation, ir.Call) if call.op.startswith("@")]
    if functions and address_taken(b.data, allocation):
        raise Misfit(f"{b.name} is passed to {functions[0]}, which would see another shape")
