"""``vtir explain`` as a user sees it: on the terminal, files that are written, mistakes, exit codes; and ``--diff``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.files import GOOD, HEAD, REFUSED, invoke, write

WRONG_SUM = HEAD + (
    "@schedule(total)\ndef ones(s):\n"
    "    s.transform_layout('A', lambda i: [i // 5, i % 5], pad_value=1.0)\n"
    "    s.sequential_buffer_access('A')\n"
    "    s.remove_branching_through_overcompute()\n"
)


def test_the_terminal_shows_steps_differences_and_obligations(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    done = invoke("explain", "good.py", cwd=tmp_path)
    assert done.returncode == 0
    assert "         good.py:21\n" in done.stdout
    assert "-    for i in range(16):" in done.stdout
    assert "+    for i_0, i_1 in T.grid(4, 4):" in done.stdout
    assert "assuming: " in done.stdout and "second opinion: " in done.stdout
    assert done.stdout.count("proved") > 8


def test_a_refused_step_is_shown_with_both_answers(tmp_path: Path) -> None:
    write(tmp_path, wrong=WRONG_SUM)
    done = invoke("explain", "wrong.py:ones", cwd=tmp_path)
    assert done.returncode == 1
    assert "wrong.py:22: s.remove_branching_through_overcompute()" in done.stdout
    assert "counterexample: " in done.stdout
    after = done.stdout.partition("B after both programs, one element differs")[2].split()
    assert after[:3] == ["element", "before", "after"]
    assert after[3] == "B[0]" and float(after[5]) == float(after[4]) + 4.0


def test_a_page_and_pictures_are_written(tmp_path: Path) -> None:
    write(tmp_path, wrong=WRONG_SUM)
    done = invoke("explain", "wrong.py", "--html", "out.html", "--svg", "pictures/new", cwd=tmp_path)
    assert done.returncode == 1
    first, second = done.stdout.splitlines()
    assert first.startswith("out.html: ") and first.endswith(" kB, ones refused")
    assert second == f"pictures/new: {len(list((tmp_path / 'pictures/new').iterdir()))} pictures"
    assert (tmp_path / "out.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_several_of_one_name_are_numbered(tmp_path: Path) -> None:
    write(tmp_path, twice=GOOD + "\n\n" + GOOD.removeprefix(HEAD).replace("[4, 4]", "[2, 8]"))
    done = invoke("explain", "twice.py:good#2", cwd=tmp_path)
    assert done.returncode == 0
    assert "split(i, [2, 8])" in done.stdout and "split(i, [4, 4])" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.py"], "none.py: there is no such file"),
        (["."], ".: this is a folder; give one file"),
        (["both.py"], "both.py: there are several schedules; name one, as in both.py:good (of good, racy)"),
        (["both.py:nobody"], "both.py: there is no schedule nobody; there are good, racy"),
        (["empty.py"], "empty.py: there is no function decorated with @schedule(program) in this file"),
        (["broken.py"], "broken.py:1:4: invalid syntax"),
        (["both.py:good", "--html", "no/folder/x.html"], "no/folder/x.html: No such file or directory"),
        (["both.py:good", "--svg", "empty.py"], "empty.py: File exists"),
    ],
)
def test_a_mistake_is_said_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    write(tmp_path, both=GOOD + "\n\n" + REFUSED.removeprefix(HEAD), empty="x = 1\n", broken="def\n")
    done = invoke("explain", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(re.escape(f"vtir: error: {message}") + r" \[VT\d{4}\]\n", done.stderr)


def test_verify_shows_differences_on_demand(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    plain = invoke("verify", "good.py", cwd=tmp_path).stdout
    shown = invoke("verify", "good.py", "--diff", cwd=tmp_path).stdout
    assert "T.grid" not in plain
    assert "         -    for i in range(16):\n" in shown
    assert "         +    for i_0, i_1 in T.grid(4, 4):\n" in shown


def test_a_step_that_changes_no_text_says_so(tmp_path: Path) -> None:
    write(tmp_path, same=HEAD + "@schedule(fill)\ndef same(s):\n    s.simplify()\n")
    assert "the program's text is as it was" in invoke("verify", "same.py", "--diff", cwd=tmp_path).stdout


def test_the_json_has_lines_and_differences_of_steps(tmp_path: Path) -> None:
    write(tmp_path, good=GOOD)
    steps = json.loads(invoke("verify", "good.py", "--json", "--diff", cwd=tmp_path).stdout)
    program, split = steps["files"][0]["schedules"][0]["steps"]
    assert program["line"] is None and "diff" not in program
    assert split["line"] == 21
    assert "+    for i_0, i_1 in T.grid(4, 4):" in split["diff"]
    plain = json.loads(invoke("verify", "good.py", "--json", cwd=tmp_path).stdout)
    assert "diff" not in plain["files"][0]["schedules"][0]["steps"][1]
