"""Staging: a statement works on a copy of a region (cache_read, cache_write).

    S[B[x]]        ⟶        T = alloc(shape)
                             for y: if ¬padding(y): T[y] = B[φ⁻¹(y)]        (copy in)
                             S[T[φ(x)]]
                             for y: if ¬padding(y): B[φ⁻¹(y)] = T[y]        (copy out)

The region is R = {φ⁻¹(y) : y in the box of T, not padding}.  φ and its inverse may use variables from around S, but
nothing that changes: so R is the same at both ends.

Theorem (both copies).  Let every access of S through B lie in R, with y = φ(x) and φ⁻¹(y) = x; let every other access
to the block miss R; let φ(φ⁻¹(y)) = y, so that each element of R has one place.  While S runs, T[y] is what B[φ⁻¹(y)]
is in the old program: so after the copy in, and kept by each store, which changes one element of R and its one place.
Outside R nothing differs.  After the copy out memory is what it was, and T is gone.

Theorem (copy in only).  Reads through B go to T, which holds at φ(x) what B[x] was when S began.  So B[x] may be stored
in S only after the last such read of x.  Any of the reads may go to T, and the others stay.

Where S writes all that it reads of R, and all of R, what is copied in is dead: ``erase`` removes that.

Both copies must be safe: in bounds, and outside of padding that may not be touched.  A copy of bits that two types see
is not a copy (a NaN has none), and where strides let two indices meet one element has two places: then nothing is
copied out.  Whether the copies race in a loop marked parallel is another judgement (``race_free``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import final

from verified_tir import ir
from verified_tir.kernel.access import Access, Instance, equal, happens_before, overlap
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import evaluated_safely, no_dependence, safe_questions
from verified_tir.kernel.rules.layout import LayoutMap, in_box, masked_lanes_safe, over_box
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class Stage:
    """Let the statement at ``path`` use a new buffer in place of ``buffer``.

    :param layout: φ with its inverse, the new buffer's shape, and where no element of the region lives.
    :param copy_out: whether stores go to the new buffer too, which is copied back afterwards; reads always do.
    :param only: places within the statement; what reads elsewhere goes on reading ``buffer``.  All of it, if empty.
    """

    path: ir.Path
    buffer: ir.Buffer
    layout: LayoutMap
    name: str
    scope: str = "global"
    copy_out: bool = False
    only: tuple[ir.Path, ...] = ()

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        target = ir.at(before.body, self.path)
        context = context_at(before, self.path, entry)
        new = ir.Buffer.fresh(self.name, self.buffer.dtype, self.layout.shape, self.scope)
        self._check(context, target, new)
        moved = target
        for place in self.only or ((),):
            redirected = self.layout.move(ir.at(moved, place), self.buffer, new, stores=self.copy_out)
            moved = ir.put(moved, place, redirected)
        here, there = ir.Load(self.buffer, self.layout.inverse), ir.Load(new, self.layout.inverse_inputs)
        inwards = self._nest(ir.Store(new, here, there.indices))
        outwards = self._nest(ir.Store(self.buffer, there, here.indices))
        allocated = ir.Allocate(
            new, ir.seq(inwards, moved, ir.refresh_binders(outwards)[0] if self.copy_out else ir.SKIP)
        )
        questions = self._questions(context, target, new, allocated, ir.Allocate(new, outwards))
        heirs = ((new.data, self.buffer.data),) if self.copy_out else ()
        return Rewrite(before.with_body(ir.put(before.body, self.path, allocated)), questions, heirs=heirs)

    def _check(self, context: Context, target: ir.Stmt, new: ir.Buffer) -> None:
        """The parameters fit the program.

        :raises Misfit: if they do not.
        """
        name, data = self.buffer.name, self.buffer.data
        if opaque_calls(target):
            raise Misfit(f"an opaque call stands there, which may read and write {name}")
        self.layout.check(self.buffer, new, context)
        if not self.copy_out:
            return
        if self.only:
            raise Misfit("what is copied out is used by all of the statement: parts do not see what others store")
        if self.buffer.strides:
            raise Misfit(f"{name} has strides, with which two indices may mean one element")
        if context.several_types(data):
            raise Misfit(f"the block of {name} has views of several types; a copy at one is not a copy at the others")

    def _nest(self, copy: ir.Stmt) -> ir.Stmt:
        """The loops over the box of T, and in them the condition, around a copy."""
        padding = self.layout.padding
        if padding is not ir.FALSE:
            copy = ir.If(padding.a if isinstance(padding, ir.Not) else ir.Not(padding), copy)
        return over_box(self.layout.inverse_inputs, self.layout.shape, copy)

    # -- obligations --------------------------------------------------------------------------------------------

    def _questions(
        self, context: Context, target: ir.Stmt, new: ir.Buffer, allocated: ir.Stmt, copy: ir.Stmt
    ) -> Iterator[Question]:
        """``copy`` is what goes out; what comes in touches the same elements of B and of T."""
        run = instance(context, copy)
        yield from safe_questions(run.context, (s for _, s in run.safety), (), self.path)
        yield from masked_lanes_safe(context, allocated, new, self.path)
        others: list[Access] = []
        for a in instance(context, target).outer():
            if self._moves(a):
                yield from self._in_region(context, a)
            elif a.buffer.data is self.buffer.data:
                others.append(a)
        yield from self._apart(run, others) if self.copy_out else self._after_reads(context, target, others)

    def _moves(self, a: Access) -> bool:
        """Whether an access is redirected to T."""
        chosen = not self.only or any(a.place[: len(place)] == place for place in self.only)
        return a.buffer is self.buffer and chosen and (self.copy_out or not a.write)

    def _in_region(self, context: Context, a: Access) -> Iterator[Question]:
        """An access through B at x finds, at φ(x), a place of T that is filled from x."""
        layout = self.layout
        given, place = (*a.given, in_box(context, a.indices, self.buffer.shape)), (*self.path, *a.place)
        yield from evaluated_safely(context.bound(layout.inputs, a.indices), layout.outputs, given, place)
        image = layout.image(context, a.indices)
        back = equal(layout.origin(context, image), a.indices)
        goal = f.and_(in_box(context, image, layout.shape), f.not_(layout.padded(context, image)), back)
        claim = f"what {'writes' if a.write else 'reads'} {self.buffer.name} lies in the region"
        yield Question("stage", claim, context, given, goal, place)

    def _after_reads(self, context: Context, target: ir.Stmt, others: Sequence[Access]) -> Iterator[Question]:
        """A store to the block, which T does not see, comes after all redirected reads of its element."""
        repeated = bool(ir.nodes_of(target, ir.While))  # iterations of which nothing tells apart
        run = instance(context, target)
        reads = [a for a in run.outer() if self._moves(a)]
        for store, a in product((s for s in others if s.write), reads):  # equal accesses at other moments, too
            claim = f"what writes {store.buffer.name} without going through {self.name} comes after its last read"
            earlier = happens_before(target, (store.place, store.inner), (a.place, a.inner))
            given = (*store.given, *a.given, *([] if repeated else [earlier]))
            goal = f.not_(overlap(store, a))
            yield Question("stage", claim, run.context, given, goal, (*self.path, *store.place))

    def _apart(self, copy: Instance, others: Sequence[Access]) -> Iterator[Question]:
        """Questions whether other accesses miss the region, and each element of the region has one place."""
        (element,) = copy.stores_to(self.buffer.data)
        why = f"each access without going through {self.name} misses the region"
        yield from no_dependence(copy.context, others, [element], (), why, self.path)
        claim = f"each element of the region has one place in {self.name}"
        ys = element.inner[: len(self.layout.shape)]
        goal = equal(self.layout.image(copy.context, element.indices), ys)
        yield Question("stage", claim, copy.context, element.given, goal, self.path)
