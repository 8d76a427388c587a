"""``vtir verify`` and inputs: a theorem about nothing is not called proved, and has an exit code of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.files import REFUSED, verify, write
from verified_tir.schedule import exhibit as module

PROGRAM = """\
from verified_tir import schedule
from verified_tir.script import tir as T


@T.prim_func
def parts(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(4):
        T.assume(A[12 + i] == 5)
    for j in range(6):
        T.assume(A[{low} + j] == 6)
    for k in range(16):
        B[k] = 0
        if k >= 12 and A[k] == 77:
            B[k] = 1


@schedule(parts)
def decided(s):
    s.parallel("k")
"""
UNKNOWN = """\
from verified_tir import schedule
from verified_tir.script import tir as T


@T.prim_func
def result(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for k in range(16):
        B[k] = A[k]
    for k in range(16):
        T.assume(B[k] != A[k])


@schedule(result)
def split(s):
    assert s.steps
"""
VACUOUS, GOOD = PROGRAM.format(low=10), PROGRAM.format(low=6)


def only(out: str) -> dict[str, Any]:
    (found,) = [s for f in json.loads(out)["files"] for s in f["schedules"]]
    return dict(found)


def test_contradictory_assumptions_prove_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path, a=VACUOUS))
    assert code == 4
    assert "decided  VACUOUS" in out
    assert (
        "    every step was proved, but no input satisfies what the program assumes: "
        "A[12 + i] == 5, for i in range(4); A[10 + j] == 6, for j in range(6) [VT0014]\n"
        "    assumptions that contradict each other prove everything: change or remove one of them\n"
    ) in out
    assert "assuming:" not in out and "second opinion" not in out
    assert "1 schedule in 1 file: 1 vacuous;" in out


def test_over_disjoint_parts_they_are_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path, a=GOOD))
    assert code == 0 and "decided  proved" in out
    assert "input" not in out
    code, out = verify(capsys, write(tmp_path, a=GOOD), verbose=True)
    assert code == 0 and "    input: an input runs to its end\n" in out


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path, a=VACUOUS), format="json")
    one = only(out)
    assert code == json.loads(out)["exit_code"] == 4
    assert json.loads(out)["summary"]["vacuous"] == 1 and json.loads(out)["summary"]["proved"] == 0
    assert (one["outcome"], one["as_expected"], one["second_opinion"]) == ("vacuous", False, None)
    assert one["input"]["found"] == "vacuous" and len(one["input"]["contradictory"]) == 2
    code, out = verify(capsys, write(tmp_path, a=GOOD), format="json")
    assert code == 0
    found = only(out)["input"]
    assert (found["found"], found["sizes"], found["complete"], found["contradictory"]) == ("input", {}, True, [])
    assert found["steps"] > 0


def test_that_none_is_found_is_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = verify(capsys, write(tmp_path, a=UNKNOWN))
    assert code == 4
    assert "split  NO INPUT FOUND" in out
    assert "but no input was found that satisfies what the program assumes (this is false: B[k] != A[k], for k" in out
    assert "check them, or assume less" in out
    assert "1 schedule in 1 file: 1 no input found;" in out
    assert only(verify(capsys, write(tmp_path, a=UNKNOWN), format="json")[1])["outcome"] == "no-input-found"


def test_a_refusal_and_a_mistake_weigh_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(capsys, write(tmp_path / "1", a=VACUOUS, b=GOOD))[0] == 4
    assert verify(capsys, write(tmp_path / "2", a=VACUOUS, b=REFUSED))[0] == 1
    assert verify(capsys, write(tmp_path / "3", a=VACUOUS, b="import nothing_of_that_name"))[0] == 2


def test_no_certificate_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = write(tmp_path / "files", a=VACUOUS, b=GOOD)
    assert verify(capsys, files, certify=tmp_path / "c")[0] == 4
    manifest = json.loads((tmp_path / "c" / "manifest.json").read_text(encoding="utf-8"))
    assert list(manifest["certificates"]) == ["b/decided"]


def test_an_expected_refusal_needs_no_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = VACUOUS.replace("@schedule(parts)", '@schedule(parts, expect="refused")').replace('"k")', '"nothing")')
    code, out = verify(capsys, write(tmp_path, a=text), format="json")
    assert code == 0 and only(out)["input"] is None


def test_a_search_that_fails_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "exhibit", lambda _: 1 // 0)
    code, out = verify(capsys, write(tmp_path, a=GOOD))
    assert code == 1 and "BugInThisTool: the search for an input failed: ZeroDivisionError" in out
