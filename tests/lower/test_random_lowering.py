"""Random pipelines on random programs with random schedules: what is accepted computes what it did.

Before, after each pass, and as machine code; a refusal is a ``ScheduleError`` that names its pass, and nothing else is
raised.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lower.lower_support import agree
from tests.nightly import few
from tests.schedule.schedule_strategies import Step, programs, steps
from verified_tir import Refines, Schedule, ScheduleError, script
from verified_tir.codegen.build import build
from verified_tir.ir.stmt import For
from verified_tir.ir.visit import walk
from verified_tir.lower.inject_double_buffer import InjectDoubleBuffer
from verified_tir.lower.inject_virtual_thread import InjectVirtualThread
from verified_tir.lower.loop_partition import LoopPartition
from verified_tir.lower.passes import Pass, Pipeline
from verified_tir.lower.pipelines import PASSES, PIPELINES
from verified_tir.lower.unroll_loop import UnrollLoop
from verified_tir.schedule.replay_layout import pad
from verified_tir.semantics.interpreter import UndefinedBehaviour, run
from verified_tir.semantics.interpreter.outcome import same_bits

MARKS = ("split", "vectorize", "unroll", "parallel", "transform_layout", "bind", "fission")
OPTIONS: tuple[Pass, ...] = (*(p() for p in PASSES.values()), UnrollLoop(max_extent=3), LoopPartition(max_cuts=2))
SETTINGS = settings(
    deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck), max_examples=few(8, 20)
)


def scheduled(text: str, wanted: list[Step]) -> Schedule:
    s = Schedule(text)
    for step in wanted:
        with suppress(ScheduleError):
            step.take(s)
    return s


@pytest.mark.nightly
@SETTINGS
@given(programs(), st.lists(steps(MARKS), max_size=3), st.lists(st.sampled_from(OPTIONS), min_size=1, max_size=5))
def test_random_pipelines(text: str, wanted: list[Step], passes: list[Pass]) -> None:
    s = scheduled(text, wanted)
    theorem = s.theorem
    for p in passes:
        try:
            lowered = p.run(theorem, solver=s.solver)
        except ScheduleError as refusal:
            assert refusal.step == repr(p)
            continue
        assert lowered.before is theorem.before
        theorem = lowered
    agree(s, theorem, work=500)


@pytest.mark.nightly
@settings(SETTINGS, max_examples=few(6, 14))
@given(programs(), st.integers(0, 7), st.booleans())
def test_random_marks(text: str, pick: int, sink: bool) -> None:
    """A loop over virtual threads, a double buffer: often refused, or not there to be marked."""
    s = Schedule(text.replace(', "float32")\n', ', "float32", annotations={"double_buffer_scope": 1})\n'))
    loops = s.loops()
    with suppress(ScheduleError):
        s.bind(loops[pick % len(loops)], "vthread.x")
    if sink:
        with suppress(ScheduleError):
            s.sink_allocation("t")
    theorem = s.theorem
    for p in (InjectVirtualThread(), InjectDoubleBuffer(), InjectVirtualThread(unroll=False)):
        with suppress(ScheduleError):
            theorem = p.run(theorem, solver=s.solver)
    assert not any(isinstance(n, For) and n.thread == "vthread.x" for n in walk(theorem.after))
    agree(s, theorem, work=300)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["default", "full"])
@settings(SETTINGS, max_examples=few(4, 8))
@given(programs(), st.lists(steps(MARKS), max_size=3), st.integers(0, 9))
def test_machine_code(name: str, text: str, wanted: list[Step], seed: int) -> None:
    s = scheduled(text, wanted)
    if any(isinstance(n, For) and n.kind == "thread_binding" for n in walk(s.func)):
        return  # no code for this target
    theorem = PIPELINES[name].run(s)
    agree(s, theorem, work=300)
    assert not any(isinstance(n, For) and n.kind in ("vectorized", "unrolled") for n in walk(theorem.after))
    compare(theorem, seed)


def compare(theorem: Refines, seed: int) -> None:
    """Machine code and interpreter on random arrays: the same bits wherever they are defined."""
    func = theorem.after
    rng = np.random.default_rng(seed)
    arrays: dict[str, Any] = {
        b.name: (rng.integers(-9, 9, [getattr(e, "value", 1) for e in b.shape])).astype(str(b.dtype))
        for b in func.buffers
    }
    masks = pad(func, theorem.paddings, arrays, {})
    given = {name: a.copy() for name, a in arrays.items()}
    build(theorem, threads=1, cache=False)(*(given[b.name] for b in func.buffers))
    try:
        outcome = run(func, arrays, defined=masks.defined, inaccessible=masks.inaccessible)
    except UndefinedBehaviour as ub:
        raise AssertionError(f"{ub}\n{script(func)}") from ub
    for b in func.buffers:
        different = outcome.defined[b.name] & ~same_bits(outcome.arrays[b.name], given[b.name])
        assert not different.any(), f"{b.name} at {np.argwhere(different)[0]}\n{script(func)}"


def test_every_pass_twice_is_once() -> None:
    """On the lowered form of a program with a little of everything, each pass finds nothing to do."""
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((16, 8), "float32"), P: T.Buffer((16,), "bool"), B: T.Buffer((16, 8), "float32")):
    T.assume(True)
    for i in range(16):
        t = T.alloc_buffer((8,), "float32", annotations={"double_buffer_scope": 1})
        for j in T.vectorized(8):
            t[j] = A[i, j] * 2.0
        for j in range(8):
            with T.block("b"):
                if P[i]:
                    B[i, j] = t[7 - j]
        B[i, 0] = T.undef()
        for j in T.unroll(2):
            B[i, j + 1] = 0.0
""")
    theorem = PIPELINES["full"].run(s)
    agree(s, theorem)
    compare(theorem, 3)
    again = Pipeline(*PIPELINES["full"]).run(theorem)
    assert again.after is theorem.after
