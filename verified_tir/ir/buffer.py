"""Buffers: typed views of a block of memory, and the index maps between their layouts.

A *block* is what an allocation or a parameter provides, named by its data variable.  A buffer is a view of a block:
buffers with the same ``data`` alias, and live where the block does: a view has no storage scope of its own.  ``shape``,
``strides`` and ``elem_offset`` count elements, lanes included in one element.  ``axis_separators`` are positions
between axes (RFC 39) at which flattening stops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Expr, IntImm, Var, const
from verified_tir.ir.node import IRError, Node

if TYPE_CHECKING:
    from verified_tir.ir.sugar import BufferSugar
else:
    BufferSugar = object


@final
@dataclass(frozen=True, slots=True, eq=False)
class Buffer(Node, BufferSugar):
    """A view of the block ``data``; empty ``strides`` mean row-major."""

    name: str
    data: Var
    dtype: DType
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    elem_offset: Expr
    axis_separators: tuple[int, ...]

    def check(self) -> None:
        if self.data.dtype.code != "handle":  # it would be a number, too
            raise IRError(f"the data variable of {self.name} is a pointer, not of type {self.data.type}")
        if self.strides and len(self.strides) != len(self.shape):
            raise IRError(f"{self.name} has {len(self.shape)} dimensions and {len(self.strides)} strides")
        for extent in (*self.shape, *self.strides, self.elem_offset):
            if not extent.dtype.is_int or extent.dtype.lanes != 1:
                raise IRError(f"shape, strides and offset of {self.name} are scalar integers, not {extent.dtype}")
        for k, extent in enumerate(self.shape):
            if isinstance(extent, IntImm) and extent.value < 0:
                raise IRError(f"dimension {k} of {self.name} has the negative extent {extent.value}")
        positions = [0, *self.axis_separators, len(self.shape)]
        if positions != sorted(positions):
            raise IRError(f"axis_separators of {self.name} must ascend within its {len(self.shape)} dimensions")

    @property
    def scope(self) -> str:
        """The storage scope of the block."""
        return self.data.type.scope if isinstance(self.data.type, PointerType) else "global"

    @staticmethod
    def fresh(
        name: str, dtype: DType, shape: tuple[Expr, ...], scope: str, axis_separators: tuple[int, ...] = ()
    ) -> Buffer:
        """A row-major buffer of a block of its own, which no other buffer shares."""
        return Buffer(name, Var.fresh(name, PointerType(dtype, scope)), dtype, shape, (), const(0), axis_separators)
