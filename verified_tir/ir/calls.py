"""What operators and calls take and give: the types of their operands and results.

A call that is not in ``PURE_CALLS`` is *opaque*: it may read and write every block it can reach, and no step moves past
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from verified_tir.ir.dtype import BITS, BOOL, FLOATS, DType
from verified_tir.ir.node import IRError

_FLOATS, _INTEGERS = tuple(dict.fromkeys(d.code for d in FLOATS)), ("int", "uint")
KINDS: Final[dict[str, tuple[str, ...]]] = {
    "float": _FLOATS, "int": _INTEGERS, "bool": ("bool",), "number": (*_FLOATS, *_INTEGERS),
    "bits": (*_INTEGERS, "bool"), "any": tuple(BITS),
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class CallInfo:
    """The typing rule of an operator or pure call: its operands are of one type."""

    arity: int
    operands: str = "float"  # a kind of types
    result: str = "same"  # "same" type as the operands, "bool", or "given" (stated at the call)


OPERATORS: Final[dict[str, CallInfo]] = {
    **dict.fromkeys(("add", "sub", "mul", "min", "max"), CallInfo(2, "number")),
    **dict.fromkeys(("floordiv", "floormod", "truncdiv", "truncmod", "shl", "shr"), CallInfo(2, "int")),
    **dict.fromkeys(("bitand", "bitor", "bitxor"), CallInfo(2, "bits")),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), CallInfo(2, "any", "bool")),
    **dict.fromkeys(("and", "or"), CallInfo(2, "bool")),
    "div": CallInfo(2),
    "not": CallInfo(1, "bool"),
}

PURE_CALLS: Final[dict[str, CallInfo]] = {
    # correctly rounded, interpreted in proofs
    "fma": CallInfo(3),
    **dict.fromkeys(("sqrt", "floor", "ceil", "trunc", "nearbyint", "round"), CallInfo(1)),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), CallInfo(1, "float", "bool")),
    **dict.fromkeys(("bitwise_not", "popcount"), CallInfo(1, "int")),
    "abs": CallInfo(1, "number"),
    "clz": CallInfo(1, "int", "given"),
    "reinterpret": CallInfo(1, "any", "given"),
    "likely": CallInfo(1, "any"),
    # uninterpreted in proofs
    **dict.fromkeys(("exp", "exp2", "log", "log2", "log10", "log1p", "sigmoid", "rsqrt", "erf"), CallInfo(1)),
    **dict.fromkeys(("tanh", "sinh", "cosh", "sin", "cos", "tan", "atan"), CallInfo(1)),
    **dict.fromkeys(("pow", "atan2"), CallInfo(2)),
}


def is_pure(op: str) -> bool:
    """Whether the call reads and writes no memory and always gives the same result for the same arguments."""
    return op in PURE_CALLS


def result_type(op: str, *operands: DType) -> DType:
    """The type of what an operator gives, or a pure call that does not state it.

    :raises IRError: for operands of other types, or another number of them.
    """
    info = OPERATORS.get(op) or PURE_CALLS[op]
    if len(operands) != info.arity:
        raise IRError(f"{op} takes {info.arity} argument{'s' * (info.arity != 1)}, not {len(operands)}")
    operand = operands[0]
    if any(o is not operand for o in operands):
        raise IRError(f"operands of {op} differ in type: {' and '.join(map(str, operands))}")
    if operand.code not in KINDS[info.operands]:
        raise IRError(f"{op} takes {info.operands} operands, not {operand}")
    return BOOL.with_lanes(operand.lanes) if info.result == "bool" else operand


def check_call(op: str, operands: list[DType], result: DType) -> None:
    """What ``PURE_CALLS`` says of the types of a pure call.

    :raises IRError: for other types, or another number of arguments.
    """
    usual = result_type(op, *operands)
    match op:
        case "clz":
            fits = result.is_int and result.lanes == usual.lanes
        case "reinterpret":  # a bool has one bit in a type and one byte in memory
            same_bits = usual.bits * usual.lanes == result.bits * result.lanes
            fits = same_bits and usual.is_bool is result.is_bool
        case _:
            fits = result is usual
    if not fits:
        raise IRError(f"{op} of {operands[0]} does not give {result}")
