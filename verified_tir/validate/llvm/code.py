"""Functions ready to run, and what running them gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
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

    @property
    def successors(self) -> tuple[str, ...]:
        """The blocks that may come next."""
        match self.end:
            case ("br", str() as label):
                return (label,)
            case ("if", _, str() as yes, str() as no):
                return (yes, no)
            case ("switch", _, _, dict() as cases, str() as default):
                return (*dict.fromkeys(cases.values()), default)
        return ()


@final
@dataclass
class Code:
    """A function, ready to run: ``template`` has the constants in their slots."""

    function: Function
    template: Registers
    parameters: tuple[int, ...]
    blocks: dict[str, BlockCode]
    seen: set[str] = field(default_factory=set)

    @cached_property
    def joins(self) -> dict[str, str | None]:
        """Where the ways out of each block meet: in its immediate postdominator; ``None`` for the function's end.

        Ways into unreachable code do not count.
        """
        import networkx as nx

        end = object()
        back = nx.DiGraph()
        back.add_node(end)
        for name, block in self.blocks.items():
            back.add_edges_from((after, name) for after in ((end,) if block.end[0] == "ret" else block.successors))
        nearest = nx.immediate_dominators(back, end)
        return {name: None if nearest.get(name) is end else nearest.get(name) for name in self.blocks}


@final
@dataclass(frozen=True, slots=True)
class Arrival:
    """Where a path ended: the values of the phis of the block that it was to reach, or what it returned."""

    values: tuple[Value, ...]
    returned: bool = False


def is_scalar(kind: Type) -> bool:
    """Whether values of a type are single lanes."""
    return isinstance(kind, (IntType, FloatType, PointerType))
