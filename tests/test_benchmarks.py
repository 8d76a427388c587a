"""``benchmarks/verify_speed.py`` measures what it says; the figures themselves are not tested."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from verified_tir.logic.solver import Solver

FILE = Path(__file__).resolve().parent.parent / "benchmarks" / "verify_speed.py"


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark as a module; the solver that it watches is restored."""
    monkeypatch.setattr(Solver, "ask", Solver.ask)
    spec = importlib.util.spec_from_file_location("verify_speed", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "verify_speed", module)
    spec.loader.exec_module(module)
    return module


def test_every_primitive_is_timed(speed: ModuleType) -> None:
    asked = speed.watch_solver(time.perf_counter)
    steps = speed.verify(speed.Job("flatten", *speed.BUILT_IN["builtin.flatten"]), asked, time.perf_counter)
    assert [s["step"] for s in steps] == ["program", "fuse", "split", "vectorize"]
    assert all(0 < s["proof"] <= s["whole"] and s["queries"] > 0 for s in steps)


def test_jobs_are_the_examples_and_the_built_in_ones(speed: ModuleType) -> None:
    names = {job.name for job in speed.jobs()}
    assert set(speed.BUILT_IN) | set(speed.TOTALS) <= names


def test_a_schedule_that_ends_otherwise_than_expected_stops_the_measurement(speed: ModuleType) -> None:
    asked = speed.watch_solver(time.perf_counter)
    job = speed.Job("copy", speed.COPY, lambda s: s.split("i", [None, 4]), expect="refused")
    with pytest.raises(SystemExit, match="not expected"):
        speed.verify(job, asked, time.perf_counter)


def test_missed_targets_are_named(speed: ModuleType) -> None:
    figures = {
        "median proof": 2 * speed.PROOF_TARGET,
        "import": 0.0,
        "schedules": {name: {"total": 10 * target} for name, target in speed.TOTALS.items()},
    }
    assert len(speed.missed(figures)) == 1 + len(speed.TOTALS)


def test_the_command_is_timed_with_and_without_a_cache(speed: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[list[str], str]] = []
    monkeypatch.setattr(speed.subprocess, "run", lambda command, env, **_: ran.append((command, env["VTIR_CACHE_DIR"])))
    assert list(speed.measure_command(2, "perf_counter")) == list(speed.COMMANDS)
    assert len(ran) == 2 * len(speed.COMMANDS) and len({folder for _, folder in ran}) == 2
    assert [set(command) & {"--no-cache", "--no-validate"} for command, _ in ran[:4]] == [
        {"--no-cache", "--no-validate"}, {"--no-cache"}, set(), set(),
    ]  # fmt: skip
