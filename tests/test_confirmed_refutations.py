"""The measurement of confirmed refutations runs, counts what there is, and depends on its seed only."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "benchmarks" / "confirmed_refutations.py"


def measured(*options: str) -> str:
    return subprocess.run([sys.executable, str(SCRIPT), *options], check=True, capture_output=True, text=True).stdout


@pytest.mark.nightly
def test_the_share_is_that_of_the_counts() -> None:
    found: dict[str, Any] = json.loads(measured("--count", "5", "--seed", "5", "--json"))
    kinds = [kind for counts in found["counts"].values() for kind, times in counts.items() for _ in range(times)]
    confirmed, unconfirmed = kinds.count("confirmed"), kinds.count("unconfirmed")
    assert kinds.count("accepted") >= 5 and confirmed >= 1
    assert found["share"] == confirmed / (confirmed + unconfirmed)
    assert sum(found["reasons"].values()) == unconfirmed
    assert sum(found["counts"]["(the program itself)"].values()) == 5


@pytest.mark.nightly
def test_one_primitive_may_be_asked_for() -> None:
    table = measured("--count", "2", "--seed", "5", "--only", "parallel", "--list")
    names = [line.split("  ")[0] for line in table.split("\n\n")[0].splitlines()]
    assert names == ["primitive", "(the program itself)", "parallel", "all"]
