"""``vtir verify --to-llvm``: the machine code's LLVM IR is compared with the program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.validate.llvm.llvm_support import changed, program, texts
from verified_tir.cli.run import Options, run
from verified_tir.cli.to_llvm import compare

SCHEDULE = """
from verified_tir import schedule
from verified_tir.script import tir as T


@T.prim_func
def add(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i] + B[i]


@schedule(add)
def in_parallel(s):
    s.parallel("i")
"""


def test_a_schedule_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "add.py"
    path.write_text(SCHEDULE, encoding="utf-8")
    code = run(Options((path,), to_llvm=True))
    shown = capsys.readouterr().out
    assert code == 0, shown
    assert "machine code: the LLVM IR agrees, bit for bit at n = 0, 1, 5, 17, 67" in shown


def test_json_has_every_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "add.py"
    path.write_text(SCHEDULE, encoding="utf-8")
    assert run(Options((path,), format="json", validate="never", to_llvm=True)) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    found = file["schedules"][0]["machine_code"]
    assert found["word"] == "agrees"
    assert [(s["text"], s["sizes"]["n"], s["verdict"]) for s in found["sizes"]] == [
        (text, n, "equal") for n in (0, 1, 5, 17, 67) for text in ("as written", "optimised")
    ]


def test_without_the_option_nothing_is_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "add.py"
    path.write_text(SCHEDULE, encoding="utf-8")
    assert run(Options((path,), format="json", validate="never")) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert file["schedules"][0]["machine_code"] is None


@pytest.mark.nightly
def test_a_difference_is_reported_with_a_file_that_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    func = program(
        'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")', "for i in range(4):\n    B[i] = A[i] + B[i]"
    )
    plain, optimised = texts(func)
    wrong = changed(optimised, "fadd", "fsub")
    monkeypatch.chdir(tmp_path)
    found = compare(func, {"as written": plain, "optimised": wrong})
    assert found.report.word == "disagrees"
    assert "THE LLVM IR OPTIMISED DIFFERS: different: B[0] was" in found.report.sentence
    (path,) = tmp_path.glob("vtir-bug-llvm-*.py")
    assert path.name in found.bug
    ran = subprocess.run([sys.executable, path.name], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stdout.startswith("different: B[0] was")
    assert compare(func, {"as written": plain, "optimised": optimised}).report.word == "agrees"


def test_what_executes_too_much_is_not_decided() -> None:
    func = program('A: T.Buffer((1000000,), "float32")', "for i in range(1000000):\n    A[i] = A[i] + T.float32(1)")
    found = compare(func, {"as written": "", "optimised": ""})
    assert found.report.word == "undecided"
    assert "executes too much" in found.report.sentence
