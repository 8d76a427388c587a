"""``vtir init``: a small project that verifies, to begin with."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from verified_tir import extras

_SETTINGS: Final = """\
# The schedules of this project: what `vtir verify` verifies, and what pytest collects.

[tool.vtir]
paths = ["schedules"]

[tool.pytest.ini_options]
testpaths = ["schedules", "tests"]
pythonpath = ["."]
vtir_files = ["schedules/*.py"]
"""

_SCHEDULES: Final = '''\
"""A first schedule, which is proved, and one that has to be refused."""

from verified_tir import Schedule, schedule
from verified_tir.script import tir as T


@T.prim_func
def row_sum(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = 0.0
        for j in range(16):
            B[i] = B[i] + A[i, j]


@schedule(row_sum)
def parallel_rows(s: Schedule) -> None:
    """Each row has a sum of its own."""
    s.parallel("i")


@schedule(row_sum, expect="refused")
def parallel_columns(s: Schedule) -> None:
    """All elements of a row are added to the same sum.  Without expect="refused", `vtir verify` fails and says why."""
    s.parallel("j")
'''

_TESTS: Final = '''\
"""pytest verifies the schedules, too (vtir_files in pyproject.toml); this runs the machine code of one."""

import numpy as np
from schedules.first import parallel_rows

from verified_tir import build


def test_rows():
    a, b = np.ones((16, 16), "float32"), np.zeros(16, "float32")
    build(parallel_rows())(a, b)
    assert (b == 16).all()
'''

_WORKFLOW: Final = """\
name: schedules
on: [push, pull_request]

jobs:
  verify:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
{install}
      - run: vtir verify --format github
      - run: pytest
"""

_HOOKS: Final = """\
repos:
  - repo: local
    hooks:
      - id: vtir-verify
        name: vtir verify
        entry: vtir verify
        language: system
        files: \\.py$
        pass_filenames: false
"""


def run(folder: Path) -> int:
    """Write the files and say what to do next; gives the exit code: 0, or 2 if nothing was written."""
    files = {
        "pyproject.toml": _SETTINGS,
        "schedules/first.py": _SCHEDULES,
        "tests/test_first.py": _TESTS,
        ".github/workflows/schedules.yml": _WORKFLOW.format(install=_install()),
        ".pre-commit-config.yaml": _HOOKS,
    }
    try:
        there = [name for name in files if (folder / name).exists() or (folder / name).is_symlink()]
        if there:
            print(f"vtir: error: {folder}: nothing is overwritten; there already: {', '.join(there)}", file=sys.stderr)
            return 2
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
            print(f"wrote {folder / name}")
    except OSError as problem:
        print(f"vtir: error: {problem.filename or folder}: {problem.strerror}", file=sys.stderr)
        return 2
    here = folder.resolve() == Path.cwd()
    commands = ["vtir verify", *([] if find_spec("pytest") else ["python -m pip install pytest"]), "pytest"]
    commands = [*commands, "vtir verify --watch"] if here else [f"cd {shlex.quote(str(folder))}", *commands]
    print("\nNext:\n\n" + "\n".join(f"  {command}" for command in commands))
    return 0


def _install() -> str:
    """The step that installs this package on another machine."""
    requirement = extras.elsewhere()
    if requirement is not None:
        return f"      - run: python -m pip install {requirement} pytest"
    return (
        "      # Here it was installed from a local path; say from where the runner can install it.\n"
        f"      - run: python -m pip install {extras.NAME} pytest"
    )
