"""``--format``: the report for JUnit, SARIF and GitHub Actions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from tests.cli.files import GOOD, HEAD, invoke, write
from tests.cli.test_json import MIXED
from verified_tir.report.as_github import to_github
from verified_tir.report.as_junit import to_junit
from verified_tir.report.as_sarif import to_sarif
from verified_tir.report.model import ErrorReport, FileReport, Report, SourcePlace

SCHEMA = Path(__file__).with_name("sarif-2.1.0-part.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("formats"), mixed=MIXED, bad="def f(:\n", helper="x = 1\n", good=GOOD)


def shown(folder: Path, form: str, *paths: str) -> tuple[int, str]:
    done = invoke("verify", "--format", form, *paths, cwd=folder)
    return done.returncode, done.stdout


def awkward(message: str, file: str = "a.py", column: int | None = None) -> Report:
    """A report with one file that could not be used."""
    at = SourcePlace(file, 3, column)
    return Report((FileReport(file, (), 0.1, ErrorReport("ValueError", message, at, code="VT0004")),), 0.1)


# -- JUnit -------------------------------------------------------------------------------------------------------------


def test_junit(folder: Path) -> None:
    code, text = shown(folder, "junit", "mixed.py", "bad.py", "helper.py")
    assert code == 2
    root = ElementTree.fromstring(text)
    assert {k: root.get(k) for k in ("tests", "failures", "errors")} == {"tests": "6", "failures": "2", "errors": "2"}
    mixed, bad, helper = root
    assert [mixed.get(k) for k in ("name", "tests", "failures", "errors")] == ["mixed.py", "5", "2", "1"]
    ended = {c.get("name"): [(p.tag, p.get("type")) for p in c] for c in mixed}
    assert ended == {
        "refused": [("failure", "VT0409")],
        "expected": [],
        "accepted": [("failure", "VT0013")],
        "wrong": [("error", "VT0004")],
        "inside": [],
    }
    assert all(c.get("classname") == c.get("file") == "mixed.py" and float(c.get("time", "")) > 0 for c in mixed)
    assert mixed[0].get("line") == "18"
    text = mixed[0][0].text or ""
    assert text.startswith("mixed.py:21\n\nparallel(i): refused")
    assert "B[0] = B[0] + A[i]  # <-- here\n" in text
    assert re.search(r"replayed: race at B\[0\] .* \(confirmed\)\n", text)
    assert [(c.get("name"), c[0].tag) for c in bad] == [("(the file)", "error")]
    assert [(e.tag, e.text) for e in helper] == [
        ("system-err", "there is no function decorated with @schedule(program) in this file")
    ]


def test_junit_without_problems(folder: Path) -> None:
    code, text = shown(folder, "junit", "good.py")
    assert code == 0
    assert [len(case) for case in ElementTree.fromstring(text).iter("testcase")] == [0]


def test_junit_of_nothing_is_an_error(folder: Path) -> None:
    code, text = shown(folder, "junit", "good.py", "-k", "zz")
    assert code == 2
    (error,) = ElementTree.fromstring(text).iter("error")
    assert error.get("message") == "no schedule's name contains 'zz'"


def test_junit_has_no_character_that_xml_forbids() -> None:
    root = ElementTree.fromstring(to_junit(awkward('\x1b[31m<&>"\x00\ud800\ufffe]]>\N{PILE OF POO}')))
    (error,) = root.iter("error")
    assert '�[31m<&>"���]]>\N{PILE OF POO}' in (error.text or "")


# -- SARIF -------------------------------------------------------------------------------------------------------------


def checked(text: str) -> Any:
    """The one run of a SARIF document, which is valid."""
    document = json.loads(text)
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    (run,) = document["runs"]
    rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
    assert all(rules[r["ruleIndex"]] == r["ruleId"] for r in run["results"])
    return run


def test_sarif(folder: Path) -> None:
    code, text = shown(folder, "sarif", "mixed.py", "bad.py", "helper.py")
    assert code == 2
    run = checked(text)
    assert run["invocations"] == [{"executionSuccessful": False, "exitCode": 2}]
    places = [(r["ruleId"], r["level"], r["locations"][0]["physicalLocation"]) for r in run["results"]]
    found = [(rule, level, p["artifactLocation"]["uri"], p.get("region")) for rule, level, p in places]
    assert found == [
        ("VT0409", "error", "mixed.py", {"startLine": 21}),
        ("VT0013", "error", "mixed.py", {"startLine": 25}),
        ("VT0004", "error", "mixed.py", {"startLine": 30}),
        ("VT0003", "error", "bad.py", {"startLine": 1, "startColumn": 7}),
        ("VT0002", "warning", "helper.py", None),
    ]
    assert "this is false: no iteration of the parallel loop over i reads" in run["results"][0]["message"]["text"]


def test_sarif_without_problems(folder: Path) -> None:
    code, text = shown(folder, "sarif", "good.py")
    assert code == 0
    run = checked(text)
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 0}]


def test_sarif_of_nothing_says_why(folder: Path) -> None:
    code, text = shown(folder, "sarif", "good.py", "-k", "zz")
    assert code == 2
    (invocation,) = checked(text)["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "no schedule's name contains 'zz'"


def test_paths_in_sarif_are_uris() -> None:
    (result,) = checked(to_sarif(awkward("x", "größe & co/a b#.py", 2), "0.1.0"))["results"]
    where = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert where == {"uri": "gr%C3%B6%C3%9Fe%20%26%20co/a%20b%23.py", "uriBaseId": "%SRCROOT%"}
    (result,) = checked(to_sarif(awkward("x", "/a b/c.py"), "0.1.0"))["results"]
    where = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert where == {"uri": "file:///a%20b/c.py"}


def test_the_schema_can_fail(folder: Path) -> None:
    document = json.loads(shown(folder, "sarif", "mixed.py")[1])
    document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    with pytest.raises(jsonschema.ValidationError, match="less than the minimum"):
        checked(json.dumps(document))


# -- GitHub ------------------------------------------------------------------------------------------------------------


def test_github(folder: Path) -> None:
    code, text = shown(folder, "github", "mixed.py", "bad.py", "helper.py")
    assert code == 2
    *commands, last = text.splitlines()
    assert [c.partition("::")[2].partition("::")[0] for c in commands] == [
        "error file=mixed.py,line=21,title=refused%3A parallel(i) is refused (VT0409)",
        "error file=mixed.py,line=25,title=accepted%3A not refused (VT0013)",
        "error file=mixed.py,line=30,title=wrong%3A error (VT0004)",
        "error file=bad.py,line=1,col=7,title=bad.py cannot be verified (VT0003)",
        "warning file=helper.py,title=helper.py has no schedule (VT0002)",
    ]
    assert "# <-- here%0A%0Acounterexample: " in commands[0]
    assert last.startswith("5 schedules in 3 files: 1 proved, 1 refused as expected, 1 refused, 1 not refused, 1 error")


def test_github_without_problems(folder: Path) -> None:
    code, text = shown(folder, "github", "good.py")
    assert code == 0
    assert re.fullmatch(r"1 schedule in 1 file: 1 proved; .*\n", text)


def test_github_escapes_what_would_end_a_command() -> None:
    text = to_github(awkward("50% of a:b,c\r\n::error::injected", "50%,a:b.py", 4))
    assert text == (
        "::error file=50%25%2Ca%3Ab.py,line=3,col=4,title=50%25%2Ca%3Ab.py cannot be verified (VT0004)"
        "::ValueError: 50% of a:b,c\r%0A::error::injected\n".replace("50% of", "50%25 of").replace("\r", "%0D")
    )


def test_github_says_that_nothing_was_verified(folder: Path) -> None:
    code, text = shown(folder, "github", "good.py", "-k", "zz")
    assert code == 2
    assert text.startswith("::error title=vtir verify::no schedule's name contains 'zz'\n")


# -- options -----------------------------------------------------------------------------------------------------------


def test_json_is_short_for_the_format(folder: Path) -> None:
    long, short = (json.loads(invoke("verify", *o, "good.py", cwd=folder).stdout) for o in (
        ("--format", "json"), ("--json",)
    ))  # fmt: skip
    assert long["summary"] == short["summary"]
    assert long["files"][0]["schedules"][0]["steps"][0]["obligations"][0]["place"] is not None


def test_two_formats_exclude_each_other(folder: Path) -> None:
    done = invoke("verify", "--json", "--format", "sarif", "good.py", cwd=folder)
    assert done.returncode == 2
    assert "exclude each other" in done.stderr


def test_an_unknown_format(folder: Path) -> None:
    done = invoke("verify", "--format", "xml", "good.py", cwd=folder)
    assert done.returncode == 2
    assert "'junit'" in done.stderr


def test_the_text_of_an_error_is_whole(folder: Path) -> None:
    write(folder, two=HEAD + '@schedule(fill)\ndef two(s):\n    raise ValueError("first\\nsecond")\n')
    _, text = shown(folder, "github", "two.py")
    assert "::ValueError: first%0Asecond%0Araise ValueError" in text
