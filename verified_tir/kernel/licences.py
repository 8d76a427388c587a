"""What permits a loop to run other than serially.

The meaning of a program is always the serial one.  A loop marked ``parallel``, ``vectorized`` or bound to a thread may
be executed with its iterations at once; that is allowed when no two iterations conflict, at any depth of nesting: the
question is asked for one arbitrary iteration of every enclosing loop.  ``unrolled`` permits nothing that needs a proof.

Threads do not all see the same memory.  What a thread allocates in scope ``shared`` is its thread block's, so it
conflicts with what the other threads of the block do there.  Memory of scope ``local`` is one thread's, and nothing but
``global`` memory is seen by several thread blocks: a loop over threads (blocks) may not use such memory from outside.

The question is asked again whenever the program changed, for every licensed loop of the new program.  A rule may say
that it changed one statement only, which still touches, in each of its runs, the same elements or fewer (``kept``).
Control flow and addresses are as before then (they depend on defined values, which refinement keeps), so the iterations
of a loop around that statement or apart from it touch what they touched: its licence stands.  Only loops at the
statement and within it are asked about.  ``build`` asks about all.
"""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import once
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import For, Stmt
from verified_tir.ir.visit import sub_statements
from verified_tir.kernel.access import Access, Instance, conflicts, overlap
from verified_tir.kernel.begin import begin
from verified_tir.kernel.context import Context
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Question
from verified_tir.kernel.region import instance
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, fresh

LICENSED = ("parallel", "vectorized", "thread_binding")


def licence_questions(
    func: PrimFunc, entry: Entry, unchanged: PrimFunc | None = None, kept: Path | None = None
) -> Iterator[Question]:
    """Questions for every licensed loop of ``func`` (none if the body is that of ``unchanged``).

    :param kept: the only statement that changed, if it touches nothing new; loops elsewhere are licensed already.
    """
    if unchanged is not None and unchanged.body is func.body:
        return
    if not _licensed(func.body):
        return
    yield from _visit(begin(func, entry), func.body, (), () if kept is None else kept)


@once
def _licensed(stmt: Stmt) -> bool:
    """Whether a licensed loop stands in a statement."""
    own = isinstance(stmt, For) and stmt.kind in LICENSED
    return own or any(_licensed(s) for s in sub_statements(stmt))


def _visit(context: Context, stmt: Stmt, path: Path, kept: Path) -> Iterator[Question]:
    if not _licensed(stmt):
        return
    if isinstance(stmt, For) and stmt.kind in LICENSED and len(path) >= len(kept):
        yield from no_conflict_between_iterations(context.fork(), stmt, path)
    wanted = [k for k, sub in enumerate(sub_statements(stmt)) if _licensed(sub) and kept[len(path) :][:1] in ((), (k,))]
    for k, sub, inner in context.inside(stmt, wanted):
        yield from _visit(inner, sub, (*path, k), kept)


def no_conflict_between_iterations(context: Context, loop: For, path: Path) -> Iterator[Question]:
    """Two different iterations of ``loop`` touch no common element, unless both only read it."""
    encoder = context.encoder()
    low, extent = encoder.value(loop.min), encoder.value(loop.extent)
    context.repeat(loop, loop.body)
    name = loop.var.name
    first, second = fresh(name, f.INT), fresh(name, f.INT)
    context.names[str(first.payload)] = name
    context.names[str(second.payload)] = f"{name}'"
    domain = [f.and_(f.le(low, v), f.lt(v, f.add(low, extent))) for v in (first, second)]
    runs = [instance(context, loop.body, env={loop.var: Encoded(v, f.TRUE, False)}, given=()) for v in (first, second)]
    yield from _reached(context, loop, runs[0], (domain[0],), path)
    for a, b in conflicts(_common(runs[0], loop), _common(runs[1], loop)):
        what = f"the loop over {name} is {loop.kind}"
        if a.buffer is None or b.buffer is None:
            claim = f"{what}: no opaque call, assertion or while loop stands in its body"
        else:
            verbs = f"{'write' if a.write else 'read'} and {'write' if b.write else 'read'}"
            claim = f"{what}: no two of its iterations {verbs} the same element of {a.buffer.name}"
        merged = context.fork()
        merged.names.update(runs[0].context.names)
        merged.names.update({k: v if v.endswith("'") else f"{v}'" for k, v in runs[1].context.names.items()
                             if k not in merged.names})  # fmt: skip
        given = (*domain, f.lt(first, second), *a.given, *b.given)
        # Both orders of the pair are asked, since a and b come from all accesses of the body.
        yield Question("licence", claim, merged, given, f.not_(overlap(context, a, b)), (*path, 0, *a.place), "after")


def _common(run: Instance, loop: For) -> Iterator[Access]:
    """Accesses to memory that all iterations have in common."""
    threads = loop.thread.startswith("threadIdx")
    for a in run.accesses:
        if a.buffer is None or a.buffer.data not in run.local or (threads and _kind(a.buffer) in ("shared", "warp")):
            yield a


def _reached(context: Context, loop: For, run: Instance, given: tuple[Term, ...], path: Path) -> Iterator[Question]:
    """No iteration uses memory from outside that is another's alone."""
    private = {"threadIdx": ("local",), "blockIdx": ("local", "shared", "warp", "wmma")}.get(loop.thread[:-2], ())
    for a in run.outer():  # each access: one that no run gets to says nothing of the others
        if a.buffer is not None and _kind(a.buffer) in private:
            claim = (
                f"the loop over {loop.var.name} is bound to {loop.thread}: none of its iterations uses "
                f"{a.buffer.name} of scope {a.buffer.scope} from outside, of which each has its own"
            )
            yield Question("licence", claim, run.context, (*given, *a.given), f.FALSE, (*path, 0, *a.place), "after")


def _kind(buffer: Buffer) -> str:
    """The first word of a storage scope."""
    return buffer.scope.partition(".")[0]


__all__ = ["LICENSED", "licence_questions", "no_conflict_between_iterations"]
