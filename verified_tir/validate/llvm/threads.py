"""Parallel loops: ``vtir_parallel`` hands parts of a range to threads, which are run here one after the other.

Which parts there are is the pool's affair.  So each iteration is a part in one run, and in another one
(``Machine.shared``) there are as many parts as threads that may share the loop: only then are vectors of iterations
executed.  Two parts may not touch one byte that one of them writes; then every order of their instructions gives the
same memory.
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
    if any("nosync" in f.rules for f, _ in machine.running):
        raise Refused("LLVM IR: a parallel loop in a function that is declared nosync")
    if machine.blocks.journal is not None:
        raise Refused("LLVM IR: whether a parallel loop runs depends on data")
    if not 0 < extent <= _MASK >> 1 or threads < 1:
        raise Undefined(f"{PARALLEL} of no iterations, or for no threads")
    parts = min(extent, threads) if machine.shared else extent
    blocks, status = machine.blocks, 0
    log = Log(first=len(blocks.blocks) + 1)
    outer, blocks.logs = blocks.logs, [*blocks.logs, log]
    try:
        for log.part in range(parts):
            low, high = (first + extent * n // parts & _MASK for n in (log.part, log.part + 1))
            found = _status(machine, machine.call(name, [context, low, high]))
            status = status or found
    finally:
        blocks.logs = outer
    return status


def _status(machine: Machine, returned: Value | None) -> int:
    if not isinstance(returned, int) or (status := machine.graph.settled(returned)) < 0:
        raise Refused("LLVM IR: whether an assertion in a parallel loop fails depends on data")
    return status
