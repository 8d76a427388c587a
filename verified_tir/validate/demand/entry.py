"""Parameters too large to be listed: elements by number, addresses computed when asked for.

Elements of a parameter are numbered in row-major order of *before*, as in the full mode, and the input terms with
them: that is how both programs see the same inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.validate.interface import Correspondence, Parameter, evaluate_size, name_of
from verified_tir.validate.memory import LARGEST_BLOCK, Mask, Refused, repeats, row_major
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import UNDEF_ID, Ids


@final
@dataclass(slots=True, eq=False)
class Place:
    """A buffer parameter: ``count`` elements of *before*, and where they are."""

    parameter: Parameter
    count: int
    shape_before: tuple[int, ...]
    moved: Correspondence | None = None
    _images: tuple[Ids, Ids] | None = field(default=None)

    @property
    def lanes(self) -> int:
        assert self.parameter.buffer is not None
        return self.parameter.buffer.dtype.lanes

    def indices(self, elements: Ids) -> tuple[Ids, ...]:
        """The indices in *before* of elements."""
        if not self.shape_before:
            return ()
        return tuple([k.astype(np.int64) for k in np.unravel_index(elements, self.shape_before)])

    def positions(self, elements: Ids) -> Ids:
        """Where elements are in the block, counted in elements.

        :raises Refused: where an index map leaves the shape.
        """
        p = self.parameter
        if self.moved is not None and self.moved.index_map is not None:
            given = self.moved.index_map(*self.indices(elements))
            indices = [np.broadcast_to(np.asarray(k, dtype=np.int64), elements.shape) for k in given]
            if len(indices) != len(p.shape):
                raise Refused(f"the index map of {name_of(p)} gives {len(indices)} indices, not {len(p.shape)}")
            for index, extent in zip(indices, p.shape, strict=True):
                if index.size and (int(index.min()) < 0 or int(index.max()) >= extent):
                    raise Refused(f"the index map of {name_of(p)} leaves its shape {list(p.shape)}")
        elif p.strides == row_major(p.shape):
            return elements + p.offset
        else:
            indices = list(np.unravel_index(elements, p.shape)) if p.shape else []
        found: Ids = np.full(elements.shape, p.offset, dtype=np.int64)
        for index, stride in zip(indices, p.strides, strict=True):
            found = found + index * stride
        return found

    def scalars(self, elements: Ids) -> Ids:
        """The scalar addresses of elements, one row each."""
        return self.positions(elements)[:, None] * self.lanes + np.arange(self.lanes)

    def elements(self, positions: Ids) -> Ids:
        """Which elements of *before* are at some positions; -1 where there is none.

        :raises Refused: if that takes the inverse of an index map of too many elements.
        """
        p = self.parameter
        if self.moved is None or self.moved.index_map is None:
            return self._unstrided(positions - p.offset)
        if self._images is None:
            if self.count > LARGEST_BLOCK:
                raise Refused(f"the index map of {name_of(p)} has too many elements to be inverted")
            every = self.positions(np.arange(self.count, dtype=np.int64))
            if repeats(every):
                raise Refused(f"the index map of {name_of(p)} is not injective")
            order = np.argsort(every)
            self._images = every[order], order
        sorted_, order = self._images
        at = np.minimum(np.searchsorted(sorted_, positions), max(sorted_.size - 1, 0))
        if not sorted_.size:
            return np.full(positions.shape, -1, dtype=np.int64)
        return np.where(sorted_[at] == positions, order[at], -1)

    def _unstrided(self, positions: Ids) -> Ids:
        p = self.parameter
        if p.strides == row_major(p.shape):
            return np.where((positions >= 0) & (positions < self.count), positions, -1)
        rest, number = positions, np.zeros_like(positions)
        weights = row_major(p.shape)
        order = sorted(range(len(p.shape)), key=lambda k: -p.strides[k])
        wrong = positions < 0
        for k in order:
            if p.shape[k] == 1:
                continue
            index = rest // p.strides[k]
            rest = rest - index * p.strides[k]
            wrong = wrong | (index >= p.shape[k])
            number = number + index * weights[k]
        return np.where(wrong | (rest != 0), -1, number)

    def terms(self, build: Builder, addresses: Ids) -> Ids:
        """What scalars hold at entry."""
        p = self.parameter
        assert p.buffer is not None
        elements = self.elements(addresses // self.lanes)
        scalar = p.buffer.dtype.scalar
        lane = addresses % self.lanes
        found = build.opaque(f"input:{p.position}", scalar, np.maximum(elements, 0) * self.lanes + lane)
        if p.padding is None or p.padding == "undef":
            rest = UNDEF_ID
        else:
            rest = build.terms.constant(scalar, p.padding)
        return np.where(elements >= 0, found, rest)

    def closed(self, addresses: Ids) -> Mask | None:
        """Which scalars may not be accessed; ``None`` if there are none of the kind."""
        if self.moved is None or self.moved.index_map is None or self.parameter.padding is not None:
            return None
        if self.count == _size(self.parameter.shape):
            return None
        return self.elements(addresses // self.lanes) < 0

    def padding(self) -> Ids:
        """The positions of the padding."""
        if self.moved is None or self.moved.index_map is None or self.count == _size(self.parameter.shape):
            return np.zeros(0, dtype=np.int64)
        p = self.parameter
        if _size(p.shape) > LARGEST_BLOCK:
            raise Refused(f"the padding of {name_of(p)} has too many elements")
        every: Ids = np.full(_size(p.shape), p.offset, dtype=np.int64)  # what lies between strides is no padding
        for index, stride in zip(np.indices(p.shape, dtype=np.int64), p.strides, strict=True):
            every = every + index.reshape(-1) * stride
        return every[self.elements(every) < 0]


def places(
    func: PrimFunc,
    values: Mapping[Var, int],
    like: Sequence[Place | Parameter] | None = None,
    maps: Mapping[str, Correspondence] | None = None,
) -> list[Place | Parameter]:
    """The parameters at known sizes: buffers as places, others as they are.

    :param like: those of *before*, if the function is *after*.
    :raises Refused: if the interfaces do not correspond.
    """
    if like is not None and len(like) != len(func.params):
        raise Refused(f"before has {len(like)} parameters, after {len(func.params)}")
    found: list[Place | Parameter] = []
    for position, var in enumerate(func.params):
        twin = None if like is None else like[position]
        buffer = func.buffer_of(var)
        if buffer is None:
            if isinstance(twin, Place) or (isinstance(twin, Parameter) and twin.var.type is not var.type):
                raise Refused(f"parameter {var.name} of after does not correspond to the one of before")
            found.append(Parameter(position, var, None))
            continue
        name = buffer.name
        shape = tuple([evaluate_size(e, values, f"the shape of {name}") for e in buffer.shape])
        strides = tuple([evaluate_size(e, values, f"a stride of {name}") for e in buffer.strides]) or row_major(shape)
        free = isinstance(buffer.elem_offset, Var) and buffer.elem_offset not in values
        offset = 0 if free else evaluate_size(buffer.elem_offset, values, f"the offset of {name}")
        if any(extent < 0 for extent in shape) or offset < 0:
            raise Refused(f"{name} has a negative extent or offset")
        _check_strides(name, shape, strides)
        reach = 0 if 0 in shape else offset + sum((d - 1) * s for d, s in zip(shape, strides, strict=True)) + 1
        moved = (maps or {}).get(name_of(twin.parameter)) if isinstance(twin, Place) else None
        padding = None if moved is None else moved.padding
        base = Parameter(position, var, buffer, shape, strides, offset, reach, padding=padding)
        if twin is None:
            found.append(Place(base, _size(shape), shape))
            continue
        if (
            not isinstance(twin, Place)
            or twin.parameter.buffer is None
            or twin.parameter.buffer.dtype is not buffer.dtype
        ):
            raise Refused(f"parameter {name} of after does not correspond to the one of before")
        if (moved is None or moved.index_map is None) and twin.count != _size(shape):
            before = list(twin.parameter.shape)
            raise Refused(f"{name} has shape {list(shape)} after, {before} before, and no index map is given")
        found.append(Place(base, twin.count, twin.parameter.shape, moved))
    return found


def _check_strides(name: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Each stride must pass over all that the smaller ones reach."""
    reach = 1
    for stride, extent in sorted((s, d) for s, d in zip(strides, shape, strict=True) if d > 1):
        if stride < reach:
            raise Refused(f"strides make elements of {name} overlap, or cannot be told apart")
        reach = stride * (extent - 1) + reach


def _size(shape: tuple[int, ...]) -> int:
    found = 1
    for extent in shape:
        found *= extent
    return found
