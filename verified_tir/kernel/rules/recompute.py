"""Recomputation: instances of a statement run again where their results are needed.

    for x: … S(x) …            for x: … S(x) …
    A                    ⟶     A
    B                          for y: if c(y): S(w(y))
                               B

Theorem.  Let the run of S at x = w(y) have ended before this place is reached, once for this run of the sequence in
which both stand.  Suppose that nothing which that run read from outside, and nothing that it wrote, was stored since,
and that whatever it read of what it writes itself, it had written before.  Then running S(w(y)) again leaves memory as
it is.  For S is deterministic (undef is a value here, like any other): it finds the inputs that it found, so it takes
the way that it took, and stores what it stored, all of which is still there.  In between, memory differs; but nobody
else looks.  What S evaluates was safe then, so it is now; only the new loops, conditions and w(y) are new.

The old program's memory is looked at, in which no instance ran again: by induction those that did left it as it was.

If the statement sums into a licensed block (see ``open_bits``), two runs of it could be given two orders of the terms,
where the original has one result; so such a statement is not recomputed.

What was stored since, and what ran before, is determined as in ``last_write``.

*The other way.*  The two programs do the same, so what runs again may go: ``Eliminate``.  Let the program in which it
runs have a meaning on some input.  The other one goes through the same states outside of S, and evaluates less: by
induction over the run it has a meaning, too, as far as it got, so that what is proved of its memory holds there.

Not handled: an earlier iteration of a loop around both places as the witness; an S with opaque calls, assertions,
``while`` loops (they keep their place) or views of its own.  Whether a recomputed instance races in a loop marked
parallel is another judgement (``race_free``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import final

from verified_tir import ir
from verified_tir.kernel.access import BARRIER, Instance, conflicts, happens_before, overlap
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls, read_blocks, written_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import changes, no_dependence
from verified_tir.kernel.rules.last_write import Executed, reads_of, with_past
from verified_tir.kernel.rules.skeleton import Skeleton, check_values, enter, evaluated_by, filled, safely
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f


@final
@dataclass(frozen=True, slots=True)
class Recompute:
    """Run instances of the statement at ``source`` again, before the statement at ``path``.

    ``source`` lies in a statement P that comes earlier, in a sequence, than the one in which ``path`` lies.

    :param new: the loops and conditions around the recomputed statement: a skeleton with one hole (see ``skeleton``).
    :param instance: w, over the new variables: one value for each loop of P around the source, outermost first.
    """

    path: ir.Path
    source: ir.Path
    new: ir.Stmt
    instance: tuple[ir.Expr, ...]

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        source, target = (ir.at(before.body, p) for p in (self.source, self.path))
        shared = next((k for k, (a, b) in enumerate(zip(self.source, self.path, strict=False)) if a != b), None)
        if shared is None or not isinstance(around := ir.at(before.body, self.path[:shared]), ir.Seq):
            raise Misfit("the source and the place are not in two statements of one sequence")
        first, last = self.source[shared], self.path[shared]
        if first > last:
            raise Misfit("the source comes after the place; what is recomputed must have run before")
        whole, rest = around.stmts[first], ir.Seq(around.stmts[first + 1 : last + 1])
        inside = self.source[shared + 1 :]
        self._check(whole, inside, rest)
        if written_blocks(source) & entry.licensed:
            raise Misfit("the recomputed statement sums into a licensed block: its two sums could differ")
        place = (last - first - 1, *self.path[shared + 1 :])
        values = {s.var: w for s, w in zip(ir.loops_around(whole, inside), self.instance, strict=True)}
        added = filled(self.new, [ir.substitute(ir.refresh_binders(source)[0], values)])
        origin = context_at(before, (*self.path[:shared], first), entry)
        ended = origin.fork()  # one walk: both speak of one run
        ended.execute(whole)
        touched = read_blocks(source) | written_blocks(source)
        *_, (_, _, now, since) = with_past(ended, rest, touched, lambda p, _: p == place[: len(p)])
        after = before.with_body(ir.put(before.body, self.path, ir.seq(added, target)))
        return Rewrite(after, self._questions(source, whole, inside, origin, now, since))

    def _check(self, whole: ir.Stmt, inside: ir.Path, rest: ir.Stmt) -> None:
        """The parameters fit the program; the source stands ``inside`` P, and ``rest`` comes after it.

        :raises Misfit: if they do not.
        """
        around, source = [ir.at(whole, inside[:k]) for k in range(len(inside))], ir.at(whole, inside)
        if opaque_calls(whole) or opaque_calls(rest):
            raise Misfit("an opaque call stands there, which may read and write everything")
        if ir.nodes_of(source, ir.DeclBuffer):
            raise Misfit("the source declares a view; such a statement cannot be recomputed")
        if any(isinstance(s, ir.While) for s in around):
            raise Misfit("a while loop stands around the source")
        if changes(whole, [e for s in around for e in ir.children(s) if isinstance(e, ir.Expr)]):
            raise Misfit("what the source stands in writes what its bounds or conditions read")
        if [*Skeleton(self.new).places] != [0]:
            raise Misfit("the recomputed statement must stand in exactly one place")
        check_values(ir.loops_around(whole, inside), self.instance)
        if changes(source, [*self.instance, *(e for e, _ in evaluated_by(self.new))]):
            raise Misfit("the source writes what the new bounds, conditions or values read")

    # -- obligations --------------------------------------------------------------------------------------------

    def _questions(
        self, source: ir.Stmt, whole: ir.Stmt, inside: ir.Path, origin: Context, now: Context, ran: Sequence[Executed]
    ) -> Iterator[Question]:
        """``origin`` is where P begins; ``now`` is where instances run again, after what ``ran`` since P's end."""
        yield from safely(now, self.new, {0: self.instance}, (), self.path)
        place = Skeleton(self.new).enter(now, 0)
        w = place.at(self.instance)
        again = enter(
            place.context.at(origin.memory, place.context.env), whole, inside, w
        )  # nothing in P changes what this reads
        claim = "the recomputed instance has run before"
        yield Question("recompute", claim, place.context, (), f.and_(*again.domain), self.path, "after")
        again.context.ran(whole)  # P has been running for a while when it gets to the source
        run = instance(again.context, source)
        yield from self._written_first(source, run, again.context)
        later = [
            replace(a, given=(*a.given, happens_before(whole, (inside, w), (a.place, a.inner))))
            for a in instance(origin, whole).outer()
        ]
        others = (instance(begun, stmt).outer() for begun, stmt in ran)
        since = [a for a in chain(later, *others) if a.write and a.buffer is not BARRIER]
        why = "what is recomputed was not overwritten since"
        yield from no_dependence(run.context, run.outer(), since, (), why, self.source)

    def _written_first(self, source: ir.Stmt, run: Instance, start: Context) -> Iterator[Question]:
        """What the run reads of what it writes itself, it has written before."""
        for here, read, written in reads_of(start, source, written_blocks(source)):
            for a, b in conflicts([read], run.outer()):
                claim = f"the recomputed statement writes each element of {a.buffer.name} before it reads it"
                goal = f.or_(written, f.not_(overlap(a, b)))
                yield Question("recompute", claim, here, (*read.given, *b.given), goal, (*self.source, *read.place))


@final
@dataclass(frozen=True, slots=True)
class Eliminate:
    """Remove the statement at ``path``, which runs again what ran before: ``recompute`` would insert it."""

    path: ir.Path
    recompute: Recompute

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        ir.at(before.body, self.path)  # there is such a place
        without = before.with_body(ir.put(before.body, self.path, ir.SKIP))
        made = self.recompute.rewrite(without, entry)
        if not ir.structural_equal(made.after, before):
            raise Misfit("the statement does not run again what ran before")
        return Rewrite(without, made.questions)
