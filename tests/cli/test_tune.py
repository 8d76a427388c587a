"""``vtir tune``: what a search says, writes and ends with."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.files import FAR, MAIN, SCATTER, invoke, write

pytestmark = pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="the extra tune is not installed")

HEAD = """\
from verified_tir import schedule
from verified_tir.script import tir as T


@T.prim_func
def fill(A: T.Buffer((64,), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(64):
        with T.block("ones"):
            A[i] = T.float32(1)
    for j in range(64):
        with T.block("sum"):
            B[0] = B[0] + A[j]


@T.prim_func
def rows(A: T.Buffer(("n", 64), "float32")):
    for i, j in T.grid(n, 64):
        with T.block("ones"):
            A[i, j] = T.float32(1)


"""
TILED = """\
@schedule(fill)
def tiled(s):
    s.split("i", s.sample_perfect_tile("i", 2, decision=[8, 8]))
    if s.sample_categorical([0, 1], [0.5, 0.5]):
        s.parallel("j")
"""


def tune(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    write(folder, f=HEAD + text)
    return invoke("tune", "f.py", *options, cwd=folder)


@pytest.mark.nightly
def test_a_search(tmp_path: Path) -> None:
    done = tune(tmp_path, TILED, "--trials", "6", "--json", "--output", "best.py", "--store", "t.sqlite")
    found = json.loads(done.stdout)
    assert done.returncode == 0 == found["exit_code"] and done.stderr == ""
    assert found["trials"] == 6 == found["measured"] + found["repeated"] + sum(r["times"] for r in found["refused"])
    assert {r["code"] for r in found["refused"]} <= {"VT0409"}
    assert 0 < found["questions"]["answered_before"] < found["questions"]["asked"]
    tile, word = found["best"]["decisions"]
    assert (tile["line"], tile["kind"]) == (24, "perfect_tile") and word["decision"] == 0
    assert found["best"]["ratio"] >= 1.0
    text = (tmp_path / "best.py").read_text()
    assert f"decision={tile['decision']})" in text and "[0.5, 0.5], decision=0)" in text
    assert invoke("verify", "best.py", cwd=tmp_path).returncode == 0

    again = tune(tmp_path, TILED, "--trials", "6", "--store", "t.sqlite", "-q")
    assert again.returncode == 0 and len(again.stdout.splitlines()) == 1
    other = tune(tmp_path, TILED.replace("0.5, 0.5", "1, 1"), "--trials", "1", "--store", "t.sqlite")
    assert other.stdout.startswith("1 trial: "), "another text of the file begins anew"


@pytest.mark.nightly
def test_the_report_of_a_search(tmp_path: Path) -> None:
    done = tune(tmp_path, TILED, "--trials", "3")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0].startswith("3 trials: ")
    assert any("had been answered before" in line for line in lines)
    assert "  line 25    categorical 0" in lines
    best = next(line for line in lines if line.startswith(("best: ", "nothing is surely faster")))
    assert ("@schedule(fill)" in lines) == best.startswith("best: ")


@pytest.mark.nightly
def test_a_candidate_whose_results_differ_never_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from verified_tir.tune import bench

    def wrong(theorem: Any, *_: object) -> str:
        return "" if "range(8)" in str(theorem.after) or "grid(8, 8)" in str(theorem.after) else "A[0] is 2.0"

    monkeypatch.setattr(bench, "_difference", wrong)
    done = tune(tmp_path, TILED, "--trials", "8", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1 == found["exit_code"]
    assert found["differs"] and set(found["differs"]) == {"A[0] is 2.0"} and found["best"]["is_default"]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ('@schedule(fill)\ndef f(s):\n    s.split("i", [8, 8])\n', (), "f.py leaves nothing open: let it sample"),
        (TILED, ("--output", "best.txt"), "--output best.txt: write FILE.py or FILE.json [VT0011]"),
        (TILED, ("--time", "soon"), "--time soon: write a duration as 90s, 10m or 1h30m"),
        (TILED, ("--executor", "ray"), "there is no executor 'ray'"),
        (TILED, ("--store", "missing/t.sqlite"), "missing/t.sqlite holds no trials, and none can be kept there"),
        (TILED + TILED.replace("tiled", "other"), (), "say which strategy, as in f.py:NAME; there are tiled, other"),
        (TILED, ("--shape", "n=4"), "fill has no such symbol"),
        (TILED.replace("fill", "rows"), (), "say --shape n=…: what is fastest depends on sizes"),
        ("1 / 0\n", (), "division by zero"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, options: tuple[str, ...], words: str) -> None:
    done = tune(tmp_path, text, *options)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("vtir: error: ") and words in done.stderr and done.stderr.count("\n") == 1


LOOKED_UP = """\
@schedule(scatter)
def tiled(s):
    factor = s.sample_categorical([8, 16], [1, 1], decision=0)
    s.split("i", [None, factor])
"""


def test_arrays_satisfy_what_the_program_assumes(tmp_path: Path) -> None:
    """Others may make machine code write anywhere."""
    done = tune(tmp_path, SCATTER + LOOKED_UP, "--trials", "1")
    assert done.returncode == 0 and "1 trial: 1 measured" in done.stdout
    done = tune(tmp_path, FAR + LOOKED_UP, "--trials", "1")
    assert done.returncode == 1
    assert done.stderr.startswith("vtir: refused: f.py itself: scatter has no meaning on these arrays: assume: ")


def test_a_candidate_that_assumes_more_is_not_called(tmp_path: Path) -> None:
    text = """\
@schedule(fill)
def f(s):
    if s.sample_categorical([0, 1], [1, 1], decision=0):
        s.assume(lambda i: s.buffer("B")[i] < -50.0, "B", axiom=True)
"""
    done = tune(tmp_path, text, "--trials", "3")
    assert done.returncode == 0, done.stderr
    assert "fill has no meaning on these arrays: assume: " in done.stdout


@pytest.mark.parametrize("default", [True, False])
def test_finalists_whose_results_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, default: bool) -> None:
    from verified_tir.cli import tune as command
    from verified_tir.tune import bench

    final = command._final

    def differ(*arguments: Any) -> Any:
        monkeypatch.setattr(bench, "_difference", lambda *_: "A[0] is 2.0")
        return final(*arguments)

    monkeypatch.setattr(command, "_final", differ if default else final)
    done = tune(tmp_path, TILED, "--trials", "2")
    assert done.returncode == int(default)
    assert done.stderr == ("vtir: refused: f.py itself: A[0] is 2.0\n" if default else "")


def test_a_strategy_that_there_is_not(tmp_path: Path) -> None:
    write(tmp_path, f=HEAD + TILED)
    done = invoke("tune", "f.py:tilde", cwd=tmp_path)
    assert done.returncode == 2 and "there is no strategy tilde in f.py; there are tiled" in done.stderr


def test_a_strategy_that_is_refused_itself(tmp_path: Path) -> None:
    done = tune(tmp_path, TILED.replace("[0.5, 0.5]", "[0, 1]"))
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("vtir: refused: f.py itself: refused, since this is false: ")


@pytest.mark.nightly
def test_an_interrupt_keeps_what_was_found(tmp_path: Path) -> None:
    slow = "import time\n    time.sleep(0 if done() else 600)"
    count = 'CALLS = []\ndef done():\n    CALLS.append(1)\n    if len(CALLS) == 3: print("now", flush=True)\n'
    count += "    return len(CALLS) != 3\n"
    write(tmp_path, f=HEAD + count + TILED.replace("    s.split", f"    {slow}\n    s.split", 1))
    heeding = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"
    running = subprocess.Popen(
        [sys.executable, "-c", heeding, "tune", "f.py", "--json"], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert running.stderr is not None
    while "now" not in running.stderr.readline():
        pass
    os.killpg(running.pid, signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    found = json.loads(out)
    assert running.returncode == 130 == found["exit_code"] and found["interrupted"] and found["trials"] >= 1


@pytest.mark.nightly
def test_candidates_are_measured_by_several_processes(tmp_path: Path) -> None:
    done = tune(tmp_path, TILED, "--trials", "4", "--jobs", "2", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["trials"] == 4


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="the extra dask is not installed")
@pytest.mark.nightly
def test_candidates_are_measured_by_a_cluster(tmp_path: Path) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        executor = f"dask:{cluster.scheduler_address}"
        done = tune(tmp_path, TILED, "--trials", "4", "--jobs", "2", "--executor", executor, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["trials"] == 4 and found["measured"] >= 1


def test_candidates_that_call_sys_exit_are_refused(tmp_path: Path) -> None:
    ends = TILED.replace("        s.parallel", "        import sys; sys.exit(0)")
    done = tune(tmp_path, ends, "--trials", "4")
    assert done.returncode == 0 and "× sys.exit(0) was called [VT0005]" in done.stdout
    whole = tune(tmp_path, TILED + "    import sys; sys.exit(0)\n", "--trials", "4")
    assert whole.returncode == 1
    assert whole.stderr == "vtir: refused: f.py itself: sys.exit(0) was called\n"
