"""``--jobs`` and ``--executor``: the report and the exit code are those of one process, whoever works."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.files import GOOD, MAIN, REFUSED, invoke, write
from tests.cli.test_apart import ended, ending

DASK = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="the extra dask is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "files", good=GOOD, other=GOOD, raises="1 / 0\n", refused=REFUSED)


def timeless(document: Any) -> Any:
    """A report without its times, and without what depends on what was proved before."""
    if isinstance(document, dict):
        return {k: timeless(v) for k, v in document.items() if k not in ("seconds", "how")}
    return [timeless(d) for d in document] if isinstance(document, list) else document


def report(folder: Path, *options: str) -> tuple[int, Any]:
    done = invoke("verify", ".", "--json", *options, cwd=folder)
    return done.returncode, timeless(json.loads(done.stdout))


@pytest.mark.nightly
def test_the_report_does_not_depend_on_the_number_of_jobs(folder: Path) -> None:
    one = report(folder)
    assert one[0] == 2 and [f["file"] for f in one[1]["files"]] == sorted(f["file"] for f in one[1]["files"])
    assert report(folder, "--jobs", "2") == one


@pytest.mark.nightly
def test_certificates_of_all_jobs_are_written(folder: Path) -> None:
    (folder / "raises.py").unlink()
    for name, jobs in (("one", "1"), ("two", "2")):
        assert invoke("verify", ".", "--jobs", jobs, "--certify", f"../{name}", cwd=folder).returncode == 1
    texts = [
        {str(p.relative_to(folder.parent / n)): p.read_text() for p in (folder.parent / n).rglob("*.json")}
        for n in ("one", "two")
    ]
    assert texts[0] == texts[1] and {"good/good.json", "other/good.json"} <= texts[0].keys()


@pytest.mark.nightly
def test_a_file_that_ends_its_process_fails_alone(folder: Path) -> None:
    write(folder, bad=ending("os._exit(3)"))
    code, found = report(folder, "--jobs", "2")
    files = {f["file"]: f for f in found["files"]}
    assert code == 2 and len(files) == 5
    assert files["bad.py"]["error"]["message"] == (
        "the file ended the process with exit code 3 while bad ran (last step: split(i, [4, 4])), before the report "
        "was complete"
    )
    assert files["good.py"]["schedules"][0]["outcome"] == "proved"


ONCE = """
import os, time
from pathlib import Path
began = Path(__file__).with_name("began")
if not began.exists():
    began.write_text(f"{os.getpid()} {os.getppid()}")
    time.sleep(600)
"""
"""Does not end when it is executed for the first time, and says in which process it is."""


def began(folder: Path) -> list[int]:
    """The process that executes a file with ``ONCE``, and its parent."""
    for _ in range(1200):
        text = (folder / "began").read_text() if (folder / "began").exists() else ""
        if " " in text:
            return [int(p) for p in text.split()]
        time.sleep(0.05)
    raise AssertionError("the file was not executed")


def begin(folder: Path, *options: str) -> subprocess.Popen[str]:
    heeding = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"
    return subprocess.Popen(
        [sys.executable, "-c", heeding, "verify", ".", *options], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


@pytest.mark.nightly
def test_a_worker_that_is_killed_loses_nothing(folder: Path) -> None:
    before = report(folder)
    write(folder, good=ONCE + GOOD)
    running = begin(folder, "--json", "--jobs", "2")
    os.kill(began(folder)[0], signal.SIGKILL)
    out, _ = running.communicate(timeout=120)
    places = str(timeless(json.loads(out))).count("'proved'")
    assert running.returncode == before[0] and places == str(before[1]).count("'proved'")


@pytest.mark.nightly
def test_an_interrupt_ends_all_processes_at_once(folder: Path) -> None:
    write(folder, good=ONCE + GOOD)
    running = begin(folder, "--jobs", "2")
    worker = began(folder)[0]
    start = time.monotonic()
    os.killpg(running.pid, signal.SIGINT)
    out, errors = running.communicate(timeout=30)
    assert time.monotonic() - start < 10
    assert running.returncode == 130 and "interrupted" in out and "Traceback" not in errors
    assert ended(worker)


def test_an_executor_that_there_is_not(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    done = invoke("verify", "good.py", "--executor", "ray", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "vtir: error: there is no executor 'ray'; there are processes, dask and dask:ADDRESS [VT0011]\n"
    )


@pytest.fixture
def cluster() -> Iterator[Any]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as started:
        yield started


@DASK
@pytest.mark.nightly
def test_a_cluster_gives_the_report_of_one_process(folder: Path, cluster: Any) -> None:
    assert report(folder, "--executor", f"dask:{cluster.scheduler_address}") == report(folder)


@DASK
@pytest.mark.nightly
def test_a_worker_of_a_cluster_that_is_killed_loses_nothing(folder: Path, cluster: Any) -> None:
    before = report(folder)
    write(folder, good=ONCE + GOOD)
    running = begin(folder, "--json", "--executor", f"dask:{cluster.scheduler_address}")
    helper, worker = began(folder)
    os.kill(worker, signal.SIGKILL)
    out, _ = running.communicate(timeout=300)
    places = str(timeless(json.loads(out))).count("'proved'")
    assert running.returncode == before[0] and places == str(before[1]).count("'proved'")
    assert ended(helper), "what a worker started ends with it"


@DASK
@pytest.mark.nightly
def test_a_file_that_ends_its_process_leaves_the_cluster_whole(folder: Path, cluster: Any) -> None:
    write(folder, bad=ending("os._exit(3)"))
    workers = {w.process.pid for w in cluster.workers.values()}
    code, found = report(folder, "--executor", f"dask:{cluster.scheduler_address}")
    assert code == 2 and "while bad ran" in str(found)
    assert {w.process.pid for w in cluster.workers.values()} == workers
