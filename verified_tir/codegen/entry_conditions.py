"""The conditions on a call, one by one and in order: they are read off a plan here, and nowhere else.

``entry_check`` checks each of them in Python, with a message; ``entry_text`` writes each as LLVM IR, without any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias, final

from verified_tir.codegen.entry_plan import ArrayParameter, Binding, EntryPlan, ScalarParameter, largest_extent
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import IntImm


@final
@dataclass(frozen=True, slots=True)
class UsualControl:
    """The floating-point control register is in its usual state."""


@final
@dataclass(frozen=True, slots=True)
class IsNumber:
    """The argument at a position is a number of the parameter's type, within its bounds."""

    position: int
    parameter: ScalarParameter


@final
@dataclass(frozen=True, slots=True)
class IsArray:
    """The argument at a position is an array of the parameter's type, rank, lanes and access."""

    position: int
    parameter: ArrayParameter


@final
@dataclass(frozen=True, slots=True)
class HasValue:
    """What a symbol is bound to lies within its bounds."""

    binding: Binding


@final
@dataclass(frozen=True, slots=True)
class HasShape:
    """The array at a position has the extents of the parameter's buffer."""

    position: int
    parameter: ArrayParameter


@final
@dataclass(frozen=True, slots=True)
class IsCountable:
    """The buffer's extents are not negative and at most ``limits`` (``None``: a number); their product is at most
    ``most``."""

    buffer: Buffer
    limits: tuple[int | None, ...]
    most: int


@final
@dataclass(frozen=True, slots=True)
class IsLaidOut:
    """The elements of the array at a position stand where the buffer's strides say, and its block is aligned."""

    position: int
    parameter: ArrayParameter


@final
@dataclass(frozen=True, slots=True)
class AreApart:
    """The arrays at two positions share no memory: one of them is written."""

    positions: tuple[int, int]
    parameters: tuple[ArrayParameter, ArrayParameter]


Condition: TypeAlias = (
    UsualControl | IsNumber | IsArray | HasValue | HasShape | IsCountable | IsLaidOut | AreApart
)  # fmt: skip


def conditions(plan: EntryPlan) -> Iterator[Condition]:
    """All of them.  Each rests on those before it."""
    if plan.floats:
        yield UsualControl()
    for k, p in enumerate(plan.parameters):
        yield IsArray(k, p) if isinstance(p, ArrayParameter) else IsNumber(k, p)
    for b in plan.bindings:
        yield HasValue(b)
    for k, a in plan.arrays:
        yield HasShape(k, a)
    for buffer in plan.shapes:
        if symbolic := [e for e in buffer.shape if not isinstance(e, IntImm)]:
            limits = tuple(None if isinstance(e, IntImm) else largest_extent(e.dtype) for e in buffer.shape)
            yield IsCountable(buffer, limits, largest_extent(DType("int", max(symbolic[0].dtype.bits, 32))))
    for k, a in plan.arrays:
        yield IsLaidOut(k, a)
    for (j, one), (k, other) in combinations(plan.arrays, 2):
        if one.written or other.written:
            yield AreApart((j, k), (one, other))


__all__ = [
    "AreApart", "Condition", "HasShape", "HasValue", "IsArray", "IsCountable", "IsLaidOut", "IsNumber", "UsualControl",
    "conditions",
]  # fmt: skip
