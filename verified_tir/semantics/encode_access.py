"""Accesses of memory as formulas: which elements, under which masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Load
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encoded import Encoded

if TYPE_CHECKING:
    from verified_tir.semantics.encode import Encoder


def load(encoder: Encoder, expr: Load, lane: Term | None) -> Encoded:
    """What a load gives; a lane that is masked out is undefined."""
    if expr.predicate is None:
        indices, element_lane = address(encoder, expr, expr.buffer, expr.indices, lane)
        value, defined = encoder.load(expr.buffer, indices, element_lane)
        return Encoded(value, defined, True)
    taken = mask(encoder, expr, expr.buffer, expr.predicate, lane)
    outer = encoder.premises
    encoder.premises = (*outer, taken)
    indices, element_lane = address(encoder, expr, expr.buffer, expr.indices, lane, outer)
    value, defined = encoder.load(expr.buffer, indices, element_lane)
    encoder.premises = outer
    return Encoded(value, f.and_(taken, defined), True)


def mask(encoder: Encoder, expr: Expr, buffer: Buffer, predicate: Expr, lane: Term | None) -> Term:
    """Whether a lane of a masked access takes place."""
    assert lane is not None
    e = encoder.encode(predicate, f.floordiv(lane, f.integer(buffer.dtype.lanes)) if buffer.dtype.lanes > 1 else lane)
    encoder.require("a branch on undef", expr, e.defined)
    return e.value


def address(
    encoder: Encoder, expr: Expr, buffer: Buffer, indices: tuple[Expr, ...], lane: Term | None,
    evaluated: tuple[Term, ...] | None = None,
) -> tuple[tuple[Term, ...], Term | None]:  # fmt: skip
    """Index terms of an access (of its lane ``lane``), and the lane within a vector element.

    A vector index into a vector buffer has element lanes × index lanes, the element's lanes innermost.

    :param evaluated: the premises under which the indices are evaluated, where they differ from those under which
        the element is accessed: a masked access evaluates all its indices.
    """
    accessed = encoder.premises
    element_lane = None
    index_lane = lane
    if buffer.dtype.lanes > 1:
        assert lane is not None
        width = f.integer(buffer.dtype.lanes)
        index_lane, element_lane = f.floordiv(lane, width), f.floormod(lane, width)
    terms = []
    for index, extent in zip(indices, buffer.shape, strict=True):
        encoder.premises = accessed if evaluated is None else evaluated
        e = encoder.encode(index, index_lane if index.dtype.lanes > 1 else None)
        encoder.require("an index that is undef", expr, e.defined)
        encoder.premises = accessed
        if encoder.safety is not None:
            encoder.require("in bounds", expr, f.between(f.integer(0), e.value, encoder.value(extent)))
        terms.append(e.value)
    if encoder.safety is not None and encoder.accessible is not None:
        encoder.require("accessible", expr, encoder.accessible(buffer, tuple(terms), element_lane))
    return tuple(terms), element_lane
