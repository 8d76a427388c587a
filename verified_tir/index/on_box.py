"""A map on a box: padded extents, inverse, padding.

Outputs that share no input are independent, so the map falls apart into *components* (for NHWC → NCHWc: ``n``, ``h``,
``w`` and ``c``), each of which is treated alone: the whole is injective if each part is, and a point is padding if it
is so in one of them.  Everything is computed on demand and remembered; :func:`on_box` keeps the most recent maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from verified_tir.index import isl
from verified_tir.index.bounds import Bounds
from verified_tir.index.box import Box, guarded, holds, is_safe, model_values, proves, symbolic_divisors
from verified_tir.index.errors import IndexMapError, NegativeIndex, NotInjective, NotInvertible, UnknownBounds
from verified_tir.index.evaluate import UnsafeIndex, evaluate
from verified_tir.index.inverse import Collision, invert
from verified_tir.index.padding import Section, exact_padding, hit_mask, padding, union
from verified_tir.index.simplify import Simplifier, simplify
from verified_tir.ir.expr import FALSE, TRUE, Binary, Expr, IntImm, Var
from verified_tir.ir.poly import as_poly, render
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars
from verified_tir.logic.verdict import Proved, Unknown


@final
class Component:
    """Outputs that share inputs, and these inputs; ``axes`` and ``places`` are positions in the whole map."""

    def __init__(self, box: Box, axes: tuple[int, ...], outputs: tuple[Expr, ...], places: tuple[int, ...]) -> None:
        self.box, self.axes, self.outputs, self.places = box, axes, outputs, places
        self.inner = Simplifier(Bounds(box.ranges))


@final
class MapOnBox:
    """The map ``inputs ↦ outputs`` on the box of the given shape."""

    def __init__(self, inputs: tuple[Var, ...], outputs: tuple[Expr, ...], shape: tuple[Expr, ...]) -> None:
        self.box = Box(inputs, shape)
        self.outputs = outputs
        self.hit_vars = output_vars(inputs, outputs)
        self._inverses: dict[Component, tuple[Expr, ...]] = {}
        self.empty = any(_is_zero(e) for e in shape)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        groups = _groups(self.box.vars, self.outputs)
        return tuple(
            Component(
                Box(tuple(self.box.vars[a] for a in axes), tuple(self.box.extents[a] for a in axes)),
                axes,
                tuple(self.outputs[p] for p in places),
                places,
            )
            for axes, places in groups
        )

    @cached_property
    def padded(self) -> tuple[Expr, ...]:
        """The extents of the least box ``[0, max+1)`` that holds every output (an upper bound if symbolic)."""
        found: dict[int, Expr] = {}
        for part in self.components:
            for place, output in zip(part.places, part.outputs, strict=True):
                found[place] = self._extent(part, place, output)
        return tuple(found[p] for p in range(len(self.outputs)))

    @cached_property
    def inverse(self) -> tuple[Expr, ...]:
        """For each input an expression in ``hit_vars``."""
        found: dict[int, Expr] = {}
        for part in self.components:
            for axis, value in zip(part.axes, self._inverse(part), strict=True):
                found[axis] = value
        return tuple(found[a] for a in range(len(self.box.vars)))

    def padding(self, simplified: bool) -> Expr:
        """True at the points of the padded box that are not output."""
        if self.empty:
            return FALSE if any(_is_zero(e) for e in self.padded) else TRUE
        found: list[Expr] = []
        for part in self.components:
            if not part.places:
                continue
            hits = self._hits(part)
            section = self._section(part, hits)
            given = self.box.at_least_zero()
            if not simplified and section is not None:
                found.append(exact_padding(part.box, part.outputs, hits, section, given))
                continue
            outer = Simplifier(Bounds(hits.ranges, [as_poly(e) for e in self.box.extents]))
            found.append(padding(part.box, part.outputs, hits, section, outer, given))
        return union(found)

    # ------------------------------------------------------------------ one component

    def _hits(self, part: Component) -> Box:
        return Box(tuple(self.hit_vars[p] for p in part.places), tuple(self.padded[p] for p in part.places))

    def _inverse(self, part: Component) -> tuple[Expr, ...]:
        found = self._inverses.get(part)
        if found is None:
            found = self._inverses[part] = self._find_inverse(part)
        return found

    def _find_inverse(self, part: Component) -> tuple[Expr, ...]:
        if self.empty:
            return tuple(const(0, v.dtype) for v in part.box.vars)
        facts = [as_poly(e) - 1 for e in self.box.extents]  # an output is hit only if there are inputs
        try:
            ranges = self._hits(part).ranges
        except IndexMapError:  # negative outputs, or unknown bounds: no hindrance to an inverse
            ranges = {}
        names = tuple(self.hit_vars[p] for p in part.places)
        found = invert(part.box, part.outputs, part.inner, names, Simplifier(Bounds(ranges, facts)))
        if isinstance(found, Collision):
            raise self._not_injective(part, found)
        return self._safe(part, ranges, found)

    def _safe(self, part: Component, ranges: dict[Var, tuple[Expr, Expr]], found: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The inverse so that it can be evaluated on padding too, even while extents are 0."""
        if not any(symbolic_divisors(e) for e in found):
            return found
        whole = self.box.at_least_zero()
        everywhere = Box(tuple(ranges), tuple(extent for _, extent in ranges.values()))
        if ranges and all(is_safe(everywhere, e, whole) for e in found):
            return found
        nonempty = [e >= 1 for e in part.box.extents]  # else no input is there to be given back
        if not all(isinstance(proves(nonempty, d >= 1), Proved) for e in found for d in symbolic_divisors(e)):
            raise NotInvertible("an inverse was found that may divide by zero on padding")
        return tuple(guarded(e) for e in found)

    def _section(self, part: Component, hits: Box) -> Section | None:
        """The inverse, or if there is none, some input for each output; None where enumeration will do."""
        try:
            return Section(self._inverse(part), True)
        except NotInjective:
            if hit_mask(part.box, part.outputs, hits) is not None:
                return None
            try:
                return Section(tuple(isl.section(part.box, part.outputs, hits.vars)), False)
            except isl.Inexpressible as problem:
                raise NotInvertible(str(problem)) from problem

    def _not_injective(self, part: Component, collision: Collision) -> NotInjective:
        """The collision of a component as one of the whole map; the other coordinates are 0."""
        values = {s: collision.symbols.get(s, 1) for s in self.box.symbols(*self.outputs)}
        points: list[tuple[int, ...]] = []
        for inside in (collision.first, collision.second):
            point = [0] * len(self.box.vars)
            for axis, x in zip(part.axes, inside, strict=True):
                point[axis] = x
            points.append(tuple(point))
        environment = {**values, **dict(zip(self.box.vars, points[0], strict=True))}
        output = tuple(int(v) for v in evaluate(self.outputs, environment))
        return NotInjective(points[0], points[1], output, values)

    def _extent(self, part: Component, place: int, output: Expr) -> Expr:
        """One extent of the padded box."""
        used = set(free_vars(output))
        axes = [a for a in part.axes if self.box.vars[a] in used]
        box = Box(tuple(self.box.vars[a] for a in axes), tuple(self.box.extents[a] for a in axes))
        if box.shape is None or box.symbols(output):
            return self._symbolic_extent(part, place, output, box)
        if 0 in box.shape:
            return const(0, output.dtype)
        if box.small is not None:
            (values,) = evaluate([output], box.grid())
            values = np.broadcast_to(values, box.small)
            if int(values.min()) < 0:
                point = [int(x) for x in np.unravel_index(int(values.argmin()), box.small)]
                raise self._negative(place, output, dict(zip(box.vars, point, strict=True)))
            return const(int(values.max()) + 1, output.dtype)
        self._require_nonnegative(part, place, output, box)
        try:
            return const(isl.greatest(box, output) + 1, output.dtype)
        except isl.Inexpressible as problem:
            high = part.inner.bounds.interval(part.inner.poly(output))[1]
            if high is None:
                raise UnknownBounds(f"output {place} has no known upper bound: {problem}") from problem
            return const(high + 1, output.dtype)

    def _symbolic_extent(self, part: Component, place: int, output: Expr, box: Box) -> Expr:
        self._require_nonnegative(part, place, output, box)
        most = part.inner.bounds.upper(part.inner.poly(output))
        if most is None:
            raise UnknownBounds(f"output {place} has no known upper bound")
        extent = _one_quotient(simplify(render(most + 1, output.dtype), {}))
        if not isinstance(holds(box, output < extent), Proved):
            raise UnknownBounds(f"output {place} has no upper bound that could be checked")
        return extent

    def _require_nonnegative(self, part: Component, place: int, output: Expr, box: Box) -> None:
        if part.inner.bounds.nonneg(part.inner.poly(output)):
            return
        verdict = holds(box, output >= 0)
        if isinstance(verdict, Proved):
            return
        if isinstance(verdict, Unknown):
            raise UnknownBounds(f"output {place} could not be shown to be nonnegative ({verdict.reason})")
        with suppress(UnsafeIndex):
            found = self._negative(place, output, model_values(verdict, [*box.vars, *box.symbols(output)]))
            if found.value < 0:
                raise found
        raise UnknownBounds(f"output {place} could not be shown to be nonnegative")

    def _negative(self, place: int, output: Expr, values: dict[Var, int]) -> NegativeIndex:
        symbols = {s: values.get(s, 1) for s in self.box.symbols(output)}
        point = tuple(values.get(v, 0) for v in self.box.vars)
        environment = {**symbols, **dict(zip(self.box.vars, point, strict=True))}
        return NegativeIndex(place, point, int(evaluate([output], environment)[0]), symbols)


def _one_quotient(extent: Expr) -> Expr:
    """``(n + 1)//8 + 1`` as ``(n + 9)//8``."""
    poly = as_poly(extent)
    match poly.without_offset().single:
        case Binary(op="floordiv", a=a, b=IntImm(value=c)):
            return render(as_poly(a) + poly.offset * c, a.dtype) // c
    return extent


@lru_cache(maxsize=512)
def on_box(inputs: tuple[Var, ...], outputs: tuple[Expr, ...], shape: tuple[Expr, ...]) -> MapOnBox:
    """The map on the box; the same object while it is remembered."""
    return MapOnBox(inputs, outputs, shape)


def output_vars(inputs: Sequence[Var], outputs: Sequence[Expr]) -> tuple[Var, ...]:
    """Fresh variables for the outputs, named after what they come from: ``i, jo, ji`` for ``[i, j//4, j%4]``."""
    sources = [[v for v in inputs if v in set(free_vars(e))] for e in outputs]
    taken: set[str] = set()
    names: list[str] = []
    for k, own in enumerate(sources):
        siblings = [m for m, s in enumerate(sources) if s == own]
        if len(own) == 1 and len(siblings) == 1:
            name = own[0].name
        elif len(own) == 1 and len(siblings) == 2:
            name = own[0].name + "oi"[siblings.index(k)]
        elif len(own) == 1:
            name = f"{own[0].name}{siblings.index(k)}"
        else:
            name = f"axis{k}"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return tuple(Var.fresh(n, e.dtype) for n, e in zip(names, outputs, strict=True))


def _groups(inputs: Sequence[Var], outputs: Sequence[Expr]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Positions of inputs and outputs that hang together; an input that occurs nowhere stands alone."""
    groups: list[tuple[set[int], set[int]]] = [({a}, set()) for a in range(len(inputs))]
    for place, output in enumerate(outputs):
        used = set(free_vars(output))
        axes = {a for a, v in enumerate(inputs) if v in used}
        touched = [g for g in groups if g[0] & axes]
        merged: tuple[set[int], set[int]] = (set(), {place})
        for g in touched:
            merged[0].update(g[0])
            merged[1].update(g[1])
            groups.remove(g)
        groups.append(merged)
    groups.sort(key=lambda g: (min(g[1], default=len(outputs)), min(g[0], default=0)))
    return [(tuple(sorted(a)), tuple(sorted(p))) for a, p in groups]


def _is_zero(extent: Expr) -> bool:
    return isinstance(extent, IntImm) and extent.value <= 0
