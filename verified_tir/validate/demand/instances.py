"""Which instances of a store write some addresses: branch and prune over boxes of loop variables.

A question is (scalar address, after, before): instances with a time strictly between the two that write the address.
``last`` finds the latest one, ``every`` all of them.  Boxes are tightened by the constraints (``intervals.py``), and
where that does not settle them, split at the outermost loop that is not fixed: its last iteration apart, the rest
halved.  A box in which every constraint holds throughout is a set of solutions.  Nothing is ever dropped that could
hold one, whatever the expressions are.

Loop variables are in time's order within a site, so the latest instance is the greatest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

import numpy as np

from verified_tir.ir.expr import Not
from verified_tir.ir.stmt import Store
from verified_tir.semantics.memory import Extents, row_major
from verified_tir.validate.demand.intervals import Intervals, Tape
from verified_tir.validate.demand.levels import distinct
from verified_tir.validate.demand.outline import Guard, Outline, Site
from verified_tir.validate.memory import Mask, Refused
from verified_tir.validate.terms import Ids

Check: TypeAlias = Callable[[Site, Ids, Ids], Mask]
_CHUNK: Final = 1 << 14
_STEP: Final = 4 * _CHUNK
_PASSES: Final = 6
_LOOK: Final = 1000


@final
@dataclass(slots=True)
class Effort:
    """How many boxes may still be looked at, and how many operations the instances that are needed may take.

    A look at one box costs as much as one at a thousand boxes together: a search that goes through iterations one
    by one, since it knows nothing of their number, has to end, too.
    """

    boxes: int
    operations: int

    def look(self, boxes: int) -> None:
        self.boxes -= boxes + _LOOK
        if self.boxes < 0:
            raise TooMuch("the search for the instances that write the chosen elements takes too long")

    def again(self, operations: int) -> Effort:
        """For another attempt: as many operations as given, and what is left of the boxes."""
        self.operations = operations
        return self

    def take(self, operations: int) -> None:
        self.operations -= operations
        if self.operations < 0:
            raise TooMuch("the chosen elements depend on too many statement instances")


class TooMuch(Refused):
    """Fewer outputs might be feasible."""


@final
class Writers:
    """The instances of one store.

    ``certain``: whether each of them writes, whatever the data, and does not read the block: then an earlier value of
    the same address is gone.  ``check`` tells exactly which of some instances exist and write some addresses.
    """

    def __init__(self, site: Site, outline: Outline, check: Check, effort: Effort) -> None:
        store = site.what
        assert isinstance(store, Store)
        self.site, self.check, self.effort = site, check, effort
        self.view = outline.views[store.buffer]
        self.depth = len(site.loops)
        lanes = store.indices[-1].dtype.lanes if store.indices else 1
        self.tape, self.low, self.high = outline.box(site.context, lanes)
        tape = self.tape
        self.fixed = self._bounds(tape) + [
            tape.node(e.condition if e.holds else Not(e.condition)) for e in site.context if isinstance(e, Guard)
        ]
        if store.predicate is not None:
            self.fixed.append(tape.node(store.predicate))
        self.indices = [tape.node(e) for e in store.indices]
        extents, shift = self.view.extents, outline.shifts.get(store.buffer)
        terms = list(zip(extents.strides, self.indices, strict=True))
        if shift is not None:
            terms.append((1, tape.node(shift)))
        compact = bool(extents.shape) and extents == Extents(extents.shape, row_major(extents.shape)) and shift is None
        self.flat = None if compact else tape.linear(extents.offset, terms)
        self.when = tape.linear(
            site.offset - sum(loop.low * loop.weight for loop in site.loops),
            [(loop.weight, tape.column(k)) for k, loop in enumerate(site.loops)],
        )

    def _bounds(self, tape: Tape) -> list[int]:
        """That loops are within bounds that depend on others; constant ones are in the box."""
        found = []
        for loop in self.site.loops:
            var, least, extent = (tape.node(e) for e in (loop.stmt.var, loop.stmt.min, loop.stmt.extent))
            if any(tape.code[k][0] != "const" for k in (least, extent)):
                most = tape.linear(0, [(1, least), (1, extent)])
                found += [tape.add("le", least, var), tape.add("lt", var, most)]
        return found

    # ----------------------------------------------------------------------------------------------- questions

    def last(self, address: Ids, after: Ids, before: Ids) -> Ids:
        """The time of the latest instance, ``-1`` where there is none."""
        found: Ids = np.full(after.size, -1, dtype=np.int64)
        for first in range(0, after.size, _CHUNK):
            part = slice(first, first + _CHUNK)
            found[part] = _Search(self, address[part], after[part], before[part]).last()
        return found

    def every(self, address: Ids, after: Ids, before: Ids) -> Ids:
        """The times of all instances, each once; existence is certain only up to conditions on data."""
        found = []
        for first in range(0, after.size, _CHUNK):
            part = slice(first, first + _CHUNK)
            found.append(_Search(self, address[part], after[part], before[part]).every())
        return distinct(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    def requirements(self, address: Ids, after: Ids, before: Ids) -> list[tuple[int, Ids, Ids]]:
        """(node, least, most) for each box."""
        one = np.array([1], dtype=np.int64)
        found = [(node, one, one) for node in self.fixed]
        shape = self.view.extents.shape
        rest = address // self.view.dtype.lanes
        for k in range(len(shape) - 1, -1, -1):
            if self.flat is None:
                index = rest % shape[k] if k else rest
                rest = rest // shape[k]
                found.append((self.indices[k], index, index))
            else:
                found.append((self.indices[k], one - 1, one * (shape[k] - 1)))
        if self.flat is not None:
            found.append((self.flat, rest, rest))
        found.append((self.when, after + 1, before - 1))
        return found


@final
@dataclass(slots=True)
class _Search:
    """A worklist of boxes, those of one question together, the latest one last."""

    writers: Writers
    address: Ids
    after: Ids
    before: Ids
    question: Ids = field(init=False)
    low: Ids = field(init=False)
    high: Ids = field(init=False)

    def __post_init__(self) -> None:
        count = self.after.size
        self.question = np.arange(count, dtype=np.int64)
        self.low = np.repeat(self.writers.low, count, axis=0)
        self.high = np.repeat(self.writers.high, count, axis=0)
        shape = self.writers.view.extents.shape
        impossible = self.after + 1 >= self.before
        if 0 in shape:
            impossible[:] = True
        self._keep(~impossible)

    def _keep(self, rows: Mask | Ids) -> None:
        self.question, self.low, self.high = self.question[rows], self.low[rows], self.high[rows]

    # -------------------------------------------------------------------------------------------------- tightening

    def _tighten(self, rows: Ids) -> tuple[Ids, Ids, Mask, Mask]:
        """Contract some boxes: their new bounds, which hold no solution, and which hold nothing but solutions."""
        writers = self.writers
        writers.effort.look(rows.size)
        question = self.question[rows]
        low, high = self.low[rows].copy(), self.high[rows].copy()
        required = writers.requirements(self.address[question], self.after[question], self.before[question])
        dead: Mask = np.zeros(rows.size, dtype=np.bool_)
        entailed = dead
        kept, settled = None, False
        for _ in range(_PASSES):
            lows, highs = writers.tape.forward(low, high)
            entailed = ~dead
            for node, least, most in required:
                entailed &= (lows[node] >= least) & (highs[node] <= most)
            if (entailed | dead).all():
                break
            if kept is not None:  # what is required of a sum says more of one operand once the other is known
                lows, highs = writers.tape.forward(low, high, kept)
            dead |= _require(required, lows, highs)
            kept = lows, highs
            if dead.all():
                break
            old = low.copy(), high.copy()
            writers.tape.contract(low, high, lows, highs, dead)
            np.minimum(low, high, out=low)  # keeps the empty ones harmless
            before, settled = settled, bool((low == old[0]).all() and (high == old[1]).all())
            if before and settled:
                break
        return low, high, dead, entailed & ~dead

    def _exists(self, low: Ids, question: Ids) -> Mask:
        """Which single points are instances, and write what is asked for."""
        writers = self.writers
        return writers.check(writers.site, writers.site.time(low[:, : writers.depth]), self.address[question])

    # ------------------------------------------------------------------------------------------------------- latest

    def last(self) -> Ids:
        """The time of the latest solution of each question, -1 where there is none."""
        result: Ids = np.full(self.after.size, -1, dtype=np.int64)
        while self.question.size:
            top = np.flatnonzero(np.append(self.question[1:] != self.question[:-1], True))
            low, high, dead, entailed = self._tighten(top)
            single = ~dead & (low == high).all(axis=1)
            doubtful = np.flatnonzero(single & ~entailed)
            if doubtful.size:
                exists = self._exists(low[doubtful], self.question[top[doubtful]])
                entailed[doubtful[exists]] = True
                dead[doubtful[~exists]] = True
            solved = np.flatnonzero(entailed)
            depth = self.writers.depth
            result[self.question[top[solved]]] = self.writers.site.time(high[solved][:, :depth])
            self.low[top], self.high[top] = low, high
            self._replace(top, np.flatnonzero(~dead & ~entailed), result)
        return result

    def _replace(self, top: Ids, open_: Ids, result: Ids) -> None:
        """Drop the boxes on top but for the open ones, which are split; and all of questions that are answered."""
        keep = result[self.question] < 0
        keep[top] = False
        places = np.arange(self.question.size) * 4
        rows, order = [np.flatnonzero(keep)], [places[keep]]
        lows, highs = [self.low[keep]], [self.high[keep]]
        for k, (low, high, there) in enumerate(_split(self.low[top[open_]], self.high[top[open_]])):
            where = top[open_][there]
            rows.append(where)
            order.append(places[where] + k)
            lows.append(low[there])
            highs.append(high[there])
        sequence = np.argsort(np.concatenate(order), kind="stable")
        self.question = self.question[np.concatenate(rows)][sequence]
        self.low, self.high = np.concatenate(lows)[sequence], np.concatenate(highs)[sequence]

    # ---------------------------------------------------------------------------------------------------------- all

    def every(self) -> Ids:
        """The times of all solutions."""
        found: list[Ids] = []
        waiting = [(self.question, self.low, self.high)]
        while waiting:
            self._next(waiting)
            low, high, dead, entailed = self._tighten(np.arange(self.question.size))
            single = ~dead & (low == high).all(axis=1)
            doubtful = np.flatnonzero(single & ~entailed)
            if doubtful.size:  # what depends on data may exist
                exists = self._exists(low[doubtful], self.question[doubtful])
                entailed[doubtful[exists]] = True
                dead[doubtful[~exists]] = True
            found.append(self._points(low[entailed], high[entailed]))
            open_ = ~dead & ~entailed
            question = self.question[open_]
            waiting += [(question[t], lo[t], hi[t]) for lo, hi, t in _split(low[open_], high[open_]) if t.any()]
        return distinct(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    def _next(self, waiting: list[tuple[Ids, Ids, Ids]]) -> None:
        """Take boxes for one step from the end of those that wait, so that none is moved more than a few times."""
        taken = [waiting.pop()]
        while waiting and sum(q.size for q, _, _ in taken) < _STEP:
            taken.append(waiting.pop())
        question, low, high = (np.concatenate(part) for part in zip(*taken, strict=True))
        if question.size > _STEP:
            waiting.append((question[_STEP:], low[_STEP:], high[_STEP:]))
        self.question, self.low, self.high = question[:_STEP], low[:_STEP], high[:_STEP]

    def _points(self, low: Ids, high: Ids) -> Ids:
        """The times of all points of some boxes; lanes are no instances of their own."""
        site = self.writers.site
        times = site.time(low[:, : self.writers.depth])
        for k, loop in enumerate(site.loops):
            counts = high[:, k] - low[:, k] + 1
            total = int(counts.sum())
            if (counts > 1).any():
                if total > self.writers.effort.operations:
                    self.writers.effort.take(total)
                rows = np.repeat(np.arange(counts.size), counts)
                steps = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
                times = times[rows] + steps * loop.weight
                low, high = low[rows], high[rows]
        return distinct(times)


def _require(required: list[tuple[int, Ids, Ids]], lows: Intervals, highs: Intervals) -> Mask:
    """Tighten nodes to what is required of them; which boxes cannot meet it."""
    dead: Mask = np.zeros(1, dtype=np.bool_)
    for node, least, most in required:
        lows[node] = np.maximum(lows[node], least)
        highs[node] = np.minimum(highs[node], most)
        dead = dead | (lows[node] > highs[node])
    return dead


def _split(low: Ids, high: Ids) -> list[tuple[Ids, Ids, Mask]]:
    """Boxes cut at the first column that is not fixed: its lower half, its upper half, its last value.

    The third of each triple says which of the boxes have such a part.
    """
    if not low.size:
        return []
    rows = np.arange(low.shape[0])
    column = (low < high).argmax(axis=1)
    least, most = low[rows, column], high[rows, column]
    middle = least + (most - 1 - least) // 2
    parts = []
    for a, b in ((least, middle), (middle + 1, most - 1), (most, most)):
        new_low, new_high = low.copy(), high.copy()
        new_low[rows, column], new_high[rows, column] = a, b
        parts.append((new_low, new_high, a <= b))
    return parts
