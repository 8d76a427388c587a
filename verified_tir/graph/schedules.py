"""Schedules for the programs of nodes: vectors, and sums that stay in registers.

No operator is known here.  The program is looked at nest by nest:

* a *pointwise* nest (one store) runs over vectors of the dimension that lies side by side in memory;
* a *reduction* (an initialisation and an update of the element that it stores) gets a register tile: a vector, times
  some iterations of a loop that the vector's operands do not depend on, times some of one that the other operands do
  not depend on.  The tile is a local buffer, is updated in the innermost, unrolled loops, and is stored once.

Every step is a primitive of :class:`~verified_tir.schedule.schedule.Schedule`, and so is proved; the choice is not
trusted.  The order of the terms of each sum stays, so the results have the bits of the plain program: vectors run along
what is computed, never along what is summed.  A step that is refused ends the schedule of its nest, and is reported.

The sizes are those that the processor has registers for (the tile of a matrix product in Goto & van de Geijn, Anatomy
of High-Performance Matrix Multiplication, 2008; of convolutions in Georganas et al., Anatomy of High-Performance Deep
Learning Convolutions on SIMD Architectures, 2018).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from verified_tir.codegen.target import Target
from verified_tir.graph.nests import Nest, contiguous, divisors, nests, uniform
from verified_tir.ir.expr import IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For
from verified_tir.lower.passes import Pipeline
from verified_tir.lower.vectorize_loop import VectorizeLoop
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule

VECTORS = Pipeline(VectorizeLoop())
"""Loops marked vectorized become operations on vectors, proved like every step."""

FIRST, LARGER, SECOND, LONE = 8, 14, 2, 8
"""Vectors of a tile at the most: along the loop that a vector of weights serves, along that if it has no divisor near,
along the other loop, and along that if it is (nearly) alone.  Measured; 8 times 2 sums leave registers for the operands
that LLVM loads in advance."""

WORTH_IT = 2**15
"""Programs with fewer iterations stay as they are."""


@final
@dataclass(frozen=True, slots=True)
class Machine:
    """What a tile must fit into: elements of a vector, and registers for sums."""

    lanes: int
    sums: int

    @staticmethod
    def of(target: Target) -> Machine:
        """Of a target, for elements of four bytes; a few registers are left for operands."""
        lanes = max(4, target.vector_bits // 32)
        registers = 32 if lanes == 16 or not target.is_x86 else 16
        return Machine(lanes, registers - 4)


@final
@dataclass(frozen=True, slots=True)
class Scheduled:
    """A schedule, and which steps were refused."""

    schedule: Schedule
    refused: tuple[str, ...]


def scheduled(func: PrimFunc, machine: Machine | None = None) -> Scheduled:
    """A schedule for a program of constant shapes.

    :raises ScheduleError: if the program has no meaning.
    """
    machine = machine or Machine.of(Target.host(1))
    s = Schedule(func)
    refused: list[str] = []
    for nest in nests(s.func):
        if math.prod(map(_extent, nest.loops)) < WORTH_IT:
            continue
        try:
            if nest.update is None:
                _pointwise(s, nest)
            else:
                _reduction(s, nest, machine)
        except ScheduleError as problem:
            refused.append(f"{nest.block}: {problem.summary()}")
    return Scheduled(s, tuple(refused))


# -- vectors -----------------------------------------------------------------------------------------------------------

LANES = (16, 8, 4)


def _lanes(nest: Nest) -> tuple[For, int] | None:
    """The loop that runs over elements side by side, and how many of them make a vector."""
    for loop in reversed(nest.loops):
        extent = loop.extent
        if not isinstance(extent, IntImm) or not contiguous(nest.store.indices, loop.var):
            continue
        lanes = next((n for n in LANES if extent.value % n == 0), None)
        if lanes is None or any(
            not uniform(x.indices, loop.var) and not contiguous(x.indices, loop.var) for x in nest.loads
        ):
            return None
        return (loop, lanes) if loop.var not in nest.decides else None
    return None


def _pointwise(s: Schedule, nest: Nest) -> None:
    """Vectors, innermost."""
    found = _lanes(nest)
    if found is None:
        return
    loop, lanes = found
    *outer, inner = _split(s, loop, [lanes])
    rest = [x.var for x in nest.loops if x is not loop]
    s.reorder(*rest, *outer, inner)
    s.vectorize(inner)


# -- reductions --------------------------------------------------------------------------------------------------------


def _reduction(s: Schedule, nest: Nest, machine: Machine) -> None:
    """A register tile."""
    found = _lanes(nest)
    summed = [x.var for x in nest.loops if x.var not in nest.stored]
    if found is None or not summed:
        return
    loop, lanes = found
    tile = _tile(nest, loop, lanes, machine)
    outer, inner = _parts(s, nest, tile, loop, lanes)
    terms = _terms(s, nest, summed)
    s.reorder(*outer, *terms, *inner)
    if outer:
        s.cache_write(nest.block, 0, "local", loop=outer[-1])
    else:
        s.cache_write(nest.block, 0, "local")
    s.decompose_reduction(nest.block, terms[0])
    s.simplify()
    for block in s.blocks:
        if block == nest.block or block.startswith((f"{nest.block}_init", f"{nest.store.buffer.name}_local_back")):
            own = s.loops(block)[len(outer) + (len(terms) if block == nest.block else 0) :]
            s.vectorize(own[-1])
            for v in own[:-1]:
                s.unroll(v)


def _tile(nest: Nest, loop: For, lanes: int, machine: Machine) -> dict[Var, int]:
    """How many iterations of which loops are in a tile, besides the lanes of a vector.

    A vector that is loaded serves along a loop that it does not depend on, an element that is spread to all lanes
    serves along one that *it* does not depend on.  Where there is none, any loop will do: several sums at a time hide
    the time that an addition takes.
    """
    room = machine.sums // max(1, lanes // machine.lanes)
    vectors = [x.indices for x in nest.loads if not uniform(x.indices, loop.var)]
    spread = [x.indices for x in nest.loads if uniform(x.indices, loop.var)]
    extents = {x.var: _extent(x) for x in nest.loops if x.var in nest.stored and x is not loop}
    if _extent(loop) > lanes:
        extents[loop.var] = _extent(loop) // lanes
    rows = [v for v in extents if v is not loop.var and all(uniform(i, v) for i in vectors)]
    columns = [v for v in extents if v not in rows and all(v is loop.var or uniform(i, v) for i in spread)]
    chosen: dict[Var, int] = {}
    if rows:
        sizes = {v: _size(extents[v], room) for v in reversed(rows)}
        v = max(sizes, key=lambda v: sizes[v])
        chosen[v] = sizes[v]
        room //= chosen[v]
    if columns and room > 1:
        v = columns[-1]
        most = SECOND if any(2 * n >= FIRST for n in chosen.values()) else LONE
        chosen[v] = _divisor(extents[v], min(most, room))
    if not chosen and extents:
        v = max(reversed(extents), key=lambda v: _divisor(extents[v], LONE))
        chosen[v] = _divisor(extents[v], min(LONE, room))
    return {v: n for v, n in chosen.items() if n > 1}


def _parts(s: Schedule, nest: Nest, tile: Mapping[Var, int], loop: For, lanes: int) -> tuple[list[Var], list[Var]]:
    """The loops over tiles, and those within one, the lanes last."""
    outer: list[Var] = []
    inner: dict[Var, Var] = {}
    for x in nest.loops:
        if x.var not in nest.stored:
            continue
        factors = [tile[x.var]] if x.var in tile else []
        factors += [lanes] if x is loop else []
        parts = _split(s, x, factors)
        outer += parts[: len(parts) - len(factors)]
        mine = parts[len(parts) - len(factors) :]
        if x is loop:
            last = mine.pop()
        if mine:
            inner[x.var] = mine[0]
    return outer, [*(inner[v] for v in tile), last]


def _split(s: Schedule, loop: For, factors: Sequence[int]) -> list[Var]:
    """The loop in parts of these extents, and one before them unless that would run once."""
    whole = _extent(loop)
    rest = whole // math.prod(factors)
    if not factors or (rest == 1 and len(factors) == 1):
        return [loop.var]
    return s.split(loop.var, [*([] if rest == 1 else [rest]), *factors])


def _terms(s: Schedule, nest: Nest, summed: Sequence[Var]) -> list[Var]:
    """The loops over the terms, in their order; one whose variable is divided by a tile is split."""
    found: list[Var] = []
    extents = {x.var: _extent(x) for x in nest.loops}
    for v in summed:
        by = sorted({t for x in nest.loads for i in x.indices for t in divisors(i, v)})
        if len(by) == 1 and 1 < by[0] < extents[v] and extents[v] % by[0] == 0:
            found += s.split(v, [extents[v] // by[0], by[0]])
        else:
            found.append(v)
    return found


def _size(n: int, room: int) -> int:
    """How many of n iterations are in a tile: a divisor, near to what is best."""
    near = _divisor(n, min(FIRST, room))
    return near if 2 * near >= FIRST else _divisor(n, min(LARGER, room))


def _divisor(n: int, most: int) -> int:
    """The greatest divisor up to ``most``."""
    return max(k for k in range(1, max(1, min(n, most)) + 1) if n % k == 0)


def _extent(loop: For) -> int:
    assert isinstance(loop.extent, IntImm)
    return loop.extent.value


__all__ = ["VECTORS", "Machine", "Scheduled", "scheduled"]
