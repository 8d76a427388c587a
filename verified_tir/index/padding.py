"""Padding predicates: which points of the padded output box no input maps to.

With any section ``g`` of the map ``f`` (an inverse, say) the exact answer is ``not (g(y) in box and f(g(y)) = y)``.
Shorter forms are searched for: a box (``io == 3 and ii >= 2``), the simplified exact answer (``4*io + ii >= n``),
isl's.  Each is checked both ways: false at the image of every input, and true at every other point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import final

import numpy as np

from verified_tir.index import isl
from verified_tir.index.bounds import Bounds
from verified_tir.index.box import GRID_LIMIT, Box, guarded, holds, is_safe
from verified_tir.index.conditions import negate
from verified_tir.index.errors import NotInvertible
from verified_tir.index.evaluate import NotEvaluable, UnsafeIndex, evaluate
from verified_tir.index.fold import size
from verified_tir.index.simplify import Simplifier
from verified_tir.index.table import Mask, cover
from verified_tir.ir.expr import FALSE, Expr
from verified_tir.ir.poly import Poly, as_poly
from verified_tir.ir.sugar import all_of, any_of
from verified_tir.ir.visit import substitute
from verified_tir.logic.verdict import Proved

_SHORT = 16
"""A predicate with no more nodes than this is not shortened further: about three comparisons."""
_LONG = 400
"""A predicate with more nodes than this comes from an inverse by enumeration, and simplifying it is no use."""


@final
@dataclass(frozen=True, slots=True)
class Section:
    """For each output some input that has it, as expressions in the outputs; ``inverse`` if it has been checked."""

    values: tuple[Expr, ...]
    inverse: bool


def exact_padding(box: Box, outputs: Sequence[Expr], hits: Box, section: Section, given: Sequence[Expr]) -> Expr:
    """The predicate as it follows from a section, without simplification; safe to evaluate where ``given`` holds."""
    exact = negate(all_of(_returns(box, outputs, hits, section)))
    return exact if is_safe(hits, exact, given) else guarded(exact)


def _returns(box: Box, outputs: Sequence[Expr], hits: Box, section: Section) -> list[Expr]:
    """That the section leads into the box and the map back from there: true just at the images."""
    back = dict(zip(box.vars, section.values, strict=True))
    agree = [substitute(e, back).equal(y) for e, y in zip(outputs, hits.vars, strict=True)]
    return [*box.contains(section.values), *agree]


def padding(
    box: Box,
    outputs: Sequence[Expr],
    hits: Box,
    section: Section | None,
    outer: Simplifier,
    given: Sequence[Expr],
) -> Expr:
    """The shortest predicate found; the exact one if nothing shorter can be checked.

    Without a section only boxes that can be enumerated have an answer.

    :param given: that no extent is negative.

    :raises NotInvertible: if no predicate can be checked.
    """
    mask = hit_mask(box, outputs, hits)
    if mask is not None and mask.all():
        return FALSE
    exact = None if section is None else exact_padding(box, outputs, hits, section, given)
    best: Expr | None = None
    for candidate in _candidates(box, outputs, hits, outer, exact, mask):
        if best is not None and size(candidate) >= size(best):
            continue
        if outer.bounds.fits(candidate) and is_padding(box, outputs, hits, section, candidate, mask, outer, given):
            best = candidate
            if size(best) <= _SHORT:
                break
    if best is None and exact is not None and section is not None and section.inverse:
        best = exact  # right because the inverse is: no image is sent astray, and nothing else comes back
    if best is None or not is_safe(hits, best, given):
        raise NotInvertible("no padding predicate could be established")
    return best


def hit_mask(box: Box, outputs: Sequence[Expr], hits: Box) -> Mask | None:
    """Which output points are hit, if both boxes are constant and small enough to enumerate."""
    shape = hits.shape
    inputs = box.small
    if inputs is None or shape is None or prod(shape) > 4 * GRID_LIMIT or box.symbols(*outputs):
        return None
    mask = np.zeros(shape, dtype=np.bool_)
    if prod(inputs):
        mask[tuple(evaluate(outputs, box.grid()))] = True
    return mask


def is_padding(
    box: Box,
    outputs: Sequence[Expr],
    hits: Box,
    section: Section | None,
    predicate: Expr,
    mask: Mask | None,
    outer: Simplifier,
    given: Sequence[Expr],
) -> bool:
    """Whether the predicate is true exactly at the points of ``hits`` that are not image."""
    if mask is not None:
        try:
            (value,) = evaluate([predicate], hits.grid())
        except UnsafeIndex:
            return False
        return bool(np.all(np.broadcast_to(value, mask.shape) != mask))
    if section is None or not is_safe(hits, predicate, given):
        return False
    image = dict(zip(hits.vars, outputs, strict=True))
    if not isinstance(holds(box, negate(substitute(predicate, image))), Proved):
        return False
    claim = all_of(_returns(box, outputs, hits, section))
    return isinstance(holds(hits, claim, [*given, negate(predicate)], outer), Proved)


def _candidates(
    box: Box, outputs: Sequence[Expr], hits: Box, outer: Simplifier, exact: Expr | None, mask: Mask | None
) -> Iterator[Expr]:
    """Predicates to try, the most readable first."""
    blocks = None if mask is None else cover(~mask, hits.vars)
    if blocks is not None and len(blocks) == 1:
        yield blocks[0]
    elif mask is None and _volume(hits).same(_volume(box)):
        yield FALSE
    if exact is not None and size(exact) <= _LONG:
        yield outer.expr(exact)
    with suppress(isl.Inexpressible):
        yield outer.expr(isl.holes(box, outputs, hits))
    if blocks is not None:
        yield any_of(blocks)
    if exact is not None:
        yield exact


def _volume(box: Box) -> Poly:
    volume = Poly.of(1)
    for extent in box.extents:
        volume = volume * as_poly(extent)
    return volume


def union(predicates: Sequence[Expr]) -> Expr:
    """True where one of the predicates is."""
    kept = [p for p in predicates if p is not FALSE]
    return any_of(kept)


def readable(hits: Box, predicate: Expr) -> Expr:
    """A shorter condition that is true at the same points of a box; the predicate itself if none is found."""
    best = predicate
    shape = hits.small
    mask: Mask | None = None
    if shape is not None and 0 not in shape and not hits.symbols(predicate):
        with suppress(UnsafeIndex, NotEvaluable):
            (value,) = evaluate([predicate], hits.grid())
            mask = np.array(np.broadcast_to(value, shape), dtype=np.bool_)
    if mask is not None and not mask.any():
        return FALSE
    candidates = [Simplifier(Bounds(hits.ranges, [as_poly(e) for e in hits.extents])).expr(predicate)]
    blocks = None if mask is None else cover(mask, hits.vars)
    if blocks is not None:
        candidates.append(any_of(blocks))
    for candidate in candidates:
        same = any_of([all_of([candidate, predicate]), all_of([negate(candidate), negate(predicate)])])
        if size(candidate) < size(best) and isinstance(holds(hits, same, hits.at_least_zero()), Proved):
            best = candidate
    return best
