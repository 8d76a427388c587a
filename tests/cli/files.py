"""Schedule files for tests, and ways to run ``vtir`` on them."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from verified_tir.cli.run import Options, run

HEAD = """\
from verified_tir import Schedule, expect_refusal, parse, schedule
from verified_tir.script import ir as I, tir as T


@T.prim_func
def fill(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[i] = 0.0


@T.prim_func
def total(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32")):
    B[0] = 0.0
    for i in range(16):
        B[0] = B[0] + A[i]


"""
"""Two programs; what follows them starts on line 18."""

SCATTER = """\
@T.prim_func
def scatter(P: T.Buffer((64,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(64):
        T.assume(0 <= P[i] and P[i] < 4)
        B[P[i]] = i


"""
"""A program that assumes of an array what random numbers are not."""
FAR = SCATTER.replace("64", "40000").replace("P[i] < 4", "P[i] < 1").replace("B[P[i]]", "B[P[i] * 10000000]")
"""The same with so many elements that no others are sought."""

GOOD = HEAD + '@schedule(fill)\ndef good(s):\n    """Four by four."""\n    s.split("i", [4, 4])\n'
REFUSED = HEAD + '@schedule(total)\ndef racy(s):\n    s.split("i", [4, 4])\n    s.reorder("i_1", "i_0")\n'

MAIN = "from verified_tir.cli.main import main; main()"


def write(folder: Path, **texts: str) -> Path:
    """Files ``<name>.py`` in a folder; gives the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def verify(capsys: pytest.CaptureFixture[str], *paths: Path | str, **options: object) -> tuple[int, str]:
    """Exit code and output of ``vtir verify``, in this process."""
    code = run(Options(tuple(Path(p) for p in paths), **options))  # type: ignore[arg-type]
    return code, capsys.readouterr().out


def invoke(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command ``vtir`` with its options, in this process: spares starting Python and importing everything.

    What is a matter of the process (signals, terminals, encodings, what is imported) is tested with :func:`vtir`.
    """
    from typer.testing import CliRunner

    from verified_tir.cli.main import app

    with contextlib.chdir(cwd):
        done = CliRunner().invoke(app, list(arguments), prog_name="vtir", env=environment)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def vtir(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command ``vtir``, in a process of its own."""
    import os

    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments], cwd=cwd, env={**os.environ, **environment}, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
