"""Shape symbols: what the unknown variables in parameters' extents must be, given the extents of the arguments.

A symbol that stands alone as an extent is that extent.  ``n * 4``, ``n + 1`` and the like are solved for ``n``;
anything else must be passed by name.  A symbolic stride or offset is the argument's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Expr, IntImm, Var
from verified_tir.ir.visit import walk
from verified_tir.semantics.errors import ArgumentError
from verified_tir.semantics.interpreter.frame import Frame
from verified_tir.semantics.memory import Extents
from verified_tir.semantics.values import fits

LARGEST_COUNT = (1 << 31) - (1 << 16)
"""The most elements that an array may have."""

_LARGEST_EXTENT = {32: LARGEST_COUNT, 64: 1 << 47}


def largest_extent(dtype: DType) -> int:
    """The most that an extent of this type may be, so that index arithmetic near it does not overflow.

    Compiled code checks the same; the axiom is the kernel's (``kernel.begin``).
    """
    return _LARGEST_EXTENT.get(dtype.bits, LARGEST_COUNT)


def symbols_of(buffer: Buffer) -> tuple[Var, ...]:
    """The variables in a buffer's extents."""
    found = [node for e in (*buffer.shape, *buffer.strides, buffer.elem_offset) for node in walk(e)]
    return tuple(dict.fromkeys(node for node in found if isinstance(node, Var)))


def bind_symbol(frame: Frame, var: Var, value: int) -> None:
    """Give a symbol its value.

    :raises ArgumentError: if its type does not hold the value.
    """
    if not fits(var.dtype, value) or value > largest_extent(var.dtype):
        raise ArgumentError(f"{var.name} would be {value}, which is too much for an extent of type {var.dtype}")
    frame.values[var] = value


def bind_symbols(frame: Frame, symbols: Sequence[Var], given: Sequence[tuple[Buffer, Extents]]) -> None:
    """Bind those of ``symbols`` that are not bound yet, so that the buffers have the extents given.

    :raises ArgumentError: if one cannot be inferred or has no fitting value.
    """
    unknown = [s for s in symbols if s not in frame.values]
    equations = list(_equations(given)) if unknown else []
    while unknown:
        found = next((f for f in (_solved(frame, *equation) for equation in equations) if f is not None), None)
        if found is None:
            names = ", ".join(s.name for s in unknown)
            raise ArgumentError(f"the arrays do not say what {names} is; pass it by name")
        bind_symbol(frame, *found)
        unknown.remove(found[0])


def _equations(given: Sequence[tuple[Buffer, Extents]]) -> Iterator[tuple[Expr, int]]:
    """What each extent should be; shapes come before strides and offsets, which they may settle."""
    for buffer, extents in given:
        yield from zip(buffer.shape, extents.shape, strict=True)
    for buffer, extents in given:
        if buffer.strides:
            yield from zip(buffer.strides, extents.strides, strict=True)
        yield buffer.elem_offset, extents.offset


def _solved(frame: Frame, expr: Expr, value: int) -> tuple[Var, int] | None:
    """The one unknown symbol in ``expr``, and what it must be for ``expr`` to be ``value``."""
    match expr:
        case Var():
            return None if expr in frame.values else (expr, value)
        case Binary(op="add", a=inner, b=IntImm(value=c)) | Binary(op="add", a=IntImm(value=c), b=inner):
            return _solved(frame, inner, value - c)
        case Binary(op="sub", a=inner, b=IntImm(value=c)):
            return _solved(frame, inner, value + c)
        case Binary(op="sub", a=IntImm(value=c), b=inner):
            return _solved(frame, inner, c - value)
        case Binary(op="mul", a=inner, b=IntImm(value=c)) | Binary(op="mul", a=IntImm(value=c), b=inner):
            return _solved(frame, inner, value // c) if c != 0 else None  # checked when the shape is
    return None
