"""``vtir fuzz`` as a person runs it: a process of its own, in an empty folder."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz.toys import FINE
from verified_tir.cli import fuzz as cli
from verified_tir.cli.fuzz import Mistake, Options, run, seconds
from verified_tir.fuzz import registry
from verified_tir.fuzz.registry import TARGETS, MissingModule

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from verified_tir.cli.main import main; main()", "fuzz"]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def fuzz(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_durations() -> None:
    assert seconds("1h30m") == 5400
    for bad, said in (("ten", "write a duration as 90s, 10m or 1h30m"), ("0s", "no time at all")):
        with pytest.raises(Mistake, match=f"^--shrink {bad}: {said}$"):
            seconds(bad, "--shrink")


@pytest.mark.nightly
def test_a_run_without_findings_and_one_with_them() -> None:
    code, out, err = fuzz("--target", "tests.fuzz.toys:FINE", "--examples", "30", "--seed", "1")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "tests.fuzz.toys:FINE: 1 worker, 30 examples each, seed 1"
    assert re.search(r"^tests\.fuzz\.toys:FINE +30 +30 ", out, re.MULTILINE)
    assert "coverage, all runs: length " in out and "never reached, length: " in out
    assert re.fullmatch(r"no findings in 0:00:\d\d, seed 1", lines[-1])
    code, out, err = fuzz("--target", "tests.fuzz.toys:FAILS,tests.fuzz.toys:FINE", "--examples", "30", "--quiet")
    assert (code, err) == (1, "")
    assert re.fullmatch(
        r"finding: tests\.fuzz\.toys:FAILS: too-large \(sum\), \d+×\n    fuzz-findings/test_fails_too_large_sum\.py\n"
        r"1 finding in 0:00:\d\d, seed \d+\n",
        out,
    )
    # The file is a test like any other.
    path = Path("fuzz-findings/test_fails_too_large_sum.py")
    tried = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(path)], capture_output=True, text=True, check=False
    )
    assert tried.returncode == 1 and "[501, 1000] sums to 1501" in tried.stdout
    assert "Command: vtir " in path.read_text()


@pytest.mark.nightly
def test_json_says_it_all(capsys: pytest.CaptureFixture[str]) -> None:
    targets = ("tests.fuzz.toys:FAILS", "tests.fuzz.toys:FINE")
    assert run(Options(targets=targets, examples=20, seed=4, json=True, state=Path("s"), findings=Path("f"))) == 1
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert err == ""
    assert sorted(said) == [
        "all_seconds", "command", "ended", "exit_code", "findings", "jobs", "not_run", "replayed", "resumed", "runs",
        "schema", "seconds", "seed", "slow", "targets", "unchecked", "version",
    ]  # fmt: skip
    assert (said["schema"], said["seed"], said["ended"], said["exit_code"], said["resumed"]) == (1, 4, True, 1, False)
    assert said["unchecked"] == []
    fails, fine = said["targets"]
    assert (fails["name"], fails["cases"], fine["failed"]) == ("tests.fuzz.toys:FAILS", 20, 0)
    assert fine["totals"]["programs"] == 20 == fine["all_runs"]["cases"]
    assert sum(fine["covered"]["length"].values()) == 20
    assert set(fine["never_reached"]["length"]) == {str(n) for n in range(12)} - set(fine["covered"]["length"])
    (finding,) = said["findings"]
    assert (finding["target"], finding["kind"], finding["where"]) == (targets[0], "too-large", "sum")
    assert finding["message"] == "[501, 1000] sums to 1501" and finding["shrunk"] and finding["reproduced"]
    assert Path(finding["file"]).is_file() and not finding["known"] and finding["seed"] == 4


def test_a_run_without_a_case_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    """The time was over before the workers had started: nothing was found since nothing was looked at."""
    short = Options(targets=("tests.fuzz.toys:FINE", "tests.fuzz.toys:SLEEPS"), time="0.001s", seed=1)
    unchecked = r"no case was checked of tests\.fuzz\.toys:FINE, tests\.fuzz\.toys:SLEEPS"
    said = rf"nothing was checked in 0:00:\d\d, seed 1; {unchecked}\n"
    assert run(replace(short, quiet=True)) == 3
    assert re.fullmatch(said, capsys.readouterr().out)
    assert run(short) == 3
    assert re.search(said, capsys.readouterr().out)
    assert run(replace(short, json=True)) == 3
    told = json.loads(capsys.readouterr().out)
    assert (told["exit_code"], told["unchecked"]) == (3, list(short.targets))


@pytest.mark.nightly
def test_a_target_without_a_case_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """One whose cases cannot be drawn beside one that is checked."""
    both = Options(targets=("tests.fuzz.toys:EMPTY", "tests.fuzz.toys:FINE"), examples=20, seed=1, quiet=True)
    assert run(both) == 1
    assert capsys.readouterr().out.endswith("seed 1; no case was checked of tests.fuzz.toys:EMPTY\n")


def test_of_a_target_that_was_named_a_case_must_be_checked(capsys: pytest.CaptureFixture[str]) -> None:
    both = Options(targets=("tests.fuzz.toys:FINE, tests.fuzz.toys:SLEEPS",), examples=1, seed=1, quiet=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("verified_tir.fuzz.campaign.Campaign.unchecked", ["tests.fuzz.toys:SLEEPS"])
        assert run(both) == 3
        assert capsys.readouterr().out.endswith("seed 1; no case was checked of tests.fuzz.toys:SLEEPS\n")
        patch.setattr("verified_tir.fuzz.campaign.Campaign.unchecked", ["another"])
        assert run(both) == 0


def test_what_was_checked_before_an_interruption_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """All cases were done, and the campaign was killed before it could say so: there is nothing left to do."""
    whole = Options(targets=("tests.fuzz.toys:FINE",), examples=70, seed=1, quiet=True)
    assert run(whole) == 0
    state = Path(".vtir-fuzz/campaign.json")
    record = json.loads(state.read_text())
    assert record["last"]["ended"] is True
    record["last"]["ended"] = False
    state.write_text(json.dumps(record))
    capsys.readouterr()
    assert run(whole) == 0
    assert re.fullmatch(r"no findings in 0:00:\d\d, seed 1\n", capsys.readouterr().out)


@pytest.mark.nightly
def test_findings_are_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    Path("found").mkdir()
    Path("found/test_a.py").write_text(
        '"""A.\n\nFinding: t | k | w\n"""\n\n\ndef test_a() -> None:\n    assert False\n'
    )
    Path("test_b.py").write_text("def test_b() -> None:\n    pass\n")
    assert run(Options(replay=(Path("found"), Path("test_b.py")))) == 1
    assert capsys.readouterr().out == (
        "fails  found/test_a.py: t | k | w\npasses test_b.py: test_b.py\n1 of 2 still fail\n"
    )
    assert run(Options(replay=(Path("test_b.py"),))) == 0
    assert run(Options(replay=(Path("none.py"),))) == 2
    assert "there is no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(targets=("kernels",)), "there is no target kernels; there are kernel, codegen"),
        (Options(targets=("tests.fuzz.toys:NEEDY",)), "pip install no_such_module"),
        (Options(time="soon"), "--time soon: write a duration"),
        (Options(targets=("tests.fuzz.toys:FINE",), timeout="0s"), "--timeout 0s: no time at all"),
        (
            Options(targets=("tests.fuzz.toys:FINE",), database="redis://127.0.0.1:1/0"),
            "redis://127.0.0.1:1/0 does not answer",
        ),
    ],
)
def test_mistakes_are_one_line(options: Options, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(options) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and err.count("\n") == 1


def test_findings_that_cannot_be_written_are_a_mistake_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """And not the end of the campaign when the first one is found."""
    Path("file").write_text("no folder\n")
    assert run(Options(targets=("tests.fuzz.toys:FAILS",), examples=10, findings=Path("file"))) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("vtir: error: --findings file: ") and err.count("\n") == 1
    assert run(Options(targets=("tests.fuzz.toys:FINE",), examples=10, findings=Path("new/er"), quiet=True)) == 0
    assert not Path("new").exists()


def test_a_file_that_is_no_state_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    Path(".vtir-fuzz").mkdir()
    Path(".vtir-fuzz/campaign.json").write_text("something else\n")
    assert run(Options(targets=("tests.fuzz.toys:FINE",))) == 2
    assert "--fresh starts anew" in capsys.readouterr().err


def test_targets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Options(list_targets=True, json=True)) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == ["kernel", "codegen", "validator", "parser", "simplify", "onnx", "tvm"]
    assert all(row["summary"] for row in rows) and rows[0]["runs_here"]


def test_without_a_source_checkout_its_targets_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are left out of a campaign, unless it was asked for one of them, or no other runs."""
    monkeypatch.setattr(registry, "_installed", lambda name: not name.startswith("tests."))
    needs = "{} needs a source checkout of verified_tir: run vtir in the folder of one"
    assert run(Options(list_targets=True)) == 0
    assert f"kernel     (does not run here) {needs.format('kernel')}\n" in capsys.readouterr().out
    with pytest.raises(MissingModule, match="kernel needs a source checkout"):
        cli._chosen(Options(targets=("kernel",)))
    assert run(Options()) == 2
    said = capsys.readouterr().err
    assert said.startswith("vtir: error: no target runs here: ") and "run in the folder of one" in " ".join(
        said.split()
    )
    own = "tests.fuzz.toys:FINE"
    assert cli._chosen(Options(targets=("all", own))) == ({own: FINE}, {n: needs.format(n) for n in TARGETS})


@pytest.mark.nightly
def test_ctrl_c_ends_it_at_once_with_all_that_is_known() -> None:
    command = [*COMMAND, "--target", "tests.fuzz.toys:SLEEPS", "--time", "10m", "--jobs", "2", "--seed", "1"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    state = Path(".vtir-fuzz/campaign.json")
    until = time.monotonic() + 60
    while time.monotonic() < until and not (state.exists() and '"cases"' in state.read_text()):
        time.sleep(0.1)
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it, too
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 30
    assert (process.returncode, err) == (130, "")
    assert re.search(r"^tests\.fuzz\.toys:SLEEPS +\d+ ", out, re.MULTILINE)
    assert "interrupted; the same command goes on. no findings in 0:0" in out
    assert '"ended": false' in state.read_text().splitlines()[-1]


@pytest.mark.nightly
def test_a_terminal_sees_a_table() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "--target", "tests.fuzz.toys:SLEEPS", "--examples", "40", "--seed", "1"],
        stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 1 << 16):
            seen += part
    except OSError:  # the other end is closed
        pass
    assert process.wait() == 0
    text = seen.decode()
    assert "worker 1: tests.fuzz.toys:SLEEPS, round 0" in text
    assert "0 findings" in text and "no findings in" in text
