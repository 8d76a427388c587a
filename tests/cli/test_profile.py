"""Where the time of a verification went."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from types import FrameType

import pytest

from tests.cli.files import GOOD, invoke, write
from verified_tir.cli.profile import OTHER, PARTS, Profile, part_of

BUSY = GOOD.replace("    s.split", "    import time\n    time.sleep(0.5)\n    s.split")


def test_each_schedule_has_a_table(tmp_path: Path) -> None:
    write(tmp_path, busy=BUSY)
    done = invoke("verify", "busy.py", "--profile", cwd=tmp_path)
    assert done.returncode == 0
    lines = re.findall(r"^ +(\d+)% +[\d.]+ [mµ]?s  (.+)$", done.stdout, re.MULTILINE)
    assert OTHER in [part for _, part in lines]
    assert {part for _, part in lines} <= {OTHER, *(part for part, _ in PARTS)}
    assert 80 <= sum(int(share) for share, _ in lines) <= 105


@pytest.mark.nightly
def test_the_document_has_it_where_it_was_asked_for(tmp_path: Path) -> None:
    write(tmp_path, busy=BUSY)
    (found,) = json.loads(invoke("verify", "busy.py", "--profile", "--json", cwd=tmp_path).stdout)["files"][0][
        "schedules"
    ]
    assert found["profile"][OTHER] >= 0.4
    (plain,) = json.loads(invoke("verify", "busy.py", "--json", cwd=tmp_path).stdout)["files"][0]["schedules"]
    assert plain["profile"] is None


def test_time_is_counted_once_and_taken_once() -> None:
    interval = sys.getswitchinterval()
    with Profile() as profile:
        start = time.perf_counter()
        time.sleep(0.3)
        ((part, seconds),) = profile.take()
        assert part == OTHER
        assert abs(seconds - (time.perf_counter() - start)) < 0.1
        assert sum(s for _, s in profile.take()) < 0.1
    assert sys.getswitchinterval() == interval


@pytest.mark.parametrize(
    ("modules", "part"),
    [
        (["verified_tir.schedule.schedule", "verified_tir.kernel.theorem", "z3.z3core"], "solver"),
        (["verified_tir.validate.pairs", "z3.z3"], "validator"),
        (["verified_tir.schedule.replay_inputs", "verified_tir.semantics.interpreter"], "replay and remedies"),
        (["verified_tir.schedule.session", "verified_tir.ir.visit"], "tactics"),
        (["verified_tir.kernel.rules.split"], "kernel"),
        (["verified_tir_tests", "z3fake"], OTHER),
    ],
)
def test_parts_are_told_by_modules(modules: list[str], part: str) -> None:
    frame: FrameType | None = None
    for name in reversed(modules):
        frame = type("Frame", (), {"f_globals": {"__name__": name}, "f_back": frame})()
    assert part_of(frame) == part
