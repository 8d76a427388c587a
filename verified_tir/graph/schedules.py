"""Schedules for the programs of nodes: vectors, and sums that stay in registers.

No operator is known here.  The program is looked at nest by nest:

* a *pointwise* nest (one store) runs over vectors of the dimension that lies side by side in memory;
* a *reduction* (an initialisation and an update of the element that it stores) gets a register tile: a vector, times
  some iterations of a loop that the vector's operands do not depend on, times some of one that the other operands do
  not depend on.  The tile is a local buffer, is updated in the innermost, unrolled loops, and is stored once.  The
  loops over tiles are ordered by what fits into a cache, and a padded copy of an operand is made row by row
  (``graph.traffic``).

Every step is a primitive of :class:`~verified_tir.schedule.schedule.Schedule`, and so is proved; the choice is not
trusted.  The order of the terms of each sum stays, so the results have the bits of the plain program: vectors run along
what is computed, never along what is summed.  A step that is refused ends the schedule of its nest, and is reported.

The sizes are those that the processor has registers for (the tile of a matrix product in Goto & van de Geijn, Anatomy
of High-Performance Matrix Multiplication, 2008; of convolutions in Georganas et al., Anatomy of High-Performance Deep
Learning Convolutions on SIMD Architectures, 2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from verified_tir.codegen.target import Target
from verified_tir.graph.groups import apart
from verified_tir.graph.nests import LANES, OPEN, Nest, alone, contiguous, divisors, extent, nests, uniform
from verified_tir.graph.side_by_side import follow, packed
from verified_tir.graph.traffic import copies_by_row, once_through
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For
from verified_tir.ir.visit import free_vars, walk
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule

FIRST, LARGER, SECOND, LONE = 8, 14, 2, 8
"""Vectors of a tile at the most: along the loop that a vector of weights serves if its operands are windows that
overlap, along that if they are not or there is no divisor near, along the other loop, and along that if it is (nearly)
alone.  Measured; 8 times 2 sums leave registers for what windows share, which LLVM keeps there."""

WORTH_IT = 2**14
"""Nests with fewer iterations stay as they are."""


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


def scheduled(func: PrimFunc, constants: Collection[str] = (), machine: Machine | None = None) -> Scheduled:
    """A schedule for a program; loops whose extents are open stay as they are.

    :param constants: parameters whose layout may be changed, since they are known when the program is compiled.
    :raises ScheduleError: if the program has no meaning.
    """
    machine = machine or Machine.of(Target.host(1))
    s = Schedule(func)
    refused: list[str] = []

    def attempt(nest: Nest, step: Callable[[], None]) -> None:
        try:
            step()
        except ScheduleError as problem:
            refused.append(f"{nest.block}: {problem.summary()}")

    every = nests(s.func)
    if _large(s):
        for nest in every:
            attempt(nest, partial(follow, s, nest))
    for nest in _large(s):
        attempt(nest, partial(apart, s, nest, constants, machine.lanes))
    for nest in _large(s):
        attempt(nest, partial(_split_as_divided, s, nest.block))
    for old in sorted(_large(s), key=lambda n: n.update is None):  # sums first: what they read may move to them
        now = named(s, old.block)
        if now is None:  # what is left of it, after conditions were decided, has another form
            continue
        attempt(
            now,
            partial(_pointwise, s, now) if now.update is None else partial(_reduction, s, now, constants, machine),
        )
    return Scheduled(s, tuple(refused))


def _large(s: Schedule) -> list[Nest]:
    """The nests that are worth a schedule, and that a name tells apart."""
    every = nests(s.func)
    names = [n.block for n in every]
    return [n for n in every if names.count(n.block) == 1 and _iterations(n) >= WORTH_IT]


def _iterations(nest: Nest) -> int:
    return math.prod([*map(extent, nest.loops), *[OPEN] * nest.more])


def named(s: Schedule, block: str) -> Nest | None:
    """The nest of a block as it is now, if it is one still."""
    return next((n for n in nests(s.func) if n.block == block), None)


# -- vectors -----------------------------------------------------------------------------------------------------------


def _lanes(nest: Nest) -> tuple[For, int] | None:
    """The loop that runs over elements side by side, and how many of them make a vector."""
    for loop in reversed(nest.loops):
        if contiguous(nest.store.indices, loop.var):
            lanes = next((n for n in LANES if extent(loop) % n == 0), None)
            return None if lanes is None else (loop, lanes)
    return None


def _gathers(nest: Nest, var: Var) -> list[Load]:
    """Loads that are not vectors along a variable."""
    return [x for x in nest.loads if not uniform(x.indices, var) and not contiguous(x.indices, var)]


def _pointwise(s: Schedule, nest: Nest) -> None:
    """Vectors, innermost."""
    found = _lanes(nest)
    if found is None:
        return
    loop, lanes = found
    if loop.var in nest.decides or _gathers(nest, loop.var):
        return
    _epilogue(s, nest.store.buffer)
    own = alone(nest)
    *outer, inner = _split(s, loop, [lanes])
    rest = [x.var for x in own if x is not loop]
    if loop in own and (rest or outer):
        s.reorder(*rest, *outer, inner)
    s.vectorize(inner)


# -- reductions --------------------------------------------------------------------------------------------------------


def _reduction(s: Schedule, nest: Nest, constants: Collection[str], machine: Machine) -> None:
    """A register tile."""
    found = _lanes(nest)
    terms = [x.var for x in nest.loops if x.var not in nest.stored]
    if found is None or not terms:
        return
    loop, lanes = found
    if _gathers(nest, loop.var):
        if any(not packed(s, x, loop.var, lanes, constants) for x in _gathers(nest, loop.var)):
            return
        _split_as_divided(s, nest.block)
        again = named(s, nest.block)
        found = None if again is None else _lanes(again)
        if again is None or found is None or _gathers(again, found[0].var):
            return
        nest, (loop, lanes) = again, found
    tile = _tile(nest, loop, lanes, machine)
    outer, inner = _parts(s, nest, tile, loop, lanes)
    parts = named(s, nest.block)
    if parts is None:
        return
    outer = once_through(parts, outer, inner[-1])
    s.reorder(*outer, *terms, *inner)
    s.cache_write(nest.block, 0, "local", loop=outer[-1] if outer else None)
    s.decompose_reduction(nest.block, terms[0])
    s.simplify()
    if nest.guards:  # in the tile it does no harm to compute elements that there are not
        s.remove_branching_through_overcompute()
        s.simplify()
    _epilogue(s, nest.store.buffer)
    update = named(s, nest.block)
    if update is None:
        return
    beside = (f"{nest.block}_init", f"{nest.store.buffer.name}_local_back")
    tiles = [update.loops[-len(inner) :]]
    tiles += [_apart(n, update) for n in nests(s.func) if n.block.startswith(beside) and _apart(n, update)]
    for *few, last in tiles:
        *more, vector = _split(s, last, [lanes])
        s.vectorize(vector)
        for v in (*(x.var for x in few), *more):
            s.unroll(v)
    copies_by_row(s, parts, outer, inner)


def _epilogue(s: Schedule, finished: Buffer) -> None:
    """What is computed of each finished sum alone (a bias, an activation) is computed as the tile is stored."""
    while True:
        behind = [n for n in nests(s.func) if any(x.buffer is finished for x in n.loads)]
        if len(behind) != 1 or behind[0].accumulates:
            return
        if any(_divided(i) for x in behind[0].loads if x.buffer is finished for i in x.indices):
            return  # it would ask of each element whether it is in the tile
        if _is_inlined(s, behind[0]):
            continue
        try:
            s.reverse_compute_inline(behind[0].block)
        except ScheduleError:  # it is not of one element each, or the sums are wanted elsewhere, too
            return
        finished = behind[0].store.buffer


def _divided(index: Expr) -> bool:
    """Whether an index is made of quotients or remainders."""
    return any(isinstance(x, Binary) and x.op in ("floordiv", "floormod") for x in walk(index))


def _is_inlined(s: Schedule, nest: Nest) -> bool:
    """Whether a nest could be inlined into the only load of what it stores: then one nest moves, and not two."""
    loads = [(n, x) for n in nests(s.func) for x in n.loads if x.buffer is nest.store.buffer]
    if len(loads) != 1 or loads[0][0].update is not None:
        return False
    try:
        s.compute_inline(nest.block)
    except ScheduleError:
        return False
    return True


def _apart(nest: Nest, other: Nest) -> tuple[For, ...]:
    """The loops that a nest does not share with another one."""
    return tuple(x for x in nest.loops if x not in other.loops)


def _split_as_divided(s: Schedule, block: str) -> None:
    """Split each loop whose variable is divided by a tile, so that indices are variables.

    Where the tile does not divide the extent there is a guard then; terms of a sum are not guarded.
    """
    nest = named(s, block)
    if nest is None:
        return
    indices = [*nest.store.indices, *(i for x in nest.loads for i in x.indices)]
    done = False
    for x in nest.loops:
        by = {t for i in indices for t in divisors(i, x.var)}
        if len(by) == 1 and 1 < min(by) < extent(x) and (x.var in nest.stored or extent(x) % min(by) == 0):
            s.split(x.var, [None, *by])
            done = True
    if done:
        s.simplify()


def _tile(nest: Nest, loop: For, lanes: int, machine: Machine) -> dict[Var, int]:
    """How many iterations of which loops are in a tile, besides the lanes of a vector.

    A vector that is loaded serves along a loop that it does not depend on, an element that is spread to all lanes
    serves along one that *it* does not depend on.  Where there is none, any loop will do: several sums at a time hide
    the time that an addition takes.
    """
    room = machine.sums // max(1, lanes // machine.lanes)
    vectors = [x.indices for x in nest.loads if not uniform(x.indices, loop.var)]
    spread = [x.indices for x in nest.loads if uniform(x.indices, loop.var)]
    extents = {x.var: extent(x) for x in nest.loops if x.var in nest.stored and x is not loop}
    if extent(loop) > lanes:
        extents[loop.var] = extent(loop) // lanes
    rows = [v for v in extents if v is not loop.var and all(uniform(i, v) for i in vectors)]
    columns = [v for v in extents if v not in rows and all(v is loop.var or uniform(i, v) for i in spread)]
    chosen: dict[Var, int] = {}
    if rows:
        sizes = {v: _size(extents[v], room, LARGER if _no_windows(spread, v) else FIRST) for v in reversed(rows)}
        v = max(sizes, key=lambda v: sizes[v])
        chosen[v] = sizes[v]
        room //= chosen[v]
    if columns and room > 1:
        v = columns[-1]
        most = LONE
        if any(2 * n >= FIRST for n in chosen.values()):
            most = SECOND if extents[v] % SECOND == 0 else SECOND + 1
        chosen[v] = _divisor(extents[v], min(most, room))
    if not chosen and extents:
        v = max(reversed(extents), key=lambda v: _divisor(extents[v], LONE))
        chosen[v] = _divisor(extents[v], min(LONE, room))
    return {v: n for v, n in chosen.items() if n > 1}


def _no_windows(spread: Sequence[Sequence[Expr]], var: Var) -> bool:
    """Whether neighbouring iterations of a loop have no operand in common."""
    return all(i is var or var not in free_vars(i) for indices in spread for i in indices)


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
    whole = extent(loop)
    rest = whole // math.prod(factors)
    if not factors or (rest == 1 and len(factors) == 1):
        return [loop.var]
    return s.split(loop.var, [*([] if rest == 1 else [rest]), *factors])


def _size(n: int, room: int, most: int) -> int:
    """How many of n iterations are in a tile: a divisor, near to what is best."""
    near = _divisor(n, min(most, room))
    return near if 2 * near >= FIRST else _divisor(n, min(LARGER, room))


def _divisor(n: int, most: int) -> int:
    """The greatest divisor up to ``most``."""
    return max(k for k in range(1, max(1, min(n, most)) + 1) if n % k == 0)
