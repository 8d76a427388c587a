"""Race freedom: the legality of loops that are marked to run other than serially.

The meaning of a program is always the serial one.  A loop marked ``parallel``, ``vectorized`` or bound to a thread may
be executed with its iterations at once; that is allowed when no two iterations conflict, at any depth of nesting: the
question is asked for one arbitrary iteration of every enclosing loop.  ``unrolled`` permits nothing that needs a proof.

Threads do not all see the same memory.  What a thread allocates in scope ``shared`` is its thread block's, so it
conflicts with what the other threads of the block do there.  Memory of scope ``local`` is one thread's, and nothing but
``global`` memory is seen by several thread blocks: a loop over threads (over blocks, those of a cluster too) may not
use such memory from outside.

This is a judgement about one program.  No refinement says anything of it (``p ⊑ q`` is about serial runs), and no rule
needs it.  It is asked of the program that is written, of every program that becomes machine code, and of the last one
of a schedule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from verified_tir import ir
from verified_tir.kernel.access import BARRIER, Access, Instance, conflicts, overlap
from verified_tir.kernel.begin import begin
from verified_tir.kernel.context import Context
from verified_tir.kernel.exact import exact_prover
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Question, Unproved, discharge
from verified_tir.kernel.region import instance
from verified_tir.logic import formula as f
from verified_tir.logic.verdict import Discharged
from verified_tir.semantics.encode import Unencodable

MARKED = ("parallel", "vectorized", "thread_binding")
"""Kinds of loops whose iterations may run at once."""


def prove_race_free(
    func: ir.PrimFunc, prover: Prover, entry: Entry, only: Collection[ir.Path] | None = None
) -> tuple[Discharged, ...] | NoMatch | Unproved:
    """Prove that the marked loops of a program do not race: the obligations that were discharged, or the first that
    could not be.

    :param only: the places of some marked loops: then it says this of these alone.
    """
    if (ill_formed := ir.problem(func)) is not None:
        return NoMatch((), ill_formed)
    try:
        done, failed = discharge(exact_prover(prover), race_questions(func, entry, only))
    except (Unencodable, ir.IRError) as problem:
        return NoMatch((), str(problem))
    return done if failed is None else Unproved(*failed, func, entry.paddings)


def race_questions(func: ir.PrimFunc, entry: Entry, only: Collection[ir.Path] | None = None) -> Iterator[Question]:
    """The obligations of race freedom of marked loops: of all of them, or of those at some places."""
    asked = {*(marked_loops(func.body) if only is None else only)}
    for path, stmt, context in begin(func, entry).places(func.body, wanted=asked) if asked else ():
        if path in asked and isinstance(stmt, ir.For):
            yield from no_conflict_between_iterations(context.fork(), stmt, path)


@ir.once
def marked_loops(stmt: ir.Stmt) -> tuple[ir.Path, ...]:
    """The places of the marked loops in a statement."""
    own = ((),) if isinstance(stmt, ir.For) and stmt.kind in MARKED else ()
    return (*own, *[(k, *path) for k, sub in enumerate(ir.sub_statements(stmt)) for path in marked_loops(sub)])


def no_conflict_between_iterations(context: Context, loop: ir.For, path: ir.Path) -> Iterator[Question]:
    """Questions whether two different iterations of ``loop`` access a common element that one of them writes."""
    first, second = context.bind_loop(loop), context.bind_loop(loop)
    runs = [instance(context.bound([loop.var], [v]), loop.body) for v in (first, second)]
    yield from _reached(loop, runs[0], path)
    for a, b in conflicts(_common(runs[0], loop), _common(runs[1], loop)):
        given = (f.lt(first, second), *a.given, *b.given)
        claim = _no_conflict(loop, a, b)
        # Both orders of the pair are asked, since a and b come from all accesses of the body.
        yield Question("race", claim, context, given, f.not_(overlap(a, b)), (*path, 0, *a.place), "after")


def _no_conflict(loop: ir.For, a: Access, b: Access) -> str:
    what = f"the loop over {loop.var.name} is {loop.kind}"
    if BARRIER in (a.buffer, b.buffer):
        return f"{what}: no opaque call, assertion or while loop stands in its body"
    verbs = f"{'write' if a.write else 'read'} and {'write' if b.write else 'read'}"
    return f"{what}: no two of its iterations {verbs} the same element of {a.buffer.name}"


def _common(run: Instance, loop: ir.For) -> Iterator[Access]:
    """The accesses to memory that is shared by all iterations."""
    shared = ("shared", "warp") if loop.thread.startswith("threadIdx") else ()
    return (a for a in run.accesses if a.buffer.data not in run.local or _kind(a.buffer) in shared)


def _reached(loop: ir.For, run: Instance, path: ir.Path) -> Iterator[Question]:
    """Questions whether an iteration uses memory from outside of the loop that is private to a thread or thread
    block."""
    kind, blocks = loop.thread.partition(".")[0], ("local", "shared", "warp", "wmma")
    private = {"threadIdx": ("local",), "blockIdx": blocks, "clusterCtaIdx": blocks}.get(kind, ())
    for a in run.outer():  # each access: one that no run gets to says nothing of the others
        if _kind(a.buffer) in private:
            claim = (
                f"the loop over {loop.var.name} is bound to {loop.thread}: none of its iterations uses {a.buffer.name}"
            )
            claim += f" of scope {a.buffer.scope} from outside, of which each has its own"
            yield Question("race", claim, run.context, a.given, f.FALSE, (*path, 0, *a.place), "after")


def _kind(buffer: ir.Buffer) -> str:
    """The first word of a storage scope."""
    return buffer.scope.partition(".")[0]
