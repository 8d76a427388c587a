"""Findings as files."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from verified_tir.fuzz import replay
from verified_tir.fuzz.failure import Key
from verified_tir.fuzz.findings import (
    Finding,
    fails,
    file_text,
    files_about,
    free_path,
    limited,
    replaying_source,
    write,
)

SOURCE = '''"""A program."""

from __future__ import annotations


def test_it() -> None:
    assert 1 == 2
'''


def finding(kind: str = "differs", source: str = SOURCE, message: str = 'one "two" \\n """three"""') -> Finding:
    key = Key("kernel", kind, "split")
    return Finding(key, message, "", b"\1\2", 7, 3, 4, "2026-01-01T00:00:00+00:00", source=source, shrunk=True)


@pytest.mark.nightly
def test_a_file_says_where_it_is_from_and_remains_a_test(tmp_path: Path) -> None:
    text = file_text(finding(), "vtir fuzz --seed 7")
    tree = ast.parse(text)
    heading = ast.get_docstring(tree) or ""
    for said in (
        "differs: split.", "Finding: kernel | differs | split", "Seed:    7, round 3, case 4", "vtir fuzz --seed 7",
        "Version: ", "Date:    2026-01-01", 'one "two" \\n """three"""', "A program.",
    ):  # fmt: skip
        assert said in heading
    path = tmp_path / "test_it.py"
    write(path, text)
    assert fails(path, 60) is True
    write(path, text.replace("1 == 2", "1 == 1"))
    assert fails(path, 60) is False
    write(path, "import nothing_of_this_name\n")
    assert fails(path, 60) is None
    assert sorted(tmp_path.glob("*.py")) == [path]


@pytest.mark.nightly
def test_a_hang_ends_its_test(tmp_path: Path) -> None:
    hang = SOURCE.replace("assert 1 == 2", "import time\n    time.sleep(60)")
    path = tmp_path / "test_it.py"
    write(path, file_text(finding("hang", limited(hang, 0.5)), "vtir fuzz"))
    assert fails(path, 40) is True
    assert "dump_traceback_later(0.5, exit=True)" in path.read_text()
    write(path, limited(replaying_source(finding().key, b"", "test_it").replace("    replay(", "    print("), 20))
    assert fails(path, 40) is False


def test_files_are_found_by_what_they_are_about_whatever_their_name(tmp_path: Path) -> None:
    write(tmp_path / "test_split_of_nothing.py", file_text(finding(), "vtir fuzz"))
    (tmp_path / "test_other.py").write_text("def test_other() -> None: ...\n")
    assert files_about(finding().key, [tmp_path, tmp_path / "none"]) == [tmp_path / "test_split_of_nothing.py"]
    assert files_about(Key("kernel", "differs", "spl"), [tmp_path]) == []


def test_names_are_not_taken_twice(tmp_path: Path) -> None:
    taken = [free_path(tmp_path, "test_a")]
    for _ in range(2):
        taken[-1].touch()
        taken.append(free_path(tmp_path, "test_a"))
    assert [path.name for path in taken] == ["test_a.py", "test_a_2.py", "test_a_3.py"]


def test_a_finding_is_read_back_from_its_record() -> None:
    assert Finding.from_record(finding().as_record()) == finding()


def test_choices_alone_are_a_test_too() -> None:
    source = replaying_source(Key("tests.fuzz.toys:FAILS", "too-large", "sum"), b"", "test_it")
    assert 'replay(\n        "tests.fuzz.toys:FAILS",\n        "",\n    )' in source
    long = replaying_source(Key("t", "k", "w"), bytes(range(256)), "test_it", instead=True)
    assert max(map(len, long.splitlines())) <= 120 and "does not fail.\n" in long
    ast.parse(long)
    with pytest.raises(ValueError, match="no choices of a case"):
        replay("tests.fuzz.toys:FAILS", "")
