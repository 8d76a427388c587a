"""Calls: functions of the module, the C library's few, and intrinsics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from verified_tir.validate.llvm.blocks import Undefined
from verified_tir.validate.llvm.code import Registers, Step, Value
from verified_tir.validate.llvm.graph import UNDEF
from verified_tir.validate.llvm.intrinsics import lanewise
from verified_tir.validate.llvm.machine import Machine
from verified_tir.validate.llvm.memory_calls import MEMORY_CALLS
from verified_tir.validate.llvm.reductions import reduction
from verified_tir.validate.llvm.syntax import Instruction
from verified_tir.validate.memory import Refused

_NOTHING: Final = ("llvm.experimental.noalias.scope.decl", "llvm.donothing", "llvm.sideeffect")
Routine = Callable[[Sequence[Value]], "Value | None"]


def call(machine: Machine, i: Instruction, d: int, places: Sequence[int]) -> Step:
    """The closure of a call."""
    routine = _routine(machine, i)
    bounds, kind = i.bounds, i.type

    def step(r: Registers) -> None:
        found = routine([r[k] for k in places])
        if d >= 0:
            found = UNDEF if found is None else found
            r[d] = found if bounds is None else machine.bounded(kind, bounds, found)

    return step


def _routine(machine: Machine, i: Instruction) -> Routine:
    name = i.word
    if not name:
        return lambda values: _indirect(machine, values)
    if name in machine.module.functions:
        return lambda values: machine.call(name, values)
    if name in ("pthread_create", "pthread_join"):
        return machine.threads.create if name == "pthread_create" else machine.threads.join
    if name == "aligned_alloc":
        return lambda values: _allocate(machine, values)
    if name == "malloc":
        return lambda values: _allocate(machine, (16, *values))
    if name == "free":
        return lambda values: _free(machine, values)
    if name.startswith(_NOTHING):
        return lambda _: None
    if name.startswith("llvm.assume"):
        return lambda values: _assume(machine, values)
    for prefix, make in MEMORY_CALLS.items():
        if name.startswith(prefix + "."):
            return make(machine, i)
    if name.startswith("llvm.vector.reduce."):
        return reduction(machine, i)
    return lanewise(machine, i)


def _indirect(machine: Machine, values: Sequence[Value]) -> Value | None:
    address = values[0]
    assert isinstance(address, int)
    name = machine.named.get(address)
    if name is None:
        raise Undefined("a call of something that is no function")
    return machine.call(name, values[1:])


def _assume(machine: Machine, values: Sequence[Value]) -> None:
    condition = values[0]
    assert isinstance(condition, int)
    condition = machine.graph.settled(condition)
    if condition == UNDEF:
        raise Undefined("llvm.assume of undef or poison")
    if condition < 0:
        machine.undefined(machine.graph.is_undef(condition), "llvm.assume of undef or poison")
    machine.undefined(machine.graph.negate(condition), "llvm.assume of what is false")


def _allocate(machine: Machine, values: Sequence[Value]) -> Value:
    """Memory on the heap; there is always enough."""
    align, size = values
    if not isinstance(size, int) or not isinstance(align, int) or size < 0 or align < 0:
        raise Refused("LLVM IR: memory is allocated whose size depends on data")
    if align & (align - 1) or (align and size % align):
        raise Undefined("aligned_alloc with an alignment that is no power of two or does not divide the size")
    return machine.blocks.new("memory on the heap", size, align).base


def _free(machine: Machine, values: Sequence[Value]) -> None:
    (address,) = values
    assert isinstance(address, int)
    if address == 0:
        return
    block, offset = machine.blocks.find(address, 0, "free")
    if offset or block.name != "memory on the heap":
        raise Undefined("free of what is no beginning of memory on the heap")
    if machine.blocks.journal is not None and block.serial:
        machine.blocks.forget(block, 0, block.size)
        return  # on one way of a branch only; the other one may still use it
    block.alive = False
