"""compute_at: a producer computes, in each iteration of its consumer, what that iteration reads.

The chain of rules: the elements that are read are computed again where they are read (``recompute``); then the first
computation is of no use (``erase``), the buffer belongs to one iteration (``scope``, sunk loop by loop), and only as
much of it is kept as one iteration needs (``couple``, compacted).  The last two are done as far as they go.
"""

from __future__ import annotations

from functools import partial

from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import For, Seq
from verified_tir.kernel.race_free import MARKED
from verified_tir.kernel.rules.erase import Erase
from verified_tir.schedule import codes, moves
from verified_tir.schedule.moves import recompute
from verified_tir.schedule.rule_builders import of_kind
from verified_tir.schedule.session import Handle, Session, fail
from verified_tir.schedule.tactics.branches import decide_branches
from verified_tir.schedule.tactics.counted import accessed
from verified_tir.schedule.tactics.narrow import allocate_in, narrow
from verified_tir.schedule.tactics.producer import Producer, again_for, producer_of
from verified_tir.schedule.tactics.regions import box_of
from verified_tir.schedule.tactics.simplify import remove_trivial_loops, simplify_expressions


def compute_at(session: Session, block: Handle, loop: Handle, *, unit_loops: bool = False, first: bool = False) -> None:
    """Compute what ``block`` stores in each iteration of ``loop``, as far as that iteration reads it: directly before
    the first statement that reads it.

    The block must store to one local buffer, and nothing else may read what it stores.

    :param block: the block's name; or the outermost loop of its nest, if that has none.
    :param unit_loops: keep loops of one iteration.
    :param first: compute it at the beginning of the iteration.
    """
    where, consumer = session.loop(loop)
    producer = producer_of(session, block, loop)
    if _allocated_here(session, producer):
        producer = producer_of(session, block, loop)
    where, _ = session.loop(loop)
    body = session.stmt((*where, 0))
    box = box_of(body, producer.buffer, session.ranges((*where, 0)), writes=False)
    if box is None:
        raise fail(
            f"the loop over {consumer.var.name} does not read {producer.buffer.name}", where, code=codes.NOT_USED_THERE
        )
    place = (*where, 0, 0) if isinstance(body, Seq) else (*where, 0)
    again = again_for(producer, box, session.ranges(place))
    licensed = _made_serial(session, where, len(producer.nest) - 1)
    session.apply(recompute(place, producer.source, again.loops, again.guards, again.instance))
    simplify_expressions(session, (*where, 0, 0))
    session.apply(Erase(producer.nest, dead_at_end=True))
    where, _ = session.loop(loop)
    simplify_expressions(session, where)
    decide_branches(session, where)
    if not unit_loops:
        remove_trivial_loops(session, (*where, 0))
    narrow(session, producer.buffer, session.loop(loop)[1].var, box)
    if not first and isinstance(block, str) and session.has_block(block):  # a label around a nest may have gone with it
        _late(session, block, session.loop(loop)[0])
    for marked in licensed:
        session.apply(of_kind(session.loop(marked.var)[0], marked.kind, marked.thread))


def _late(session: Session, block: str, where: Path) -> None:
    """Move a block behind the statements of an iteration that do not read what it stores, up to the first that does."""
    place, label = session.block(block)
    depth = next((k for k in range(len(where), len(place)) if isinstance(session.stmt(place[:k]), Seq)), None)
    if depth is None:
        return
    sequence, here = place[:depth], place[depth]
    stored = {b.data for b in accessed(label.body, "write")}
    for k, stmt in enumerate(session.at(sequence, Seq).stmts[here + 1 :], here):
        if stored & {b.data for b in accessed(stmt, "read")} or not session.attempt(moves.swap(sequence, k)):
            return


def _allocated_here(session: Session, producer: Producer) -> bool:
    """Let the innermost loop around both nests allocate the buffer, if its iterations share nothing; whether it
    does now, and did not before: what a nest that goes has stored would be read in the next iteration else."""
    allocation = session.allocation(producer.buffer)
    around = [] if allocation is None else session.loops_around(producer.nest, len(allocation))
    return bool(around) and session.succeeds(partial(allocate_in, session, producer.buffer, around[-1].var))


def _made_serial(session: Session, where: Path, shared: int) -> list[For]:
    """Let the consumer's loops run serially until the buffer is one iteration's own: before, iterations would share
    what they compute; gives the loops to be marked again."""
    around = [(where[:k], session.stmt(where[:k])) for k in range(shared, len(where) + 1)]
    found = [(p, s) for p, s in around if isinstance(s, For) and s.kind in MARKED]
    for path, _ in found:
        session.apply(of_kind(path, "serial"))
    return [s for _, s in found]
