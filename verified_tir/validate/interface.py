"""Interfaces: how the parameters of *after* correspond to those of *before*, and the memory at entry.

Parameters correspond by position.  Integer parameters and shape symbols get numbers (``sizes``, by name).  Elements of
buffers, floats and bools are input terms, numbered by the parameter's position and the element of *before*, so that
both programs see the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.semantics.interpreter.extents import symbols_of
from verified_tir.semantics.memory import Extents, row_major
from verified_tir.validate.memory import LARGEST_BLOCK, Oversize, Refused, repeats
from verified_tir.validate.shapes import extents_of, flattens
from verified_tir.validate.terms import Ids

Padding: TypeAlias = int | float | Literal["undef"] | None


@final
@dataclass(frozen=True, slots=True)
class Correspondence:
    """How one parameter's elements moved.

    ``index_map`` takes the indices in *before*, one integer array for each dimension, and gives those in *after*; it
    must be injective.  Elements of *after* that are no image are padding: a number (assumed at entry, owed at exit),
    ``"undef"`` (anything, and reads are undefined) or ``None`` (access is undefined behaviour).
    """

    index_map: Callable[..., Sequence[Any]] | None = None
    padding: Padding = None


_NONE = Extents((), ())


@final
@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of a function at known sizes; a scalar has no ``buffer``.

    Elements are those of *before*, where the shape is ``shape_before``, numbered in row-major order.  *Positions* count
    elements in this function's block.  What is asked about some elements is computed for these; the arrays of all are
    made when they are asked for (:func:`listed`).
    """

    position: int
    var: Var
    buffer: Buffer | None
    extents: Extents = _NONE
    shape_before: tuple[int, ...] = ()
    index_map: Callable[..., Sequence[Any]] | None = None
    padding: Padding = None

    @property
    def name(self) -> str:
        return self.var.name if self.buffer is None else self.buffer.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.extents.shape

    @property
    def lanes(self) -> int:
        assert self.buffer is not None
        return self.buffer.dtype.lanes

    @property
    def count(self) -> int:
        return math.prod(self.shape_before)

    @property
    def elements(self) -> int:
        """The length of the block."""
        if 0 in self.shape:
            return 0
        steps = zip(self.shape, self.extents.strides, strict=True)
        return self.extents.offset + sum(max(0, (d - 1) * s) for d, s in steps) + 1

    # --------------------------------------------------------------------------------------------- some elements

    def indices_before(self, elements: Ids) -> tuple[Ids, ...]:
        """The indices in *before* of elements."""
        return _unravelled(elements, self.shape_before)

    def indices(self, elements: Ids) -> tuple[Ids, ...]:
        """The indices in this function of elements.

        :raises Refused: where an index map leaves the shape.
        """
        if self.index_map is None:
            return _unravelled(elements, self.shape)
        given = self.index_map(*self.indices_before(elements))
        found = tuple([np.broadcast_to(np.asarray(k, dtype=np.int64), elements.shape) for k in given])
        if len(found) != len(self.shape):
            raise Refused(
                f"the index map of {self.name} gives {len(found)} indices; after has {len(self.shape)} dimensions"
            )
        for index, extent in zip(found, self.shape, strict=True):
            if index.size and (int(index.min()) < 0 or int(index.max()) >= extent):
                raise Refused(f"the index map of {self.name} leaves its shape {list(self.shape)}")
        return found

    def located(self, indices: Sequence[Ids], count: int) -> Ids:
        """The positions of ``count`` elements with these indices in this function."""
        found: Ids = np.full(count, self.extents.offset, dtype=np.int64)
        for index, stride in zip(indices, self.extents.strides, strict=True):
            found = found + index * stride
        return found

    def positions(self, elements: Ids) -> Ids:
        """Where elements are in the block."""
        return self.located(self.indices(elements), elements.size)

    def scalars(self, positions: Ids) -> Ids:
        """The scalars of the block at some positions, one row each."""
        return positions[:, None] * self.lanes + np.arange(self.lanes)

    def elements_at(self, positions: Ids) -> Ids:
        """Which elements of *before* are at some positions; -1 where there is none.

        :raises Refused: if that takes the inverse of an index map of too many elements.
        """
        if self.index_map is None:
            return self._unstrided(positions - self.extents.offset)
        sorted_, order = self._inverse
        if not sorted_.size:
            return np.full(positions.shape, -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(sorted_, positions), sorted_.size - 1)
        return np.where(sorted_[at] == positions, order[at], -1)

    @cached_property
    def _inverse(self) -> tuple[Ids, Ids]:
        if self.count > LARGEST_BLOCK:
            raise Refused(f"the index map of {self.name} has too many elements to be inverted")
        self.check_map()
        order = np.argsort(self.at)
        return self.at[order], order

    def _unstrided(self, positions: Ids) -> Ids:
        if self.extents.strides == row_major(self.shape):
            return np.where((positions >= 0) & (positions < self.count), positions, -1)
        rest, number = positions, np.zeros_like(positions)
        weights = row_major(self.shape)
        wrong = positions < 0
        for k in sorted(range(len(self.shape)), key=lambda k: -self.extents.strides[k]):
            if self.shape[k] == 1:
                continue
            index = rest // self.extents.strides[k]
            rest = rest - index * self.extents.strides[k]
            wrong = wrong | (index >= self.shape[k])
            number = number + index * weights[k]
        return np.where(wrong | (rest != 0), -1, number)

    def element_name(self, element: int, lane: int) -> str:
        """An element as people write it."""
        indices = self.indices_before(np.array([element], dtype=np.int64))
        text = f"{self.name}[{', '.join([str(int(k[0])) for k in indices])}]"
        return f"{text} lane {lane}" if self.lanes > 1 else text

    # ---------------------------------------------------------------------------------------------- all elements

    @cached_property
    def images(self) -> tuple[Ids, ...]:
        return self.indices(np.arange(self.count, dtype=np.int64))

    @cached_property
    def at(self) -> Ids:
        return self.located(self.images, self.count)

    @cached_property
    def _is_injective(self) -> bool:
        return self.index_map is None or not repeats(self.at)

    def check_map(self) -> None:
        """Whether no two elements moved to one place.

        :raises Refused: if they did.
        """
        if not self._is_injective:
            raise Refused(f"the index map of {self.name} is not injective")

    @property
    def is_padded(self) -> bool:
        """Whether some elements of *after* are none of *before*."""
        return self.index_map is not None and self.count != math.prod(self.shape)

    @cached_property
    def rest(self) -> Ids:
        """The positions of the padding; what lies between strides is none."""
        if not self.is_padded:
            return np.zeros(0, dtype=np.int64)
        size = math.prod(self.shape)
        if size > LARGEST_BLOCK:
            raise Refused(f"the padding of {self.name} has too many elements")
        every = self.located(_unravelled(np.arange(size, dtype=np.int64), self.shape), size)
        return np.setdiff1d(every, self.at)

    def check_strides(self) -> None:
        """Whether elements are apart as far as strides alone say so: each must pass over all that smaller ones reach.

        :raises Refused: if not.
        """
        if self.extents.offset < 0:
            raise Refused(f"{self.name} has a negative offset")
        passed = 1
        for stride, extent in sorted((s, d) for s, d in zip(self.extents.strides, self.shape, strict=True) if d > 1):
            if stride < passed:
                raise Refused(f"strides make elements of {self.name} overlap, or cannot be told apart")
            passed = stride * (extent - 1) + passed


def _unravelled(numbers: Ids, shape: tuple[int, ...]) -> tuple[Ids, ...]:
    """The indices of elements that are numbered in row-major order."""
    return tuple([k.astype(np.int64) for k in np.unravel_index(numbers, shape)]) if shape else ()


def bind(
    func: PrimFunc,
    sizes: Mapping[str, int],
    like: Sequence[Parameter] | None,
    maps: Mapping[str, Correspondence] | None = None,
) -> dict[Var, int]:
    """The numbers of a function's integer parameters and shape symbols.

    :param like: the parameters of *before*: they correspond by position, and so do their extents, whatever the names of
        symbols.
    :param maps: by the name of the parameter in *before*, how it moved; its extents are others.
    :raises Refused: if a number does not fit the type of its variable.
    """
    values: dict[Var, int] = {}
    twins = [None if like is None or k >= len(like) else like[k] for k in range(len(func.params))]
    for param, twin in zip(func.params, twins, strict=True):
        if func.buffer_of(param) is None and not isinstance(param.type, PointerType) and param.dtype.is_int:
            paired = twin is not None and twin.buffer is None and twin.var.name in sizes
            name = twin.var.name if twin is not None and paired else param.name
            if name in sizes:
                values[param] = sizes[name]
    for param, twin in zip(func.params, twins, strict=True):
        buffer = func.buffer_of(param)
        if buffer is None or twin is None or twin.buffer is None or _moved(twin, maps) is not None:
            continue
        same = zip(buffer.shape, twin.shape, strict=True) if len(twin.shape) == len(buffer.shape) else ()
        for extent, number in (*same, (buffer.elem_offset, twin.extents.offset)):
            if isinstance(extent, Var):
                values.setdefault(extent, number)
    for symbol in [symbol for buffer in func.buffers for symbol in symbols_of(buffer) if symbol.name in sizes]:
        values.setdefault(symbol, sizes[symbol.name])
    for var, number in values.items():
        if not var.dtype.min_value <= number <= var.dtype.max_value:
            raise Refused(f"{var.name} = {number} does not fit its type, {var.dtype}")
    return values


def _moved(twin: Parameter, maps: Mapping[str, Correspondence] | None) -> Correspondence | None:
    """How a parameter of *before* moved, if an index map says so."""
    found = (maps or {}).get(twin.name)
    return None if found is None or found.index_map is None else found


def parameters(
    func: PrimFunc,
    values: Mapping[Var, int],
    like: Sequence[Parameter] | None = None,
    maps: Mapping[str, Correspondence] | None = None,
) -> list[Parameter]:
    """The parameters at known sizes.

    :param like: the parameters of *before*, if the function is *after*.
    :param maps: by the name of the parameter in *before*, how it moved.
    :raises Refused: if the interfaces do not correspond.
    """
    if like is None:
        return [_parameter(k, param, func.buffer_of(param), values) for k, param in enumerate(func.params)]
    unknown = [name for name in maps or {} if name not in [p.name for p in like]]
    if unknown:
        raise Refused(f"an index map is given for {unknown[0]}, which is no parameter of before")
    if len(like) != len(func.params):
        raise Refused(f"before has {len(like)} parameters, after {len(func.params)}")
    found = []
    for position, (param, twin) in enumerate(zip(func.params, like, strict=True)):
        buffer = func.buffer_of(param)
        one, other = param.type if buffer is None else buffer.dtype, twin.var.type
        if twin.buffer is not None:
            other = twin.buffer.dtype
        pointer = buffer is None and isinstance(one, PointerType)
        if (buffer is None) != (twin.buffer is None) or (one is not other and not pointer):
            name = param.name if buffer is None else buffer.name
            raise Refused(f"parameter {name} of after does not correspond to {twin.name} of before")
        found.append(_like(_parameter(position, param, buffer, values), twin, _moved(twin, maps)))
    return found


def _parameter(position: int, param: Var, buffer: Buffer | None, values: Mapping[Var, int]) -> Parameter:
    if buffer is None:
        return Parameter(position, param, None)
    free = isinstance(buffer.elem_offset, Var) and buffer.elem_offset not in values  # the argument's, taken to be zero
    extents = extents_of(buffer, values, 0 if free else None)
    if any(extent < 0 for extent in extents.shape):
        raise Refused(f"{buffer.name} has a negative extent")
    return Parameter(position, param, buffer, extents, extents.shape)


def _like(parameter: Parameter, twin: Parameter, moved: Correspondence | None) -> Parameter:
    """A parameter of *after* whose elements are those of another one."""
    if moved is not None and twin.buffer is not None:
        return replace(parameter, shape_before=twin.shape, index_map=moved.index_map, padding=moved.padding)
    other = len(parameter.shape) == len(twin.shape) and not flattens(twin.shape, parameter.shape)
    if other or math.prod(parameter.shape) != twin.count:
        now, before = list(parameter.shape), list(twin.shape)
        raise Refused(f"{parameter.name} has shape {now} after, {before} before, and no index map is given")
    return parameter


@final
@dataclass(frozen=True, slots=True)
class Side:
    """One of the two programs, at known sizes."""

    func: PrimFunc
    params: list[Parameter]
    values: dict[Var, int]

    @staticmethod
    def of(func: PrimFunc, sizes: Mapping[str, int]) -> Side:
        """A program on its own."""
        values = bind(func, sizes, None)
        return Side(func, parameters(func, values), values)


Sides: TypeAlias = tuple[Side, Side]


def both_sides(
    before: PrimFunc, after: PrimFunc, sizes: Mapping[str, int], maps: Mapping[str, Correspondence]
) -> Sides:
    """Both programs at known sizes.

    :raises Refused: if their interfaces do not correspond.
    """
    old = Side.of(before, sizes)
    values = bind(after, sizes, old.params, maps)
    return old, Side(after, parameters(after, values, old.params, maps), values)


def listed(side: Side) -> Side:
    """A program whose parameters' blocks have room for all elements, apart from each other.

    :raises Refused: if that is not so; :class:`Oversize` if they are too many.
    """
    for p in side.params:
        size = math.prod(p.shape)
        if p.buffer is not None and size * p.lanes > LARGEST_BLOCK:
            raise Oversize(f"{p.name} has {size} elements; the most is {LARGEST_BLOCK}")
        if p.extents.strides != row_major(p.shape) or p.extents.offset != 0:
            every = p.located(_unravelled(np.arange(size, dtype=np.int64), p.shape), size)
            if every.size and (int(every.min()) < 0 or repeats(every)):
                raise Refused(f"strides and offset make elements of {p.name} overlap or precede it")
        p.check_map()
    return side
