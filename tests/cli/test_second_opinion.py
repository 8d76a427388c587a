"""``vtir verify --validate``: the validator agrees, does not decide, or a bug is reported, loudly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.files import HEAD, verify, write
from verified_tir.cli import second_opinion as module
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


@pytest.mark.parametrize("pad", ["0.0", "T.undef()", "None"])
def test_layouts_are_composed(pad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path, a=PADDED.format(pad)), validate=True)
    assert code == 0 and "second opinion: the validator agrees: equal\n" in out


def test_symbols_take_several_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path, a=SYMBOLIC), validate=True)
    assert code == 0 and "second opinion: the validator agrees: equal at n = 1, 2, 3, 7, 8, 17" in out
    code, out = verify(capsys, tmp_path)
    assert code == 0 and "second opinion" not in out


def test_what_it_does_not_decide_or_is_not_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    huge = HEAD.replace("(16,)", "(9000000,)").replace("range(16)", "range(9000000)")
    slow = huge + '@schedule(fill)\ndef long(s):\n    s.split("i", [None, 4])\n'
    code, out = verify(capsys, write(tmp_path / "slow", a=slow), validate=True)
    assert code == 0 and "second opinion: the validator did not decide: unknown: more than" in out
    function = PADDED.format("lambda i, j: T.Cast('float32', i)")
    code, out = verify(capsys, write(tmp_path / "function", a=function), validate=True)
    assert code == 0 and "the validator was not asked: the padding's value depends on where it stands" in out


def test_a_disagreement_is_a_bug_in_the_tool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No such case is known: the validator is made to lie."""
    inputs = {"A": np.ones(16, np.float32)}
    lie = Different(inputs, inputs, "B[0]", 91.0, 92.0)
    monkeypatch.setattr(module, "validate", lambda *_, **__: Report(lie))
    folder = write(tmp_path, a=PADDED.format("0.0"))
    code, out = verify(capsys, folder, validate=True)
    assert code == 1
    for words in (
        "BugInThisTool",
        "a bug in verified_tir",
        "B[0] was 91.0 and is 92.0",
        "A = array(",
        "before:",
        "after:",
    ):
        assert words in out, words
    code, out = verify(capsys, folder, validate=True, json=True)
    (found,) = json.loads(out)["files"][0]["schedules"]
    assert (code, found["outcome"]) == (1, "error") and found["second_opinion"].startswith("THE VALIDATOR DISAGREES")


def test_sums_in_another_order_that_nobody_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "validate", lambda *_, **__: Report(EqualOverReals(("the sum of B",))))
    code, out = verify(capsys, write(tmp_path, a=PADDED.format("0.0")), validate=True)
    assert code == 1 and "BugInThisTool" in out and "equal over the reals: the sum of B" in out
