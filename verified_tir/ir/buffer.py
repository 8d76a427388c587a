"""Buffers: typed views of a block of memory, and the index maps between their layouts.

A *block* is what an allocation or a parameter provides, named by its data variable.  A buffer is a view of a block:
buffers with the same ``data`` alias, and live where the block does: a view has no storage scope of its own.  ``shape``,
``strides`` and ``elem_offset`` count elements, lanes included in one element.  ``axis_separators`` are positions
between axes (RFC 39) at which flattening stops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from verified_tir.ir.dtype import INT32, DType, PointerType
from verified_tir.ir.expr import Expr, ExprLike, IntImm, Load, Var, as_expr, const
from verified_tir.ir.node import IRError, Node


@final
@dataclass(frozen=True, slots=True, eq=False)
class Buffer(Node):
    """A view of the block ``data``; empty ``strides`` mean row-major."""

    name: str
    data: Var
    dtype: DType
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    elem_offset: Expr
    axis_separators: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.strides and len(self.strides) != len(self.shape):
            raise IRError(f"{self.name} has {len(self.shape)} dimensions and {len(self.strides)} strides")
        for extent in (*self.shape, *self.strides, self.elem_offset):
            if not extent.dtype.is_int or extent.dtype.lanes != 1:
                raise IRError(f"shape, strides and offset of {self.name} are scalar integers, not {extent.dtype}")
        for k, extent in enumerate(self.shape):
            if isinstance(extent, IntImm) and extent.value < 0:
                raise IRError(f"dimension {k} of {self.name} has the negative extent {extent.value}")
        last = 0
        for axis in self.axis_separators:
            if not last <= axis <= len(self.shape):
                raise IRError(f"axis_separators of {self.name} must ascend within its {len(self.shape)} dimensions")
            last = axis

    @property
    def scope(self) -> str:
        """The storage scope of the block."""
        return self.data.type.scope if isinstance(self.data.type, PointerType) else "global"

    @staticmethod
    def declare(
        name: str,
        shape: tuple[ExprLike, ...],
        dtype: DType | str = "float32",
        *,
        data: Var | None = None,
        strides: tuple[ExprLike, ...] = (),
        elem_offset: ExprLike = 0,
        scope: str | None = None,
        axis_separators: tuple[int, ...] = (),
    ) -> Buffer:
        """A buffer with Python numbers allowed as extents; a fresh data variable unless one is given.

        :param scope: the storage scope of the fresh block; of a view, that of its block.
        :raises IRError: if it is another one.
        """
        dtype = DType.parse(dtype)
        if data is None:
            data = Var.fresh(name, PointerType(dtype.scalar if dtype.lanes == 1 else dtype, scope or "global"))
        dims = tuple(as_expr(s) for s in shape)
        made = Buffer(
            name, data, dtype, dims, tuple(as_expr(s) for s in strides),
            as_expr(elem_offset) if isinstance(elem_offset, Expr) else const(elem_offset), axis_separators,
        )  # fmt: skip
        if scope is not None and scope != made.scope:
            raise IRError(f"{name} is a view of a block in scope {made.scope!r}, not in {scope!r}")
        return made

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> Load:
        """The element at some indices, as in a padding function: ``lambda i, j: A[(i + j) % 4]``.

        :raises IRError: for the wrong number of indices, or an index that is no integer.
        """
        given = indices if isinstance(indices, tuple) else (indices,)
        dtype = self.shape[0].dtype if self.shape else INT32
        return Load(self, tuple(as_expr(i, dtype) for i in given))

    __iter__: ClassVar[None] = None
    """Without this, having ``__getitem__`` would make a buffer an endless sequence."""

    def with_data(self, data: Var, name: str | None = None) -> Buffer:
        """The same view of another block."""
        return Buffer(
            name or self.name, data, self.dtype, self.shape, self.strides, self.elem_offset, self.axis_separators,
        )  # fmt: skip
