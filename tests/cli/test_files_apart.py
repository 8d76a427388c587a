"""What a file does to the process that executes it is undone: the next file is verified as if it came first."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.files import GOOD, REFUSED, invoke, write
from verified_tir.cli.load import loaded
from verified_tir.graph.callbacks import layout_rule, registered
from verified_tir.graph.ir import Node
from verified_tir.schedule.intrinsic import Intrinsic

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


# -- what is registered ------------------------------------------------------------------------------------------------

REGISTERS = """\
from verified_tir import TensorIntrin
from verified_tir.script import tir as T


@T.prim_func
def zero(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = 0.0


TensorIntrin.register("zero4", zero, lambda h: h.unroll("i"), override={override})
"""
USES = GOOD.split("@schedule")[0] + (
    '@schedule(fill)\ndef uses(s):\n    _, inner = s.split("i", [None, 4])\n    s.tensorize(inner, "zero4")\n'
)


def test_an_intrinsic_of_one_file_is_none_of_the_next(tmp_path: Path) -> None:
    write(tmp_path, a=REGISTERS.format(override=False) + USES, b=USES)
    done = invoke("verify", "a.py", "b.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "2 schedules in 2 files: 1 proved, 1 refused;" in done.stdout
    assert "there is no intrinsic 'zero4'" in done.stdout


def test_an_intrinsic_that_a_helper_registers_is_known_to_all_that_import_it(tmp_path: Path) -> None:
    helper = REGISTERS.format(override=False)
    write(tmp_path, intrinsics=helper, a="import intrinsics\n" + USES, b="import intrinsics\n" + USES, c=USES)
    done = invoke("verify", "a.py", "b.py", "c.py", cwd=tmp_path)
    assert "3 schedules in 3 files: 2 proved, 1 refused;" in done.stdout


def test_an_intrinsic_of_an_installed_module_stays_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = write(tmp_path / "site-packages", vtir_test_intrinsics=REGISTERS.format(override=False))
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(Intrinsic, "registered", {})
    other = REGISTERS.format(override=True).replace("0.0", "1.0")
    write(tmp_path, a="import vtir_test_intrinsics\n" + other + GOOD, b="import vtir_test_intrinsics\n" + USES)
    try:
        done = invoke("verify", "a.py", "b.py", cwd=tmp_path)
        assert "2 schedules in 2 files: 2 proved;" in done.stdout
    finally:
        sys.modules.pop("vtir_test_intrinsics", None)


def test_a_schedule_s_intrinsic_is_forgotten_too(tmp_path: Path) -> None:
    inside = "".join(f"    {line}\n" for line in REGISTERS.format(override=False).splitlines()[9:])
    write(tmp_path, a=REGISTERS.rpartition("TensorIntrin")[0] + GOOD + inside, b=USES)
    assert "zero4" in (tmp_path / "a.py").read_text().splitlines()[-1]
    done = invoke("verify", "a.py", "b.py", cwd=tmp_path)
    assert "2 schedules in 2 files: 1 proved, 1 refused;" in done.stdout


def test_rules_for_layouts_are_forgotten(tmp_path: Path) -> None:
    text = "from verified_tir.graph.callbacks import register_layouts, unregister_layouts\n"
    text += "unregister_layouts('mine')\nregister_layouts('theirs', lambda *_: None)\n"
    write(tmp_path, a=text)
    mine, theirs = Node("mine", (), ()), Node("theirs", (), ())
    with layout_rule("mine", lambda *_: None):
        before = registered(mine)
        with loaded(tmp_path / "a.py", "a.py"):
            assert registered(mine) is None
            assert registered(theirs) is not None
        assert before is not None and registered(mine) is before
        assert registered(theirs) is None
