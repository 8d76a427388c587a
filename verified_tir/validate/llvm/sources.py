"""Which registers of a function may hold addresses, or numbers, that are computed from some others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from verified_tir.validate.llvm.syntax import Function, Instruction, Operand, PointerType, Register, Type, scalars

_FORGETS: Final = frozenset({"load", "alloca", "icmp", "fcmp"})
"""Results that are no address computed from an operand: memory is looked into by who stores or loads addresses, and a
comparison tells of two addresses no more than it decides."""
_LOADS: Final = ("llvm.masked.load.", "llvm.masked.gather.")
Sources = Mapping[str, Sequence[Operand]]


def sources_of(function: Function, functions: Mapping[str, Function]) -> dict[str, tuple[Operand, ...]]:
    """By register, the operands that its value may be computed from; registers without any are left out."""
    code = (i for block in function.blocks.values() for i in (*block.phis, *block.body))
    return {i.result: found for i in code if i.result is not None and (found := _sources(i, functions)) is not None}


def _sources(i: Instruction, functions: Mapping[str, Function]) -> tuple[Operand, ...] | None:
    match i.opcode:
        case "call" if i.word.startswith(_LOADS):
            return None
        case "call" if i.word in functions:  # whose parameters may be declared not to be part of the result
            taken = zip(i.operands, functions[i.word].parameters, strict=False)
            return tuple([o for o, p in taken if p.promised.ways is None or "ret" in p.promised.ways]) or None
        case "getelementptr" | "bitcast" | "freeze" | "ptrtoint" | "extractelement" | "extractvalue":
            return i.operands[:1]
        case "insertelement" | "insertvalue" | "shufflevector":
            return i.operands[:2]
        case "phi":
            return i.operands
        case "select":
            return i.operands[1:]
        case _ if i.opcode in _FORGETS:
            return None
    # arithmetic and calls; numbers that are written down are no addresses
    return tuple([o for o in i.operands if isinstance(o, Register)]) or None


def held(given: set[str], sources: Sources) -> tuple[set[str], set[str]]:
    """The registers that may hold what is computed from some registers; and those that may hold something else."""
    own, other = {*given}, set[str]()
    changed = True
    while changed:
        changed = False
        for name, operands in sources.items():
            names = [o.name if isinstance(o, Register) else "" for o in operands]
            if name not in own and any(n in own for n in names):
                own.add(name)
                changed = True
            if name not in other and any(n in other or (n not in own and n not in sources) for n in names):
                other.add(name)
                changed = True
    return own, other


def has_address(kind: Type) -> bool:
    """Whether values of a type contain addresses."""
    return any(isinstance(k, PointerType) for k in scalars(kind))
