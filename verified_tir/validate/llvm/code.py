"""Functions ready to run, and what running them gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias, final

from verified_tir.validate.llvm.graph import Lane
from verified_tir.validate.llvm.syntax import FloatType, Function, IntType, PointerType, Type

Value: TypeAlias = "Lane | tuple[Lane, ...]"
Registers: TypeAlias = "list[Value]"
Step: TypeAlias = Callable[[Registers], None]


@final
@dataclass(slots=True)
class BlockCode:
    """A basic block, ready to run: phis by predecessor as (targets, sources), steps, and how it ends.

    ``end`` is ``("br", label)``, ``("if", slot, label, label)``, ``("switch", slot, bits, {number: label}, label)``,
    ``("ret", slot)`` with -1 for no value, or ``("unreachable",)``.
    """

    name: str
    targets: tuple[int, ...]
    sources: dict[str, tuple[int, ...]]
    kinds: tuple[Type, ...]
    steps: tuple[Step, ...]
    end: tuple[object, ...]


@final
@dataclass(slots=True)
class Code:
    """A function, ready to run: ``template`` has the constants in their slots."""

    function: Function
    template: Registers
    parameters: tuple[int, ...]
    blocks: dict[str, BlockCode]
    seen: set[str] = field(default_factory=set)
    joins: dict[str, str | None] | None = None


@final
@dataclass(frozen=True, slots=True)
class Arrival:
    """Where a path ended: the values of the phis of the block that it was to reach, or what it returned."""

    values: tuple[Value, ...]
    returned: bool = False


def is_scalar(kind: Type) -> bool:
    """Whether values of a type are single lanes."""
    return isinstance(kind, (IntType, FloatType, PointerType))
