"""Rewrites of layouts: an index map, elements around, elements cut off (Relax's layout_transform; pad and crop).

What padding holds may be left open (``pad_value=None``): its elements are undefined then, and whoever reads them has no
result.  ``cropped_value`` says what the elements were that are cut off; it is a hint, checked by whoever uses it.
"""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.elementwise import dims
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.operators.shape import surrounded
from verified_tir.graph.sizes import Dim, dim_text, never_negative, shape_text
from verified_tir.index.map import IndexMap, IndexMapError
from verified_tir.ir.expr import FALSE, Expr, Undef, Var
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import substitute
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.tensor import Tensor

COMPACT = ("layout_transform", "pad", "crop")
"""The operators below, of which Relax's compact form of a rewrite is made."""


@operator("layout_transform")
def layout_transform(x: Tensor, *, index_map: IndexMap, pad_value: float | None = None) -> Tensor:
    """Element i of x goes to ``index_map(i)``; places that no element goes to hold ``pad_value``."""
    if not isinstance(index_map, IndexMap):
        raise GraphError(f"index_map is an IndexMap, not {index_map!r}")
    size = dims(x)
    try:
        shape = index_map.padded_shape(size)
        inverse = index_map.inverse(size)
        places, padding = index_map.padding_predicate(size)
    except IndexMapError as problem:
        raise GraphError(f"{index_map} rewrites no layout of shape {shape_text(size)}: {problem}") from None

    def element(*i: Var) -> Expr:
        found: Expr = x[tuple(inverse.apply(i))]
        if padding is FALSE:
            return found
        inside = T.Not(substitute(padding, dict(zip(places, i, strict=True))))
        return T.if_then_else(inside, found, _value(x, pad_value))

    return te.compute(shape, element, name="layout_transform")


@operator("pad")
def pad(x: Tensor, *, pad_width: Sequence[Sequence[int]], pad_value: float | None = None) -> Tensor:
    """More elements before and after each dimension; they hold ``pad_value``."""
    size = dims(x)
    if len(pad_width) != len(size) or any(len(p) != 2 or min(p) < 0 for p in pad_width):
        raise GraphError(f"pad_width has a pair of numbers for each of {len(size)} dimensions, not {pad_width}")

    before, after = ([p[side] for p in pad_width] for side in (0, 1))
    return surrounded(x, before, after, _value(x, pad_value), name="pad")


@operator("crop")
def crop(
    x: Tensor, *, start_indices: Sequence[int], slice_sizes: Sequence[Dim], cropped_value: float | None = None
) -> Tensor:
    """The box of ``slice_sizes`` elements that begins at ``start_indices``."""
    del cropped_value
    size = dims(x)
    if not len(start_indices) == len(slice_sizes) == len(size):
        raise GraphError(f"crop takes a start and a size for each of {len(size)} dimensions")
    for first, count, n in zip(start_indices, slice_sizes, size, strict=True):
        if first < 0 or not never_negative(count) or not never_negative(n - first - count):
            raise GraphError(f"{dim_text(count)} elements from {first} on are not within {dim_text(n)}")
    return te.compute(
        slice_sizes, lambda *i: x[tuple(v + first for v, first in zip(i, start_indices, strict=True))], name="crop"
    )


def _value(x: Tensor, value: float | None) -> Expr:
    return Undef(x.buffer.dtype) if value is None else const(value, x.dtype)
