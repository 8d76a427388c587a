"""Frames for instances, and the loads that they make.

The loops, lets and guards around a site are evaluated by the ordinary evaluator, from outside in, all instances at
once; those that a bound or a guard excludes are dropped on the way.  What depends on data is left open here: both arms
of a lazy operator count as evaluated then, so the loads found are all that can matter, and perhaps some more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, IfThenElse, LetExpr, Load, Var
from verified_tir.ir.stmt import Store
from verified_tir.ir.visit import children, walk
from verified_tir.validate.demand.outline import (
    Bound,
    BoundData,
    DataGuard,
    Domain,
    Entry,
    Guard,
    InLoop,
    Outline,
    Site,
)
from verified_tir.validate.evaluate import Evaluator
from verified_tir.validate.frame import Frame, Value, given
from verified_tir.validate.memory import Mask, Refused
from verified_tir.validate.terms import Ids

ROWS: Final = 1 << 16


@final
@dataclass(frozen=True, slots=True)
class Loads:
    """Loads of some instances of a site: ``row`` (of the instances given), scalar ``address`` of a block."""

    data: Var
    row: Ids
    address: Ids


@final
class Frames:
    """Makes frames for the instances of a program's sites.

    ``doubt`` is a path condition that stands for "perhaps": with it, undefined behaviour is noted and does not end
    anything.
    """

    def __init__(self, outline: Outline, evaluator: Evaluator, doubt: int | None = None) -> None:
        self.outline, self.evaluator, self.doubt = outline, evaluator, doubt
        self.scalars: dict[Var, Value] = {}
        self._loads: dict[Expr, bool] = {}

    def base(self) -> Frame:
        """One row, in which sizes have their values."""
        frame = Frame(1)
        for var, number in self.outline.values.items():
            frame.values[var] = given(var.dtype, number, self.evaluator.terms)
        frame.values.update(self.scalars)
        return frame

    def of(self, site: Site, times: Ids) -> tuple[Frame, Ids]:
        """A frame with one row for each instance that exists, but for conditions on data; and which those are."""
        columns = site.iterations(times)
        frame = self.base()
        frame.count = times.size
        if self.doubt is not None:
            frame.guard = np.full(times.size, self.doubt, dtype=np.int64)
        rows = np.arange(times.size)
        depth = 0
        for entry in site.context:
            kept: Mask | None = None
            match entry:
                case InLoop(loop=loop):
                    column = columns[rows, depth]
                    kept = self._inside(loop.stmt.min, loop.stmt.extent, column, frame)
                    frame.values[loop.stmt.var] = Value(loop.stmt.var.dtype, column[:, None])
                    depth += 1
                case Bound(var=var, value=value):
                    frame.values[var] = self.evaluator.evaluate(value, frame)
                case Guard(condition=c, holds=holds):
                    known, _ = self.evaluator.condition(c, frame)
                    if known is None:
                        raise Refused("a condition on indices cannot be decided")
                    kept = known if holds else ~known
                case Domain():
                    self._domain(entry, frame)
                case BoundData() | DataGuard():
                    continue
            if kept is not None and not kept.all():
                where = np.flatnonzero(kept)
                frame, rows = frame.pick(where), rows[where]
                if not rows.size:
                    return frame, rows
        return frame, rows

    def note(self, entry: Entry, frame: Frame) -> None:
        """Note the undefined behaviour of one part of a context in instances that are known to exist."""
        match entry:
            case InLoop(loop=loop):
                self._inside(loop.stmt.min, loop.stmt.extent, np.zeros(1, dtype=np.int64), frame)
            case Bound(value=value):
                self.evaluator.evaluate(value, frame)
            case Guard(condition=c):
                self.evaluator.condition(c, frame)
            case Domain():
                self._domain(entry, frame)

    def _inside(self, least: Expr, extent: Expr, column: Ids, frame: Frame) -> Mask:
        start = self.evaluator.number(least, frame, "undef bound", "a loop's minimum")[:, 0]
        count = self.evaluator.number(extent, frame, "undef bound", "a loop's extent")[:, 0]
        return (column >= start) & (column < start + count)

    def _domain(self, entry: Domain, frame: Frame) -> None:
        iv = entry.variable
        value = frame.values[iv.var].array
        start = self.evaluator.number(iv.min, frame, "undef bound", f"the domain of {iv.var.name}")
        extent = self.evaluator.number(iv.extent, frame, "undef bound", f"the domain of {iv.var.name}")
        outside = (value < start) | (value >= start + extent)
        self.evaluator.events.note(frame, f"block {entry.block} is run outside its domain", outside)

    def addresses(self, frame: Frame, buffer: Buffer, indices: Sequence[Ids], lanes: int) -> tuple[Ids, Mask]:
        """The scalars of an access, shape (rows, scalars), and which of them are inside the buffer."""
        view = self.outline.views[buffer]
        element: Ids = np.full((frame.count, lanes), view.offset, dtype=np.int64)
        if view.shift is not None:
            element += self.evaluator.number(view.shift, frame, "undef bound", f"the offset of {view.name}")
        inside: Mask = np.ones((frame.count, lanes), dtype=np.bool_)
        for index, extent, stride in zip(indices, view.shape, view.strides, strict=True):
            inside &= (index >= 0) & (index < extent)
            element = element + index * stride
        inside &= (element >= 0) & (element < view.span // view.dtype.lanes)
        return scalars(element, inside, view.dtype.lanes)

    def stored(self, site: Site, frame: Frame) -> tuple[Ids, Mask]:
        """The scalars that the rows of a store write, and which of those are written."""
        store = site.what
        assert isinstance(store, Store)
        indices = self.evaluator.indices(store.buffer.name, store.indices, frame)
        lanes = store.indices[-1].dtype.lanes if store.indices else 1
        at, inside = self.addresses(frame, store.buffer, indices, lanes)
        mask = self.evaluator.mask(store.predicate, frame)
        if mask is not None:
            inside = inside & (np.repeat(mask, at.shape[1] // lanes, axis=1) != 0)
        return at, inside

    def writes(self, site: Site, times: Ids, address: Ids | None) -> Mask:
        """Which instances exist (and write ``address``), but for conditions on data."""
        found: Mask = np.zeros(times.size, dtype=np.bool_)
        for first in range(0, times.size, ROWS):
            frame, rows = self.of(site, times[first : first + ROWS])
            if not rows.size:
                continue
            rows = rows + first
            if address is None:
                found[rows] = True
            else:
                at, inside = self.stored(site, frame)
                found[rows] = ((at == address[rows, None]) & inside).any(axis=1)
        return found

    # ------------------------------------------------------------------------------------------------------ loads

    def has_loads(self, expr: Expr) -> bool:
        if expr not in self._loads:
            self._loads[expr] = any(isinstance(node, Load) for node in walk(expr))
        return self._loads[expr]

    def loads(self, expr: Expr, frame: Frame, rows: Ids, own: Load | None = None) -> Iterator[Loads]:
        """The loads that evaluating an expression can make, but for ``own``; ``rows`` numbers those of the frame."""
        if frame.count == 0 or expr is own or not self.has_loads(expr):
            return
        match expr:
            case Load(buffer=buffer, indices=indices, predicate=predicate):
                yield self._load(buffer, indices, predicate, frame, rows)
            case IfThenElse(condition=c, true_value=a, false_value=b):
                yield from self._lazy(c, a, b, frame, rows, own)
            case Binary(op="and", a=a, b=b) if expr.dtype.lanes == 1:
                yield from self._lazy(a, b, None, frame, rows, own)
            case Binary(op="or", a=a, b=b) if expr.dtype.lanes == 1:
                yield from self._lazy(a, None, b, frame, rows, own)
            case LetExpr(var=var, value=value, body=body):
                yield from self.loads(value, frame, rows, own)
                if not self.outline.is_data(value):
                    frame.values[var] = self.evaluator.evaluate(value, frame)
                yield from self.loads(body, frame, rows, own)
            case _:
                for child in children(expr):
                    if isinstance(child, Expr):
                        yield from self.loads(child, frame, rows, own)

    def _lazy(
        self, c: Expr, a: Expr | None, b: Expr | None, frame: Frame, rows: Ids, own: Load | None
    ) -> Iterator[Loads]:
        yield from self.loads(c, frame, rows, own)
        known = None
        if not self.outline.is_data(c):
            known, _ = self.evaluator.condition(c, frame)
        for arm, holds in ((a, True), (b, False)):
            if arm is None:
                continue
            if known is None:
                yield from self.loads(arm, frame, rows, own)
            else:
                where = np.flatnonzero(known == holds)
                yield from self.loads(arm, frame.pick(where), rows[where], own)

    def _load(self, buffer: Buffer, indices: Sequence[Expr], predicate: Expr | None, frame: Frame, rows: Ids) -> Loads:
        for index in (*indices, *([] if predicate is None else [predicate])):
            if self.outline.is_data(index):
                raise Refused(f"an address of {buffer.name} depends on data")
        if buffer not in self.outline.views:
            raise Refused(f"{buffer.name} is not declared here")
        lanes = indices[-1].dtype.lanes if indices else 1
        at, inside = self.addresses(frame, buffer, self.evaluator.indices(buffer.name, indices, frame), lanes)
        mask = self.evaluator.mask(predicate, frame)
        if mask is not None:
            inside = inside & (np.repeat(mask, at.shape[1] // lanes, axis=1) != 0)
        every = np.broadcast_to(rows[:, None], at.shape)
        return Loads(buffer.data, every[inside], at[inside])


def scalars(element: Ids, inside: Mask, lanes: int) -> tuple[Ids, Mask]:
    """The scalars of elements with lanes, and which of them are accessed."""
    if lanes == 1:
        return element, inside
    at = (element[:, :, None] * lanes + np.arange(lanes)).reshape(element.shape[0], -1)
    return at, np.repeat(inside, lanes, axis=1)
