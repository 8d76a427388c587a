"""Schedules keep verdicts on disk and believe those of earlier runs, unless they are told not to."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from verified_tir import Refuted, Schedule
from verified_tir.schedule.verdicts import open_store, verdicts_folder

COPY = """
@T.prim_func
def copy(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), n: T.int32):
    for i in range(n):
        B[i] = A[i] + B[0]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VTIR_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("VTIR_VERDICT_CACHE")
    return tmp_path / "verdicts"


def run(**options: bool) -> tuple[Schedule, str]:
    s = Schedule(COPY, **options)
    s.split("i", [None, 4])
    with pytest.raises(Refuted) as refused:
        s.parallel("i_0")
    return s, str(refused.value)


def test_the_second_run_asks_nothing_and_says_the_same(folder: Path) -> None:
    (cold, said), (warm, again) = run(), run()
    assert said == again
    assert warm.solver.statistics.queries == 0 < cold.solver.statistics.queries
    plain, without = run(cache=False)
    assert without == said and plain.solver.statistics.queries == cold.solver.statistics.queries
    texts = [
        [[(o.obligation.claim, type(o.verdict)) for o in s.obligations] for s in x.steps] for x in (cold, warm, plain)
    ]
    assert texts[0] == texts[1] == texts[2]
    assert {o.verdict.how for s in warm.steps for o in s.obligations} <= {"cached", "trivial", "lemma", "congruence"}


def test_not_if_told_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(cache=False)
    assert not folder.exists()
    for off in ("off", "0", "no"):
        monkeypatch.setenv("VTIR_VERDICT_CACHE", off)
        assert open_store().folder is None
        run()
    assert not folder.exists()
    monkeypatch.setenv("VTIR_VERDICT_CACHE", "on")
    run()
    assert folder.exists()


def test_a_solver_that_is_given_keeps_its_own_ways(folder: Path) -> None:
    from verified_tir.logic.solver import Solver

    assert Schedule(COPY, solver=Solver()).solver.store.folder is None
    assert not folder.exists()


def test_the_tests_run_without() -> None:
    assert open_store().folder is None


def test_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VTIR_VERDICT_CACHE")
    monkeypatch.setattr(importlib.import_module("verified_tir.schedule.verdicts"), "cache_folder", lambda: None)
    assert verdicts_folder() is None and open_store().folder is None
    run()
