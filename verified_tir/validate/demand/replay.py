"""Replaying what one element depends on, with numbers, by the meanings that the interpreter gives to expressions.

The needed instances are executed one after the other in the order of time, on a memory that holds what they touch.
Nothing of the symbolic run takes part: loops, lets and guards, loads and stores are evaluated anew.  What is left out
is what the element does not depend on; undefined behaviour there is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast, final

import numpy as np

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.find import data_vars
from verified_tir.ir.stmt import Store
from verified_tir.semantics.errors import UndefinedBehaviour
from verified_tir.semantics.interpreter.expressions import indices_of, mask_of, meaning_of, number
from verified_tir.semantics.interpreter.frame import Frame, Run
from verified_tir.semantics.memory import View, reinterpret
from verified_tir.semantics.values import UNDEF, Scalar, Value, lanes_of, vector
from verified_tir.validate.concrete import contents
from verified_tir.validate.demand.closure import Closure
from verified_tir.validate.demand.outline import (
    Bound,
    BoundData,
    DataGuard,
    Domain,
    Guard,
    InLoop,
    Outline,
    Site,
    Storage,
)
from verified_tir.validate.interface import Parameter
from verified_tir.validate.memory import View as Symbolic

_POOL: Final = 4093
_SPREAD: Final = 2654435761


@final
class Inputs:
    """Contents of the parameters: a number for each element of *before* that is asked for, always the same one."""

    def __init__(self, kind: str, seed: int, pool: Sequence[float] = (0, 1)) -> None:
        self.kind, self.seed, self.pool = kind, seed, pool
        self.used: dict[int, dict[int, Scalar]] = {}
        self._pools: dict[int, Any] = {}

    def value(self, position: int, dtype: DType, scalar: int) -> Scalar:
        """What scalar number ``scalar`` of a parameter holds at entry."""
        there = self.used.setdefault(position, {})
        if scalar not in there:
            if position not in self._pools:
                rng = np.random.default_rng((self.seed, position))
                self._pools[position] = contents(dtype, (_POOL,), self.kind, rng, self.pool)
            found = self._pools[position][scalar * _SPREAD % (1 << 32) % _POOL]
            there[scalar] = float(found) if dtype.is_float else found.item()
        return there[scalar]


@final
@dataclass(slots=True)
class _Cells:
    """The scalars of one block that were stored since it was made, and their types."""

    made: int = -1
    values: dict[int, tuple[Scalar, DType]] = field(default_factory=dict)


@final
class _View:
    """A buffer in a replay, with the part of the interpreter's ``View`` that accesses use."""

    def __init__(
        self, view: Symbolic, shift: Expr | None, storage: Storage, cells: _Cells, frame: Frame,
        parameter: Parameter | None, inputs: Inputs,
    ) -> None:  # fmt: skip
        self.name, self.dtype, self.extents, self.span = view.name, view.dtype, view.extents, view.span
        self.storage, self.cells, self.frame, self.parameter, self.inputs = storage, cells, frame, parameter, inputs
        self.shift = None if shift is None else number(shift, frozenset(), "undef-bound", f"the offset of {view.name}")

    def _locate(self, indices: Sequence[int]) -> int:
        extents = self.extents
        element = extents.offset if self.shift is None else self.shift(self.frame)
        for index, extent, stride in zip(indices, extents.shape, extents.strides, strict=True):
            if not 0 <= index < extent:
                raise UndefinedBehaviour("out-of-bounds", f"{self.name}{list(indices)} is outside its shape")
            element += index * stride
        if not 0 <= element < self.span // self.dtype.lanes:
            raise UndefinedBehaviour("out-of-bounds", f"{self.name}{list(indices)} is outside the block")
        made = self.storage.offset
        for loop in self.storage.loops:
            made += (cast(int, self.frame.values[loop.stmt.var]) - loop.low) * loop.weight
        if made != self.cells.made:
            self.cells.made = made
            self.cells.values.clear()
        return element

    def load(self, indices: Sequence[int]) -> Value:
        """The element, a tuple if it has lanes."""
        first = self._locate(indices) * self.dtype.lanes
        return vector([self.scalar(first + lane) for lane in range(self.dtype.lanes)])

    def scalar(self, address: int) -> Scalar:
        target = self.dtype.scalar
        value, dtype = self.cells.values.get(address) or self._entry(address)
        return value if dtype is target else cast(Scalar, reinterpret(value, dtype, target))

    def _entry(self, address: int) -> tuple[Scalar, DType]:
        dtype, p = self.storage.view.dtype.scalar, self.parameter
        if p is None:
            return UNDEF, dtype
        element = int(p.elements_at(np.array([address // p.lanes], dtype=np.int64))[0])
        if element >= 0:
            return self.inputs.value(p.position, dtype, element * p.lanes + address % p.lanes), dtype
        if p.padding is None:
            raise UndefinedBehaviour("inaccessible", f"{self.name} is accessed where it is declared inaccessible")
        return (UNDEF if p.padding == "undef" else p.padding), dtype

    def store(self, indices: Sequence[int], value: Value) -> None:
        """Replace the element."""
        element, lanes, p = self._locate(indices), self.dtype.lanes, self.parameter
        if p is not None and p.padding is None and p.index_map is not None:
            self._entry(element * lanes)
        for lane, scalar in enumerate(lanes_of(value)):
            self.cells.values[element * lanes + lane] = scalar, self.dtype.scalar


_Step = Callable[[Frame, Sequence[int]], bool]
"""One part of a context: whether the instance goes on."""


@final
class Replay:
    """Runs the instances that a closure found, on numbers; ``size`` is how many there are."""

    def __init__(self, outline: Outline, closure: Closure, params: Sequence[Parameter]) -> None:
        self.outline, self.params = outline, params
        self._data = data_vars(outline.func.body)
        parts = [(site, times) for site, times in closure.needed.items() if times.size]
        self.size = sum(times.size for _, times in parts)
        every = np.concatenate([times for _, times in parts]) if parts else np.zeros(0, dtype=np.int64)
        which = np.repeat(np.arange(len(parts)), [times.size for _, times in parts])
        order = np.argsort(every, kind="stable")
        self._times = every[order].tolist()
        self._which = which[order].tolist()
        self._iterations = [site.iterations(times).tolist() for site, times in parts]
        self._rows = (np.arange(every.size) - np.searchsorted(which, which))[order].tolist()
        self._sites = [site for site, _ in parts]
        self._results: dict[tuple[int, int], Value] = {}

    def run(self, inputs: Inputs) -> Mapping[Var, _View]:
        """Execute everything; what the parameters' blocks hold at the end.

        :raises UndefinedBehaviour: if what is executed has no meaning.
        """
        self._results = {}
        frame = Frame(Run())
        for var, value in self.outline.values.items():
            frame.values[var] = value
        for p in self.params:
            if p.buffer is None and p.var not in frame.values and (p.var.dtype.is_float or p.var.dtype.is_bool):
                frame.values[p.var] = inputs.value(p.position, p.var.dtype, 0)
        cells: dict[Var, _Cells] = {data: _Cells() for data in self.outline.storage}
        for buffer, view in self.outline.views.items():
            storage, shift = self.outline.storage[buffer.data], self.outline.shifts.get(buffer)
            parameter = None if storage.parameter is None else self.params[storage.parameter]
            found = _View(view, shift, storage, cells[buffer.data], frame, parameter, inputs)
            frame.views[buffer] = cast(View, found)
        steps, leaves = [self._steps(site) for site in self._sites], [self._leaf(site) for site in self._sites]
        for time, which, row in zip(self._times, self._which, self._rows, strict=True):
            iteration = self._iterations[which][row]
            if all(step(frame, iteration) for step in steps[which]):  # from outside in, no further than it is true
                leaves[which](frame, time)
        return {b.data: cast(_View, frame.views[b]) for b in self.outline.func.buffers}

    # ------------------------------------------------------------------------------------------------- contexts

    def _steps(self, site: Site) -> list[_Step]:
        found: list[_Step] = []
        depth = 0
        for entry in site.context:
            match entry:
                case InLoop():
                    found.append(self._loop(entry, depth))
                    depth += 1
                case Bound(var=var, value=value):
                    found.append(_assign(var, meaning_of(value, self._data)))
                case BoundData() | DataGuard():
                    found.append(self._outcome(entry))
                case Guard(condition=c, holds=holds):
                    found.append(_test(number(c, self._data, "undef-branch", "a condition"), holds))
                case Domain():
                    found.append(self._domain(entry))
        return found

    def _loop(self, entry: InLoop, depth: int) -> _Step:
        loop = entry.loop.stmt
        least = number(loop.min, self._data, "undef-bound", "a loop's minimum")
        extent = number(loop.extent, self._data, "undef-bound", "a loop's extent")

        def step(frame: Frame, iteration: Sequence[int]) -> bool:
            start = least(frame)
            frame.values[loop.var] = iteration[depth]
            return start <= iteration[depth] < start + extent(frame)

        return step

    def _outcome(self, entry: BoundData | DataGuard) -> _Step:
        site = entry.site

        def step(frame: Frame, iteration: Sequence[int]) -> bool:
            time = site.offset + sum((i - k.low) * k.weight for i, k in zip(iteration, site.loops, strict=False))
            value = self._results.get((site.number, time))
            if value is None:  # it was not executed, so neither is what is inside
                return False
            if isinstance(entry, BoundData):
                frame.values[entry.var] = value
                return True
            return bool(value) == entry.holds

        return step

    def _domain(self, entry: Domain) -> _Step:
        iv = entry.variable
        least = number(iv.min, self._data, "undef-bound", "a domain")
        extent = number(iv.extent, self._data, "undef-bound", "a domain")

        def step(frame: Frame, _: Sequence[int]) -> bool:
            start, value = least(frame), cast(int, frame.values[iv.var])
            if not start <= value < start + extent(frame):
                raise UndefinedBehaviour("block-domain", f"{iv.var.name} = {value} is outside block {entry.block}")
            return True

        return step

    # ---------------------------------------------------------------------------------------------- execution

    def _leaf(self, site: Site) -> Callable[[Frame, int], None]:
        """What happens at a site, once it is known that the instance exists."""
        what = site.what
        if not isinstance(what, Store):
            condition = site.kind == "condition"
            meaning = (
                number(what, self._data, "undef-branch", "a condition") if condition else meaning_of(what, self._data)
            )

            def remember(frame: Frame, time: int) -> None:
                self._results[site.number, time] = meaning(frame)

            return remember
        name, lanes = what.buffer.name, what.buffer.dtype.lanes
        indices, value = indices_of(name, what.indices, self._data), meaning_of(what.value, self._data)
        mask = None if what.predicate is None else mask_of(name, what.predicate, self._data)

        def store(frame: Frame, _: int) -> None:
            rows, scalars = indices(frame), lanes_of(value(frame))
            taken = None if mask is None else mask(frame)
            view = frame.view(what.buffer)
            for k, row in enumerate(rows):
                if taken is None or taken[k]:
                    view.store(row, vector(scalars[k * lanes : (k + 1) * lanes]))

        return store


def _assign(var: Var, meaning: Callable[[Frame], Value]) -> _Step:
    def step(frame: Frame, _: Sequence[int]) -> bool:
        frame.values[var] = meaning(frame)
        return True

    return step


def _test(condition: Callable[[Frame], int], holds: bool) -> _Step:
    def step(frame: Frame, _: Sequence[int]) -> bool:
        return bool(condition(frame)) == holds

    return step
