"""Cases of ``vtir bench`` that come from files: schedules, beside the programs they were made of, and models."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from verified_tir.activity import Level, announce
from verified_tir.bench.cases import OURS, Array, Case, Entry, Unusable
from verified_tir.bench.operations import least_bytes, operations
from verified_tir.bench.peers import NAMES, Absent, session, take_part, tvm_entry
from verified_tir.cli.discover import split_name
from verified_tir.cli.execute import random_array, values_of
from verified_tir.cli.load import executed
from verified_tir.cli.programs import Proved
from verified_tir.codegen.build import build
from verified_tir.codegen.errors import CodegenError
from verified_tir.graph.memory import machine_memory
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.theorem import Refines
from verified_tir.lower.passes import Pipeline
from verified_tir.schedule.fitting_inputs import NoneFit, fitting
from verified_tir.schedule.replay_inputs import extents_of, symbols, with_lanes
from verified_tir.schedule.replay_layout import arguments_of, move, pad
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.spelling import meant
from verified_tir.schedule.verdicts import without_store

TOLERANCE = 1e-4
"""Of peers, as a part of the largest result: they may sum in another order."""


def schedule_case(
    function: Proved,
    pipeline: Pipeline,
    wanted: Mapping[str, int | float],
    threads: int,
    seed: int,
    peers: Collection[str],
    functions: Mapping[str, Callable[..., object]],
) -> Case:
    """A schedule beside its program as it is written, TVM's code for the schedule, and the user's own ``functions``.

    :raises ScheduleError: if a step is refused.
    """
    start = time.process_time()
    with without_store():
        schedule = function.prove()
        proved = time.process_time()
        theorem = pipeline.run(schedule)
    compiled = build(theorem, threads=threads, cache=False)
    built = time.process_time()
    before, after = theorem.before, theorem.after
    sizes = values_of(before, wanted)
    try:
        plain = fitting(before, sizes, _arrays(before, sizes, seed))
    except NoneFit as problem:
        raise Unusable(f"{problem}; say other sizes with --shape") from None
    written = build(Schedule(before), threads=threads)
    expected = _copies(plain)
    written(*arguments_of(before, expected, sizes))
    entries = {OURS: _entry_of(theorem, compiled, plain, expected, sizes)}
    entries["as written"] = Entry(_calling(written, before, _copies(plain), sizes), "the program without its schedule")
    for name, peer in functions.items():
        entries[name] = Entry(_calling(peer, before, _copies(plain), sizes), "the user's", asked=True)
    absent: dict[str, str] = {}
    if "tvm" in peers and not theorem.relation:
        where = [k for k, p in enumerate(after.params) if after.buffer_of(p) is not None]
        take_part(
            "tvm", lambda: tvm_entry(schedule, arguments_of(after, _copies(plain), sizes), where), entries, absent
        )
    values = {v: int(sizes[v.name]) for v in symbols(before) if v.dtype.is_int}
    extents = {name: a.shape for name, a in plain.items()}
    return Case(
        kernel=function.name,
        sizes=",".join(f"{n}={v}" for n, v in sizes.items()) or "x".join(map(str, max(extents.values(), key=prod))),
        dtype=str(before.buffers[-1].dtype.scalar),
        threads=threads,
        entries=entries,
        expected=[expected[b.name] for b in before.buffers],
        tolerance=TOLERANCE,
        nbytes=least_bytes(before, extents),
        flops=operations(before, values),
        proof_seconds=proved - start,
        compile_seconds=built - proved,
        absent=absent,
    )


def _arrays(func: PrimFunc, sizes: Mapping[str, Any], seed: int) -> dict[str, Array]:
    """Random arrays for a program's parameters."""
    extents = extents_of(func, sizes)
    if extents is None:
        given = ", ".join(f"{n} = {v}" for n, v in sizes.items())
        raise Unusable(f"{func.name}: there are no arrays of these shapes with {given}; say others with --shape")
    need = 6 * sum(b.dtype.nbytes * prod(extents[b.name]) for b in func.buffers)
    if need > machine_memory():
        raise Unusable(f"{func.name}: its arrays and their copies take {need:,} bytes, more than this machine's memory")
    rng = np.random.default_rng(seed)
    return {b.name: random_array(rng, b.dtype.scalar, with_lanes(b, extents[b.name])) for b in func.buffers}


def _copies(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: a.copy() for name, a in arrays.items()}


def _entry_of(
    theorem: Refines,
    compiled: Callable[..., object],
    plain: Mapping[str, Array],
    expected: Mapping[str, Array],
    sizes: Mapping[str, Any],
) -> Entry:
    """A schedule's machine code on arrays in its layouts."""
    ours, results = (move(theorem.relation, _copies(arrays), dict(sizes)) for arrays in (plain, expected))
    masks = pad(theorem.after, theorem.paddings, ours, dict(sizes))
    names = [b.name for b in theorem.after.buffers]
    return Entry(
        _calling(compiled, theorem.after, ours, sizes),
        "",
        exact=not theorem.reassociated,
        expected=[results[n] for n in names],
        counts=[masks.counts(n, ours[n].shape) for n in names],
    )


def _calling(
    function: Callable[..., object], func: PrimFunc, arrays: Mapping[str, Array], sizes: Mapping[str, Any]
) -> Callable[[], Any]:
    """The call of a function that takes what a program takes; it gives the program's arrays."""
    arguments, results = arguments_of(func, arrays, sizes), [arrays[b.name] for b in func.buffers]

    def call() -> Sequence[Array]:
        function(*arguments)
        return results

    return call


def users(texts: Sequence[str]) -> dict[str, Callable[..., object]]:
    """The functions that ``--peer FILE:FUNCTION`` names.

    :raises Unusable: if there is none.
    """
    found: dict[str, Callable[..., object]] = {}
    for text in texts:
        path, name = split_name(text)
        if not name:
            known = f"the peers are {', '.join(NAMES)}{meant(text, NAMES)}"
            raise Unusable(f"--peer {text}: {known}; of a schedule, FILE:FUNCTION is one, too")
        with executed(path, str(path)) as (module, _):
            function = getattr(module, name, None)
        if not callable(function):
            raise Unusable(f"--peer {text}: there is no function {name} in this file")
        found[name] = function
    return found


# -- models ------------------------------------------------------------------------------------------------------------


def model_case(
    path: Path,
    shapes: Sequence[str],
    layouts: Sequence[str],
    weights: int | None,
    threads: int,
    seed: int,
    *,
    contract: bool = False,
) -> Case:
    """A model, as planned with layouts if any are given, beside onnxruntime.

    :param contract: as for :func:`verified_tir.graph.execute.build`.
    :raises GraphError: if it cannot be read, or its layouts are not there.
    """
    from verified_tir.cli.arrays import input_arrays
    from verified_tir.cli.models import frozen_by, load_model, spelled
    from verified_tir.cli.plan import planned
    from verified_tir.graph.execute import build as build_graph

    announce(Level.FILE, str(path))
    graph, model = load_model(path, shapes, weights)
    if model is None:
        raise Unusable(f"{path}: only ONNX models have a peer to compare with")
    arrays, _ = input_arrays(graph, (), seed)
    names = [v.name for v in graph.inputs]
    start = time.process_time()
    if layouts:
        plan = planned(graph, frozen_by(layouts, graph), quiet=True)
        if isinstance(plan, str):
            raise CodegenError(plan)
        graph = plan.graph
    between = time.process_time()
    ours = build_graph(graph, threads=threads, contract=contract)
    built = time.process_time()
    try:
        run = session(model.SerializeToString(), threads)
    except Absent as why:
        raise Unusable(f"{path}: no peer of models is here: onnxruntime is {why}") from None
    notes = [f"planned to {', '.join(spelled(layouts))}"] if layouts else []
    notes += ["each a * b + c of a sum is rounded once"] if contract else []
    inputs = [i.name for i in run.get_inputs()]
    feed = dict(zip(inputs, (arrays[n] for n in names), strict=True))
    return Case(
        kernel=path.stem,
        sizes=",".join("x".join(map(str, a.shape)) for a in arrays.values()),
        dtype=str(graph.outputs[0].dtype),
        threads=threads,
        entries={
            OURS: Entry(lambda: ours.run(arrays), "; ".join(notes)),
            "onnxruntime": Entry(lambda: run.run(None, feed), "with its optimisations"),
        },
        expected=run.run(None, feed),
        tolerance=10 * TOLERANCE,
        nbytes=0,
        proof_seconds=between - start if layouts else 0.0,
        compile_seconds=built - between,
    )
