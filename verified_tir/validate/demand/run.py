"""Evaluating the needed instances of a program, symbolically.

Sites come in the order of their dependences (``levels.py``), the instances of one site all at once, or level by level
in a recurrence.  Operators, conditions, conversions and undefined behaviour are the ordinary evaluator's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, INT64
from verified_tir.ir.expr import Expr, Load, Var
from verified_tir.ir.stmt import Store
from verified_tir.ir.visit import walk
from verified_tir.validate.demand.closure import Closure
from verified_tir.validate.demand.frames import ROWS, Frames
from verified_tir.validate.demand.hoist import hoist
from verified_tir.validate.demand.levels import components, depths
from verified_tir.validate.demand.outline import BoundData, DataGuard, Outline, Site
from verified_tir.validate.demand.versions import NOT_YET, TIME, SparseAccess, Versions, columns_of
from verified_tir.validate.evaluate import Evaluator
from verified_tir.validate.execute import Asserted
from verified_tir.validate.frame import Frame, Value
from verified_tir.validate.memory import Mask, Refused
from verified_tir.validate.terms import Ids, TooManyTerms


@final
@dataclass(slots=True)
class _Batch:
    """The instances of a site: when they run, their frame, and where the scalars that they store go (-1: nowhere)."""

    site: Site
    times: Ids
    frame: Frame
    slots: Ids
    value: Expr
    results: Ids = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    prepared: _Prepared | None = None


@final
@dataclass(slots=True)
class _Prepared:
    """A value of a recurrence: what is left to evaluate level by level, values for all instances, and versions read.

    ``reads`` has, for each variable that stands for a load, its buffer, the versions and what is there where there is
    none (position -1).
    """

    residual: Expr
    evaluator: Evaluator
    values: dict[Var, Value] = field(default_factory=dict)
    reads: dict[Var, tuple[Buffer, Versions, Ids, Ids]] = field(default_factory=dict)

    def frame(self, rows: Ids, access: SparseAccess) -> Frame:
        frame = Frame(rows.size)
        for var, value in self.values.items():
            frame.values[var] = value.pick(rows)
        for var, (buffer, versions, positions, entry) in self.reads.items():
            at = positions[rows]
            ids = versions.value[at]
            if entry.size:
                ids = np.where(at >= 0, ids, entry[rows])
            if (ids == NOT_YET).any():
                raise Refused(f"{buffer.name} is read before it is evaluated")
            frame.values[var] = Value(var.dtype, None, access.typed(ids, access.outline.views[buffer]))
        return frame


@final
class Run:
    """One symbolic evaluation of what a closure found to be needed.  ``budget`` is the most operations in all."""

    def __init__(self, outline: Outline, closure: Closure, access: SparseAccess, budget: int) -> None:
        self.outline, self.closure, self.access, self.budget = outline, closure, access, budget
        self.evaluator = evaluator = access.evaluator
        self.frames = Frames(outline, evaluator)
        # undefined behaviour of what is executed only if data say so is noted once the condition is known: not here
        unnoted = SparseAccess(access.build, outline, access.params, evaluator.data)
        self.perhaps = Frames(outline, unnoted.evaluator, int(access.build.opaque("perhaps", BOOL, 0)))
        self.perhaps.scalars = self.frames.scalars
        self.batches: dict[Site, _Batch] = {}

    def run(self) -> None:
        """Evaluate everything.

        :raises UndefinedRun: undefined behaviour on every input.
        :raises Asserted: an assertion that is false at these sizes.
        """
        self._assert()
        self._lay_out()
        sites = [s for s in self.outline.sites if s in self.batches]
        sources = {site: self._sources(site) for site in sites}
        for members, recurrent in components(sites, sources):
            if recurrent:
                self._recurrence(members)
            else:
                batch = self.batches[members[0]]
                for first in range(0, batch.times.size, ROWS):
                    self._evaluate(batch, np.arange(first, min(first + ROWS, batch.times.size)))

    def _assert(self) -> None:
        """Assertions are about sizes alone here, and outside of loops: they hold, or no run goes on."""
        for stmt, context in self.outline.asserted:
            frame, rows = self.frames.of(Site(-1, "condition", stmt.condition, context, 0), np.zeros(1, dtype=np.int64))
            if rows.size and not self.evaluator.number(stmt.condition, frame, "undef assert", "an assertion").all():
                raise Asserted(stmt.message)

    # ------------------------------------------------------------------------------------------------- layout

    def _lay_out(self) -> None:
        """Frames of all needed instances, and a version for each scalar that they store."""
        parts: dict[Var, list[tuple[_Batch, Ids, Mask]]] = {}
        for site, needed in self.closure.needed.items():
            if not needed.size:
                continue
            frames = self.perhaps if site.depends_on_data else self.frames
            frame, rows = frames.of(site, needed)
            times = needed[rows]
            frame.values[TIME] = Value(INT64, times[:, None])
            value = site.what.value if isinstance(site.what, Store) else site.what
            batch = self.batches[site] = _Batch(site, times, frame, np.zeros((0, 0), np.int64), value)
            if isinstance(site.what, Store):
                at, written = frames.stored(site, frame)
                parts.setdefault(site.what.buffer.data, []).append((batch, at, written))
            frame.guard = None  # conditions on data are evaluated later (_given)
        for data, stores in parts.items():
            address = np.concatenate([at[written] for _, at, written in stores])
            time = np.concatenate([np.broadcast_to(b.times[:, None], at.shape)[written] for b, at, written in stores])
            versions = self.access.versions[data] = Versions(address, time)
            first = 0
            for batch, at, written in stores:
                count = int(written.sum())
                batch.slots = np.full(at.shape, -1, dtype=np.int64)
                batch.slots[written] = versions.place[first : first + count]
                first += count

    def _sources(self, site: Site) -> list[Site]:
        """The sites whose values may be read when one is evaluated."""
        exprs: list[Expr] = [site.what.value] if isinstance(site.what, Store) else [site.what]
        found: dict[Site, None] = {}
        guarded = False
        for entry in site.context:
            if isinstance(entry, (BoundData, DataGuard)):
                found[entry.site] = None
                guarded = guarded or isinstance(entry, DataGuard)
        read = {node.buffer.data for e in exprs for node in walk(e) if isinstance(node, Load)}
        if guarded and isinstance(site.what, Store):
            read.add(site.what.buffer.data)
        for data in read:
            for writer in self.outline.storage[data].writers:
                found[writer] = None
        return [s for s in found if s in self.batches]

    # --------------------------------------------------------------------------------------------- evaluation

    def _evaluate(self, batch: _Batch, rows: Ids) -> None:
        if self.evaluator.build.operations > self.budget:
            raise TooManyTerms(f"more than {self.budget} operations")
        if batch.prepared is not None:
            self._evaluate_prepared(batch, batch.prepared, rows)
            return
        whole = rows.size == batch.times.size
        frame = batch.frame if whole else batch.frame.pick(rows)
        frame, alive = self._given(batch.site, frame, rows)
        shape = (rows.size, batch.slots.shape[1] if isinstance(batch.site.what, Store) else batch.value.dtype.lanes)
        result: Ids = np.zeros(shape, dtype=np.int64)
        if alive.size:
            value = self.evaluator.evaluate(batch.value, frame)
            if batch.site.kind == "condition":
                known, terms = self.evaluator.condition(batch.value, frame)
                true, false = self.evaluator.terms.true, self.evaluator.terms.false
                ids = terms[:, None] if known is None else np.where(known, true, false)[:, None]
            else:
                ids = self.evaluator.terms_of(value)
            result[alive] = np.broadcast_to(ids, (alive.size, shape[1]))
        if isinstance(batch.site.what, Store):
            self._store(batch, rows, alive, frame, result)
        else:
            if not batch.results.size:
                batch.results = np.zeros((batch.times.size, shape[1]), dtype=np.int64)
            batch.results[rows] = result

    def _evaluate_prepared(self, batch: _Batch, prepared: _Prepared, rows: Ids) -> None:
        store, slots = batch.site.what, batch.slots[rows]
        assert isinstance(store, Store)
        frame = prepared.frame(rows, self.access)
        found = prepared.evaluator.terms_of(prepared.evaluator.evaluate(prepared.residual, frame))
        ids = np.broadcast_to(found, slots.shape)
        versions = self.access.versions[store.buffer.data]
        versions.value[slots[slots >= 0]] = ids[slots >= 0]

    def _prepare(self, batch: _Batch, inside: set[Var]) -> None:
        """Evaluate what does not recur for all instances of a store."""
        context = batch.site.context
        if not isinstance(batch.site.what, Store) or batch.site.depends_on_data:
            return
        if any(isinstance(e, BoundData) and e.var in inside for e in context):
            return
        hoisted = hoist(batch.value, inside)
        if hoisted is None:
            return
        names = frozenset([v for v, _ in hoisted.parts] + [v for v, _ in hoisted.loads])
        evaluator = Evaluator(self.access, self.evaluator.data | names)
        prepared = _Prepared(hoisted.residual, evaluator)
        for var, load in hoisted.loads:
            at, taken = self.frames.accessed(load, batch.frame)
            if not taken.all():
                return
            data = load.buffer.data
            rows = np.repeat(np.arange(at.shape[0]), at.shape[1])
            moment = self.access.moment(self.outline.storage[data], batch.frame, rows)
            versions = self.access.versions[data]
            positions = versions.find(at.reshape(-1), *moment).reshape(at.shape)
            entry = np.zeros((0, 0), dtype=np.int64)
            if (positions < 0).any():
                entry = self.access.entry(data, at)
            prepared.reads[var] = load.buffer, versions, positions, entry
        parts: dict[Var, list[Value]] = {var: [] for var, _ in hoisted.parts}
        for first in range(0, batch.times.size, ROWS):
            rows = np.arange(first, min(first + ROWS, batch.times.size))
            frame, _ = self._given(batch.site, batch.frame.pick(rows), rows)
            for var, expr in hoisted.parts:
                parts[var].append(self.evaluator.evaluate(expr, frame))
        for var, values in parts.items():
            prepared.values[var] = self._joined(values, batch.times.size)
        batch.prepared = prepared

    def _joined(self, values: Sequence[Value], count: int) -> Value:
        """Values of consecutive rows put together."""
        dtype = values[0].dtype
        numbers = all(v.numbers is not None for v in values)
        arrays = [v.array if numbers else self.evaluator.terms_of(v) for v in values]
        lanes = max(a.shape[1] for a in arrays)
        sizes = [min(ROWS, count - first) for first in range(0, count, ROWS)]
        whole = np.concatenate([np.broadcast_to(a, (n, lanes)) for a, n in zip(arrays, sizes, strict=True)])
        return Value(dtype, whole) if numbers else Value(dtype, None, whole)

    def _store(self, batch: _Batch, rows: Ids, alive: Ids, frame: Frame, result: Ids) -> None:
        store = batch.site.what
        assert isinstance(store, Store)
        if batch.site.depends_on_data:
            self._keep(batch, rows, alive, frame, result)
        slots = batch.slots[rows]
        versions = self.access.versions[store.buffer.data]
        versions.value[slots[slots >= 0]] = result[slots >= 0]

    def _keep(self, batch: _Batch, rows: Ids, alive: Ids, frame: Frame, result: Ids) -> None:
        """Under a condition on data an element may keep what it had."""
        store = batch.site.what
        assert isinstance(store, Store)
        data = store.buffer.data
        storage, versions = self.outline.storage[data], self.access.versions[data]
        slots = batch.slots[rows]
        here = np.nonzero(slots >= 0)
        address = versions.address[slots[here]]
        time, made = self.access.moment(storage, batch.frame, rows[here[0]])
        old: Ids = np.zeros(slots.shape, dtype=np.int64)
        old[here] = self.access.values(data, address, time, made)
        dead = np.ones(rows.size, dtype=np.bool_)
        dead[alive] = False
        result[dead] = old[dead]
        if alive.size and frame.guard is not None:
            build = self.evaluator.build
            scalar = store.buffer.dtype.scalar
            kept = self.access.kept(old[alive], self.outline.views[store.buffer])
            result[alive] = build.choose(scalar, frame.guard[:, None], result[alive], kept)

    def _given(self, site: Site, frame: Frame, rows: Ids) -> tuple[Frame, Ids]:
        """The frame with what lets hold, on the path that conditions on data leave; and the rows that are on it."""
        alive, inside = np.arange(rows.size), False
        for entry in site.context:
            if inside and not isinstance(entry, (BoundData, DataGuard)):
                self.frames.note(entry, frame)
            elif isinstance(entry, BoundData):
                frame.values[entry.var] = Value(entry.var.dtype, None, self._results(entry.site, frame))
            elif isinstance(entry, DataGuard):
                terms = self.evaluator.terms
                condition = self._results(entry.site, frame)[:, 0]
                never = condition == (terms.false if entry.holds else terms.true)
                if never.any():
                    keep = np.flatnonzero(~never)
                    frame, alive, condition = frame.pick(keep), alive[keep], condition[keep]
                if not alive.size:
                    return frame, alive
                if not (condition == (terms.true if entry.holds else terms.false)).all():
                    frame = self.evaluator.guarded(frame, condition, holds=entry.holds)
                inside = True
        if inside and isinstance(site.what, Store):
            self.frames.stored(site, frame)
        return frame, alive

    def _results(self, site: Site, frame: Frame) -> Ids:
        """What a let or condition gave, for the rows of a frame inside it."""
        batch = self.batches[site]
        return batch.results[np.searchsorted(batch.times, site.time(columns_of(frame, site.loops)))]

    # -------------------------------------------------------------------------------------------- recurrences

    def _recurrence(self, members: Sequence[Site]) -> None:
        """Evaluate sites that depend on each other, instances of one depth at once."""
        batches = [self.batches[site] for site in members]
        starts = np.cumsum([0, *[b.times.size for b in batches]])
        count = int(starts[-1])
        consumers, producers = self._edges(members, {b.site: int(s) for b, s in zip(batches, starts, strict=False)})
        inside = {s.what.buffer.data for s in members if isinstance(s.what, Store)}
        inside |= {e.var for s in members for e in s.context if isinstance(e, BoundData) and e.site in members}
        for batch in batches:
            self._prepare(batch, inside)
        depth = depths(count, consumers, producers)
        order = np.argsort(depth, kind="stable")
        bounds = np.searchsorted(depth[order], np.arange(int(depth.max()) + 2)) if count else np.zeros(1, np.int64)
        for level in range(bounds.size - 1):
            these = np.sort(order[bounds[level] : bounds[level + 1]])
            cuts = np.searchsorted(these, starts)
            for k, batch in enumerate(batches):
                rows = these[cuts[k] : cuts[k + 1]] - starts[k]
                for first in range(0, rows.size, ROWS):
                    self._evaluate(batch, rows[first : first + ROWS])

    def _edges(self, members: Sequence[Site], first: Mapping[Site, int]) -> tuple[Ids, Ids]:
        """Which instance reads what which other one leaves, inside a component; ``first`` numbers them."""
        inside = {s.what.buffer.data for s in members if isinstance(s.what, Store)}
        owner = {data: self._owners(data, members, first) for data in inside}
        consumers: list[Ids] = [np.zeros(0, dtype=np.int64)]
        producers: list[Ids] = [np.zeros(0, dtype=np.int64)]

        def add(rows: Ids, made_by: Ids, site: Site) -> None:
            known = made_by >= 0
            consumers.append(rows[known] + first[site])
            producers.append(made_by[known])

        for site in members:
            batch = self.batches[site]
            every = np.arange(batch.times.size)
            for entry in site.context:
                if isinstance(entry, (BoundData, DataGuard)) and entry.site in first:
                    other = self.batches[entry.site]
                    columns = site.iterations(batch.times)[:, : len(entry.site.loops)]
                    add(every, np.searchsorted(other.times, entry.site.time(columns)) + first[entry.site], site)
            for loads in self.closure.loads(batch.value, batch.frame):
                if loads.data in inside:
                    add(loads.row, self._made_by(loads.data, loads.row, loads.address, batch, owner[loads.data]), site)
            if isinstance(site.what, Store) and site.depends_on_data:
                data = site.what.buffer.data
                rows, _ = np.nonzero(batch.slots >= 0)
                address = self.access.versions[data].address[batch.slots[batch.slots >= 0]]
                add(rows, self._made_by(data, rows, address, batch, owner[data]), site)
        return np.concatenate(consumers), np.concatenate(producers)

    def _owners(self, data: Var, members: Sequence[Site], first: Mapping[Site, int]) -> Ids:
        """For each version of a block the number of the instance that stores it; -1 outside the component."""
        owner: Ids = np.full(self.access.versions[data].address.size, -1, dtype=np.int64)
        for site in members:
            if isinstance(site.what, Store) and site.what.buffer.data is data:
                slots = self.batches[site].slots
                rows, _ = np.nonzero(slots >= 0)
                owner[slots[slots >= 0]] = rows + first[site]
        return owner

    def _made_by(self, data: Var, rows: Ids, address: Ids, batch: _Batch, owner: Ids) -> Ids:
        storage = self.outline.storage[data]
        at = self.access.versions[data].find(address, *self.access.moment(storage, batch.frame, rows))
        return np.where(at >= 0, owner[at], -1)
