"""Functions and modules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import IntImm, Var
from verified_tir.ir.node import Node, once, seal
from verified_tir.ir.stmt import Annotations, Stmt

if TYPE_CHECKING:
    from verified_tir.ir.sugar import FuncSugar, ModuleSugar
else:
    FuncSugar = ModuleSugar = object


@final
@dataclass(frozen=True, slots=True, eq=False)
class PrimFunc(Node, FuncSugar):
    """A function on buffers and scalars.

    ``params`` are the arguments in order: scalar variables, or handles that ``buffer_map`` turns into buffers.
    Variables that occur in the parameters' shapes and are not parameters themselves (shape symbols) are bound by the
    arrays that are passed.
    """

    name: str
    params: tuple[Var, ...]
    buffer_map: tuple[tuple[Var, Buffer], ...]
    body: Stmt
    attrs: Annotations = ()
    ret_type: DType | None = None

    @property
    @once
    def buffers(self) -> tuple[Buffer, ...]:
        """The parameter buffers, in the order of the parameters."""
        found = dict(reversed(self.buffer_map))  # the first entry of a parameter counts
        return tuple([found[p] for p in self.params if p in found])

    def with_body(self, body: Stmt) -> PrimFunc:
        return self.changed("body", body)


@lru_cache(maxsize=16)  # a step makes another function of the same buffers, which may be many
def symbolic(buffers: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
    """Those that are not declared with numbers alone; another one mentions no variable but its data."""
    return tuple([b for b in buffers if {*map(type, (*b.shape, *b.strides, b.elem_offset))} != {IntImm}])


@final
@dataclass(frozen=True, slots=True, eq=False)
class IRModule(Node, ModuleSugar):
    """Functions by name, in the order of the text."""

    functions: tuple[tuple[str, PrimFunc], ...]


seal()
