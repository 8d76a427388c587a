"""Data refinement: a local buffer is replaced by another one with the same elements at other places (compaction).

    B = alloc(s); S[B[x]]             ⟶        B′ = alloc(s′); S[B′[φ(x)]]

Call an element of B *live* if it matters: all elements of the box, or only those that S accesses.  φ may
mention variables from around the allocation, which do not change while B lives, and reads no memory.  So with

    for i: B = alloc(100); … B[4 * i + j] …     ⟶     for i: B′ = alloc(4); … B′[j] …

the map is x ↦ x − 4 i, and what is never touched has no place.

Theorem.  Let φ be safe at every live x, let φ(x) lie in the box of B′, and let ψ(φ(x)) = x, so that no other live
element shares the place of x.  Then at every moment B′[φ(x)] is B[x], for every live x.  It holds at allocation, where
both are undefined throughout.  A store to x, which is live, changes φ(x) and the place of no other live x′.  Nothing
else writes to B′.  So every load, being of a live element, reads what it read, and S does what it did.  What is no
φ(x) is undefined and nobody reads it; that is why nothing is owed of padding here, though it is of a parameter
(``relayout``).

*In turn.*  Two live elements may share a place, and ψ then means nothing, if no read finds the wrong one there.  Let a
load read x, let x have been stored before, and let x′ ≠ x with φ(x′) = φ(x) be stored, too; then the store to x′ comes
before that to x, or after the load.  So with

    for i: B[i] = A[i]; C[i] = B[i] + B[i - 1]     ⟶     for i: B′[i % 2] = A[i]; C[i] = B′[i % 2] + B′[(i - 1) % 2]

every load finds what it found, by induction over the loads.  For take the last store to x before one of them.  What
is stored to φ(x) after that, and before the load, goes to x; but there is no such store.  If x was not stored before,
it was undefined, and any value refines that; the rest of the program, being monotone, refines what it did.  Here the
order of instances counts: iterations of a ``while`` loop, which are not told apart, are refused.  So is a licensed
block, of which a place may be given any sum of what was added there.

ψ is a witness: any function will do that leads back.  Masked lanes of a vector access touch nothing, but φ is evaluated
in them, so there it must be safe, too.  Other views of the block would have to move along: they are refused; so is an
opaque call that is handed an element of B, which may take it by address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from typing import Literal, final

from verified_tir import ir
from verified_tir.kernel.access import Instance, equal, happens_before
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import escapes
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.layout import LayoutMap, masked_lanes_safe
from verified_tir.kernel.rules.scope import extents_safe
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class Couple:
    """Replace the buffer allocated at ``path`` by one whose elements stand where ``layout`` says.

    :param live: which elements have a place: all, or those that are accessed; or these, each ``"in turn"`` with others.
    """

    path: ir.Path
    layout: LayoutMap
    live: Literal["all", "accessed", "in turn"] = "all"
    separators: tuple[int, ...] = ()

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        allocation = ir.at(before.body, self.path)
        if not isinstance(allocation, ir.Allocate):
            raise Misfit("no buffer is allocated here")
        context, old = context_at(before, self.path, entry), allocation.buffer
        new = self.layout.successor(old, context, self.separators)
        if escapes(old.data, allocation):
            raise Misfit(f"the address of an element of {old.name} may escape to an opaque call")
        allocated = ir.Allocate(new, self.layout.move(allocation.body, old, new), allocation.annotations)
        questions = chain(
            extents_safe(context, new, self.path),
            self._live(context, allocation),
            masked_lanes_safe(context, allocated, new, self.path),
        )
        after = before.with_body(ir.put(before.body, self.path, allocated))
        return Rewrite(after, questions, heirs=((new.data, old.data),))

    def _live(self, context: Context, allocation: ir.Allocate) -> Iterator[Question]:
        """Questions whether every live element is mapped to a place of its own."""
        old = allocation.buffer
        if self.live == "all":
            yield from self.layout.whole(context, old, self.path)
            return
        run = instance(context, allocation)
        alone = self.live == "accessed"
        for a in run.accesses:
            if a.buffer is old:
                place, kind = (*self.path, *a.place), "accessed element"
                yield from self.layout.coupled(run.context, old, a.indices, a.given, place, kind, alone=alone)
        if not alone:
            yield from self._in_turn(run, allocation, *(instance(context, allocation) for _ in range(2)))

    def _in_turn(self, run: Instance, allocation: ir.Allocate, first: Instance, second: Instance) -> Iterator[Question]:
        """Questions whether each load of ``run`` finds at its place what was stored to its element."""
        old, image = allocation.buffer, partial(self.layout.image, run.context)
        if old.data in run.context.entry.licensed or ir.nodes_of(allocation, ir.While):
            raise Misfit(
                f"{old.name} is summed into in any order, or used in a while loop: its elements share no place"
            )
        loads = [a for a in run.accesses if a.buffer is old and not a.write]
        for a, b, c in product(loads, first.stores_to(old.data), second.stores_to(old.data)):
            when, stored, other = [(x.place, x.inner) for x in (a, b, c)]
            shared = f.and_(equal(a.indices, b.indices), equal(image(a.indices), image(c.indices)))
            given = (*a.given, *b.given, *c.given, shared, f.not_(equal(a.indices, c.indices)))
            goal = f.or_(happens_before(allocation, other, stored), happens_before(allocation, when, other))
            claim = f"no other element of {old.name} takes the place of one that is read later"
            yield Question("layout", claim, run.context, given, goal, (*self.path, *a.place))
