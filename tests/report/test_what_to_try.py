"""Refusals say what to try, and where: measured on what the examples of codes and the tests of refusals raise."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from verified_tir import Schedule, ScheduleError
from verified_tir.report.codes import PAGES
from verified_tir.schedule.codes import NAMES_NOTHING

ROOT = Path(__file__).resolve().parents[2]

WITHOUT_PLACE = {*NAMES_NOTHING, "VT0309", "VT0310", "VT0212", "VT0214", "VT0215", "VT0320", "VT0329", "VT0386"}
"""What may be about no statement: names and arguments that mean nothing, a program as a whole, nothing to be done."""

_NAMES = "|".join(n for n in dir(Schedule) if not n.startswith("_"))
CONCRETE = re.compile(rf"\b(?:{_NAMES})\b|\bT\.|\w+=|s\.\w|[\[\]]")
"""A primitive, a construct of TVMScript, an argument or an expression."""


def refusals_of_examples() -> list[dict[str, Any]]:
    found = []
    for page in PAGES.values():
        if page.example and not page.is_console and page.code[:4] in ("VT02", "VT03", "VT04"):
            with pytest.raises(ScheduleError) as raised:
                exec(compile(page.example, page.code, "exec"), {})
            e = raised.value
            said = {"code": e.code, "step": e.step, "reason": e.reason, "advice": e.advice, "remedy": e.remedy}
            found.append({**said, "claim": e.claim, "marked": "# <-- here" in str(e)})
    return found


def check(refusals: Sequence[dict[str, Any]]) -> None:
    helpful = [r for r in refusals if r["remedy"] or CONCRETE.search(r["advice"])]
    assert len(helpful) >= 0.8 * len(refusals), [r for r in refusals if r not in helpful]
    placed = [r for r in refusals if r["marked"] or r["code"] in WITHOUT_PLACE]
    assert len(placed) >= 0.95 * len(refusals), [r for r in refusals if r not in placed]
    assert not [r for r in refusals if "{" in r["advice"].replace("{0", "") and "lambda" not in r["advice"]]


def test_the_examples_of_codes() -> None:
    refusals = refusals_of_examples()
    assert len(refusals) > 60
    check(refusals)


@pytest.mark.nightly
def test_the_tests_of_refusals(tmp_path: Path) -> None:
    record = tmp_path / "refusals.jsonl"
    tests = ["must_reject", "test_expected_refusals.py", "schedule/test_schedule_loops.py", "schedule/test_merge.py",
             "schedule/test_schedule_staging.py", "schedule/test_rfactor.py", "schedule/test_tensorize.py"]  # fmt: skip
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n0",
        "-p",
        "tests.report.recorder",
        *(f"tests/{t}" for t in tests),
    ]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "VTIR_REFUSALS": str(record)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    refusals = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert len(refusals) > 100
    check(refusals)
