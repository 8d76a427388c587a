"""Arrays in the layouts that a theorem speaks of: into the new layout, back again, and what stands in the padding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from verified_tir.index.evaluate import evaluate
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For, If, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.obligation import ParameterMap
from verified_tir.schedule.replay_inputs import Array, Sizes, symbols
from verified_tir.semantics.interpreter import Outcome, Stopped, run


@final
@dataclass(frozen=True, slots=True)
class Masks:
    """Elements that are defined at entry, those that may not be touched, and those of which nothing is owed at exit, by
    parameter."""

    defined: dict[str, Array]
    inaccessible: dict[str, Array]
    free: dict[str, Array]

    def owed(self, outcome: Outcome) -> Outcome:
        """The outcome without what stands in padding that may hold anything, for nobody looks at it at exit."""
        kept = dict(outcome.defined)
        for masks in (self.free, self.inaccessible):
            for name, mask in masks.items():
                kept[name] = kept[name] & ~mask
        return Outcome(outcome.arrays, kept, outcome.findings, outcome.steps)

    def counts(self, name: str, shape: tuple[int, ...]) -> Array:
        """Which elements of an array of that shape a caller looks at, as one bool an element."""
        counts = np.ones(shape, bool)
        for masks in (self.free, self.inaccessible):
            counts &= ~masks.get(name, np.False_)
        return counts


def arguments_of(func: PrimFunc, arrays: Mapping[str, Array], sizes: Mapping[str, Any]) -> list[Any]:
    """Arrays and scalars, which are found by name, in the order in which compiled code takes them."""
    return [sizes[p.name] if (b := func.buffer_of(p)) is None else arrays[b.name] for p in func.params]


def pad(func: PrimFunc, paddings: tuple[Padding, ...], arrays: dict[str, Array], sizes: Sizes) -> Masks:
    """Fill declared padding into the arrays; gives the interpreter's masks."""
    defined: dict[str, Array] = {}
    inaccessible: dict[str, Array] = {}
    free: dict[str, Array] = {}
    for p in paddings:
        array = arrays.get(p.buffer.name)
        if array is None:
            continue
        inside = _inside(func, p, array, sizes)
        if p.value is None:
            inaccessible[p.buffer.name] = inaccessible.get(p.buffer.name, np.zeros(inside.shape, bool)) | inside
        elif isinstance(p.at_entry, Undef):
            mask = defined.get(p.buffer.name, np.ones(inside.shape, bool)) & ~inside
            defined[p.buffer.name] = mask
            if not p.owed:
                free[p.buffer.name] = free.get(p.buffer.name, np.zeros(inside.shape, bool)) | inside
        else:
            _fill(func, p, arrays, sizes)
    return Masks(defined, inaccessible, free)


def _inside(func: PrimFunc, p: Padding, array: Array, sizes: Sizes) -> Array:
    """Where the padding is, as one bool an element."""
    grids = np.indices(array.shape[: len(p.indices)], dtype=np.int64)
    values: dict[Var, Any] = dict(zip(p.indices, grids, strict=True))
    values.update({v: sizes[v.name] for v in symbols(func) if v.name in sizes and v.dtype.is_int})
    return np.broadcast_to(np.asarray(evaluate([p.predicate], values)[0], dtype=bool), grids.shape[1:])


def _fill(func: PrimFunc, p: Padding, arrays: dict[str, Array], sizes: Sizes) -> None:
    """Store the padding's value, which may be any expression, by running the loops that do it."""
    if p.value is None:
        return
    store: Stmt = If(p.predicate, Store(p.buffer, p.value, tuple(p.indices)))
    for v, extent in reversed(list(zip(p.indices, p.buffer.shape, strict=True))):
        store = For(v, const(0, v.dtype), extent, store)
    scalars = {v.name: sizes[v.name] for v in func.params if v.name in sizes}
    given = {b.name: arrays[b.name] for b in func.buffers}
    try:
        arrays[p.buffer.name] = np.array(run(func.with_body(store), {**given, **scalars}).arrays[p.buffer.name])
    except Stopped:
        return  # a value that has no meaning anywhere is assumed of no element


def move(maps: tuple[ParameterMap, ...], arrays: Mapping[str, Array], sizes: Sizes) -> dict[str, Array]:
    """The same arrays in the layouts that the maps lead to."""
    moved = {n: a.copy() for n, a in arrays.items()}
    for m in maps:
        old = moved[m.before.name]
        new = np.zeros(_extents(m.after, sizes) + old.shape[len(m.inputs) :], dtype=old.dtype)
        target = _target(m, old, sizes)
        if not target:  # a single element
            moved[m.before.name] = old.reshape(new.shape)
            continue
        limits = new.shape[: len(target)]
        inside = np.all([(t >= 0) & (t < e) for t, e in zip(target, limits, strict=True)], axis=0)
        inside = np.broadcast_to(inside, old.shape[: len(m.inputs)])
        new[tuple(t[inside] for t in target)] = old[inside]
        moved[m.before.name] = new
    return moved


def move_back(maps: tuple[ParameterMap, ...], after: Outcome, before: Mapping[str, Array], sizes: Sizes) -> Outcome:
    """What a run left in the new layouts, read in the layouts of ``before`` (whose shapes count)."""
    arrays, defined = dict(after.arrays), dict(after.defined)
    shapes = {n: a.shape for n, a in before.items()}
    stages = []
    for m in maps:
        stages.append((m, shapes[m.before.name]))
        shapes[m.before.name] = _extents(m.after, sizes) + shapes[m.before.name][len(m.inputs) :]
    for m, shape in reversed(stages):
        name = m.before.name
        old = np.zeros(shape, dtype=arrays[name].dtype)
        target = tuple(_target(m, old, sizes))
        limits = arrays[name].shape
        if any((t < 0).any() or (t >= e).any() for t, e in zip(target, limits, strict=False)):
            arrays[name], defined[name] = old, np.zeros(shape, bool)
        else:
            arrays[name], defined[name] = arrays[name][target], defined[name][target]
    return Outcome(arrays, defined, after.findings, after.steps)


def impossible(maps: tuple[ParameterMap, ...], sizes: Sizes) -> str:
    """Why there are no arrays in the new layouts, although there are in the old ones: a negative extent."""
    for m in maps:
        extents = _extents(m.after, sizes)
        if any(e < 0 for e in extents):
            return f"{m.after.name} has the shape ({', '.join(map(str, extents))}) after"
    return ""


def _extents(buffer: Buffer, sizes: Sizes) -> tuple[int, ...]:
    values = {v: sizes[v.name] for e in buffer.shape for v in free_vars(e)}
    return tuple(int(x) for x in evaluate(list(buffer.shape), values))


def _target(m: ParameterMap, old: Array, sizes: Sizes) -> list[Array]:
    """Where each element of the old array goes, one array of indices a dimension."""
    shape = old.shape[: len(m.inputs)]
    grids = np.indices(shape, dtype=np.int64)
    values: dict[Var, Any] = dict(zip(m.inputs, grids, strict=True))
    values.update({v: sizes[v.name] for e in m.outputs for v in free_vars(e) if v not in values})
    return [np.broadcast_to(np.asarray(t), shape) for t in evaluate(list(m.outputs), values)]
