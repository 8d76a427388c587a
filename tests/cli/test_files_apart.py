"""What a file does to the process that executes it is undone: the next file is verified as if it came first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.files import GOOD, REFUSED, invoke, write
from verified_tir.cli.load import loaded

MOVES = "import os, pathlib\nos.chdir(pathlib.Path(__file__).parent / 'data')\n" + GOOD


@pytest.fixture
def moving(tmp_path: Path) -> Path:
    """``a.py`` makes ``data`` the working folder, where there is a ``b.py`` that is fine; the one beside it is not."""
    write(tmp_path / "data", b=GOOD)
    return write(tmp_path, a=MOVES, b=REFUSED)


@pytest.mark.parametrize("paths", [["a.py", "b.py"], ["."]])
def test_a_file_that_changes_the_working_folder_leaves_the_next_one_what_it_is(moving: Path, paths: list[str]) -> None:
    done = invoke("verify", *paths, cwd=moving)
    assert done.returncode == 1
    assert "racy  REFUSED" in done.stdout and "b.py:21" in done.stdout


def test_a_schedule_that_changes_the_working_folder(tmp_path: Path) -> None:
    write(tmp_path / "data", b=GOOD)
    moves = "import os\n" + GOOD + f"    os.chdir({str(tmp_path / 'data')!r})\n"
    write(tmp_path, a=moves, b=REFUSED)
    assert invoke("verify", "a.py", "b.py", cwd=tmp_path).returncode == 1


def test_what_is_written_goes_where_the_command_began(moving: Path) -> None:
    done = invoke("verify", "a.py", "--smt", "smt", "--certify", "proofs", cwd=moving)
    assert done.returncode == 0
    assert sorted(p.name for p in (moving / "smt").iterdir()) == ["a"]
    assert (moving / "proofs" / "a" / "good.json").is_file()
    assert sorted(p.name for p in (moving / "data").iterdir()) == ["b.py"]


def test_the_working_folder_is_the_file_s_own_only_while_it_is_open(moving: Path) -> None:
    before = os.getcwd()
    with loaded(moving / "a.py", "a.py"):
        assert os.getcwd() == str(moving / "data")
    assert os.getcwd() == before
