"""Memory of an evaluation on demand: what each needed store leaves at each address, and when.

A load at a time sees the last store to its address before; entry contents, or undef in an allocated block, if there is
none since the block was made.  Nothing is overwritten, so instances can be evaluated in any order in which a value is
there before it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT64
from verified_tir.ir.expr import Var
from verified_tir.validate.access import Access
from verified_tir.validate.demand.levels import distinct
from verified_tir.validate.demand.outline import Loop, Outline, Storage, time_of
from verified_tir.validate.evaluate import Evaluator
from verified_tir.validate.frame import Frame
from verified_tir.validate.interface import Parameter
from verified_tir.validate.memory import Mask, Refused, View
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
    """Accesses of which loads look up the version that their instance sees.  Frames have the variable :data:`TIME`."""

    def __init__(self, build: Builder, outline: Outline, params: Sequence[Parameter], data: frozenset[Var]) -> None:
        super().__init__(build, frozenset())
        self.outline, self.params = outline, params
        self.versions: dict[Var, Versions] = {}
        self.evaluator = Evaluator(self, data)

    def _parameter(self, data: Var) -> Parameter | None:
        """The parameter whose block this is."""
        position = self.outline.storage[data].parameter
        return None if position is None else self.params[position]

    def _moved(self, frame: Frame, buffer: Buffer) -> Ids | None:
        shift = self.outline.shifts.get(buffer)
        if shift is None:
            return None
        return self.evaluator.number(shift, frame, "undef bound", f"the offset of {buffer.name}")

    def _closed(self, buffer: Buffer, view: View, at: Ids) -> Mask | None:
        p = self._parameter(buffer.data)
        if p is None or p.padding is not None or not p.is_padded:
            return None
        return p.elements_at(at // p.lanes) < 0

    def _contents(self, frame: Frame, buffer: Buffer, view: View, at: Ids, taken: Mask | None) -> Ids:
        if buffer.data in self.versions:
            at, taken = in_rows(at, taken, frame.count)
        ids: Ids = np.full(at.shape, UNDEF_ID, dtype=np.int64)
        where = np.nonzero(np.ones(at.shape, dtype=np.bool_) if taken is None else taken)
        if buffer.data in self.versions:
            storage = self.outline.storage[buffer.data]
            ids[where] = self.values(buffer.data, at[where], *self.moment(storage, frame, where[0]))
        else:
            ids[where] = self.entry(buffer.data, at[where])
        return ids

    def moment(self, storage: Storage, frame: Frame, rows: Ids) -> tuple[Ids, Ids]:
        """When some rows of a frame run, and when the block that they see was made."""
        time = np.broadcast_to(frame.values[TIME].array[:, 0], (frame.count,))[rows]
        return time, time_of(storage.offset, storage.loops, columns_of(frame, storage.loops)[rows])

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
        p = self._parameter(data)
        if p is None or p.buffer is None:
            return np.full(address.shape, UNDEF_ID, dtype=np.int64)
        elements, scalar = p.elements_at(address // p.lanes), p.buffer.dtype.scalar
        number = np.maximum(elements, 0) * p.lanes + address % p.lanes
        found = self.build.opaque(f"input:{p.position}", scalar, number)
        rest = UNDEF_ID if p.padding in (None, "undef") else self.terms.constant(scalar, p.padding)  # type: ignore[arg-type]
        return np.where(elements >= 0, found, rest)


def in_rows(at: Ids, taken: Mask | None, count: int) -> tuple[Ids, Mask]:
    """Scalars and which of them are accessed, in each of ``count`` rows."""
    shape = (count, at.shape[1])
    every = np.ones((1, 1), dtype=np.bool_) if taken is None else taken
    return np.broadcast_to(at, shape), np.broadcast_to(every, shape)


def columns_of(frame: Frame, loops: Sequence[Loop]) -> Ids:
    """The values of some loop variables in a frame, one row each."""
    columns: Ids = np.empty((frame.count, len(loops)), dtype=np.int64)
    for k, loop in enumerate(loops):
        columns[:, k] = np.broadcast_to(frame.values[loop.stmt.var].array[:, 0], (frame.count,))
    return columns
