"""``--smt``: the obligations as files."""

from __future__ import annotations

from pathlib import Path

import pytest
import z3

from tests.cli.files import HEAD, invoke, verify, write
from verified_tir.report.smt import folder_for

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "row_summation.py"


def _status(text: str) -> str:
    return text.partition("(set-info :status ")[2].partition(")")[0]


@pytest.mark.nightly
def test_each_file_has_the_status_that_it_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verify(capsys, EXAMPLE, smt=tmp_path)
    files = sorted(tmp_path.rglob("*.smt2"))
    assert len(files) > 40
    states = set()
    for file in files:
        text = file.read_text()
        assert text.startswith("; claim: ")
        solver = z3.Solver()
        solver.from_string(text)
        assert str(solver.check()) == _status(text), file
        states.add(_status(text))
    assert states == {"sat", "unsat"}  # the refused step is among them


def test_names_claims_and_variables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, user=HEAD + '@schedule(total)\ndef racy(s):\n    s.split("i", [4, 4])\n    s.parallel("i_0")\n')
    verify(capsys, tmp_path / "user.py", smt=tmp_path / "smt")
    folder = folder_for(tmp_path / "smt", str(tmp_path / "user.py")) / "racy"
    assert {p.name for p in folder.iterdir()} >= {"01-split", "refused-0-parallel"}
    (refused,) = (folder / "refused-0-parallel").iterdir()
    lines = refused.read_text().splitlines()
    assert lines[0].startswith("; claim: no iteration of the parallel loop over i_0 reads")
    assert lines[1:3] == ["; step: parallel(i_0)", "; verdict: refuted"]
    assert any(line.startswith("; x") and line.endswith(" is i_0") for line in lines)
    assert lines[-1] == "(check-sat)"


def test_an_undecided_obligation_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, user=HEAD + '@schedule(fill)\ndef split(s):\n    s.split("i", [4, 4])\n')
    verify(capsys, tmp_path / "user.py", smt=tmp_path / "smt", budget=1)
    (file,) = (tmp_path / "smt").rglob("refused-*/*.smt2")
    assert _status(file.read_text()) == "unknown"


def test_files_stay_below_the_folder() -> None:
    root = Path("out")
    assert folder_for(root, "../a/b.py") == Path("out/a/b")
    assert folder_for(root, "/x/my schedules/b.py") == Path("out/x/my-schedules/b")
    assert folder_for(root, "a/b.py") != folder_for(root, "a-b.py")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = invoke("verify", str(EXAMPLE), "--smt", "file/below", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "vtir: error: --smt file/below: Not a directory\n"
