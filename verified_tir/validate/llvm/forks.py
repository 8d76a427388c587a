"""Branches on data: both ways are executed up to the block where they meet, and merged there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from verified_tir.validate.llvm.blocks import Block as Storage
from verified_tir.validate.llvm.blocks import Life, Refine, Undefined
from verified_tir.validate.llvm.code import Arrival, BlockCode, Code, Registers
from verified_tir.validate.llvm.graph import UNDEF, Lane, integer
from verified_tir.validate.memory import Refused

if TYPE_CHECKING:
    from verified_tir.validate.llvm.machine import Machine


@final
@dataclass(frozen=True, slots=True)
class _Way:
    """Where a way ended, and what it left in memory that was otherwise before."""

    condition: Lane
    arrival: Arrival
    cells: Mapping[tuple[Storage, int], Lane]
    lives: Mapping[Storage, Life]


def fork(machine: Machine, code: Code, r: Registers, block: BlockCode, ways: Sequence[tuple[Lane, str]]) -> Arrival:
    """Run all ways to where they meet, and merge what they leave."""
    key = (len(machine.running), block.name)
    if key in machine.forked:
        raise Refused("LLVM IR: how often a loop runs depends on data")
    stop = code.joins[block.name]
    machine.forked.add(key)
    outer, guard = machine.blocks.journal, machine.guard
    try:
        while True:
            try:
                ended = [_way(machine, code, r, block.name, way, stop, guard) for way in ways]
                break
            except Refine as refined:
                if outer is not None:
                    raise
                machine.blocks.journal = None
                machine.blocks.refine(refined.block, refined.unit)
            finally:
                machine.blocks.journal, machine.guard = outer, guard
    finally:
        machine.forked.discard(key)
    alive = [found for found in ended if found is not None]
    if not alive:
        raise Undefined("undefined behaviour on every way of a branch")
    return _merged(machine, code, stop, alive)


def _way(
    machine: Machine, code: Code, r: Registers, before: str, way: tuple[Lane, str], stop: str | None, guard: Lane
) -> _Way | None:
    """Run one way; memory is as before then.  ``None``: it is undefined."""
    condition, label = way
    blocks = machine.blocks
    outer = blocks.journal, blocks.lives
    journal: list[tuple[Storage, int, Lane]] = []
    lives: dict[Storage, Life] = {}
    blocks.journal, blocks.lives, machine.guard = journal, lives, machine.graph.both(guard, condition)
    arrival = None
    try:
        arrival = machine.run(code, r[:], label, before, stop)
    except Undefined as found:
        machine.events.setdefault((machine.guard, 1), str(found))
    finally:
        left = {(b, k): b.cells[k] for b, k, _ in journal}
        lived = {b: b.life for b in lives}
        for b, k, old in reversed(journal):
            b.cells[k] = old
        for b, life in lives.items():
            b.life = life
        (blocks.journal, blocks.lives), machine.guard = outer, guard
    return None if arrival is None else _Way(condition, arrival, left, lived)


def _merged(machine: Machine, code: Code, stop: str | None, ways: Sequence[_Way]) -> Arrival:
    for storage in dict.fromkeys(b for way in ways for b in way.lives):
        alive, dead = zip(*[way.lives.get(storage, storage.life) for way in ways], strict=True)
        machine.blocks.live(storage, (_common(alive), _common(dead)))
    for storage, k in dict.fromkeys(key for way in ways for key in way.cells):
        old = storage.cells[k]
        value = ways[-1].cells.get((storage, k), old)
        for way in reversed(ways[:-1]):
            value = _choose_cell(machine, storage, way.condition, way.cells.get((storage, k), old), value)
        if machine.blocks.journal is not None:
            machine.blocks.journal.append((storage, k, old))
        storage.cells[k] = value
    result = ways[-1].arrival
    kinds = (code.function.result,) * len(result.values) if stop is None else code.blocks[stop].kinds
    for way in reversed(ways[:-1]):
        pairs = zip(kinds, way.arrival.values, result.values, strict=True)
        result = Arrival(tuple([machine.choose(k, way.condition, a, b) for k, a, b in pairs]), result.returned)
    return result


def _common(found: Sequence[bool | None]) -> bool | None:
    """What is so on all ways; ``None`` if they differ."""
    return found[0] if len(set(found)) == 1 else None


def _choose_cell(machine: Machine, storage: Storage, condition: Lane, a: Lane, b: Lane) -> Lane:
    if a == b:
        return a
    for lane in (a, b):
        if lane < UNDEF:
            return machine.graph.choose(machine.graph.dtypes[~lane], condition, a, b)
    return machine.graph.choose(integer(storage.unit * 8), condition, a, b)
