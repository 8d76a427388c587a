"""``llvm.vector.reduce``: the lanes of a vector combined, floats in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from verified_tir.validate.llvm.code import Value
from verified_tir.validate.llvm.graph import Lane
from verified_tir.validate.llvm.machine import Machine
from verified_tir.validate.llvm.syntax import FLOATS, FloatType, Instruction, IntType, scalars
from verified_tir.validate.memory import Refused

_INTEGERS = {"add": "add", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}


def reduction(machine: Machine, i: Instruction) -> Callable[[Sequence[Value]], Value]:
    """The routine of a reduction.  A sum of floats without ``reassoc`` begins with its first operand, lane by lane."""
    op = i.word.removeprefix("llvm.vector.reduce.").split(".")[0]
    kind = scalars(i.operands[-1].type)[0]
    combine = _combine(machine, op, kind)

    def operation(values: Sequence[Value]) -> Value:
        *start, vector = values
        assert isinstance(vector, tuple)
        lanes: list[Lane] = [*(v for v in start if isinstance(v, int)), *vector]
        total = lanes[0]
        for lane in lanes[1:]:
            total = combine(total, lane)
        return total

    return operation


def _combine(machine: Machine, op: str, kind: object) -> Callable[[Lane, Lane], Lane]:
    if isinstance(kind, FloatType) and op in ("fadd", "fmul"):
        dtype = FLOATS[kind.name]
        return lambda x, y: machine.floats.binary(op, dtype, x, y)
    if isinstance(kind, IntType):
        bits = kind.bits
        if op in _INTEGERS:
            return lambda x, y: machine.integers.binary(op, bits, frozenset(), x, y)
        if op in ("smin", "smax", "umin", "umax"):
            return lambda x, y: machine.integers.extreme(op, bits, x, y)
    raise Refused(f"LLVM IR: llvm.vector.reduce.{op} leaves open what it gives for zeros or NaN")
