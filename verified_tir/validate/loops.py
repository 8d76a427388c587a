"""Loops: unrolled into rows where their iterations are independent, serial elsewhere.

The iterations of perfectly nested loops become rows, and the statements of the body run one after the other, each in
all rows.  That is the serial meaning if no row touches what another one writes; the region of the nest checks it
(``memory.py``).  Where it does not hold, everything is taken back, and the outermost loop in which the two conflicting
rows differ runs serially from then on.  So a reduction runs one step at a time over all independent iterations.

What a row reads may be wrong until the region has been checked to its end.  If execution stops in one (undefined
behaviour, an address that depends on data), that counts only after loops have been made serial, from the outermost on,
until it happens outside of all regions.

A ``parallel``, ``vectorized`` or thread-bound loop whose iterations conflict is a finding.  Memory that belongs to a
thread block, or to a thread, is not where those of different blocks meet.  A loop with another one of the same thread
inside is not judged: its iterations do not all run that one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import once
from verified_tir.ir.stmt import Assert, AttrStmt, Block, For, Stmt, While
from verified_tir.ir.visit import free_vars, nodes_of, walk
from verified_tir.validate.calls import needs_order
from verified_tir.validate.evaluate import Evaluator
from verified_tir.validate.frame import Frame, Value
from verified_tir.validate.memory import EVERY, ROW_BITS, SEVERAL, Conflict, Refused, Region, UndefinedRun
from verified_tir.validate.places import OUTSIDE, Places, launched, numbered
from verified_tir.validate.reductions import reduces
from verified_tir.validate.terms import Ids
from verified_tir.validate.thread_loops import is_shared, is_thread
from verified_tir.validate.threads import KERNEL, PHASE, may_meet, warps_of
from verified_tir.validate.verdict import Finding

Regions: TypeAlias = tuple[tuple[Region, Ids], ...]
MOST_ROWS: Final = 1 << 16
_ROWS: Final = 32
"""Rows that take as long as an operation on terms, if they compute nothing but indices."""
_STEP: Final = 5
"""Operations that an iteration counts as at least which runs alone."""
MARKED: Final = {"parallel": "race", "vectorized": "lane conflict", "thread_binding": "race between threads"}


@final
@dataclass(slots=True)
class _Nest:
    """One execution of some loops in rows.  ``log`` has, from each first row number on, the iterations of the rows."""

    loops: list[For]
    body: Stmt
    region: Region
    watched: bool
    rows: int = 0
    log: list[tuple[int, list[Ids]]] = field(default_factory=list)

    def iterations(self, row: int) -> list[int]:
        first, columns = self.log[bisect_right([start for start, _ in self.log], row) - 1]
        return [int(column[row - first]) for column in columns]


@final
class Loops:
    """Runs loops; ``run`` executes a statement in a frame, ``spend`` counts operations.

    ``findings`` are the races that were found, ``races`` the blocks of shared memory in which threads conflict.
    ``alone`` are further operations that each iteration of a serial loop counts as.
    """

    def __init__(
        self, evaluator: Evaluator, run: Callable[[Stmt, Frame], None], spend: Callable[[int], None], fast: bool
    ) -> None:
        self.evaluator, self.execute, self.spend, self.fast = evaluator, run, spend, fast
        self.findings: dict[str, None] = {}
        self.alone = 0
        self.races: set[str] = set()
        self._places: Places | None = None
        self._kernels = 0
        self._serial: set[For] = set()

    def run(self, stmt: For, frame: Frame) -> None:
        """Execute a loop in all rows of a frame."""
        if self.fast and _is_alike(stmt, frame):
            frame = _one_for_all(frame)
        while self._unrollable(stmt):
            if self._in_rows(stmt, frame):
                return
        self._serially(stmt, frame)

    # ------------------------------------------------------------------------------------------------- places

    def watch_places(self, func: PrimFunc) -> Regions:
        """The region of the whole run, in which each row is a place (``places.py``)."""
        region = self.evaluator.access.memory.new_region(0, strict=True)
        region.places = self._places = Places(func)
        return ((region, np.full(1, OUTSIDE, dtype=np.int64)),)

    def doubtful(self, frame: Frame) -> Frame:
        """A frame under a condition on data: what its places write may not be written."""
        if self._places is None or frame.guard is None:
            return frame
        (whole, numbers), *others = frame.regions
        return replace(frame, regions=((whole, self._places.under(numbers, frame.guard)), *others))

    def note_strays(self) -> None:
        if self._places is not None:
            self._places.note(self.findings)

    # --------------------------------------------------------------------------------------------------- rows

    def _unrollable(self, stmt: For) -> bool:
        return self.fast and stmt not in self._serial and not _in_order(stmt)

    def _in_rows(self, stmt: For, frame: Frame) -> bool:
        """Execute the nest that begins at a loop in rows; false if that was not possible, and everything undone."""
        loops, body = [stmt], _inner(stmt.body)
        watched = self._watched(stmt)
        while isinstance(body, For) and self._unrollable(body) and self._watched(body) == watched:
            loops.append(body)
            body = _inner(body.body)
        access, events = self.evaluator.access, self.evaluator.events
        memory = access.memory
        outermost = memory.journal is None
        journal = memory.journal = memory.journal if memory.journal is not None else []
        mark, noted = len(journal), len(events.found)
        strays = self._places.strays if self._places is not None else []
        seen = len(strays)
        nest = _Nest(loops, loops[-1].body, memory.new_region(len(frame.regions), strict=True), watched)
        nest.region.judged = watched
        try:
            with self._reducing(loops):
                self._expand(nest, 0, frame, [])
        except Conflict as found:
            if found.region is not nest.region:
                raise
            carrier = self._carrier(nest, found)
        except (Refused, UndefinedRun):
            if not outermost:
                raise
            carrier = stmt
        else:
            if outermost:
                memory.journal = None
            return True
        memory.undo(mark)
        events.undo(noted)
        del strays[seen:]
        if outermost:
            memory.journal = None
        self._serial.add(carrier)
        return False

    def _reducing(self, loops: Sequence[For]) -> AbstractContextManager[None]:
        return nullcontext() if self._places is None else self._places.reducing(loops)

    def _carrier(self, nest: _Nest, found: Conflict) -> For:
        """The outermost loop in which two conflicting rows differ (of a nest, if there are many such rows)."""
        if SEVERAL in found.rows or EVERY in found.rows:
            if len(nest.loops) == 1:
                self._report(nest.loops[0], found, in_order=False)
            return nest.loops[0]
        one, other = [nest.iterations(row) for row in found.rows]
        carrier = next((loop for loop, a, b in zip(nest.loops, one, other, strict=True) if a != b), nest.loops[0])
        self._report(carrier, found, in_order=False)
        return carrier

    def _report(self, loop: For, found: Conflict, *, in_order: bool) -> None:
        """Note a conflict of a marked loop, unless its iterations are to be run one after the other first: only then
        is it known which of them wrote before the other one read."""
        kind = MARKED.get(loop.kind)
        carried = found.carried and in_order
        if kind is None or not self._watched(loop) or not may_meet(loop.thread, found.scope, carried):
            return
        if self._kernels and is_thread(loop.thread):
            return  # all of the threads are watched together
        if is_thread(loop.thread) and reduces(loop, found.memory.data):
            self._note(f"reduction across threads at {found.block}, over {loop.var.name}", found)
            return
        self._note(f"{kind} at {found.block} between iterations of {loop.var.name}", found)

    def _note(self, text: str, found: Conflict) -> None:
        self.findings[Finding(text, found.memory.identity)] = None

    def _watched(self, loop: For) -> bool:
        """Whether the loop is marked to run otherwise than serially, and its races can be judged."""
        if loop.kind != "thread_binding":
            return loop.kind in MARKED
        return not _is_bound_twice(loop)

    def _expand(self, nest: _Nest, depth: int, frame: Frame, columns: list[Ids]) -> None:
        """Unroll the loops from ``depth`` on; ``columns`` are the iterations of the outer ones."""
        if depth == len(nest.loops):
            numbers = np.arange(nest.rows, nest.rows + frame.count, dtype=np.int64)
            nest.region.whole = 0 if nest.watched or nest.rows else frame.count  # races of watched ones are sought
            nest.log.append((nest.rows, columns))
            nest.rows += frame.count
            self._count(
                nest.body, replace(frame, regions=(*frame.regions, (nest.region, numbers))), frame.count // _ROWS
            )
            return
        loop = nest.loops[depth]
        start, extent = self._bounds(loop, frame if depth == 0 else _ahead(frame, nest.region))
        total = int(extent.sum())
        if total > MOST_ROWS and frame.count > 1:  # in pieces, in order
            middle = frame.count // 2
            for rows in (np.arange(middle), np.arange(middle, frame.count)):
                self._expand(nest, depth, frame.pick(rows), [c[rows] for c in columns])
            return
        frame = replace(frame, regions=launched(frame.regions, loop.thread))
        for first in range(0, total, MOST_ROWS):
            if frame.count == 1:
                count = min(MOST_ROWS, total - first)
                rows = np.zeros(count, dtype=np.int64)
                values = np.arange(count, dtype=np.int64) + (int(start[0]) + first)
            else:
                rows = np.repeat(np.arange(frame.count), extent)
                ends = np.cumsum(extent)
                values = np.arange(total, dtype=np.int64) - np.repeat(ends - extent, extent) + start[rows]
            inner = frame.pick(rows)
            inner.values[loop.var] = Value(loop.var.dtype, values[:, None])
            inner.regions = numbered(inner.regions, loop.thread, values - start[rows])
            self._expand(nest, depth + 1, inner, [*[c[rows] for c in columns], values])

    def _bounds(self, loop: For, frame: Frame) -> tuple[Ids, Ids]:
        """First iteration and number of iterations, in each row."""
        name = loop.var.name
        start = self.evaluator.number(loop.min, frame, "undef bound", f"the minimum of loop {name}")
        extent = self.evaluator.number(loop.extent, frame, "undef bound", f"the extent of loop {name}")
        extent = np.maximum(extent, 0)
        last = min(loop.var.dtype.max_value, (1 << 63) - 1)  # numbers of uint64 are smaller, too
        over = (extent > 0) & (start > last - (extent - 1))
        self.evaluator.events.note(frame, f"loop {name} overflows", over)
        return np.broadcast_to(start[:, 0], (frame.count,)), np.broadcast_to(extent[:, 0], (frame.count,))

    # ------------------------------------------------------------------------------------------------- serial

    def _serially(self, loop: For, frame: Frame) -> None:
        start, extent = self._bounds(loop, frame)
        region = None
        if self._watched(loop):
            region = self.evaluator.access.memory.new_region(len(frame.regions), strict=False)
            region.matter = lambda found: may_meet(loop.thread, found.scope, found.carried)
        frame = replace(frame, regions=launched(frame.regions, loop.thread))
        with self._reducing([loop]):
            self._steps(loop, frame, region, start, extent)
        for found in () if region is None else region.conflicts.values():
            self._report(loop, found, in_order=True)

    def _steps(self, loop: For, frame: Frame, region: Region | None, start: Ids, extent: Ids) -> None:
        most = int(extent.max()) if extent.size else 0
        uniform = most == 0 or (bool((extent == most).all()) and bool((start == start[0]).all()))
        for step in range(most):
            self.evaluator.build.operations += self.alone
            if uniform:
                inner, value = replace(frame, values=dict(frame.values)), np.full((1, 1), int(start[0]) + step)
                rows = np.arange(frame.count)
            else:
                rows = np.flatnonzero(step < extent)
                inner, value = frame.pick(rows), (start[rows] + step)[:, None]
            inner.values[loop.var] = Value(loop.var.dtype, value)
            inner.regions = numbered(inner.regions, loop.thread, np.full(inner.count, step, dtype=np.int64))
            if region is not None:
                inner.regions = (*inner.regions, (region, rows * most + step))
            self._count(loop.body, inner, _STEP)

    def _count(self, body: Stmt, frame: Frame, least: int) -> None:
        """Execute a body, which counts as so many operations at least."""
        build = self.evaluator.build
        least += build.operations
        self.execute(body, frame)
        self.spend(max(0, least - build.operations))

    # ------------------------------------------------------------------------------------------------ threads

    def kernel(self, body: Stmt, frame: Frame) -> None:
        """The threads of thread blocks, one block in each row: who meets whom between two barriers is watched."""
        blocks = np.arange(frame.count, dtype=np.int64)
        regions = self._thread_regions(body, len(frame.regions), blocks)
        frame = replace(frame, regions=(*frame.regions, *[(region, blocks << ROW_BITS) for region in regions]))
        one_by_one = frame.count > 1 and any(_is_bound_twice(loop) for loop in nodes_of(body, For))
        self._kernels += 1
        try:
            for part in [frame.pick(blocks[k : k + 1]) for k in blocks] if one_by_one else [frame]:
                self.execute(body, part)
        finally:
            self._kernels -= 1
        for found in [found for region in regions for found in region.conflicts.values()]:
            self._note(f"race between threads at {found.block}: no barrier is between", found)
            if is_shared(found.scope):
                self.races.add(found.block)

    def _thread_regions(self, body: Stmt, depth: int, blocks: Ids) -> list[Region]:
        """The region of the threads of each block; two where warps have barriers of their own."""
        memory = self.evaluator.access.memory
        warps = warps_of(body)
        found = [memory.new_region(depth + k, strict=False) for k in range(1 if warps is None else 2)]
        for region in found:
            region.warps, region.within = warps, region is not found[0]
            units = blocks.size * (warps.count if warps is not None and region.within else 1)
            region.phases = np.zeros(units, dtype=np.int64)
            memory.new_phase(region, blocks)
        return found

    def barrier(self, frame: Frame, *, of_warp: bool) -> None:
        """All threads of the thread blocks in the rows have arrived; or those of each warp."""
        memory = self.evaluator.access.memory
        for region, numbers in frame.regions:
            if region.phases is not None and (region.within or not of_warp):
                memory.new_phase(region, numbers >> ROW_BITS)


@once
def _seen(stmt: Stmt) -> tuple[tuple[Var, ...], tuple[Buffer, ...]]:
    """The variables that a statement uses and does not bind, and its buffers."""
    return free_vars(stmt), tuple(nodes_of(stmt, Buffer))


def _is_alike(stmt: Stmt, frame: Frame) -> bool:
    """Whether a statement does the same in all rows, and these are all the rows of the regions around them."""
    if frame.count == 1 or frame.guard is not None:
        return False
    variables, buffers = _seen(stmt)
    values = [frame.values[v].array for v in variables if v in frame.values]
    keys: tuple[Var | Buffer, ...] = (*variables, *buffers)
    values += [base for key in keys if (base := frame.bases.get(key)) is not None]
    if not all(len(v) == 1 or bool((v == v[0]).all()) for v in values):
        return False
    return all(_covers(region, numbers) for region, numbers in frame.regions)


def _covers(region: Region, numbers: Ids) -> bool:
    """Whether rows are one row of a region, or all of them; or threads of one thread block."""
    if region.places is not None:
        return True
    if region.phases is not None:
        return bool((numbers >> ROW_BITS == numbers[0] >> ROW_BITS).all())
    if (numbers == numbers[0]).all():
        return True
    return region.whole > 0 and np.unique(numbers).size == region.whole


def _one_for_all(frame: Frame) -> Frame:
    """One row in place of all, which do the same; two of the threads, who would conflict if all of them do."""
    regions: list[tuple[Region, Ids]] = []
    for region, numbers in frame.regions:
        if (numbers == numbers[0]).all():
            regions.append((region, numbers[:1]))
        elif region.places is not None:
            regions.append((region, region.places.together(numbers)))
        elif region.phases is not None:
            serials, keys = region.keys(numbers)
            others = (serials == np.broadcast_to(serials, numbers.shape)[0]) & (keys != keys[0])
            regions += [(region, numbers[:1]), *[(region, numbers[k : k + 1]) for k in np.flatnonzero(others)[:1]]]
        else:
            regions.append((region, np.full(1, EVERY, dtype=np.int64)))
    return replace(frame.pick(np.zeros(1, dtype=np.int64)), regions=tuple(regions))


@once
def _in_order(loop: For) -> bool:
    """Whether something in a loop must run one row at a time: an opaque call, an assertion, a ``while``.

    So must a loop that threads run through with a barrier in it: each iteration has phases of its own.
    """
    marks = {node.key for node in nodes_of(loop.body, AttrStmt)}
    return (PHASE in marks and KERNEL not in marks) or any(
        isinstance(node, (Assert, While)) or (isinstance(node, Call) and needs_order(node)) for node in walk(loop.body)
    )


@once
def _is_bound_twice(loop: For) -> bool:
    """Whether another loop inside is over the same threads."""
    return any(node.thread == loop.thread for node in nodes_of(loop.body, For))


def _ahead(frame: Frame, region: Region) -> Frame:
    """The frame in which inner bounds are read, before any row has run: what they read, no row may write."""
    return replace(frame, regions=(*frame.regions, (region, np.full(frame.count, SEVERAL, dtype=np.int64))))


def _inner(stmt: Stmt) -> Stmt:
    """The statement without what means nothing around it."""
    while True:
        match stmt:
            case AttrStmt(key=key, body=body) if key not in (KERNEL, PHASE):
                stmt = body
            case Block(body=body) if stmt.is_label:
                stmt = body
            case _:
                return stmt
