"""``[tool.vtir]`` in pyproject.toml."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.files import GOOD, HEAD, REFUSED, invoke, write


def project(folder: Path, *lines: str) -> Path:
    """A project with a good schedule in ``schedules`` and a refused one in ``schedules/drafts``."""
    write(folder / "schedules", good=GOOD)
    write(folder / "schedules" / "drafts", refused=REFUSED)
    (folder / "pyproject.toml").write_text("\n".join(["[tool.vtir]", *lines]) + "\n")
    return folder


def test_paths_and_exclude(tmp_path: Path) -> None:
    done = invoke("verify", cwd=project(tmp_path, 'paths = ["schedules"]', 'exclude = ["schedules/drafts"]'))
    assert done.returncode == 0
    assert done.stdout.startswith("schedules/good.py\n")
    assert "1 schedule in 1 file: 1 proved" in done.stdout


def test_without_exclude_the_draft_is_verified(tmp_path: Path) -> None:
    done = invoke("verify", cwd=project(tmp_path, 'paths = ["schedules"]'))
    assert done.returncode == 1
    assert "2 schedules in 2 files: 1 proved, 1 refused" in done.stdout


def test_a_pattern_of_files(tmp_path: Path) -> None:
    done = invoke("verify", cwd=project(tmp_path, 'paths = ["schedules"]', 'exclude = ["*/refused.py"]'))
    assert done.returncode == 0


def test_paths_on_the_command_line_win_and_a_named_file_is_not_excluded(tmp_path: Path) -> None:
    folder = project(tmp_path, 'paths = ["schedules"]', 'exclude = ["schedules/drafts"]')
    done = invoke("verify", "schedules/drafts/refused.py", cwd=folder)
    assert done.returncode == 1
    assert "1 schedule in 1 file: 1 refused" in done.stdout


def test_settings_are_found_from_a_folder_below(tmp_path: Path) -> None:
    done = invoke("verify", cwd=project(tmp_path, 'paths = ["schedules/good.py"]') / "schedules")
    assert done.returncode == 0
    assert done.stdout.startswith("good.py\n")


def test_the_format_and_that_the_command_line_wins(tmp_path: Path) -> None:
    folder = project(tmp_path, 'paths = ["schedules/good.py"]', 'format = "json"')
    assert json.loads(invoke("verify", cwd=folder).stdout)["exit_code"] == 0
    assert invoke("verify", "--format", "text", cwd=folder).stdout.startswith("schedules/good.py\n")


def test_validate_and_that_the_command_line_wins(tmp_path: Path) -> None:
    folder = project(tmp_path, 'paths = ["schedules/good.py"]', "validate = false")
    assert "second opinion" not in invoke("verify", cwd=folder).stdout
    assert "second opinion" in invoke("verify", "--validate", cwd=folder).stdout
    assert "second opinion" in invoke("verify", "--every-step", cwd=folder).stdout


def test_the_budget_and_that_the_command_line_wins(tmp_path: Path) -> None:
    write(tmp_path, sum_=HEAD + '@schedule(total)\ndef s(s):\n    print("budget", s.solver.budget)\n')
    (tmp_path / "pyproject.toml").write_text('[tool.vtir]\npaths = ["sum_.py"]\nbudget = 12345\n')
    assert "budget 12345" in invoke("verify", cwd=tmp_path).stderr
    assert "budget 999" in invoke("verify", "--budget", "999", cwd=tmp_path).stderr


def test_a_project_without_the_table_has_no_settings(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    (tmp_path / "pyproject.toml").write_text("[tool.other]\npaths = 1\n")
    assert invoke("verify", "good.py", cwd=tmp_path).returncode == 0
    done = invoke("verify", cwd=tmp_path)
    assert done.returncode == 2
    assert "no PATH was given" in done.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('path = ["schedules"]', "has no key 'path'; did you mean 'paths'?"),
        ("most_operations = 3", "has no key 'most_operations'; did you mean 'most-operations'?"),
        ("zzz = 3", "has no key 'zzz'; the keys are paths, exclude, budget, format, validate, most-operations"),
        ('paths = "schedules"', "paths is a list of files and folders, not 'schedules'"),
        ("exclude = [1]", "exclude is a list of patterns, not [1]"),
        ("budget = 0", "budget is a number from 1 to 4294967295, not 0"),
        ("budget = true", "budget is a number from 1 to 4294967295, not True"),
        ('format = "xml"', "format is one of text, json, junit, sarif, github, not 'xml'"),
        ("format = []", "format is one of text, json, junit, sarif, github, not []"),
        ('validate = "no"', "validate is true or false, not 'no'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(line: str, said: str, tmp_path: Path) -> None:
    done = invoke("verify", "schedules", cwd=project(tmp_path, line))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"vtir: error: {tmp_path}/pyproject.toml: [tool.vtir] {said}\n"


@pytest.mark.parametrize(
    ("text", "said"), [("[tool.vtir\n", "at line 1"), ("tool.vtir = 3\n", "tool.vtir is a table"), ("\udcff", "utf-8")]
)
def test_a_broken_file(text: str, said: str, tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    (tmp_path / "pyproject.toml").write_bytes(text.encode(errors="surrogateescape"))
    done = invoke("verify", "good.py", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
