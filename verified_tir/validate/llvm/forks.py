"""Branches on data: both ways are executed up to the block where they meet, and merged there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verified_tir.validate.llvm.blocks import Block as Storage
from verified_tir.validate.llvm.blocks import Refine, Undefined
from verified_tir.validate.llvm.code import Arrival, BlockCode, Code, Registers
from verified_tir.validate.llvm.graph import UNDEF, Lane, integer
from verified_tir.validate.memory import Refused

if TYPE_CHECKING:
    from verified_tir.validate.llvm.machine import Machine


def fork(machine: Machine, code: Code, r: Registers, block: BlockCode, ways: Sequence[tuple[Lane, str]]) -> Arrival:
    """Run all ways to where they meet, and merge what they leave."""
    key = (machine.depth, block.name)
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
    alive = [(condition, *found) for (condition, _), found in zip(ways, ended, strict=True) if found is not None]
    if not alive:
        raise Undefined("undefined behaviour on every way of a branch")
    return _merged(machine, code, stop, alive)


def _way(
    machine: Machine, code: Code, r: Registers, before: str, way: tuple[Lane, str], stop: str | None, guard: Lane
) -> tuple[Arrival, dict[tuple[Storage, int], Lane]] | None:
    """One way: where it ends and what it stores; memory is as before.  ``None``: it is undefined."""
    condition, label = way
    outer = machine.blocks.journal
    journal: list[tuple[Storage, int, Lane]] = []
    machine.blocks.journal, machine.guard = journal, machine.graph.both(guard, condition)
    arrival = None
    try:
        arrival = machine.run(code, r[:], label, before, stop)
    except Undefined as found:
        machine.events.setdefault((machine.guard, 1), str(found))
    finally:
        left = {(b, k): b.cells[k] for b, k, _ in journal}
        for b, k, old in reversed(journal):
            b.cells[k] = old
        machine.blocks.journal, machine.guard = outer, guard
    return None if arrival is None else (arrival, left)


def _merged(
    machine: Machine, code: Code, stop: str | None, ways: list[tuple[Lane, Arrival, dict[tuple[Storage, int], Lane]]]
) -> Arrival:
    for storage, k in dict.fromkeys(key for _, _, left in ways for key in left):
        old = storage.cells[k]
        value = ways[-1][2].get((storage, k), old)
        for condition, _, left in reversed(ways[:-1]):
            value = _choose_cell(machine, storage, condition, left.get((storage, k), old), value)
        if machine.blocks.journal is not None:
            machine.blocks.journal.append((storage, k, old))
        storage.cells[k] = value
    result = ways[-1][1]
    kinds = (code.function.result,) * len(result.values) if stop is None else code.blocks[stop].kinds
    for condition, arrival, _ in reversed(ways[:-1]):
        pairs = zip(kinds, arrival.values, result.values, strict=True)
        result = Arrival(tuple([machine.choose(k, condition, a, b) for k, a, b in pairs]), result.returned)
    return result


def _choose_cell(machine: Machine, storage: Storage, condition: Lane, a: Lane, b: Lane) -> Lane:
    if a == b:
        return a
    for lane in (a, b):
        if lane < UNDEF:
            return machine.graph.choose(machine.graph.dtypes[~lane], condition, a, b)
    return machine.graph.choose(integer(storage.unit * 8), condition, a, b)
