"""``vtir init``: the project that it writes, verified and tested."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.files import invoke
from verified_tir import __version__, extras
from verified_tir.cli import new_project

ROOT = Path(__file__).resolve().parents[2]
FILES = (
    "pyproject.toml",
    "schedules/first.py",
    "tests/test_first.py",
    ".github/workflows/schedules.yml",
    ".pre-commit-config.yaml",
)


def written(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    done = invoke("init", "a b", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        *(f"wrote a b/{name}" for name in FILES),
        "",
        "Next:",
        "",
        "  cd 'a b'",
        "  vtir verify",
        "  pytest",
    ]
    return tmp_path / "a b"


def test_it_verifies(project: Path) -> None:
    assert written(project) == set(FILES)
    done = invoke("verify", cwd=project)
    assert done.returncode == 0
    assert "2 schedules in 1 file: 1 proved, 1 refused as expected" in done.stdout


def test_without_the_mark_it_is_refused(project: Path) -> None:
    file = project / "schedules" / "first.py"
    file.write_text(file.read_text().replace(', expect="refused")', ")"))
    assert invoke("verify", cwd=project).returncode == 1


def test_pytest_passes(project: Path) -> None:
    plugin = ("-p", "no:verified_tir", "-p", "verified_tir.pytest_plugin", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", *plugin], cwd=project, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    for name in (
        "schedules/first.py::parallel_rows",
        "schedules/first.py::parallel_columns",
        "test_first.py::test_rows",
    ):
        assert f"{name} PASSED" in done.stdout


def test_the_workflow_and_the_hooks(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = yaml.safe_load((project / FILES[3]).read_text())["jobs"]["verify"]["steps"]
    assert [s["run"] for s in steps if "run" in s][-2:] == ["vtir verify --format github", "pytest"]
    (hook,) = yaml.safe_load((project / FILES[4]).read_text())["repos"][0]["hooks"]
    assert (hook["entry"], hook["pass_filenames"]) == ("vtir verify", False)
    assert "say from where" in (project / FILES[3]).read_text()  # a runner has no checkout of this
    monkeypatch.setattr(extras, "_checkout", lambda: None)
    for origin, requirement in (
        ({}, f"verified_tir=={__version__}"),
        ({"url": "https://e.com/v", "vcs_info": {"vcs": "git", "commit_id": "ab"}}, "'verified_tir @ git+https://e.com/v@ab'"),
    ):  # fmt: skip
        monkeypatch.setattr(extras, "_origin", lambda origin=origin: origin)
        text = new_project._WORKFLOW.format(install=new_project._install())
        steps = yaml.safe_load(text)["jobs"]["verify"]["steps"]
        assert next(s["run"] for s in steps if "run" in s) == f"python -m pip install {requirement} pytest"
    monkeypatch.setattr(extras, "_origin", lambda: {"url": "file:///a/v.whl", "archive_info": {}})
    assert extras.elsewhere() is None


def test_this_folder(tmp_path: Path) -> None:
    done = invoke("init", cwd=tmp_path)
    assert done.stdout.splitlines()[-3:] == ["  vtir verify", "  pytest", "  vtir verify --watch"]
    assert written(tmp_path) == set(FILES)


@pytest.mark.parametrize("there", FILES)
def test_nothing_is_overwritten(there: str, tmp_path: Path) -> None:
    (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / there).write_text("mine")
    done = invoke("init", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"vtir: error: .: nothing is overwritten; there already: {there}\n"
    assert written(tmp_path) == {there}
    assert (tmp_path / there).read_text() == "mine"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = invoke("init", "file", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("vtir: error: file: ")
    assert done.stderr.count("\n") == 1


def test_pytest_is_installed_first_where_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verified_tir.cli.new_project.find_spec", lambda name: None)
    shown = invoke("init", "mine", cwd=tmp_path).stdout
    assert shown.endswith("  vtir verify\n  python -m pip install pytest\n  pytest\n")
