"""The second opinion in ``vtir verify``: asked by default, silent about nothing; a disagreement is a bug, loudly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.files import HEAD, invoke, verify, write
from verified_tir.kernel.facts import Prover
from verified_tir.logic.verdict import Proved
from verified_tir.schedule import second_opinion as module
from verified_tir.validate import Different, EqualOverReals, Report

PADDED = HEAD + (
    '@schedule(total)\ndef padded(s):\n    s.transform_layout("A", lambda i: [i // 3, i % 3], pad_value={})\n'
    '    s.transform_layout("A", lambda i, j: [j, i], pad_value=None)\n'
)
SYMBOLIC = """\
from verified_tir import schedule
from verified_tir.script import tir as T


@T.prim_func
def copy(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), n: T.int32):
    for i in range(n):
        B[i] = A[i]


@schedule(copy)
def tiled(s):
    s.transform_layout("B", lambda i: [i // 4, i % 4], pad_value=T.undef())
    s.sequential_buffer_access("B")
"""
WRONG = HEAD + (
    "@schedule(total)\ndef wrong(s):\n"
    '    outer, inner = s.split("i", [4, 4])\n    s.reorder(inner, outer)\n    s.unroll(outer)\n'
)
HUGE = HEAD.replace("(16,)", "(9000000,)").replace("range(16)", "range(9000000)") + (
    '@schedule(fill)\ndef long(s):\n    s.split("i", [None, 4])\n'
)


@pytest.fixture
def believing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kernel that takes every obligation for proved; reports are written to a folder of the test's."""
    monkeypatch.setattr(Prover, "prove", lambda self, context, given, goal: (Proved(), given))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def schedules(text: str) -> list[dict[str, Any]]:
    return [s for f in json.loads(text)["files"] for s in f["schedules"]]


@pytest.mark.parametrize("pad", ["0.0", "T.undef()", "None"])
def test_it_is_asked_by_default(pad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path, a=PADDED.format(pad)))
    assert code == 0 and "    second opinion: the validator agrees: equal\n" in out


def test_symbols_take_several_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path, a=SYMBOLIC))
    assert code == 0 and "second opinion: the validator agrees: equal at n = 0, 1, 2, 3, 7, 8, 17" in out


def test_never(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path, a=SYMBOLIC), validate="never")
    assert code == 0 and "second opinion" not in out
    code, out = verify(capsys, tmp_path, validate="never", format="json")
    assert [(s["second_opinion"], s["validated"]) for s in schedules(out)] == [(None, None)]


def test_every_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path, a=SYMBOLIC), validate="every", format="json")
    (found,) = schedules(out)
    assert code == 0 and found["second_opinion"].endswith(" after each of 2 steps")
    assert found["validated"]["word"] == "agrees"
    one, other = found["validated"]["steps"]
    assert (one["step"], one["name"]) == (1, "transform_layout(B, lambda i: [i // 4, i % 4], pad_value=T.undef())") or (
        one["name"].startswith("transform_layout(B, ")
    )
    assert (other["step"], other["name"]) == (2, "sequential_buffer_access(B)")
    for step in (one, other):
        assert step["word"] == "agrees" and step["left_out"] == [] and step["operations"] > 0 < step["seconds"]
        assert [s["n"] for s in step["sizes"]][:7] == [0, 1, 2, 3, 7, 8, 17]


def test_what_it_does_not_decide_is_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    function = PADDED.format("lambda i, j: T.Cast('float32', i)")
    code, out = verify(capsys, write(tmp_path, a=function))
    assert code == 0 and "the validator was not asked: the padding's value depends on where it stands" in out
    code, out = verify(capsys, tmp_path, format="json")
    assert schedules(out)[0]["validated"]["word"] == "undecided"


def test_large_programs_take_little_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path, a=HUGE), format="json")
    (found,) = schedules(out)
    assert code == 0 and "equal\n" not in found["second_opinion"] and found["outcome"] == "proved"
    assert found["validated"]["steps"][0]["operations"] <= 2 * module.QUICK + 100_000


def test_refused_schedules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was proved before an expected refusal is looked at; an unexpected one is trouble enough."""
    steps = '    s.split("i", [4, 4])\n    s.parallel("i_1")\n'
    folder = write(
        tmp_path, a=HEAD + f'@schedule(total, expect="refused")\ndef f(s):\n{steps}',
        b=HEAD + f"@schedule(total)\ndef f(s):\n{steps}",
    )  # fmt: skip
    code, out = verify(capsys, folder, format="json")
    expected, refused = schedules(out)
    assert code == 1 and (expected["outcome"], refused["outcome"]) == ("refused-as-expected", "refused")
    assert expected["second_opinion"] == "the validator agrees: equal" and refused["second_opinion"] is None


@pytest.mark.usefixtures("believing")
@pytest.mark.parametrize("when", ["last", "every"])
def test_a_disagreement_is_a_bug_in_the_tool(when: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path / "s", a=WRONG), validate=when)
    assert code == 1
    for words in (
        "ERROR",
        "BugInThisTool",
        "That is a bug in verified_tir.",
        "different: B[",
        "after the step: reorder(i_1, i_0)",
        "z3-solver",
        "before:",
        "after:",
        "to attach to a report: ",
    ):
        assert words in out, words
    (path,) = (tmp_path / "here").iterdir()
    assert str(path) in out and "steps:\n    program(total)\n    split(i, [4, 4])\n    reorder(i_1, i_0)\nrel" in (
        path.read_text()
    )
    code, out = verify(capsys, tmp_path / "s", validate=when, format="json")
    (found,) = schedules(out)
    assert (code, found["outcome"], found["validated"]["word"]) == (1, "error", "disagrees")
    assert found["error"]["kind"] == "BugInThisTool" and str(path) in found["error"]["message"]
    assert found["second_opinion"].startswith("THE VALIDATOR DISAGREES: ")
    assert [s["name"] for s in found["validated"]["steps"]][-1] == "reorder(i_1, i_0)"


@pytest.mark.usefixtures("believing")
def test_without_it_the_fault_is_not_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that the test above says something about the validator."""
    code, out = verify(capsys, write(tmp_path / "s", a=WRONG), validate="never")
    assert code == 0 and "wrong  proved" in out and not list((tmp_path / "here").iterdir())


def test_the_input_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = {"A": np.ones(16, np.float32)}
    lie = Different(inputs, inputs, "B[0]", 91.0, 92.0)
    monkeypatch.setattr(module, "validate", lambda *_, **__: Report(lie))
    monkeypatch.chdir(tmp_path)
    code, out = verify(capsys, write(tmp_path / "s", a=PADDED.format("0.0")))
    assert code == 1 and "B[0] was 91.0 and is 92.0" in out and "A = array(" in out


def test_a_validator_that_fails_is_no_consent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> Report:
        raise RuntimeError("no table is that large")

    monkeypatch.setattr(module, "validate", fails)
    code, out = verify(capsys, write(tmp_path, a=SYMBOLIC))
    assert code == 1 and "BugInThisTool: the validator failed: RuntimeError: no table is that large" in out


def test_sums_that_may_be_in_another_order_are_not_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "validate", lambda *_, **__: Report(EqualOverReals(("the sum of B",))))
    monkeypatch.chdir(tmp_path)
    code, out = verify(capsys, write(tmp_path / "s", a=PADDED.format("0.0")))
    assert code == 0 and "BugInThisTool" not in out
    assert "did not decide: equal over the reals: the sum of B; no input was found on which their bits differ" in out


def test_options(tmp_path: Path) -> None:
    write(tmp_path, a=PADDED.format("0.0"))
    for options in ((), ("--validate", "--every-step", "--most-operations", "1000000")):
        ran = invoke("verify", "a.py", *options, cwd=tmp_path)
        assert ran.returncode == 0 and "second opinion: the validator agrees: equal" in ran.stdout, options
    ran = invoke("verify", "a.py", "--no-validate", cwd=tmp_path)
    assert ran.returncode == 0 and "second opinion" not in ran.stdout
    ran = invoke("verify", "a.py", "--no-validate", "--every-step", cwd=tmp_path)
    assert ran.returncode == 2 and "excludes" in ran.stderr
