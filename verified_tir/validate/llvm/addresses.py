"""``getelementptr``: a base, a constant, and indices times sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from verified_tir.validate.llvm.blocks import SLOT
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
    """The closure of the instruction; ``places`` are where base and indices stand."""
    constant, scaled = _terms(i, places)
    base, flags = places[0], i.flags

    def one(address: Lane, indices: Sequence[Lane]) -> Lane:
        if address < 0:
            return UNDEF if address == UNDEF else _refuse()
        offset = constant
        negative = constant < 0
        for lane, (_, size, bits) in zip(indices, scaled, strict=True):
            number = lane if lane >= 0 else machine.graph.settled(lane)
            if number < 0:
                return UNDEF if number == UNDEF else _refuse()
            step = signed(bits, number)
            negative = negative or step < 0
            offset += step * size
        result = address + offset
        if flags and not _kept(machine, address, offset, result, flags, negative):
            return UNDEF
        return result & _MASK

    if isinstance(i.type, VectorType):
        lanes = i.type.lanes

        def vector(r: Registers) -> None:
            addresses = _spread(r[base], lanes)
            columns = [_spread(r[k], lanes) for k, _, _ in scaled]
            r[d] = tuple([one(addresses[k], [c[k] for c in columns]) for k in range(lanes)])

        return vector
    slots = [k for k, _, _ in scaled]

    def scalar(r: Registers) -> None:
        address = r[base]
        assert isinstance(address, int)
        r[d] = one(address, [r[k] for k in slots])  # type: ignore[misc]

    return scalar


def _refuse() -> Lane:
    raise Refused("LLVM IR: an address depends on data")


def _terms(i: Instruction, places: Sequence[int]) -> tuple[int, list[tuple[int, int, int]]]:
    """The constant part of the offset, and (slot, size, bits) of each index that is in a register."""
    constant, scaled = 0, list[tuple[int, int, int]]()
    kind: Type = i.source
    for number, (operand, place) in enumerate(zip(i.operands[1:], places[1:], strict=True)):
        if number:
            if isinstance(kind, StructType):
                assert isinstance(operand, Constant) and isinstance(operand.atoms[0], int)
                member = operand.atoms[0]
                constant += offsets(kind)[member]
                kind = kind.members[member]
                continue
            if not isinstance(kind, (ArrayType, VectorType)):
                raise Refused(f"LLVM IR: the indices in: {i.text[:120]}")
            kind = kind.element
        index = scalars(operand.type)[0]
        assert isinstance(index, IntType)
        size = size_of(kind)
        if isinstance(operand, Constant) and len(operand.atoms) == 1 and isinstance(operand.atoms[0], int):
            constant += signed(index.bits, operand.atoms[0]) * size
        else:
            scaled.append((place, size, index.bits))
    return constant, scaled


def _kept(machine: Machine, base: int, offset: int, result: int, flags: frozenset[str], negative: bool) -> bool:
    """Whether the flags' promises hold: inside the object, without wrapping."""
    if offset == 0 and not negative:
        return True
    if "nuw" in flags and (negative or result > _MASK):
        return False
    if "inbounds" not in flags:
        return -(1 << 63) <= offset < 1 << 63
    block = machine.blocks.blocks.get(base >> SLOT)
    return block is not None and block.base <= base <= block.base + block.size and (
        block.base <= result <= block.base + block.size
    )  # fmt: skip


def _spread(value: Value, lanes: int) -> tuple[Lane, ...]:
    return (value,) * lanes if isinstance(value, int) else value
