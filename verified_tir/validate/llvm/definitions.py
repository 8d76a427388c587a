"""What the attributes of a function promise of its code, whatever it is called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from verified_tir.validate.llvm.instructions import CASTS, FLOAT, INTEGER
from verified_tir.validate.llvm.memory_calls import MEMORY_CALLS
from verified_tir.validate.llvm.sources import held, sources_of
from verified_tir.validate.llvm.syntax import NOTHING, Constant, Function, Instruction, Operand, Register
from verified_tir.validate.memory import Refused

_PLAIN: Final = (INTEGER | FLOAT | CASTS | {
    "icmp", "fcmp", "fneg", "freeze", "select", "getelementptr", "extractelement", "insertelement", "shufflevector",
    "extractvalue", "insertvalue",
}) - {"udiv", "sdiv", "urem", "srem"}  # fmt: skip
"""Instructions that are defined for all operands."""
_STORES: Final = ("llvm.masked.store.", "llvm.masked.scatter.")


def check_definition(function: Function, functions: Mapping[str, Function]) -> None:
    """Look at the code of a function before it runs.

    :raises Refused: where it is not known that the code is as it is declared.
    """
    if "speculatable" in function.rules and not _is_speculatable(function, functions):
        raise Refused(f"LLVM IR: {function.name} is declared speculatable, and does more than to compute")
    for ways in dict.fromkeys(p.promised.ways for p in function.parameters if p.promised.ways is not None):
        given = {p.name for p in function.parameters if p.promised.ways == ways}
        captured = _captured(function, functions, given, ways)
        if captured is not None:
            raise Refused(f"LLVM IR: an address may be kept that is declared not to be captured: {captured.text[:120]}")


def _is_speculatable(function: Function, functions: Mapping[str, Function]) -> bool:
    if len(function.blocks) != 1 or any(p.promised != NOTHING for p in function.parameters):
        return False
    (block,) = function.blocks.values()
    return (
        block.end.opcode == "ret" and function.promised == NOTHING and all(_computes(i, functions) for i in block.body)
    )


def _computes(i: Instruction, functions: Mapping[str, Function]) -> bool:
    if i.opcode != "call":
        return i.opcode in _PLAIN
    if any(promise != NOTHING for promise in i.promises):
        return False
    if i.word in functions:
        return "speculatable" in functions[i.word].rules  # which is checked where it is called
    return i.word.startswith("llvm.") and not i.word.startswith(("llvm.assume", *MEMORY_CALLS))


def _captured(
    function: Function, functions: Mapping[str, Function], given: set[str], ways: frozenset[str]
) -> Instruction | None:
    """An instruction by which an address that is computed from some registers may be kept, otherwise than by ways."""
    own, _ = held(given, sources_of(function, functions))

    def is_own(operand: Operand) -> bool:
        return isinstance(operand, Register) and operand.name in own

    for block in function.blocks.values():
        for i in (*block.body, block.end):
            if any(map(is_own, i.operands)) and _keeps(i, functions, is_own, ways):
                return i
    return None


def _keeps(
    i: Instruction, functions: Mapping[str, Function], is_own: Callable[[Operand], bool], ways: frozenset[str]
) -> bool:
    match i.opcode:
        case "ret":
            return "ret" not in ways
        case "store":
            return is_own(i.operands[0]) and "provenance" not in ways
        case "ptrtoint":
            return "provenance" not in ways
        case "icmp":
            null = any(isinstance(o, Constant) and o.atoms == (0,) for o in i.operands)
            return not null and "address" not in ways
        case "call" if i.word in functions:
            taken = zip(i.operands, functions[i.word].parameters, strict=False)
            return any(
                is_own(o) and (p.promised.ways is None or not p.promised.ways - {"ret"} <= ways) for o, p in taken
            )
        case "call" if i.word.startswith("llvm."):
            return i.word.startswith(_STORES) and is_own(i.operands[0])
        case "call":
            return i.word != "free"
    return False
