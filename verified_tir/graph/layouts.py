"""Layouts of tensors: an index map, and what stands in the padding that it leaves.

A tensor in a layout is what ``layout_transform(x, index_map, pad_value)`` gives.  Padding that *may hold anything*
costs nobody anything, and nobody may let results depend on it; padding that *holds a value* is filled by who makes the
tensor, and may be read.  A tensor whose padding holds a value serves those who do not care, not the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import lcm
from typing import Any, TypeAlias, final

import numpy as np

from verified_tir.graph.element_types import SMALL, array_dtype, held_as
from verified_tir.graph.errors import GraphError
from verified_tir.graph.sizes import (
    Dim,
    dim_text,
    estimate,
    numbers,
    product,
    remedy,
    same,
    shape_text,
    symbols_of,
)
from verified_tir.graph.sizes import normal as normal_size
from verified_tir.index.map import IndexMap, IndexMapError
from verified_tir.index.simplify import simplify
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Expr, IntImm, Var
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars


@final
@dataclass(frozen=True, slots=True)
class Padded:
    """An index map with what its padding holds, or with more room than its elements need.

    :param value: what the padding holds; ``None`` for anything.
    :param shape: extents of the result, where they are to be larger than ``index_map`` makes them.
    """

    index_map: IndexMap
    value: float | int | None = None
    shape: tuple[int, ...] | None = None

    def __str__(self) -> str:
        room = "" if self.shape is None else f" in {self.shape}"
        return f"{self.index_map}{room}" + ("" if self.value is None else f"{_WITH}{self.value!r}")


Layout: TypeAlias = "IndexMap | Padded | None"
"""Where the elements of a tensor stand; ``None`` as its indices say.  A map alone leaves its padding open."""

PLAIN = ""
"""The text of the layout that is none."""

_WITH = " padded with "


def index_map_of(layout: Layout) -> IndexMap | None:
    """The map alone."""
    return layout.index_map if isinstance(layout, Padded) else layout


def value_of(layout: Layout) -> float | int | None:
    """What the padding holds, ``None`` for anything."""
    return layout.value if isinstance(layout, Padded) else None


def room_of(layout: Layout) -> tuple[int, ...] | None:
    """The extents that are larger than the elements need, ``None`` where there are no such."""
    return layout.shape if isinstance(layout, Padded) else None


def is_identity(index_map: IndexMap) -> bool:
    """Whether the map changes nothing, whatever the shape."""
    return len(index_map.outputs) == len(index_map.inputs) and all(
        a is b for a, b in zip(index_map.outputs, index_map.inputs, strict=True)
    )


def shape_in(layout: Layout, shape: Sequence[Dim]) -> tuple[Dim, ...]:
    """The extents that a tensor has in a layout.

    A dimension whose extent is open may be moved, but is an index of its own, and a tensor that has one is not padded.

    :raises GraphError: if the map does not take the shape, or has no room for all that it places.
    """
    index_map = index_map_of(layout)
    if index_map is None:
        return tuple(shape)
    given = room_of(layout)
    for v, e in zip(index_map.inputs, shape, strict=False):
        if isinstance(e, Expr) and (
            v not in index_map.outputs or any(o is not v and v in free_vars(o) for o in index_map.outputs)
        ):
            raise GraphError(f"the extent {dim_text(e)} is open, and no layout divides it; {remedy([e])}")
    try:
        found = tuple(map(normal_size, index_map.padded_shape(shape)))
    except IndexMapError as problem:
        raise GraphError(f"{index_map} is not a layout of {shape_text(shape)}: {problem}") from None
    if symbols_of(shape) and (given is not None or not same(product(found), product(shape))):
        raise GraphError(f"an extent of {shape_text(shape)} is open, and no layout pads it; {remedy(shape)}")
    if given is None:
        return found
    if len(given) != len(found) or any(g < e for g, e in zip(given, numbers(found, "a tensor"), strict=True)):
        raise GraphError(f"{index_map} of {shape_text(shape)} takes {shape_text(found)}, more than {given}")
    return tuple(given)


def pads(layout: Layout, shape: Sequence[Dim]) -> bool:
    """Whether a tensor of this shape has padding in the layout."""
    return not same(product(shape_in(layout, shape)), product(shape))


def padding_size(layout: Layout, shape: Sequence[Dim]) -> int:
    """How many elements of padding there are; about that, where extents are open."""
    return estimate(product(shape_in(layout, shape))) - estimate(product(shape))


def whole_tiles(index_map: IndexMap, shape: Sequence[Dim]) -> Layout:
    """The layout in which the last tile of a dimension has as much room as the others, though it is the only one: three
    channels in tiles of 16 take 16 places."""
    if symbols_of(shape):
        return index_map
    rounded = list(numbers(shape, "a tensor"))
    for k, v in enumerate(index_map.inputs):
        tiles = {t for o in index_map.outputs if (t := tile_of(o, v)) is not None}
        whole = lcm(*tiles)
        rounded[k] = -(-rounded[k] // whole) * whole
    room = numbers(shape_in(index_map, rounded), "a tensor")
    return index_map if room == shape_in(index_map, shape) else Padded(index_map, None, room)


def tile_of(e: Expr, v: Var) -> int | None:
    """By what an output divides an index."""
    match e:
        case Binary(op="floordiv" | "floormod", a=a, b=IntImm(value=t)) if a is v and t > 0:
            return t
    return None


def with_value(layout: Layout, value: float | int | None, shape: Sequence[Dim]) -> Layout:
    """The layout with another value in its padding; the map alone where there is no padding, or no value."""
    index_map = index_map_of(layout)
    if index_map is None:
        return None
    room = room_of(layout)
    room = None if room == shape_in(index_map, shape) else room
    if not pads(layout, shape):
        return index_map
    return index_map if value is None and room is None else Padded(index_map, value, room)


def normal(layout: Layout, shape: Sequence[Dim]) -> Layout:
    """The layout of tensors of this shape without what does not matter."""
    index_map = index_map_of(layout)
    if index_map is not None:
        index_map = _plainly(index_map, tuple(shape))
        layout = Padded(index_map, layout.value, layout.shape) if isinstance(layout, Padded) else index_map
    found = with_value(layout, value_of(layout), shape)
    return None if isinstance(found, IndexMap) and is_identity(found) else found


@lru_cache(maxsize=1024)
def _plainly(index_map: IndexMap, shape: tuple[Dim, ...]) -> IndexMap:
    """The map in the form in which others would write it who mean the same on this shape: sums in one order, and an
    index that is always 0 under its own name.  Tiles stay, though there be one only."""
    ranges: dict[Var, tuple[Expr, Expr]] = {}
    for v, n in zip(index_map.inputs, shape, strict=True):
        tiles = [t for o in index_map.outputs if (t := tile_of(o, v)) is not None]
        if isinstance(n, int):
            ranges[v] = const(0, v.dtype), const(max([n, 2, *(t + 1 for t in tiles)]), v.dtype)
    outputs = [simplify(o, ranges) for o in index_map.outputs]
    unit = [v for v, n in zip(index_map.inputs, shape, strict=True)
            if n == 1 and not any(v in free_vars(o) for o in outputs)]  # fmt: skip
    for k, o in enumerate(outputs):
        if unit and isinstance(o, IntImm) and o.value == 0:
            outputs[k] = unit.pop(0)
    return IndexMap(index_map.inputs, tuple(outputs), index_map.separators)


def layout_text(layout: Layout) -> str:
    """A text that is the same for the same layout, whatever its variables are called."""
    if layout is None or (isinstance(layout, IndexMap) and is_identity(layout)):
        return PLAIN
    index_map = index_map_of(layout)
    assert index_map is not None
    names = [f"i{k}" for k in range(len(index_map.inputs))]
    named = IndexMap.from_func(lambda *i: list(index_map.apply(i)), len(names))
    return str(Padded(named, layout.value, layout.shape)) if isinstance(layout, Padded) else str(named)


def serves(given: str, wanted: str) -> bool:
    """Whether a tensor in one layout (a text) may stand where another is wanted: the same places, and padding that
    holds a value where it may hold anything."""
    return given == wanted or (wanted != PLAIN and given.startswith(f"{wanted}{_WITH}"))


def number(value: float | int, dtype: str) -> Any:
    """A value of padding as an element.

    :raises GraphError: if the type does not hold it.
    """
    element = array_dtype(dtype).type(value)
    if not np.isnan(value) and element != value:
        raise GraphError(f"padding of {dtype} cannot be {value!r}")
    return element


def constant(value: float | int, dtype: str) -> Expr:
    """A value of padding as an expression."""
    if dtype in SMALL:
        return const(int(np.asarray(number(value, dtype)).view(np.uint8)), held_as(dtype))
    parsed = DType.parse(dtype)
    return const(float(value) if parsed.is_float else int(number(value, dtype)), parsed)


def pack(layout: Layout, array: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """The array in a layout; padding that may hold anything holds zeros."""
    index_map = index_map_of(layout)
    if index_map is None:
        return array
    value = value_of(layout)
    found = index_map.pack(array, None if value is None else number(value, dtype))
    wanted = numbers(shape_in(layout, array.shape), "an array")
    if found.shape == wanted:
        return found
    room = np.full(wanted, number(0 if value is None else value, dtype), array.dtype)
    room[tuple(slice(0, n) for n in found.shape)] = found
    return room
