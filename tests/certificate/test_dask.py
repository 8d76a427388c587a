"""Checks on a Dask cluster: one that the command starts, and one that is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from distributed import LocalCluster

from verified_tir.cli import check as command


@pytest.mark.nightly
def test_a_cluster_that_is_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        options = command.Options(folder, executor=f"dask:{cluster.scheduler_address}", regenerate=True)
        assert command.run(options) == 0
    assert ", replayed in " in capsys.readouterr().out


@pytest.mark.nightly
def test_a_cluster_of_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(command.Options(folder, executor="dask", jobs=1)) == 0
    assert "proved by z3" in capsys.readouterr().out


def test_nobody_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(command.Options(folder, executor="dask:nonsense://")) == 2
    assert "no Dask scheduler answers at nonsense://" in capsys.readouterr().err
