"""Let threads allocate what each of them has of its own, as programs come in and after each step.

A step may leave memory of scope ``local`` (or ``shared``, to thread blocks) where threads would not have it each:
``cache_write`` into such memory puts the copy behind their loops, and ``reverse_compute_at`` brings it back in.  What a
step has put into such a scope waits for that.  Until then threads are asked not to meet there, as if it were all
threads'; ``build``, ``vtir verify`` and certificates refuse a program in which something still waits.
"""

from __future__ import annotations

from functools import partial

from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.elaborate.own_memory import (
    as_if_placed,
    crossing,
    has_threads,
    misplaced,
    waits,
    with_own_memory,
    with_serial_loops,
)
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.race_free import prove_race_free
from verified_tir.kernel.theorem import reflexive
from verified_tir.schedule.session import Session, TacticFailed
from verified_tir.schedule.tactics.narrow import allocate_in


def own_memory(func: PrimFunc, prover: Prover) -> list[Buffer]:
    """The misplaced buffers of a program of which it is proved that no iteration uses what another one stored.

    It is proved of the program with serial loops: races are asked about when all of them have moved.
    """
    targets = misplaced(func)
    if not targets:
        return []
    func = with_own_memory(func, targets, views_only=True)
    try:
        session = Session(reflexive(expand_blocks(with_serial_loops(func)), definite=True), prover)
    except IRError:  # it has no theorem; what is wrong with it is said elsewhere
        return []
    return [b for b, loop in targets.items() if session.succeeds(partial(allocate_in, session, b, loop))]


def settle(session: Session) -> list[str]:
    """Move what is misplaced into the loops of its threads; gives the names of what waits for another step.

    :raises TacticFailed: if iterations of such a loop share it, and no step could change that.
    """
    if not has_threads(session.func):
        return []
    for buffer, loop in misplaced(session.func).items():
        session.succeeds(partial(allocate_in, session, buffer, loop))
    left = crossing(session.func)
    still = [s for s in left if s.buffer.data in session.waiting and waits(s)]
    if len(still) < len(left):
        placed = as_if_placed(session.func, [s.buffer.data for s in still])
        free = prove_race_free(placed, session.prover, session.theorem.entry)
        if not isinstance(free, tuple):
            raise TacticFailed(free)
    session.waiting -= {s.buffer.data for s in left} - {s.buffer.data for s in still}
    return [s.buffer.name for s in still]
