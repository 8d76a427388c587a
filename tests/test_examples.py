"""Every example is proved, or refused where it says so: what ``make verify`` shows a newcomer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_examples_verify() -> None:
    command = [sys.executable, "-c", "from verified_tir.cli.main import main; main()", "verify", "examples/", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    report = json.loads(done.stdout)
    names = {Path(file["file"]).name for file in report["files"]}
    assert names == {p.name for p in (ROOT / "examples").glob("*.py")}


def test_the_layout_keeps_a_dimension_of_one_place() -> None:
    from verified_tir import Schedule

    s = Schedule(
        """
@T.prim_func
def f(A: T.Buffer((1, 8), "float32"), B: T.Buffer((1, 8), "float32")):
    for n, c in T.grid(1, 8):
        B[n, c] = A[n, c]
"""
    )
    s.transform_layout("B", lambda n, c: [n, c // 4, c % 4])
    assert [v.name for v in s.sequential_buffer_access("B")] == ["n", "c_0", "c_1"]
