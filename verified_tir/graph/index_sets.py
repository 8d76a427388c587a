"""Sets of indices and relations between them, by isl: which elements a program stores, and where they come from.

Exact for what isl can express; anything else is :class:`~verified_tir.index.isl.Inexpressible`, and so is what takes
too long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

from verified_tir.graph.errors import NoCopy
from verified_tir.index.box import Box
from verified_tir.index.isl import Inexpressible, Reader, Space, bounded, coordinates, function, two_of_one
from verified_tir.index.map import IndexMap
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.sugar import all_of, const

if TYPE_CHECKING:
    from verified_tir.graph.copies import Piece

OPERATIONS = 2_000_000
"""isl operations for one program (some tenths of a second)."""


@contextmanager
def sets_of(source: Buffer, target: Buffer) -> Iterator[Sets]:
    """The indices of a source and a target, within which isl's work is bounded."""
    with bounded(OPERATIONS) as isl:
        yield Sets(isl, source, target)


@final
class Sets:
    """The indices of a source and a target."""

    def __init__(self, isl: Any, source: Buffer, target: Buffer) -> None:
        self.isl, self.source, self.target = isl, source, target
        self.sources, self.targets = (self._graph(_identity(b), b).range() for b in (source, target))

    def _graph(self, index_map: IndexMap, buffer: Buffer) -> Any:
        return Space(index_map.inputs).map(index_map.outputs, _box(index_map.inputs, buffer).conditions())

    def empty(self) -> Any:
        """No element is copied."""
        every = self.isl.Map.from_domain_and_range(self.sources, self.targets)
        return every.subtract(every)

    def _iterations(self, p: Piece, of: Sequence[Expr]) -> Any:
        """Indices of each iteration of a piece."""
        ranges = [c for v, (low, extent) in p.loops.items() for c in (v >= low, v < low + extent)]
        return Space(p.loops).map(of, [*ranges, *p.conditions])

    def relation(self, p: Piece) -> Any:
        """From the elements that a piece reads to where it stores them."""
        assert p.of is not None
        return self._iterations(p, p.of).reverse().apply_range(self._iterations(p, p.at))

    def stored(self, p: Piece) -> Any:
        """Where a piece stores."""
        return self._iterations(p, p.at).range()

    def graph_of(self, index_map: IndexMap, *, backward: bool) -> Any:
        """The relation that a map describes; ``backward`` says that it leads from the target to the source."""
        graph = self._graph(index_map, self.target if backward else self.source)
        return graph.reverse() if backward else graph

    def function(self, relation: Any, *, backward: bool) -> IndexMap:
        """The map that a single-valued relation is.

        :raises Inexpressible: if it is put together of several.
        """
        buffer = self.target if backward else self.source
        whole = _identity(buffer)
        pieces = function(relation.reverse() if backward else relation, Reader(whole.inputs, (), INT32))
        if len(pieces) != 1:
            raise Inexpressible("the map is put together of several")
        return IndexMap(whole.inputs, tuple(pieces[0][1])).simplified(_box(whole.inputs, buffer).extents)

    def require_function(self, relation: Any) -> None:
        """:raises NoCopy: if an element goes to two places, or a place gets two elements."""
        s, t = self.source, self.target
        for one, a, b in ((relation, s, t), (relation.reverse(), t, s)):
            if one.is_single_valued():
                continue
            rank = len(b.shape)
            values = coordinates(two_of_one(one), self.isl.dim_type.set, 2 * rank)
            first, second = (f"{b.name}{list(values[k : k + rank])}" for k in (0, rank))
            places = _identity(b)
            there = Space(places.inputs).where(
                all_of([v.equal(x) for v, x in zip(places.inputs, values[:rank], strict=True)])
            )
            place = point_text(a, one.intersect_range(there).domain())
            told = f"{place} is copied to {first} and {second}" if a is s else f"{place} gets {first} and {second}"
            raise NoCopy(f"{told}: that is not a bijection")


def point_text(buffer: Buffer, points: Any) -> str:
    """One of the elements, as text."""
    import islpy as isl

    return f"{buffer.name}{list(coordinates(points.sample_point(), isl.dim_type.set, len(buffer.shape)))}"


def _identity(buffer: Buffer) -> IndexMap:
    return IndexMap.identity(len(buffer.shape))


def _box(inputs: Sequence[Var], buffer: Buffer) -> Box:
    """The indices of a buffer of fixed shape, whatever their type is."""
    return Box(tuple(inputs), tuple(const(e.value, INT32) for e in buffer.shape if isinstance(e, IntImm)))
