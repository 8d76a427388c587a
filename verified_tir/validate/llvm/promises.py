"""What attributes promise of a value, where it goes into a function or comes out of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from verified_tir.validate.llvm.blocks import Undefined
from verified_tir.validate.llvm.code import Value
from verified_tir.validate.llvm.graph import UNDEF, Lane, integer
from verified_tir.validate.llvm.sources import held, sources_of
from verified_tir.validate.llvm.syntax import (
    NOTHING,
    Attributes,
    Function,
    Instruction,
    IntType,
    Operand,
    Register,
    Scalar,
    Type,
    scalars,
)
from verified_tir.validate.memory import Refused

if TYPE_CHECKING:
    from verified_tir.validate.llvm.machine import Machine

_READ: Final = {"llvm.masked.load": 0, "llvm.masked.gather": 0, "llvm.memcpy": 1, "llvm.memmove": 1}
_WRITTEN: Final = {"llvm.masked.store": 1, "llvm.masked.scatter": 1, "llvm.memset": 0, "llvm.memcpy": 0,
                   "llvm.memmove": 0}  # fmt: skip


def promised(machine: Machine, promise: Attributes, kind: Type, value: Value, what: str) -> Value:
    """The value, poison where a promise of it is false.

    :raises Undefined: where that is undefined behaviour.
    """
    if promise == NOTHING:
        return value
    if promise.bounds is not None:
        value = _bounded(machine, kind, promise.bounds, value)
    if isinstance(value, int) and value >= 0 and (
        (promise.align > 1 and value % promise.align) or (promise.nonnull and value == 0)
    ):  # fmt: skip
        value = UNDEF
    if promise.noundef:
        for lane in (value,) if isinstance(value, int) else value:
            machine.undefined(1 if lane == UNDEF else machine.graph.is_undef(lane), f"{what} is undef or poison")
    if isinstance(value, int):
        _check_memory(machine, promise, value, what)
    return value


def _check_memory(machine: Machine, promise: Attributes, address: Lane, what: str) -> None:
    size = promise.dereferenceable or (promise.or_null if address else 0)
    if size:
        machine.blocks.find(address, size, f"{what}, which promises that there are {size} bytes, is the address")
    for low, high in promise.initializes:
        block, offset = machine.blocks.find(address + low, high - low, f"{what} is to be initialised: the address")
        machine.blocks.forget(block, offset, high - low)


def _bounded(machine: Machine, kind: Type, bounds: tuple[int, int], value: Value) -> Value:
    """A value of which ``range`` promises something."""
    lanes = (value,) if isinstance(value, int) else value
    found = tuple([_within(machine, k, bounds, lane) for k, lane in zip(scalars(kind), lanes, strict=True)])
    return found[0] if isinstance(value, int) else found


def _within(machine: Machine, kind: Scalar, bounds: tuple[int, int], lane: Lane) -> Lane:
    low, high = bounds
    mask = (1 << kind.bits) - 1
    if lane >= 0:
        return lane if (lane - low) & mask < (high - low) & mask else UNDEF
    if lane == UNDEF or not isinstance(kind, IntType):
        return UNDEF
    first, last = machine.integers.ranges.of(lane, integer(kind.bits))
    if low <= first and last < high:
        return lane
    moved = machine.integers.binary("sub", kind.bits, frozenset(), lane, low & mask)
    inside = machine.integers.compare("ult", kind.bits, frozenset(), moved, (high - low) & mask)
    return machine.choose_lane(kind, inside, lane, UNDEF)


# --------------------------------------------------------------------------------------------- accesses and calls


@final
@dataclass(frozen=True, slots=True)
class Barred:
    """What may not be done through registers: that are ``readonly`` or ``writeonly`` parameters, or addresses computed
    from one (``sure``); that may be one (``doubtful``), as far as the code shows."""

    sure: Mapping[str, Attributes]
    doubtful: Mapping[str, Attributes]


def barred(function: Function, functions: Mapping[str, Function]) -> Barred:
    """What may not be done through the registers of a function."""
    given = {p.name: p.promised for p in function.parameters if p.promised.readonly or p.promised.writeonly}
    if not given:
        return Barred({}, {})
    sources = sources_of(function, functions)
    read, write = (
        held({name for name, promise in given.items() if promise.readonly}, sources),
        held({name for name, promise in given.items() if promise.writeonly}, sources),
    )
    sure, doubtful = (
        {name: Attributes(readonly=name in a, writeonly=name in b) for name in a | b}
        for a, b in ((read[0] - read[1], write[0] - write[1]), (read[0] & read[1], write[0] & write[1]))
    )
    return Barred(sure, doubtful)


def ruled_out(i: Instruction, known: Barred, functions: Mapping[str, Function], *, root: bool) -> Exception | None:
    """What an instruction is that does what its address excludes, or lets a barred one go where it is not followed.

    Through ``readonly`` parameters of the kernel (``root``) nothing can be stored anyhow.
    """
    if wrong := _broken(i, known.sure):
        return Undefined(wrong)
    if wrong := _broken(i, known.doubtful):
        return Refused(f"LLVM IR: perhaps a {wrong}")
    passed: list[tuple[Operand, Attributes]] = []
    if i.opcode in ("store", "inttoptr"):
        passed = [(i.operands[0], NOTHING)]
    elif i.opcode == "call" and i.word in functions:
        passed = list(zip(i.operands, [p.promised for p in functions[i.word].parameters], strict=False))
    elif i.opcode == "call" and not i.word.startswith("llvm."):  # of a pointer, or of what is defined elsewhere
        passed = [(operand, NOTHING) for operand in i.operands]
    for operand, promise in passed:
        for own in (known.sure, known.doubtful):
            kept = own.get(operand.name, NOTHING) if isinstance(operand, Register) else NOTHING
            if (kept.readonly and not promise.readonly and not root) or (kept.writeonly and not promise.writeonly):
                what = "an address that is declared readonly or writeonly is handed on"
                return Refused(f"LLVM IR: {what}: {i.text[:120]}")
    return None


def _broken(i: Instruction, known: Mapping[str, Attributes]) -> str:
    """What an access does that the attributes of its address exclude, or nothing."""
    for place, does in zip(accessed(i), ("load", "store"), strict=True):
        address = i.operands[place] if 0 <= place < len(i.operands) else None
        promise = known.get(address.name, NOTHING) if isinstance(address, Register) else NOTHING
        if promise.writeonly if does == "load" else promise.readonly:
            word = "readonly" if does == "store" else "writeonly"
            return f"{does} at an address that is declared {word}"
    return ""


def accessed(i: Instruction) -> tuple[int, int]:
    """The numbers of the operands where an instruction itself reads, and writes, or -1."""
    places = {"load": (0, -1), "store": (-1, 1)}.get(i.opcode)
    if places is not None:
        return places
    stem = ".".join(i.word.split(".")[:3]) if i.word.startswith("llvm.masked") else ".".join(i.word.split(".")[:2])
    return _READ.get(stem, -1), _WRITTEN.get(stem, -1)


def mismatch(i: Instruction, function: Function, operands: int = 0) -> str:
    """How a call and the function that it calls do not fit, or nothing; ``operands`` come before the arguments.

    :raises Refused: if the call promises of an argument what the function does not.
    """
    arguments = i.operands[operands:]
    if [a.type for a in arguments] != [p.type for p in function.parameters] or i.type != function.result:
        return f"{function.name} is called with other types"
    if ("fastcc" in i.flags) != function.fast:
        return f"{function.name} is called with another calling convention"
    for promise, p in zip(i.promises[1 + operands :], function.parameters, strict=True):
        own = p.promised
        if (
            promise.readonly > own.readonly or promise.writeonly > own.writeonly or promise.initializes
            or promise.returned > own.returned or promise.unchecked
            or (promise.ways is not None and (own.ways is None or not own.ways <= promise.ways))
        ):  # fmt: skip
            raise Refused(f"LLVM IR: what a call promises of memory and {function.name} does not: {i.text[:120]}")
    return ""


__all__ = ["Barred", "accessed", "barred", "mismatch", "promised", "ruled_out"]
