"""Memory of an evaluation on demand: what each needed store leaves at each address, and when.

A load at a time sees the last store to its address before; entry contents, or undef in an allocated block, if there is
none since the block was made.  Nothing is overwritten, so instances can be evaluated in any order in which a value is
there before it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT64
from verified_tir.ir.expr import Var
from verified_tir.validate.access import Access
from verified_tir.validate.demand.entry import Place
from verified_tir.validate.demand.frames import scalars
from verified_tir.validate.demand.levels import distinct
from verified_tir.validate.demand.outline import Outline, Storage
from verified_tir.validate.evaluate import Evaluator
from verified_tir.validate.events import Events
from verified_tir.validate.frame import Frame
from verified_tir.validate.memory import Mask, Memory, Refused
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import UNDEF_ID, Ids

NOT_YET = -1
TIME = Var.fresh("time", INT64)
"""A variable of every frame here: when its instances run."""


@final
@dataclass(slots=True)
class Versions:
    """The stores to one block: ``address`` and ``time`` of each scalar that is stored, ``value`` the term (once known).

    Stores of one instance to one address stand in the order of the lanes.
    """

    address: Ids
    time: Ids
    value: Ids = field(init=False)
    place: Ids = field(init=False)  # of each, in the sorted order
    _addresses: Ids = field(init=False)
    _times: Ids = field(init=False)
    _keys: Ids = field(init=False)

    def __post_init__(self) -> None:
        order = np.lexsort((self.time, self.address))  # it is stable
        self.place = np.empty(order.size, dtype=np.int64)
        self.place[order] = np.arange(order.size)
        self.address, self.time = self.address[order], self.time[order]
        self.value = np.full(order.size, NOT_YET, dtype=np.int64)
        self._addresses, self._times = distinct(self.address), distinct(self.time)
        self._keys = self._key(self.address, self.time)

    def _key(self, address: Ids, time: Ids) -> Ids:
        found: Ids = np.searchsorted(self._addresses, address) * (self._times.size + 1)
        return found + np.searchsorted(self._times, time)

    def find(self, address: Ids, time: Ids, made: Ids) -> Ids:
        """The last store before each time to each address, since the block was made; -1 if there is none."""
        if not self.address.size:
            return np.full(address.shape, -1, dtype=np.int64)
        at = np.searchsorted(self._keys, self._key(address, time)) - 1  # the last key that is less
        good = (at >= 0) & (self.address[at] == address) & (self.time[at] > made)
        return np.where(good, at, -1)


@final
class SparseAccess(Access):
    """Loads that look up the version which their instance sees.  Frames have the variable :data:`TIME`."""

    def __init__(self, build: Builder, events: Events, outline: Outline, places: Mapping[int, Place]) -> None:
        super().__init__(build, events, Memory(), frozenset())
        self.outline, self.places = outline, places
        self.versions: dict[Var, Versions] = {}
        self.evaluator: Evaluator | None = None  # for offsets that move

    def locate(
        self, frame: Frame, buffer: Buffer, indices: Sequence[Ids], lanes: int, mask: Ids | None
    ) -> tuple[Ids, Mask]:
        """The scalars of an access, shape (rows or 1, scalars), and which are accessed; what is undefined is noted."""
        area = self.outline.views[buffer]
        element: Ids = np.full((1, lanes), area.offset, dtype=np.int64)
        if area.shift is not None:
            assert self.evaluator is not None
            element = element + self.evaluator.number(area.shift, frame, "undef bound", f"the offset of {area.name}")
        inside: Mask = np.ones((1, 1), dtype=np.bool_)
        for index, extent, stride in zip(indices, area.shape, area.strides, strict=True):
            inside = inside & (index >= 0) & (index < extent)
            element = element + index * stride
        inside = inside & (element >= 0) & (element < area.span // area.dtype.lanes)
        wanted = np.ones((1, 1), dtype=np.bool_) if mask is None else mask != 0
        self.events.note(frame, f"{buffer.name} is accessed out of bounds", wanted & ~inside)
        element, chosen = np.broadcast_arrays(element, wanted & inside)
        at, taken = scalars(element, chosen, area.dtype.lanes)
        storage = self.outline.storage[buffer.data]
        closed = None if storage.parameter is None else self.places[storage.parameter].closed(at)
        if closed is not None:
            wrong = closed & taken
            self.events.note(frame, f"{buffer.name} is accessed where it is declared inaccessible", wrong)
            taken = taken & ~wrong
        return at, taken

    def load(self, frame: Frame, buffer: Buffer, indices: Sequence[Ids], lanes: int, mask: Ids | None) -> Ids:
        """The terms at some elements, shape (rows or 1, scalars)."""
        at, taken = self.locate(frame, buffer, indices, lanes, mask)
        self.build.operations += at.size
        storage = self.outline.storage[buffer.data]
        if buffer.data in self.versions:
            shape = (frame.count, at.shape[1])
            at, taken = np.broadcast_to(at, shape), np.broadcast_to(taken, shape)
        ids: Ids = np.full(at.shape, UNDEF_ID, dtype=np.int64)
        where = np.nonzero(taken)
        if buffer.data in self.versions:
            ids[where] = self.values(buffer.data, at[where], *self.moment(storage, frame, where[0]))
        else:
            ids[where] = self.entry(buffer.data, at[where])
        return self.typed_as(ids, buffer)

    def typed_as(self, ids: Ids, buffer: Buffer) -> Ids:
        """What was stored at another type is read by its bytes."""
        area = self.outline.views[buffer]
        target = area.dtype.scalar
        if area.dtypes == {target}:
            return ids
        return self.as_dtype(ids, target)

    def moment(self, storage: Storage, frame: Frame, rows: Ids) -> tuple[Ids, Ids]:
        """When some rows of a frame run, and when the block that they see was made."""
        time = np.broadcast_to(frame.values[TIME].array[:, 0], (frame.count,))[rows]
        made: Ids = np.full(rows.size, storage.offset, dtype=np.int64)
        for loop in storage.loops:
            column = np.broadcast_to(frame.values[loop.stmt.var].array[:, 0], (frame.count,))[rows]
            made += (column - loop.low) * loop.weight
        return time, made

    def values(self, data: Var, address: Ids, time: Ids, made: Ids) -> Ids:
        """The terms at scalar addresses of a block at some times.

        :raises Refused: if one was not evaluated (which would be a mistake in the order).
        """
        versions = self.versions.get(data)
        if versions is None:
            return self.entry(data, address)
        at = versions.find(address, time, made)
        found: Ids = versions.value[at]
        missing = at < 0
        if missing.any():
            found[missing] = self.entry(data, address[missing])
        if (found == NOT_YET).any():
            raise Refused(f"{self.outline.storage[data].view.name} is read before it is evaluated")
        return found

    def entry(self, data: Var, address: Ids) -> Ids:
        """What scalars of a block hold before anything is stored."""
        storage = self.outline.storage[data]
        if storage.parameter is None:
            return np.full(address.shape, UNDEF_ID, dtype=np.int64)
        return self.places[storage.parameter].terms(self.build, address)
