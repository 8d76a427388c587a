"""Calls: functions of the module, the C library's few, and intrinsics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from verified_tir.validate.llvm.blocks import Undefined
from verified_tir.validate.llvm.code import Registers, Step, Value
from verified_tir.validate.llvm.declarations import unsaid
from verified_tir.validate.llvm.graph import UNDEF
from verified_tir.validate.llvm.intrinsics import lanewise, reduction
from verified_tir.validate.llvm.machine import Machine
from verified_tir.validate.llvm.memory_calls import MEMORY_CALLS
from verified_tir.validate.llvm.promises import accessed, mismatch, promised
from verified_tir.validate.llvm.syntax import NOTHING, Instruction
from verified_tir.validate.llvm.threads import PARALLEL, run_parallel
from verified_tir.validate.memory import Refused

_NOTHING: Final = ("llvm.experimental.noalias.scope.decl", "llvm.donothing", "llvm.sideeffect")
Routine = Callable[[Sequence[Value]], "Value | None"]


def call(machine: Machine, i: Instruction, d: int, places: Sequence[int]) -> Step:
    routine = _routine(machine, i)
    if "tail" in i.flags and (not i.word.startswith("llvm.") or i.word.startswith(tuple(MEMORY_CALLS))):
        routine = _without_allocas(machine, routine)
    result, *said = i.promises
    kinds = [o.type for o in i.operands]
    checked = [k for k, promise in enumerate(said) if promise != NOTHING]
    if i.word and i.word not in machine.module.functions:
        _check_promises(i)
    what = f"a value of the call of {i.word or 'a pointer'}"

    def step(r: Registers) -> None:
        values = [r[k] for k in places]
        for k in checked:
            values[k] = promised(machine, said[k], kinds[k], values[k], what)
        found = routine(values)
        if d >= 0 or (found is not None and result != NOTHING):
            found = UNDEF if found is None else found
            found = promised(machine, result, i.type, found, what)
        if d >= 0:
            r[d] = UNDEF if found is None else found

    return step


def _routine(machine: Machine, i: Instruction) -> Routine:
    name = i.word
    if not name:
        return lambda values: _indirect(machine, i, values)
    if name in machine.module.functions:
        wrong = mismatch(i, machine.module.functions[name])
        if wrong:
            return lambda _: _undefined(wrong)
        return lambda values: machine.call(name, values)
    if name == PARALLEL:
        return lambda values: run_parallel(machine, values)
    if name == "aligned_alloc":
        return lambda values: _aligned(machine, *values)
    if name == "malloc":
        return lambda values: _allocate(machine, 16, *values)
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


def _check_promises(i: Instruction) -> None:
    """What a call promises of what it hands to a function that is defined elsewhere, beyond what is checked."""
    known = i.word.startswith("llvm.")
    reads, writes = accessed(i)
    for k, promise in enumerate(i.promises[1:]):
        own = unsaid(i.word, k, promise)
        if known:  # LLVM's own functions keep no address, and do nothing to memory but this
            own = replace(own, ways=None, readonly=own.readonly and k == writes, writeonly=own.writeonly and k == reads)
        if own.readonly or own.writeonly or own.initializes or own.returned or own.unchecked or own.ways is not None:
            raise Refused(f"LLVM IR: what a call promises of an argument: {i.text[:120]}")


def _without_allocas(machine: Machine, routine: Routine) -> Routine:
    """A tail call, which promises not to access what the function that makes it has on its stack."""
    blocks = machine.blocks

    def run(values: Sequence[Value]) -> Value | None:
        blocks.hidden.append((machine.running[-1][1], len(blocks.blocks)))
        try:
            return routine(values)
        finally:
            blocks.hidden.pop()

    return run


def _undefined(what: str) -> None:
    raise Undefined(what)


def _indirect(machine: Machine, i: Instruction, values: Sequence[Value]) -> Value | None:
    address = values[0]
    assert isinstance(address, int)
    name = machine.named.get(address)
    if name is None:
        raise Undefined("a call of something that is no function")
    wrong = mismatch(i, machine.module.functions[name], 1)
    if wrong:
        raise Undefined(wrong)
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


def _aligned(machine: Machine, align: Value, size: Value) -> Value:
    if isinstance(size, int) and isinstance(align, int) and (align & (align - 1) or (align and size % align)):
        raise Undefined("aligned_alloc with an alignment that is no power of two or does not divide the size")
    return _allocate(machine, align, size)


def _allocate(machine: Machine, align: Value, size: Value) -> Value:
    """Memory on the heap; there is always enough."""
    if not isinstance(size, int) or not isinstance(align, int) or size < 0 or align < 0:
        raise Refused("LLVM IR: memory is allocated whose size depends on data")
    return machine.blocks.new("memory on the heap", size, align).base


def _free(machine: Machine, values: Sequence[Value]) -> None:
    (address,) = values
    assert isinstance(address, int)
    if address == 0:
        return
    block, offset = machine.blocks.find(address, 0, "free")
    if any("nofree" in f.rules and block.serial <= first for f, first in machine.running):
        raise Refused("LLVM IR: memory is freed in a function that is declared nofree")
    if offset or block.name != "memory on the heap":
        raise Undefined("free of what is no beginning of memory on the heap")
    machine.blocks.live(block, (False, block.dead))
