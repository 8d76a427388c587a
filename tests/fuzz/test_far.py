"""Campaigns whose workers are elsewhere: the same cases and the same findings, whoever works."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.test_campaign import by_kind, options
from verified_tir.child.executors import Processes
from verified_tir.cli.executors import executor_of
from verified_tir.fuzz.campaign import Campaign, run_campaign
from verified_tir.fuzz.options import Listener

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    log = tmp_path / "log"
    monkeypatch.setenv("TOY_LOG", str(log))
    yield log


def drawn(log: Path) -> list[str]:
    lines = sorted(line for line in log.read_text().splitlines() if line.startswith("fine"))
    log.unlink()
    return lines


@pytest.mark.nightly
def test_cases_and_findings_do_not_depend_on_where_the_workers_are(tmp_path: Path, here: Path) -> None:
    names = ("FINE", "FAILS", "DIES")
    near = run_campaign(options(tmp_path / "near", *names, examples=60))
    cases = drawn(here)
    given = replace(options(tmp_path / "far", *names, examples=60), jobs=2)
    with Processes(2) as pool:
        far = Campaign(given, Listener(), pool)
        assert far() == "done"
    assert drawn(here) == cases and len(cases) == 60
    assert {k: (f.key, f.message) for k, f in by_kind(far).items()} == {
        k: (f.key, f.message) for k, f in by_kind(near).items()
    }
    assert all(Path(f.file).exists() for f in far.findings) and len(far.findings) == 2


@pytest.mark.nightly
def test_a_case_that_does_not_end_is_a_finding_and_ends_with_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = tmp_path / "hanging"
    monkeypatch.setenv("TOY_HANGING", str(hanging))

    class Found(Listener):
        def found(self, finding: Any) -> None:
            campaign.stop()

    with pytest.raises(KeyboardInterrupt), Processes(1) as pool:
        campaign = Campaign(options(tmp_path, "HANGS", examples=200), Found(), pool)
        assert campaign() == "interrupted"
        assert list(by_kind(campaign)) == ["HANGS hang"]
        raise KeyboardInterrupt
    with hanging.open("a") as file:
        for _ in range(100):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(0.1)
    raise AssertionError("a case still hangs")


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="the extra dask is not installed")
def test_a_worker_of_a_cluster_that_is_killed_loses_no_case(tmp_path: Path, here: Path) -> None:
    from distributed import LocalCluster

    run_campaign(options(tmp_path / "near", "FINE", examples=120))
    cases = drawn(here)

    class Kills(Listener):
        done = False

        def tick(self, campaign: Campaign) -> None:
            if not self.done and here.exists():
                self.done = True
                os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)

    given = replace(options(tmp_path / "far", "FINE", examples=120), jobs=2)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        executor_of(f"dask:{cluster.scheduler_address}", 2) as executor,
    ):
        far = Campaign(given, kills := Kills(), executor)
        assert far() == "done" and kills.done
    assert set(drawn(here)) == set(cases)
    assert far.tally(given.targets[0]).cases == 120 and not far.findings
