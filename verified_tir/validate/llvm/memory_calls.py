"""Intrinsics that access memory: masked and scattered lanes, copies, fills, lifetimes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from verified_tir.validate.llvm.blocks import Undefined
from verified_tir.validate.llvm.code import Value
from verified_tir.validate.llvm.graph import UNDEF, Lane
from verified_tir.validate.llvm.machine import Machine
from verified_tir.validate.llvm.syntax import Instruction, IntType, Scalar, VectorType
from verified_tir.validate.memory import Refused

Routine = Callable[[Sequence[Value]], "Value | None"]
_BYTE: Final = IntType(8)


def _element(i: Instruction, kind: object) -> Scalar:
    if not isinstance(kind, VectorType) or kind.element.bits % 8:
        raise Refused(f"LLVM IR: {i.word}")
    return kind.element


def _mask(machine: Machine, value: Value) -> list[Lane]:
    """The lanes of a mask, which must be numbers."""
    assert isinstance(value, tuple)
    found = [machine.graph.settled(lane) for lane in value]
    if any(lane < UNDEF for lane in found):
        raise Refused("LLVM IR: a mask that depends on data")
    if UNDEF in found:
        raise Undefined("a mask that is undef or poison")
    return found


def _align(i: Instruction, k: int) -> int:
    """What argument ``k`` promises of its alignment."""
    return i.numbers[k] if k < len(i.numbers) else 1


def _taken(
    machine: Machine, i: Instruction, kind: Scalar, align: int, address: Value, mask: Value
) -> Iterator[tuple[int, Lane]]:
    """The lanes that an access has, with the address of each: lanes lie side by side, or are scattered."""
    for k, here in enumerate(_mask(machine, mask)):
        if here:
            base = address if isinstance(address, int) else address[k]
            machine.aligned(base, align, i.word)
            yield k, base + k * (kind.bits // 8) if isinstance(address, int) else base


def _masked_load(machine: Machine, i: Instruction) -> Routine:
    """``llvm.masked.load`` and ``gather``."""
    kind, align = _element(i, i.type), _align(i, 0)

    def run(values: Sequence[Value]) -> Value:
        address, mask, other = values
        assert isinstance(other, tuple)
        found = list(other)
        for k, at in _taken(machine, i, kind, align, address, mask):
            found[k] = machine.blocks.load(kind, at, 1)[0]
        return tuple(found)

    return run


def _masked_store(machine: Machine, i: Instruction) -> Routine:
    """``llvm.masked.store`` and ``scatter``."""
    kind, align = _element(i, i.operands[0].type), _align(i, 1)

    def run(values: Sequence[Value]) -> None:
        lanes, address, mask = values
        assert isinstance(lanes, tuple)
        for k, at in _taken(machine, i, kind, align, address, mask):
            machine.blocks.store(kind, at, (lanes[k],))

    return run


def _size(value: Value) -> int:
    if not isinstance(value, int) or value < UNDEF:
        raise Refused("LLVM IR: how many bytes are copied depends on data")
    if value == UNDEF:
        raise Undefined("an undefined number of bytes is copied")
    return value


def _memset(machine: Machine, i: Instruction) -> Routine:
    align = _align(i, 0)

    def run(values: Sequence[Value]) -> None:
        address, byte, count = values[0], values[1], _size(values[2])
        assert isinstance(address, int) and isinstance(byte, int)
        machine.aligned(address, align, "memset")
        if not count:
            return
        block, offset = machine.blocks.find(address, count, "memset")
        units = (8, 4, 2, 1) if block.fresh else (block.unit, 1)
        unit = next(u for u in units if offset % u == count % u == block.size % u == 0)
        whole = machine.blocks.parts.join([byte] * unit, 8)
        machine.blocks.store(IntType(8 * unit), address, [whole] * (count // unit))

    return run


def _memcpy(machine: Machine, i: Instruction) -> Routine:
    """Copies and moves; cells are taken as they are, undefined ones too."""
    to, since, moves = _align(i, 0), _align(i, 1), i.word.startswith("llvm.memmove")

    def run(values: Sequence[Value]) -> None:
        target, source, count = values[0], values[1], _size(values[2])
        assert isinstance(target, int) and isinstance(source, int)
        machine.aligned(target, to, "memcpy")
        machine.aligned(source, since, "memcpy")
        if not count:
            return
        one, other = machine.blocks.find(target, count, "memcpy"), machine.blocks.find(source, count, "memcpy")
        if not moves and target != source and abs(target - source) < count:
            raise Undefined("memcpy between places that overlap")
        unit = other[0].unit
        width = (
            unit if unit in (1, 2, 4, 8) and other[1] % unit == 0 and count % unit == 0 and one[1] % unit == 0 else 1
        )
        kind = IntType(8 * width)
        machine.blocks.store(kind, target, machine.blocks.raw(kind, source, count // width))

    return run


def _lifetime(machine: Machine, i: Instruction) -> Routine:
    """What was there is poison afterwards."""
    ends = i.word.startswith("llvm.lifetime.end")

    def run(values: Sequence[Value]) -> None:
        address = values[-1]
        assert isinstance(address, int)
        block, _ = machine.blocks.find(address, 0, "lifetime")
        if machine.blocks.is_hidden(block):
            raise Refused("LLVM IR: a tail call that begins or ends the lifetime of an alloca")
        machine.blocks.forget(block, 0, block.size)
        machine.blocks.live(block, (block.alive, ends))

    return run


MEMORY_CALLS: Final[dict[str, Callable[[Machine, Instruction], Routine]]] = {
    "llvm.masked.load": _masked_load, "llvm.masked.store": _masked_store, "llvm.masked.gather": _masked_load,
    "llvm.masked.scatter": _masked_store, "llvm.memset": _memset, "llvm.memcpy": _memcpy, "llvm.memmove": _memcpy,
    "llvm.lifetime.start": _lifetime, "llvm.lifetime.end": _lifetime,
}  # fmt: skip
"""By the beginning of their names."""
