"""What is known about calls by name: arity, whether pure, whether interpreted by proofs.

A call that is not listed is *opaque*: it may read and write every block it can reach, and no step moves past it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.dtype import BOOL, DType
from verified_tir.ir.node import IRError


@final
@dataclass(frozen=True, slots=True)
class CallInfo:
    """A pure call: number of arguments, and whether its arguments must be floats, integers or either."""

    arity: int
    operands: str = "float"  # "float", "int", "number", "any"
    result: str = "same"  # "same" type as the first argument, "bool", or "given" (stated at the call)

    def takes(self, operand: DType) -> bool:
        """Whether the arguments may be of that type."""
        fits = {"float": operand.is_float, "int": operand.is_int, "number": operand.is_float or operand.is_int}
        return fits.get(self.operands, True)


PURE_CALLS: dict[str, CallInfo] = {
    # correctly rounded, interpreted in proofs
    "fma": CallInfo(3),
    "sqrt": CallInfo(1),
    "abs": CallInfo(1, "number"),
    "floor": CallInfo(1),
    "ceil": CallInfo(1),
    "trunc": CallInfo(1),
    "nearbyint": CallInfo(1),
    "round": CallInfo(1),
    "isnan": CallInfo(1, "float", "bool"),
    "isinf": CallInfo(1, "float", "bool"),
    "isfinite": CallInfo(1, "float", "bool"),
    "bitwise_not": CallInfo(1, "int"),
    "reinterpret": CallInfo(1, "any", "given"),
    "popcount": CallInfo(1, "int"),
    "clz": CallInfo(1, "int", "given"),
    "likely": CallInfo(1, "any"),
    # uninterpreted in proofs
    "exp": CallInfo(1),
    "exp2": CallInfo(1),
    "log": CallInfo(1),
    "log2": CallInfo(1),
    "log10": CallInfo(1),
    "log1p": CallInfo(1),
    "tanh": CallInfo(1),
    "sinh": CallInfo(1),
    "cosh": CallInfo(1),
    "sin": CallInfo(1),
    "cos": CallInfo(1),
    "tan": CallInfo(1),
    "atan": CallInfo(1),
    "erf": CallInfo(1),
    "sigmoid": CallInfo(1),
    "rsqrt": CallInfo(1),
    "pow": CallInfo(2),
    "atan2": CallInfo(2),
}


def is_pure(op: str) -> bool:
    """Whether the call reads and writes no memory and always gives the same result for the same arguments."""
    return op in PURE_CALLS


def check_call(op: str, operands: list[DType], result: DType) -> None:
    """What ``PURE_CALLS`` says of the types of a pure call.

    :raises IRError: for other types, or another number of arguments.
    """
    info = PURE_CALLS[op]
    if len(operands) != info.arity:
        raise IRError(f"{op} takes {info.arity} argument{'s' * (info.arity != 1)}, not {len(operands)}")
    operand = operands[0]
    if op == "reinterpret":
        _check_reinterpret(operand, result)
        return
    if not info.takes(operand) or any(o is not operand for o in operands):
        raise IRError(f"{op} does not take {', '.join(map(str, operands))}")
    right = {
        "same": result is operand,
        "bool": result is BOOL.with_lanes(operand.lanes),
        "given": result.is_int and result.lanes == operand.lanes,
    }
    if not right[info.result]:
        raise IRError(f"{op} of {operand} does not give {result}")


def _check_reinterpret(source: DType, target: DType) -> None:
    if source is target:
        return
    if source.is_bool or target.is_bool:  # a bool has one bit in a type and one byte in memory
        raise IRError(f"reinterpret knows no bits of a bool: {source} to {target}; use a cast")
    if source.bits * source.lanes != target.bits * target.lanes:
        raise IRError(f"reinterpret keeps the number of bits: {source} to {target}")
