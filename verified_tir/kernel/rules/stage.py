"""A statement works on a copy of a region.

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
in S only after the last such read of x; in particular it may where S stores nothing in R.  Any of the reads may go to
T, and the others stay.

Theorem (copy out only).  T[y] is what B[φ⁻¹(y)] is once S has written it.  So each read must see a write of S, and each
element of R must be written by S (the copy out stores them all), unless it was undefined when S began.

Both copies must be safe: in bounds, and outside of padding that may not be touched.  A copy of bits that two types see
is no copy (a NaN has none), and where strides let two indices meet one element has two places: then nothing is copied
out.  Whether the copies race in a loop marked parallel is another judgement (``race_free``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Load, Not, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Allocate, Block, For, If, Stmt, Store, While, seq
from verified_tir.ir.visit import refresh_binders, rewrite, walk
from verified_tir.kernel.access import Access, overlap
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.contents import equal
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Allocated, Entry
from verified_tir.kernel.moments import happens_before
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import (
    check_scope,
    evaluated_safely,
    occurs,
    safe_questions,
)  # fmt: skip
from verified_tir.kernel.rules.last_write import Ran, overwrites, reads_of
from verified_tir.kernel.rules.layout import LayoutMap, anywhere, in_box, masked_lanes_safe
from verified_tir.kernel.rules.scope import extents_safe
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.semantics.encode import fresh


@final
@dataclass(frozen=True, slots=True)
class Stage:
    """Let the statement at ``path`` use a new buffer in place of ``buffer``.

    :param layout: φ with its inverse, the new buffer's shape, and where no element of the region lives.
    :param copy_out: whether stores go to the new buffer too, which is copied back afterwards; reads always do.
    :param only: places within the statement; what reads elsewhere goes on reading ``buffer``.  All of it, if empty.
    """

    path: Path
    buffer: Buffer
    layout: LayoutMap
    name: str
    scope: str = "global"
    copy_in: bool = True
    copy_out: bool = False
    only: tuple[Path, ...] = ()

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        target = at(before.body, self.path)
        context = context_at(before, self.path, entry)
        problem = self._misfit(before, context, target)
        if problem is not None:
            raise Misfit(problem)
        self.layout.check(self.buffer, context)
        new = Buffer.fresh(self.name, self.buffer.dtype, self.layout.shape, self.scope)
        moved = self._redirected(target, new)
        copies = self._copies(new)
        check_scope(context, Allocate(new, seq(*copies)))
        inwards, outwards = copies
        parts = [*([inwards] if self.copy_in else []), moved, *([outwards] if self.copy_out else [])]
        allocated = Allocate(new, seq(*parts))
        questions = self._questions(context, target, new, allocated, inwards if self.copy_in else outwards)
        heirs = ((new.data, self.buffer.data),) if self.copy_out else ()
        return Rewrite(before.with_body(put(before.body, self.path, allocated)), questions, heirs=heirs)

    def _misfit(self, before: PrimFunc, context: Context, target: Stmt) -> str | None:
        """Why the parameters do not fit the program, if they do not."""
        name, data = self.buffer.name, self.buffer.data
        if not (self.copy_in or self.copy_out):
            return "nothing would be copied"
        if opaque_calls(target):
            return f"an opaque call stands there, which may read and write {name}"
        if any(isinstance(n, Block) and not n.is_label for n in walk(target)):
            return "a block with iteration variables stands there; it must be expanded first"
        variables = self.layout.inverse_inputs
        if len(set(variables)) != len(variables) or occurs(before, *variables):
            return "the variables of the copy are not fresh"
        stores = any(isinstance(n, Store) and n.buffer is self.buffer for n in walk(target))
        if self.only and self.copy_out:
            return "what is copied out is used by the whole statement, or what one part stores the other would not see"
        for place in self.only:
            at(before.body, (*self.path, *place))
        if self.copy_out and not stores:
            return f"{name} is not written there, so there is nothing to copy out"
        if self.copy_out and self.buffer.strides:
            return f"{name} has strides, with which two indices may mean one element"
        if self.copy_out and len({b.dtype.scalar for b in context.views.get(data, ())}) > 1:
            return f"the block of {name} has views of several types; a copy at one of them is none at the others"
        return None

    def _redirected(self, target: Stmt, new: Buffer) -> Stmt:
        """S on the new buffer.

        :raises IRError: where an access by vector index has no counterpart, or B is used other than by loads and
            stores.
        """

        def visit(n: Node) -> Node | None:
            if isinstance(n, (Load, Store)) and n.buffer is self.buffer and (self.copy_out or isinstance(n, Load)):
                return self.layout.moved(n, new)
            return None

        moved = target
        for place in self.only or ((),):
            moved = put(moved, place, rewrite(at(moved, place), visit))
        left = any(n is self.buffer for place in self.only or ((),) for n in walk(at(moved, place)))
        if left and (self.copy_out or not any(isinstance(n, Store) and n.buffer is self.buffer for n in walk(moved))):
            raise IRError(f"{self.buffer.name} is used other than by loads and stores")
        return moved

    def _copies(self, new: Buffer) -> tuple[Stmt, Stmt]:
        """Copy in and copy out."""
        here, there = Load(self.buffer, self.layout.inverse), Load(new, self.layout.inverse_inputs)
        inwards = self._nest(Store(new, here, self.layout.inverse_inputs))
        outwards = self._nest(Store(self.buffer, there, self.layout.inverse))
        return inwards, refresh_binders(outwards)[0]

    def _nest(self, copy: Stmt) -> Stmt:
        padding = self.layout.padding
        if padding is not FALSE:
            copy = If(padding.a if isinstance(padding, Not) else Not(padding), copy)
        for v, extent in reversed(list(zip(self.layout.inverse_inputs, self.layout.shape, strict=True))):
            copy = For(v, const(0, v.dtype), extent, copy)
        return copy

    # -- obligations --------------------------------------------------------------------------------------------

    def _questions(
        self, context: Context, target: Stmt, new: Buffer, allocated: Stmt, copy: Stmt
    ) -> Iterator[Question]:
        yield from extents_safe(context, new, self.path)
        inside = context.fork()
        inside.becomes(new.data, Allocated())
        run = instance(inside, copy, with_safety=True)
        for _, safety in run.safety:
            yield from safe_questions(run.context, (safety,), (), self.path)
        yield from masked_lanes_safe(context.fork(), allocated, new, self.path)
        accesses = list(instance(context, target).outer())
        through = [a for a in accesses if a.buffer is self.buffer and (self.copy_out or not a.write) and self._goes(a)]
        for a in through:
            yield from self._in_region(context, a)
        region, element = self._element(context)
        for a in accesses:
            if a.buffer is None or a.buffer.data is not self.buffer.data or any(a is t for t in through):
                continue
            if a.write or self.copy_out:
                verb = "writes" if a.write else "reads"
                claim = f"what {verb} {a.buffer.name} without going through {self.name} misses the region"
                goal = f.not_(overlap(a, element))
                late = () if self.copy_out else self._after_reads(context, target, a)
                yield Question("stage", claim, region, a.given, goal, (*self.path, *a.place), otherwise=late)
        if self.copy_out:
            yield self._one_place(region, element)
        if not self.copy_in:
            yield from self._written(context, target, region, element)

    def _goes(self, a: Access) -> bool:
        """Whether an access stands where accesses are redirected."""
        return not self.only or any(a.place[: len(place)] == place for place in self.only)

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

    def _after_reads(self, context: Context, target: Stmt, store: Access) -> tuple[Question, ...]:
        """A store to the block, which T does not see, comes after all redirected reads of its element."""
        if any(isinstance(n, While) for n in walk(target)):  # iterations of which nothing tells apart
            return ()
        name = store.buffer.name if store.buffer is not None else ""
        claim = f"what writes {name} without going through {self.name} comes after its last read"
        run = instance(context, target)
        found = []
        for a in (a for a in run.outer() if a.buffer is self.buffer and not a.write and self._goes(a)):
            earlier = happens_before(target, (store.place, store.inner), (a.place, a.inner))
            given = (*store.given, *a.given, earlier)
            goal = f.not_(overlap(store, a))
            found.append(Question("stage", claim, run.context, given, goal, (*self.path, *store.place)))
        return tuple(found)

    def _element(self, context: Context) -> tuple[Context, Access]:
        """An arbitrary element of the region, as if it were accessed, and the context that says so."""
        ys, here = anywhere(context, self.layout.inverse_inputs, self.layout.shape)
        here = here.bound(self.layout.inverse_inputs, ys)
        here.path.append(f.not_(self.layout.padded(here, ys)))
        indices = tuple(self.layout.origin(here, ys))
        lane = None
        if self.buffer.dtype.lanes > 1:
            lane = fresh("lane", f.INT)
            here.path.append(f.between(f.integer(0), lane, f.integer(self.buffer.dtype.lanes)))
        address = here.address(self.buffer, indices, lane)
        return here, Access(self.buffer, indices, lane, address, True, (), ())

    def _one_place(self, region: Context, element: Access) -> Question:
        ys = [region.env[v].value for v in self.layout.inverse_inputs]
        goal = equal(self.layout.image(region, element.indices), ys)
        claim = f"each element of the region has one place in {self.name}"
        return Question("stage", claim, region, (), goal, self.path)

    def _written(self, context: Context, target: Stmt, region: Context, element: Access) -> Iterator[Question]:
        """Without a copy in: T is read where S has written it, and filled by S."""
        memory, name = context.memory, self.buffer.name
        for read in reads_of(context, target, {self.buffer.data}, place=self.path):
            a = read.access
            if a.buffer is self.buffer:
                old = context.load_from(memory, a.buffer, a.indices, a.lane).defined
                claim = f"what is read of {name} was written before, or undefined to begin with"
                goal = f.or_(read.written, f.not_(old))
                yield Question("stage", claim, read.context, read.given, goal, read.place)
        old = context.load_from(memory, self.buffer, element.indices, element.lane).defined
        goal = f.or_(overwrites([Ran(region, target, {})], element), f.not_(old))
        claim = f"what is copied out to {name} was written, or undefined to begin with"
        yield Question("stage", claim, region, (), goal, self.path)
