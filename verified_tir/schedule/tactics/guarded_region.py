"""The part of a box that a statement touches at all, where conditions keep it from the rest.

    for k, l in T.grid(2, 16):
        if 16 * k + l < 24:                of the box [0, 2) × [0, 16) only the elements with 16 * y0 + y1 < 24
            B[k, l] = …

Input: a statement, a buffer and the box of what the statement touches of it (``regions``).  Output: the map of the box
whose other elements count as padding, or ``None``.  Like the box it is *never trusted*: the kernel proves that each
access lies in the region.  A condition counts if it stands around every access, and if the indices say what the loop
variables that it mentions are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from verified_tir.index.conditions import conjuncts
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, Not, Var
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.poly import as_poly, render
from verified_tir.ir.stmt import Stmt
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.schedule.footprint_accesses import Piece, pieces


def guarded_layout(stmt: Stmt, buffer: Buffer, layout: LayoutMap) -> LayoutMap | None:
    """The layout with what no access reaches as padding; ``None`` if no condition stands around every access.

    :param layout: the map of a box of the buffer.
    """
    found = [p for p in pieces(stmt, buffer) if p.direct]
    each = [_conditions(p, layout.inverse) for p in found]
    common = [c for c in each[0] if all(c in others for others in each[1:])] if each else []
    if not common or layout.padding is not FALSE:
        return None
    return replace(layout, padding=Not(all_of(common)))


def _conditions(piece: Piece, element: Sequence[Expr]) -> list[Expr]:
    """The conditions on the way to an access, in terms of the element that is accessed."""
    inside = {loop.var for loop in piece.loops}
    values = _solved(piece.indices, element, inside)
    found = [c for given in piece.conditions for c in conjuncts(given)]
    return [substitute(c, values) for c in found if inside & set(free_vars(c)) <= values.keys()]


def _solved(indices: Sequence[Expr | None], element: Sequence[Expr], inside: set[Var]) -> Mapping[Var, Expr]:
    """The loop variables that an index adds once to what does not change inside."""
    values: dict[Var, Expr] = {}
    for index, place in zip(indices, element, strict=True):
        if index is None or index.dtype.lanes > 1 or not is_index(index):
            continue
        moving = [v for v in free_vars(index) if v in inside]
        if len(moving) != 1:
            continue
        (v,) = moving
        rest = as_poly(index) - as_poly(v)
        if all(v not in free_vars(a) for a in rest.atoms()):
            values[v] = render(as_poly(place) - rest, v.dtype)
    return values
