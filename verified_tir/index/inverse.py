"""Inverses of maps on a box, and collisions that show there is none.

The structural solver is asked first, isl second; an answer counts only when it has been checked at every point of the
box.  If there is none, two inputs with one output are sought: by enumeration, by isl, by Z3.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from verified_tir.index import isl
from verified_tir.index.box import Box, holds, model_values, proves
from verified_tir.index.errors import NotInvertible
from verified_tir.index.evaluate import NotEvaluable, UnsafeIndex, evaluate
from verified_tir.index.simplify import Simplifier
from verified_tir.index.solve import solve
from verified_tir.index.table import tabulated
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.sugar import all_of, const
from verified_tir.ir.visit import substitute
from verified_tir.logic.verdict import Proved, Refuted


class Collision(NamedTuple):
    """Two points of the box with one image, for some values of the symbols."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    symbols: dict[Var, int]


def invert(
    box: Box, outputs: Sequence[Expr], inner: Simplifier, hits: Sequence[Var], outer: Simplifier
) -> tuple[Expr, ...] | Collision:
    """The inputs in terms of the variables ``hits``, right wherever an input maps there; or a collision.

    :raises NotInvertible: if neither is found.
    """
    if not box.vars:
        return ()
    proposal = solve(box, [inner.poly(e) for e in outputs], inner, hits, outer)
    if proposal is not None and _good(proposal, box, outputs, hits, inner, outer):
        return tuple(proposal)
    collision, reason = find_collision(box, outputs)
    if collision is not None:
        return collision
    try:
        found = isl.section(box, outputs, hits)
        for proposal in ([outer.expr(e) for e in found], found):
            if _good(proposal, box, outputs, hits, inner, outer):
                return tuple(proposal)
    except isl.Inexpressible as problem:
        reason = reason or str(problem)
    proposal = _tabulated(box, outputs, hits)
    if proposal is not None and _good(proposal, box, outputs, hits, inner, outer):
        return tuple(proposal)
    raise NotInvertible(reason or "the inverse that was found could not be checked")


def _good(
    proposal: Sequence[Expr],
    box: Box,
    outputs: Sequence[Expr],
    hits: Sequence[Var],
    inner: Simplifier,
    outer: Simplifier,
) -> bool:
    """Whether ``proposal`` is an inverse and does not overflow on the padded box."""
    return all(outer.bounds.fits(e) for e in proposal) and is_inverse(box, outputs, hits, proposal, inner)


def _tabulated(box: Box, outputs: Sequence[Expr], hits: Sequence[Var]) -> list[Expr] | None:
    """An inverse of an injective map on a small constant box, from its values."""
    if box.small is None or box.symbols(*outputs):
        return None
    points = np.indices(box.small).reshape(len(box.vars), -1).T
    return tabulated(hits, _images(box, outputs), points)


def _images(box: Box, outputs: Sequence[Expr]) -> npt.NDArray[np.int64]:
    """The outputs at every point of a small constant box, one row a point."""
    shape = box.shape
    assert shape is not None
    rows = np.zeros((prod(shape), len(outputs)), dtype=np.int64)
    for k, values in enumerate(evaluate(outputs, box.grid())):
        rows[:, k] = np.broadcast_to(values, shape).ravel()
    return rows


def is_inverse(
    box: Box, outputs: Sequence[Expr], hits: Sequence[Var], proposal: Sequence[Expr], inner: Simplifier
) -> bool:
    """Whether ``proposal`` gives back every point of the box."""
    image = dict(zip(hits, outputs, strict=True))
    claims = [substitute(p, image).equal(x) for p, x in zip(proposal, box.vars, strict=True)]
    return isinstance(holds(box, all_of(claims), simplifier=inner), Proved)


def find_collision(box: Box, outputs: Sequence[Expr]) -> tuple[Collision | None, str | None]:
    """A collision that has been checked; or why none is known (None if the map is known to be injective)."""
    constant = not box.symbols(*outputs)
    try:
        if box.small is not None and constant:
            return _enumerate(box, outputs), None
        if outputs:
            with suppress(isl.Inexpressible):
                found = isl.collision(box, outputs)
                collision = None if found is None else Collision(*found)
                if collision is None or collides(box, outputs, collision):
                    return collision, None
        if box.enumerable and constant:
            return _enumerate(box, outputs), None
    except (UnsafeIndex, NotEvaluable) as problem:
        return None, str(problem)
    return _by_solver(box, outputs)


def collides(box: Box, outputs: Sequence[Expr], collision: Collision) -> bool:
    """Whether the two points differ, lie in the box and have one image."""
    if collision.first == collision.second:
        return False
    images = []
    for point in (collision.first, collision.second):
        values = {**collision.symbols, **dict(zip(box.vars, point, strict=True))}
        try:
            images.append([int(v) for v in evaluate(outputs, values)])
            if not all(bool(v) for v in evaluate(box.conditions(), values)):
                return False
        except IRError:
            return False
    return images[0] == images[1]


def _enumerate(box: Box, outputs: Sequence[Expr]) -> Collision | None:
    shape = box.shape
    assert shape is not None
    pair = first_repetition(_images(box, outputs))
    if pair is None:
        return None
    a, b = ([int(x) for x in np.unravel_index(p, shape)] for p in pair)
    return Collision(tuple(a), tuple(b), {})


def first_repetition(rows: npt.NDArray[np.int64]) -> tuple[int, int] | None:
    """Two positions with equal rows, the first ones in lexicographic order of the rows."""
    order = np.lexsort(rows.T) if rows.shape[1] else np.arange(len(rows))
    ordered = rows[order]
    same = np.flatnonzero((ordered[1:] == ordered[:-1]).all(axis=1))
    if same.size == 0:
        return None
    a, b = sorted((int(order[same[0]]), int(order[same[0] + 1])))
    return a, b


def _by_solver(box: Box, outputs: Sequence[Expr]) -> tuple[Collision | None, str | None]:
    """Small symbol values by enumeration, then any by Z3."""
    symbols = box.symbols(*outputs)
    for size in (1, 2, 3, 5, 8, 9, 12):
        values = {s: size + k for k, s in enumerate(symbols)}
        numbers = {s: const(v, s.dtype) for s, v in values.items()}
        try:
            sample = box.at(values)
            if symbols and sample.small is not None:
                found = _enumerate(sample, [substitute(e, numbers) for e in outputs])
                if found is not None:
                    return found._replace(symbols=values), None
        except IRError:
            continue
    others = tuple(Var.fresh(v.name, v.type) for v in box.vars)
    renamed = dict(zip(box.vars, others, strict=True))
    image = [e.equal(substitute(e, renamed)) for e in outputs]
    given = [*box.conditions(), *box.contains(others), *image]
    verdict = proves(given, all_of([a.equal(b) for a, b in zip(box.vars, others, strict=True)]))
    if isinstance(verdict, Proved):
        return None, "the map is injective, but no expression for its inverse was found"
    if isinstance(verdict, Refuted):
        values = model_values(verdict, [*box.vars, *others, *symbols])
        pair = (tuple(values[v] for v in box.vars), tuple(values[v] for v in others))
        collision = Collision(*pair, {s: values[s] for s in symbols})
        if collides(box, outputs, collision):
            return collision, None
        return None, "a collision was claimed that is none"
    return None, f"injectivity is unknown ({verdict.reason})"
