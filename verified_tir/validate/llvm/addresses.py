"""``getelementptr``: a base, a constant, and indices times sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from verified_tir.validate.llvm.code import Registers, Step, Value
from verified_tir.validate.llvm.graph import UNDEF, Lane, signed
from verified_tir.validate.llvm.machine import Machine
from verified_tir.validate.llvm.syntax import (
    ArrayType,
    Constant,
    Instruction,
    IntType,
    StructType,
    Type,
    VectorType,
    offsets,
    scalars,
    size_of,
)
from verified_tir.validate.memory import Refused

_MASK: Final = (1 << 64) - 1


def getelementptr(machine: Machine, i: Instruction, d: int, places: Sequence[int]) -> Step:
    """The closure of the instruction; ``places`` are where base and indices stand.

    What flags promise they promise of each addition, not only of the sum.
    """
    scaled = _terms(i, places)
    base, flags = places[0], i.flags

    def one(address: Lane, indices: Sequence[Lane]) -> Lane:
        if address < 0:
            return UNDEF if address == UNDEF else _refuse()
        for lane, (_, size, bits) in zip(indices, scaled, strict=True):
            number = lane if lane >= 0 else machine.graph.settled(lane)
            if number < 0:
                return UNDEF if number == UNDEF else _refuse()
            offset = signed(bits, number) * size
            if flags and offset and not _kept(machine, address, offset, flags):
                return UNDEF
            address = (address + offset) & _MASK
        return address

    if isinstance(i.type, VectorType):
        lanes = i.type.lanes

        def vector(r: Registers) -> None:
            addresses = _spread(r[base], lanes)
            columns = [_spread(r[k] if k >= 0 else 1, lanes) for k, _, _ in scaled]
            r[d] = tuple([one(addresses[k], [c[k] for c in columns]) for k in range(lanes)])

        return vector
    slots = [k for k, _, _ in scaled]

    def scalar(r: Registers) -> None:
        address = r[base]
        assert isinstance(address, int)
        r[d] = one(address, [r[k] if k >= 0 else 1 for k in slots])  # type: ignore[misc]

    return scalar


def _refuse() -> Lane:
    raise Refused("LLVM IR: an address depends on data")


def _terms(i: Instruction, places: Sequence[int]) -> list[tuple[int, int, int]]:
    """(slot, size, bits) of each index; for a member of a structure the slot is -1, and the size its offset."""
    scaled = list[tuple[int, int, int]]()
    kind: Type = i.source
    for number, (operand, place) in enumerate(zip(i.operands[1:], places[1:], strict=True)):
        if number:
            if isinstance(kind, StructType):
                assert isinstance(operand, Constant) and isinstance(operand.atoms[0], int)
                member = operand.atoms[0]
                scaled.append((-1, offsets(kind)[member], 64))
                kind = kind.members[member]
                continue
            if not isinstance(kind, (ArrayType, VectorType)):
                raise Refused(f"LLVM IR: the indices in: {i.text[:120]}")
            kind = kind.element
        index = scalars(operand.type)[0]
        assert isinstance(index, IntType)
        scaled.append((place, size_of(kind), index.bits))
    return scaled


def _kept(machine: Machine, address: int, offset: int, flags: frozenset[str]) -> bool:
    """Whether the flags' promises of one addition hold: inside the object, without wrapping."""
    result = address + offset
    if "nuw" in flags and (offset < 0 or result > _MASK):
        return False
    if "inbounds" not in flags:
        return -(1 << 63) <= offset < 1 << 63 and ("nusw" not in flags or 0 <= result <= _MASK)
    block = machine.blocks.around(address)
    return block is not None and block.base <= address <= block.base + block.size and (
        block.base <= result <= block.base + block.size
    )  # fmt: skip


def _spread(value: Value, lanes: int) -> tuple[Lane, ...]:
    return (value,) * lanes if isinstance(value, int) else value
