"""What the chosen elements depend on: the instances that have to be executed, and no others.

A *demand* is a scalar of a block as an instance sees it: its address, the time of the instance, the time at which the
block was made.  Its value is decided by the last store instance before that time that writes the address whatever the
data are, and by all later ones that update it (they read the block) or write it under a condition on data.  So these
instances are needed; what they load is demanded in turn, until nothing new turns up.

Whatever is executed besides does no harm: a store that is not among those found for a demand comes before the one
that decides it, or after the time of the demand.

What was found for a demand holds for the same address at any earlier time after the deciding store: that is the
*window* which is remembered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np

from verified_tir.ir.expr import Binary, Expr, Load, Var
from verified_tir.ir.stmt import Store
from verified_tir.ir.visit import children, walk
from verified_tir.validate.demand.frames import ROWS, Frames, Loads
from verified_tir.validate.demand.instances import Effort, TooMuch, Writers
from verified_tir.validate.demand.levels import distinct
from verified_tir.validate.demand.outline import BoundData, DataGuard, Outline, Site
from verified_tir.validate.frame import Frame
from verified_tir.validate.terms import Ids

_NONE: Final = np.zeros(0, dtype=np.int64)
_MOST_ROUNDS: Final = 20_000


@final
@dataclass(slots=True)
class _Windows:
    """For each address: after the deciding store at ``start``, demands up to ``end`` are served; sorted."""

    address: Ids = field(default_factory=lambda: _NONE)
    start: Ids = field(default_factory=lambda: _NONE)
    end: Ids = field(default_factory=lambda: _NONE)

    def before(self, address: Ids, time: Ids) -> Ids:
        """The position of the last window of an address that starts before a time, -1 if there is none."""
        if not self.address.size:
            return np.full(address.size, -1, dtype=np.int64)
        at = np.concatenate([self.address, address])
        when = np.concatenate([self.start, time])
        late = np.concatenate([np.ones(self.address.size, np.int8), np.zeros(address.size, np.int8)])
        order = np.lexsort((late, when, at))
        known = np.where(order < self.address.size, order, -1)
        latest = np.maximum.accumulate(known)
        place: Ids = np.empty(order.size, dtype=np.int64)
        place[order] = latest
        found = place[self.address.size :]
        return np.where((found >= 0) & (self.address[found] == address), found, -1)

    def add(self, address: Ids, start: Ids, end: Ids) -> None:
        """Remember windows; of several with one start the longest stays."""
        at = np.concatenate([self.address, address])
        when = np.concatenate([self.start, start])
        until = np.concatenate([self.end, end])
        order = np.lexsort((until, when, at))
        at, when, until = at[order], when[order], until[order]
        last = np.append((at[1:] != at[:-1]) | (when[1:] != when[:-1]), True)
        self.address, self.start, self.end = at[last], when[last], until[last]


@final
class Closure:
    """Collects what some elements of one program depend on; ``needed`` are the times of each site's instances,
    ``cost`` roughly the operations that these take.

    :raises TooMuch: beyond the effort allowed.
    """

    def __init__(self, outline: Outline, frames: Frames, effort: Effort) -> None:
        self.outline, self.frames, self.effort = outline, frames, effort
        self.cost = 0
        self._costs = {site: _operations(site, outline) for site in outline.sites}
        self.needed: dict[Site, Ids] = dict.fromkeys(outline.sites, _NONE)
        self._pending: dict[Var, list[tuple[Ids, Ids, Ids]]] = {}
        self._windows: dict[Var, _Windows] = {}
        self.certain: dict[Var, list[Writers]] = {}
        self.updates: dict[Var, list[Writers]] = {}
        for data, storage in outline.storage.items():
            for site in storage.writers:
                kind = self.updates if _updates(site, data) else self.certain
                kind.setdefault(data, []).append(Writers(site, outline, frames.writes, effort))

    def demand(self, data: Var, address: Ids, time: Ids, made: Ids) -> None:
        """Ask for the scalars of a block that instances see at some times."""
        if self.outline.storage[data].writers and address.size:
            self._pending.setdefault(data, []).append((address, time, made))

    def run(self) -> None:
        """Go on until everything that is demanded is served."""
        for _ in range(_MOST_ROUNDS):
            if not self._pending:
                return
            pending, self._pending = self._pending, {}
            found: dict[Site, list[Ids]] = {}
            for data, parts in pending.items():
                address, time, made = (np.concatenate(column) for column in zip(*parts, strict=True))
                self._serve(data, address, time, made, found)
            for site, times in found.items():
                self.add(site, np.concatenate(times))
        raise TooMuch("the chosen elements depend on too long a chain of stores")

    # ------------------------------------------------------------------------------------------------- demands

    def _serve(self, data: Var, address: Ids, time: Ids, made: Ids, found: dict[Site, list[Ids]]) -> None:
        windows = self._windows.setdefault(data, _Windows())
        while address.size:
            place = windows.before(address, time)
            covered = (place >= 0) & (time <= windows.end[place]) if windows.end.size else np.zeros(time.size, np.bool_)
            address, time, made = address[~covered], time[~covered], made[~covered]
            if not address.size:
                return
            order = np.lexsort((time, made, address))
            address, time, made = address[order], time[order], made[order]
            latest = np.append((address[1:] != address[:-1]) | (made[1:] != made[:-1]), True)
            self._decide(data, windows, address[latest], time[latest], made[latest], found)
            address, time, made = address[~latest], time[~latest], made[~latest]

    def _decide(
        self, data: Var, windows: _Windows, address: Ids, time: Ids, made: Ids, found: dict[Site, list[Ids]]
    ) -> None:
        """Find the deciding store of each demand, and the updates since."""
        start = made.copy()
        decided: Ids = np.full(address.size, -1, dtype=np.int64)
        writers = self.certain.get(data, [])
        for number, writer in enumerate(writers):
            latest = writer.last(address, start, time)
            later = latest >= 0
            start[later], decided[later] = latest[later], number
        for number, writer in enumerate(writers):
            times = start[decided == number]
            if times.size:
                found.setdefault(writer.site, []).append(times)
        updates = self.updates.get(data, [])
        if updates:
            since = start.copy()
            place = windows.before(address, time)
            if windows.end.size:
                again = (place >= 0) & (windows.start[place] == start)
                since[again] = windows.end[place[again]] - 1
            for writer in updates:
                times = writer.every(address, since, time)
                if times.size:
                    found.setdefault(writer.site, []).append(times)
        windows.add(address, start, time)

    # ----------------------------------------------------------------------------------------------- instances

    def add(self, site: Site, times: Ids) -> None:
        """Instances of a site are needed, with all that they evaluate."""
        times, there = distinct(times), self.needed[site]
        if there.size:
            at = np.minimum(np.searchsorted(there, times), there.size - 1)
            times = times[there[at] != times]
        new = times
        if not new.size:
            return
        self.effort.take(new.size * self._costs[site])
        self.cost += new.size * self._costs[site]
        self.needed[site] = np.sort(np.concatenate([there, new]))
        for first in range(0, new.size, ROWS):
            self._evaluate(site, new[first : first + ROWS])

    def _evaluate(self, site: Site, times: Ids) -> None:
        frame, rows = self.frames.of(site, times)
        times = times[rows]
        columns = site.iterations(times)
        for entry in site.context:
            if isinstance(entry, (BoundData, DataGuard)):
                other = entry.site
                self.add(other, distinct(other.time(columns[:, : len(other.loops)])))
        every = np.arange(times.size)
        exprs = [site.what.value] if isinstance(site.what, Store) else [site.what]
        for expr in exprs:
            for loads in self.frames.loads(expr, frame, every, _own(site)):
                storage = self.outline.storage[loads.data]
                made = storage.made(columns)
                self.demand(loads.data, loads.address, times[loads.row], made[loads.row])

    def loads(self, value: Expr, frame: Frame) -> Iterator[Loads]:
        """All loads that evaluating an expression of a site can make."""
        assert self.frames.doubt is not None
        doubtful = replace(frame, values=dict(frame.values), guard=np.full(frame.count, self.frames.doubt))
        return self.frames.loads(value, doubtful, np.arange(frame.count))


def _operations(site: Site, outline: Outline) -> int:
    """How many operations an instance takes, roughly."""
    value = site.what.value if isinstance(site.what, Store) else site.what
    sizes: dict[Expr, int] = {}

    def size(expr: Expr) -> int:
        if expr not in sizes:
            own = 0
            if not isinstance(expr, Var) and outline.is_data(expr):
                own = 2 if isinstance(expr, Binary) and expr.op in ("min", "max") and expr.dtype.is_float else 1
            sizes[expr] = own + sum(size(child) for child in children(expr) if isinstance(child, Expr))
        return sizes[expr]

    return (1 + size(value)) * value.dtype.lanes


def _own(site: Site) -> Load | None:
    """The load of the one element that a store writes: whoever needs the store has asked for it.

    A store of several is needed as a whole, though perhaps nobody asked for all of them.
    """
    store = site.what
    if not isinstance(store, Store) or store.value.dtype.lanes > 1:
        return None
    return Load(store.buffer, store.indices)


def _updates(site: Site, data: Var) -> bool:
    """Whether what a store leaves may depend on what was there before, or on data whether it happens at all."""
    assert isinstance(site.what, Store)
    exprs: list[Expr] = [site.what.value]
    for entry in site.context:
        if isinstance(entry, DataGuard):
            return True
        if isinstance(entry, BoundData) and isinstance(entry.site.what, Expr):
            exprs.append(entry.site.what)
    return any(isinstance(node, Load) and node.buffer.data is data for e in exprs for node in walk(e))
