"""When an access may touch an element: it lies in its block, and in no padding that is declared inaccessible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, IntImm
from verified_tir.kernel.memory import bytes_of, flat_address
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoder

if TYPE_CHECKING:
    from verified_tir.kernel.context import Context


def accessible(context: Context, buffer: Buffer, indices: tuple[Term, ...]) -> Term:
    """When touching this element is allowed."""
    conditions = [_within_block(context, buffer, indices)]
    for p in context.entry.paddings:
        if p.buffer.data is buffer.data and p.value is None and p.predicate is not FALSE:
            place = indices if p.buffer is buffer else _seen_from(context, p.buffer, buffer, indices)
            if place is None:
                return f.FALSE  # a view over partly inaccessible memory: not understood, so not allowed
            conditions.append(f.not_(context.bound(p.indices, place).encoder().value(p.predicate)))
    return f.and_(*conditions)


def _seen_from(context: Context, base: Buffer, view: Buffer, indices: tuple[Term, ...]) -> tuple[Term, ...] | None:
    """The indices in ``base`` of an element of another view; ``None`` unless both are row-major with equal elements
    and all extents of ``base`` but the first are constants.  Only for an element that lies in the block (see
    ``_within_block``): an array that has strides, or no element, has none that other views may touch."""
    inner = [e.value for e in base.shape[1:] if isinstance(e, IntImm)]
    if view.strides or base.dtype is not view.dtype or len(inner) != len(base.shape) - 1:
        return None
    encoder = Encoder(context.env)
    rest = f.sub(flat_address(view, indices, encoder), encoder.value(base.elem_offset))
    found: list[Term] = []
    for extent in reversed(inner):
        found.insert(0, f.floormod(rest, f.integer(extent)))
        rest = f.floordiv(rest, f.integer(extent))
    return (rest, *found)


def _within_block(context: Context, buffer: Buffer, indices: tuple[Term, ...]) -> Term:
    """An element of a view lies inside the block that the view was declared over."""
    base = next((b for b in context.views.get(buffer.data, ()) if b in context.owners), None)
    if base is None or (base is buffer and base in context.func.buffers):
        return f.TRUE
    encoder = Encoder(context.env)
    if base is buffer:  # an allocation is as large as its elements reach, upwards from 0
        return f.and_(*[f.le(f.integer(0), encoder.value(e)) for e in (*base.strides, base.elem_offset)])
    if base.strides:
        return f.FALSE  # which bytes between the elements belong to the block is not understood
    first = f.mul(encoder.value(base.elem_offset), f.integer(base.dtype.nbytes))
    start = f.mul(flat_address(buffer, indices, encoder), f.integer(buffer.dtype.nbytes))
    end, last = f.add(start, f.integer(buffer.dtype.nbytes)), f.add(first, bytes_of(base, encoder))
    return f.and_(f.le(f.integer(0), start), f.le(first, start), f.le(end, last))
