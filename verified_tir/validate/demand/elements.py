"""Which elements to look at: corners, both sides of tile boundaries, and random ones.

Tiles show in the index arithmetic of the stores: the factors and divisors of loop variables, the constants of guards,
the extents of loops.  For each dimension of an output those of its own index come first, those of the whole program
after them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from verified_tir.ir.expr import Binary, Expr, IntImm, Var
from verified_tir.ir.visit import walk
from verified_tir.validate.demand.outline import Bound, Guard, InLoop, Outline, Site
from verified_tir.validate.terms import Ids

SEED: Final = 20240229
_MOST_CORNERS: Final = 32
_MOST_SIZES: Final = 12


def choose(shape: Sequence[int], sizes: Sequence[Sequence[int]], count: int, seed: int) -> Ids:
    """At most ``count`` elements of an array, in the order of their importance; corners come first.

    :param sizes: for each dimension, where tiles may begin (sizes of tiles, and places), the likely ones first.
    """
    total = math.prod(shape)
    if total <= count:
        return np.arange(total, dtype=np.int64)
    rng = np.random.default_rng(seed)
    found: dict[int, None] = {}
    for corner in itertools.islice(itertools.product(*[(0, d - 1) for d in shape]), _MOST_CORNERS):
        found[int(np.ravel_multi_index(corner, shape))] = None
    found[total - 1] = None
    corners = len(found)
    for place in _boundaries(shape, sizes, rng):
        if len(found) >= corners + (count - corners) * 3 // 4:
            break
        found[int(np.ravel_multi_index(place, shape))] = None
    while len(found) < count:
        found[int(rng.integers(0, total))] = None
    return np.array(list(found)[:count], dtype=np.int64)


def _boundaries(
    shape: Sequence[int], sizes: Sequence[Sequence[int]], rng: np.random.Generator
) -> Iterator[tuple[int, ...]]:
    """Elements on both sides of boundaries; one dimension after the other, the other indices at boundaries too."""
    lines = [list(_places(extent, given)) for extent, given in zip(shape, sizes, strict=True)]
    rounds = max([len(line) for line in lines], default=0)
    for k in range(2 * rounds):
        for axis, line in enumerate(lines):
            if k // 2 >= len(line):
                continue
            place = [
                int(rng.choice(other)) if other else int(rng.integers(0, d))
                for other, d in zip(lines, shape, strict=True)
            ]
            if k % 2:
                place = [int(rng.integers(0, d)) for d in shape]
            place[axis] = line[k // 2]
            yield tuple(place)


def _places(extent: int, sizes: Iterable[int]) -> Iterator[int]:
    """Both sides of boundaries along one dimension: the first and last of each size, then all the others in turn."""
    seen: set[int] = set()
    sizes = list(sizes)
    near = [[s, s - 1, extent // s * s - 1, extent // s * s, extent - s, extent - s - 1] for s in sizes]
    between = [[q * s + d for q in range(2, min(extent // s, 40)) for d in (0, -1)] for s in sizes]
    for place in itertools.chain(*zip(*near, strict=True), *itertools.zip_longest(*between, fillvalue=-1)):
        if 0 <= place < extent and place not in seen:
            seen.add(place)
            yield place


def tile_sizes(shape: Sequence[int], outlines: Sequence[tuple[Outline, list[Site]]]) -> list[list[int]]:
    """Where tiles may begin in each dimension of an output, from the sites that store to it in both programs."""
    rank = len(shape)
    own: list[dict[int, None]] = [{} for _ in shape]
    general: dict[int, None] = {}
    for outline, sites in outlines:
        for site in sites:
            lets = {e.var: e.value for e in site.context if isinstance(e, Bound)}
            extents = {e.loop.stmt.var: e.loop.high - e.loop.low + 1 for e in site.context if isinstance(e, InLoop)}
            indices = site.what.indices  # type: ignore[union-attr]
            for k, index in enumerate(indices):
                numbers = list(_constants(index, lets, extents))
                (own[k] if len(indices) == rank else general).update(dict.fromkeys(numbers))
            for entry in site.context:
                if isinstance(entry, Guard):
                    general.update(dict.fromkeys(_constants(entry.condition, lets, extents)))
        general.update(dict.fromkeys(loop.high - loop.low + 1 for loop in outline.loops))
        for node in walk(outline.func.body):
            if isinstance(node, Binary) and node.op in ("lt", "le", "gt", "ge", "eq", "ne"):
                general.update(dict.fromkeys(_constants(node, {}, {})))
    return [
        [s for s in dict.fromkeys([*mine, *general]) if 1 < s < extent][:_MOST_SIZES]
        for mine, extent in zip(own, shape, strict=True)
    ]


def _constants(expr: Expr, lets: dict[Var, Expr], extents: dict[Var, int]) -> Iterator[int]:
    """The numbers in an index, and the extents of its loops."""
    stack, seen = [expr], {expr}
    while stack:
        for node in walk(stack.pop()):
            if isinstance(node, IntImm):
                yield abs(node.value)
            elif isinstance(node, Var):
                if node in extents:
                    yield extents[node]
                inner = lets.get(node)
                if inner is not None and inner not in seen:
                    seen.add(inner)
                    stack.append(inner)
