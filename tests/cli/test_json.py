"""``--json``: the schema that docs/how-to/verify.md describes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.files import GOOD, HEAD, REFUSED, invoke, verify, write
from verified_tir import __version__

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "verify.md"

MIXED = HEAD + (
    '@schedule(total)\ndef refused(s):\n    """Why not?"""\n    s.parallel("i")\n'
    '@schedule(total, expect="refused")\ndef expected(s):\n    s.parallel("i")\n'
    '@schedule(total, expect="refused")\ndef accepted(s):\n    pass\n'
    '@schedule(total)\ndef wrong(s):\n    unknown\n'
    '@schedule(fill)\ndef inside(s):\n    s.split("i", [4, 4])\n    with expect_refusal(s):\n        s.unroll("k")\n'
)  # fmt: skip


@pytest.fixture
def document(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(write(tmp_path, mixed=MIXED, bad="def f(:\n"))
    code, shown = verify(capsys, "mixed.py", "bad.py", format="json")
    found: dict[str, Any] = json.loads(shown)
    assert found["exit_code"] == code == 2
    return found


def test_the_run(document: dict[str, Any]) -> None:
    assert document["schema"] == 1
    assert document["version"] == __version__
    assert document["message"] is None
    summary = document["summary"]
    assert (summary["files"], summary["bad_files"], summary["schedules"]) == (2, 1, 5)
    outcomes = [s["outcome"] for s in document["files"][0]["schedules"]]
    assert outcomes == ["refused", "refused-as-expected", "not-refused", "error", "proved"]
    assert [s["as_expected"] for s in document["files"][0]["schedules"]] == [False, True, False, False, True]
    assert all(summary[x] == 1 for x in outcomes)


def test_a_refusal(document: dict[str, Any]) -> None:
    schedule = document["files"][0]["schedules"][0]
    assert (schedule["file"], schedule["line"], schedule["doc"]) == ("mixed.py", 18, "Why not?")
    refusal = schedule["refusal"]
    assert refusal["step"] == "parallel(i)"
    assert (refusal["code"], refusal["kind"]) == ("VT0409", "refuted")
    assert set(refusal["counterexample"]) == {"i", "i'"}
    assert refusal["replay"]["confirmed"] is True
    assert "B[0]" in refusal["replay"]["message"]
    assert "# <-- here" in refusal["program"]
    marked = refusal["program"].splitlines()[refusal["place"]["line"] - 1]
    assert marked == f"{' ' * (len(marked) - len(marked.lstrip()))}{refusal['place']['text']}  # <-- here"
    assert refusal["at"] == {"file": "mixed.py", "line": 21, "column": None, "source": 's.parallel("i")'}


def test_other_outcomes(document: dict[str, Any]) -> None:
    _, expected, accepted, wrong, inside = document["files"][0]["schedules"]
    assert expected["expect"] == accepted["expect"] == "refused"
    assert expected["refusal"]["kind"] == "refuted"
    assert accepted["refusal"] is None
    assert (wrong["error"]["code"], wrong["error"]["kind"]) == ("VT0004", "NameError")
    assert (wrong["error"]["file"], wrong["error"]["line"]) == ("mixed.py", 30)
    (refusal,) = inside["expected_refusals"]
    assert (refusal["code"], refusal["kind"], refusal["counterexample"]) == ("VT0301", "not-applicable", {})
    assert refusal["replay"] is None
    assert "i_0" in inside["program"]
    assert any("definite values" in sentence for sentence in inside["assumptions"])


def test_steps_and_obligations(document: dict[str, Any]) -> None:
    program, split = document["files"][0]["schedules"][-1]["steps"]
    assert (program["step"], program["arguments"]) == ("program", "fill")
    assert (split["step"], split["arguments"]) == ("split", "i, [4, 4]")
    (bounds,) = [o for o in program["obligations"] if o["claim"] == "A[i] lies within the bounds of A"]
    assert (bounds["verdict"], bounds["rule"]) == ("proved", None)
    assert bounds["place"]["text"] == "A[i] = T.float32(0.0)"
    order = next(o for o in split["obligations"] if o["name"] == "dependence")
    assert order["rule"] is not None
    assert order["place"]["text"].startswith("for i")
    assert all(o["seconds"] >= 0 for o in split["obligations"])


def test_a_bad_file(document: dict[str, Any]) -> None:
    bad = document["files"][1]
    assert bad["schedules"] == []
    assert bad["error"] == {
        "code": "VT0003",
        "kind": "SyntaxError",
        "message": "invalid syntax",
        "file": "bad.py",
        "line": 1,
        "column": 7,
        "source": "def f(:",
    }


def _keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return {k for k in value if k != "counterexample"} | {k for v in value.values() for k in _keys(v)}
    if isinstance(value, list):
        return {k for v in value for k in _keys(v)}
    return set()


def test_every_key_is_documented(document: dict[str, Any]) -> None:
    for refusal in (s["refusal"] for s in document["files"][0]["schedules"] if s["refusal"]):
        refusal["counterexample"] = {}  # its keys are the program's names
    text = PAGE.read_text(encoding="utf-8").partition("(json)=")[2]
    documented = set(re.findall(r"`\"?([a-z_-]+)\"?`", text)) | {"counterexample"}
    assert _keys(document) - documented == set()


@pytest.mark.nightly
def test_lemmas_and_places_of_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    _, shown = verify(capsys, PAGE.parents[2] / "examples" / "row_summation.py", format="json", only="padded")
    steps = json.loads(shown)["files"][0]["schedules"][0]["steps"]
    lemmas = [x for s in steps for o in s["obligations"] for x in o["lemmas"]]
    assert any("never -0.0" in x["claim"] for x in lemmas)
    assert all(x["verdict"] == "proved" for x in lemmas)


def test_nothing_to_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = verify(capsys, write(tmp_path, helper="x = 1\n"), format="json")
    assert code == 2
    assert json.loads(shown)["message"].startswith("no schedule was found")


def test_what_files_print_does_not_get_into_the_document(tmp_path: Path) -> None:
    write(
        tmp_path,
        loud='print("loading")\n' + REFUSED + '    print("never")\n' + GOOD.removeprefix(HEAD) + '    print("in")\n',
    )
    done = invoke("verify", "--json", "loud.py", cwd=tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout)["summary"]["schedules"] == 2
    assert done.stderr == "loading\nin\n"
