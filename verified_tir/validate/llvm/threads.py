"""Parallel loops: ``vtir_parallel`` hands parts of a range to threads, which are run here one after the other.

Which parts there are is the pool's affair, so a part is one iteration here, where there are not too many.  Two parts
may not touch one byte that one of them writes; then every order of their instructions gives the same memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from verified_tir.validate.llvm.blocks import Log, Undefined
from verified_tir.validate.llvm.syntax import IntType, PointerType
from verified_tir.validate.memory import Refused

if TYPE_CHECKING:
    from verified_tir.validate.llvm.code import Value
    from verified_tir.validate.llvm.machine import Machine

PARALLEL: Final = "vtir_parallel"
MOST_PARTS: Final = 64
_MASK: Final = (1 << 64) - 1
_PARAMETERS: Final = [PointerType(), IntType(64), IntType(64)]


def run_parallel(machine: Machine, values: Sequence[Value]) -> Value:
    """``i32 vtir_parallel(function, context, first, extent, threads)``: the status of the first part that fails, or 0.

    :raises Undefined: if two parts race.
    """
    function, context, first, extent, threads = values
    name = machine.named.get(function) if isinstance(function, int) else None
    if name is None or [p.type for p in machine.module.functions[name].parameters] != _PARAMETERS:
        raise Undefined(f"{PARALLEL} of something that is not a function over a range")
    if not (isinstance(first, int) and isinstance(extent, int) and isinstance(threads, int)) or min(first, extent) < 0:
        raise Refused("LLVM IR: the range of a parallel loop depends on data")
    if machine.blocks.journal is not None:
        raise Refused("LLVM IR: whether a parallel loop runs depends on data")
    if not 0 < extent <= _MASK >> 1 or threads < 1:
        raise Undefined(f"{PARALLEL} of no iterations, or for no threads")
    parts = min(extent, MOST_PARTS)
    before, status = Log(), 0
    for k in range(parts):
        low, high = (first + extent * n // parts & _MASK for n in (k, k + 1))
        found, own = _run_part(machine, name, [context, low, high])
        _compare(machine, own, before)
        before.reads |= own.reads
        before.writes |= own.writes
        status = status or found
    return status


def _run_part(machine: Machine, name: str, arguments: Sequence[Value]) -> tuple[int, Log]:
    """The status of a part, and what it touched."""
    blocks, own = machine.blocks, Log()
    outer, blocks.logs = blocks.logs, [*blocks.logs, own]
    try:
        status = machine.call(name, arguments)
    finally:
        blocks.logs = outer
    if not isinstance(status, int) or (status := machine.graph.settled(status)) < 0:
        raise Refused("LLVM IR: whether an assertion in a parallel loop fails depends on data")
    return status, own


def _compare(machine: Machine, one: Log, other: Log) -> None:
    """:raises Undefined: if one of two logs writes what the other one has."""
    meet = (one.writes & other.writes) | (one.writes & other.reads) | (one.reads & other.writes)
    if meet:
        serial, byte = min(meet)
        name = machine.blocks.blocks[serial].name
        raise Undefined(f"two threads access byte {byte} of {name} at one time, and one of them writes it")
