"""Insert a statement whose stores change nothing that is read later.

    A          A
    B    ⟶    S
               B

Theorem.  Let M be the memory at this place.  Suppose that, run from M, all that S evaluates is safe, and each store of
S writes to an element either the bits that M has there, or anything where M is undefined or where the store is dead
(see ``last_write``).  Then S's run, whatever order its own stores come in, ends in a memory at least as defined as M,
but for dead elements: by induction every state in between is, and S's expressions, being monotone, give there at least
what they give on M.  The rest of the program, being monotone too, refines what it did.  An ``assume`` must be true; an
opaque call, ``assert`` or ``while`` is not inserted.

So the obligations look at M only; S's reads of places that it fills itself count as undefined.  A dead store does
change M.  If S reads blocks that it stores to, and a statement that overwrites them is named, each of these reads may
give any value, defined or not: the obligations hold whatever the elements of such blocks are meanwhile, and at the end
they are what they were, or dead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, final

from verified_tir import ir
from verified_tir.kernel.access import Access, Instance
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import read_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.open_bits import adds_nothing
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import following, safe_questions
from verified_tir.kernel.rules.last_write import dead_stores, may_not_pass, unread_blocks
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term


@final
@dataclass(frozen=True, slots=True)
class Insert:
    """Insert ``stmt`` before or after the statement at ``path``.

    :param overwritten_by: how many statements after the place, in the same sequence, that statement stands which
        overwrites all that this one stores; 0 if there is none.
    """

    path: ir.Path
    stmt: ir.Stmt
    where: Literal["before", "after"] = "before"
    overwritten_by: int = 0

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        target, added = ir.at(before.body, self.path), ir.refresh_binders(self.stmt)[0]
        if may_not_pass(added):
            raise Misfit("an opaque call, an assert or a while loop cannot be inserted")
        context = context_at(before, self.path, entry)
        if self.where == "before":
            new = ir.seq(added, target)
            later = (target, *following(before.body, self.path, self.overwritten_by - 1))[: self.overwritten_by]
        else:
            context.execute(target)
            new = ir.seq(target, added)
            later = following(before.body, self.path, self.overwritten_by)
        _check_views(context, added)
        after = before.with_body(ir.put(before.body, self.path, new))
        return Rewrite(after, self._questions(context, added, later, unread_blocks(before) - read_blocks(added)))

    def _questions(
        self, context: Context, added: ir.Stmt, later: tuple[ir.Stmt, ...], unread: set[ir.Var]
    ) -> Iterator[Question]:
        run = instance(context, added, written=None if later else ())
        for place, safety in run.safety:
            yield from safe_questions(run.context, (safety,), (), (*self.path, *place))
        for a in stores_seen(run, unread):
            old, new, same = unchanged(context, a)
            claim = f"the inserted store to {a.buffer.name} writes the bits that are there already"
            goal, place = f.and_(new, same), (*self.path, *a.place)
            otherwise = dead_stores(run.context, [a], later, self.path, "after", outlived=True) if later else ()
            yield Question("no-op", claim, run.context, (*a.given, old), goal, place, "after", tuple(otherwise))


def stores_seen(run: Instance, unread: set[ir.Var]) -> list[Access]:
    """The stores of a run to what exists outside of it, but for blocks that nobody reads."""
    return [a for a in run.outer() if a.write and a.buffer.data not in unread]


def unchanged(context: Context, a: Access) -> tuple[Term, Term, Term]:
    """That an element is defined before a store and after it, and that the store leaves its bits as they are: those of
    each order of its terms, if its block is licensed."""
    old, new = context.load_from(context.memory, a.buffer, a.indices, a.lane), a.written.value
    licensed = a.buffer.data in context.entry.licensed
    return old.defined, a.value.defined, adds_nothing(new, old.value) if licensed else f.eq(new, old.value)


def _check_views(context: Context, stmt: ir.Stmt) -> None:
    """Check that the statement declares no view, and stores to no block with views of several types.

    A view that appears would be known by other addresses than the block's other views are.  A block seen at several
    types may hold at one of them what is undefined at another: that place is not free to be stored to.
    """
    for n in ir.walk(stmt):
        if isinstance(n, ir.DeclBuffer):
            raise Misfit(f"{n.buffer.name} is another view of a block; none can be inserted")
        if isinstance(n, ir.Store) and context.several_types(n.buffer.data):
            raise Misfit(f"{n.buffer.name} is stored to, whose block has views of several types")
