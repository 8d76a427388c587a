"""Frames for instances, and the loads that they make.

The loops, lets and guards around a site are evaluated by the ordinary evaluator, from outside in, all instances at
once; those that a bound or a guard excludes are dropped on the way.  What depends on data is left open here: both arms
of a lazy operator count as evaluated then, so the loads found are all that can matter, and perhaps some more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from verified_tir.ir.expr import Binary, Expr, IfThenElse, LetExpr, Load, Var
from verified_tir.ir.stmt import Store
from verified_tir.ir.visit import children, nodes_of
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
from verified_tir.validate.demand.versions import in_rows
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

    def base(self) -> Frame:
        """One row, in which sizes have their values."""
        frame = Frame(1, views=self.outline.views)
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

    def stored(self, site: Site, frame: Frame) -> tuple[Ids, Mask]:
        """The scalars of a store, shape (rows, scalars), and which it writes; that others are not there is noted."""
        assert isinstance(site.what, Store)
        return self.accessed(site.what, frame)

    def accessed(self, node: Store | Load, frame: Frame) -> tuple[Ids, Mask]:
        """The scalars of an access, shape (rows, scalars), and which of them are accessed."""
        found = self.evaluator.access.addresses(frame, node.buffer, *self.evaluator.accessed(node, frame))
        return in_rows(found[1], found[2], frame.count)

    def writes(self, site: Site, times: Ids, address: Ids) -> Mask:
        """Which instances exist and write ``address``, but for conditions on data."""
        found: Mask = np.zeros(times.size, dtype=np.bool_)
        for first in range(0, times.size, ROWS):
            frame, rows = self.of(site, times[first : first + ROWS])
            if not rows.size:
                continue
            at, inside = self.stored(site, frame)
            rows = rows + first
            found[rows] = ((at == address[rows, None]) & inside).any(axis=1)
        return found

    # ------------------------------------------------------------------------------------------------------ loads

    def loads(self, expr: Expr, frame: Frame, rows: Ids, own: Load | None = None) -> Iterator[Loads]:
        """The loads that evaluating an expression can make, but for ``own``; ``rows`` numbers those of the frame."""
        if frame.count == 0 or expr is own or not nodes_of(expr, Load):
            return
        match expr:
            case Load():
                yield self._load(expr, frame, rows)
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

    def _load(self, load: Load, frame: Frame, rows: Ids) -> Loads:
        for index in (*load.indices, *([] if load.predicate is None else [load.predicate])):
            if self.outline.is_data(index):
                raise Refused(f"an address of {load.buffer.name} depends on data")
        at, taken = self.accessed(load, frame)
        return Loads(load.buffer.data, np.broadcast_to(rows[:, None], at.shape)[taken], at[taken])
