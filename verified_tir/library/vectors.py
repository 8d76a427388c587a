"""Strategies that many kernels share: loops in vectors, sums in lanes, iterations on threads."""

from __future__ import annotations

from verified_tir.codegen.target import Target
from verified_tir.ir.expr import Var
from verified_tir.library.kernel import Array, machine
from verified_tir.lower.flatten_buffer import FlattenBuffer
from verified_tir.lower.loop_partition import LoopPartition
from verified_tir.lower.simplify import Simplify
from verified_tir.lower.unroll_loop import UnrollLoop
from verified_tir.lower.vectorize_loop import VectorizeLoop
from verified_tir.schedule.schedule import Schedule

VECTORS_AND_REST = FlattenBuffer() >> LoopPartition() >> VectorizeLoop() >> UnrollLoop() >> Simplify()
"""Lowering: whole vectors without masks, and what is left at the end of a loop in one with a mask."""

WORTH_THREADS = 1 << 16
"""Elements from which on work is divided among threads, unless it is said how many there shall be."""

MOST_GROUPS = 4
"""Vectors that a loop works on at once, so that none waits for the one before."""


def machine_for(array: Array, threads: int | None) -> Target:
    """This machine; with one thread where more would take longer to start than they save."""
    return machine(1 if threads is None and array.size < WORTH_THREADS else threads)


def groups_of(extent: int, lanes: int) -> int:
    """How many vectors a loop works on at once: fewer if it is short."""
    return max(1, min(MOST_GROUPS, extent // lanes))


def in_vectors(s: Schedule, loop: str | Var, lanes: int) -> None:
    """A loop over elements in vectors of so many lanes."""
    _, lane = s.split(loop, [None, lanes])
    s.vectorize(lane)


def reduced_in_lanes(s: Schedule, loop: str, buffer: str, lanes: int, groups: int) -> None:
    """Reduce a loop into ``groups`` vectors of partial results, these into one, and its lanes into the result.

    The theorem then says that the reduction into ``buffer`` is one of the same terms in another order.
    """
    _, group, lane = s.split(loop, [None, groups, lanes])
    vector = s.rfactor(lane, reassociate=buffer)
    several = s.rfactor(group, reassociate=buffer)
    for results in (vector, several):
        s.set_scope(results, "local")
    for block in (several, f"{several}_init", vector, f"{vector}_init"):
        s.vectorize(s.loops(block)[-1])
    for block in (several, f"{several}_init", vector):
        s.unroll(s.loops(block)[-2])
    s.unroll(s.loops(buffer)[-1])
