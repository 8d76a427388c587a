"""The bench of ``vtir tune`` for a strategy in a file: here, and once in each process that measures candidates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from verified_tir.activity import Level, announce
from verified_tir.cli.execute import SIZE, RunError, inputs_of, sizes_of, values_of
from verified_tir.cli.load import BadFileError, loaded
from verified_tir.cli.reading import problem_with
from verified_tir.cli.verify import named
from verified_tir.ir.func import PrimFunc
from verified_tir.logic.solver import INTEGER_BUDGET
from verified_tir.lower.expression import parse_pipeline
from verified_tir.schedule.functions import program_of
from verified_tir.schedule.registry import ScheduleFunction
from verified_tir.schedule.replay_inputs import symbols
from verified_tir.schedule.spelling import meant
from verified_tir.schedule.verdicts import open_store

if TYPE_CHECKING:
    from verified_tir.tune.bench import Bench, Result
    from verified_tir.tune.search import Decided


@final
@dataclass(frozen=True, slots=True)
class Job:
    """What is measured: a strategy, sizes, and how it is built.  ``digest`` is that of the file."""

    path: Path
    shown: str
    name: str
    shape: tuple[str, ...]
    pipeline: str
    threads: int
    budget: int | None
    cache: bool
    digest: str


@final
class NoStrategy(ValueError):
    """A file that cannot be used, or a strategy that there is not, or that leaves nothing open."""


@contextmanager
def opened(job: Job) -> Iterator[Bench]:
    """The bench of a job, while its file is loaded.

    :raises NoStrategy: if the file or the strategy cannot be used.
    :raises RunError, PipelineError: for sizes and pipelines that do not fit.
    """
    from verified_tir.tune.bench import Bench

    announce(Level.FILE, job.shown)
    if problem := problem_with(job.path):
        raise NoStrategy(f"{job.shown}: {problem}")
    pipeline, wanted = parse_pipeline(job.pipeline), sizes_of(job.shape)
    try:
        with loaded(job.path, job.shown) as functions:
            function = _chosen(job, dict(named(functions)))
            program = program_of(function.program, None)[0]
            sizes = values_of(program, wanted)
            if unsaid := [n for n, v in _integers(program).items() if n not in wanted]:
                raise RunError(
                    f"say --shape {unsaid[0]}=…: what is fastest depends on sizes, and {program.name} leaves "
                    f"{', '.join(unsaid)} open"
                )
            arrays = inputs_of(program, sizes, np.random.default_rng(0))
            store = open_store(job.cache)
            yield Bench(function, pipeline, sizes, arrays, job.threads, job.budget or INTEGER_BUDGET, store)
    except BadFileError as bad:
        at = bad.report.at
        raise NoStrategy(f"{at if at.line else job.shown}: {bad.report.message}") from None


def measured(job: Job, decided: Decided) -> Result:
    """What comes of a candidate, measured on the bench of this process, against the best that it has measured."""
    bench = _bench_of(job)
    if bench.best is None:
        bench.measure(None)
    return bench.measure(decided)


@lru_cache(maxsize=1)
def _bench_of(job: Job) -> Bench:
    return ExitStack().enter_context(opened(job))  # for as long as the process


def _chosen(job: Job, functions: dict[str, ScheduleFunction]) -> ScheduleFunction:
    usable = {n: f for n, f in functions.items() if f.expect == "proved"}
    if job.name in usable:
        return usable[job.name]
    if not job.name and len(usable) == 1:
        return next(iter(usable.values()))
    has = f"there are {', '.join(usable)}" if usable else "there are none"
    if not job.name:
        raise NoStrategy(f"{job.shown}: say which strategy, as in {job.shown}:NAME; {has}")
    raise NoStrategy(f"there is no strategy {job.name} in {job.shown}; {has}{meant(job.name, list(usable))}")


def _integers(program: PrimFunc) -> dict[str, int]:
    return {v.name: SIZE for v in symbols(program) if v.dtype.is_int}
