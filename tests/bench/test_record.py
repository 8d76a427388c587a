"""Rows, documents, and what changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.cases import case, row
from verified_tir.bench.cases import OURS, Unusable
from verified_tir.bench.machine import FMA, MEMCPY, environment
from verified_tir.bench.record import Row, changes, document, measured, read

HERE: dict[str, Any] = {"versions": {"numpy": "2", "torch": "1"}}


def test_rates_and_shares() -> None:
    made = row(0.1, numpy=0.2)
    assert made.rate(0.1) == (80 / 0.1 / 1e9, "GFLOP/s")
    assert made.share == (pytest.approx(0.8), FMA)
    made.case.flops = 31
    assert made.rate(0.1) == (32 / 0.1 / 1e9, "GB/s"), "less than one operation a byte"
    made.case.flops = None
    assert made.rate(0.1) == (32 / 0.1 / 1e9, "GB/s")
    assert made.share == (pytest.approx(0.32), MEMCPY)
    made.case.nbytes = 0
    assert made.rate(0.1) == (10.0, "runs/s")
    assert Row(made.case, "", made.times, None, None).share is None


def test_what_is_measured_besides() -> None:
    made = measured(case(other=lambda: ()), 0.01)
    assert set(made.times) == {OURS, "other", FMA, MEMCPY}
    assert set(made.peers) == {"other"}
    assert made.bandwidth and made.bandwidth > 0
    without = case()
    without.flops, without.nbytes = None, 0
    assert set(measured(without, 0.01).times) == {OURS}
    several = case()
    several.threads = 2
    found = measured(several, 0.01)
    assert found.clock == "wall time" and set(found.times) == {OURS, FMA}, "memcpy has one thread"


def test_a_document_is_read_again(tmp_path: Path) -> None:
    made = document([row(0.1, numpy=0.2)], {"b": {"torch": "wrong"}}, HERE, 1)
    file = tmp_path / "a.json"
    file.write_text(json.dumps(made))
    again = read(file)
    assert again == made
    (only,) = again["rows"]
    assert only["ratios"] == {"numpy": 2.0} and only["times"][OURS]["median"] == 0.1
    assert again["wrong"] == {"b": {"torch": "wrong"}} and again["exit_code"] == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 0, "rows": []}'])
def test_what_is_no_document(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(Unusable, match=r"--compare .*a\.json: this is not what vtir bench --json"):
        read(file)
    with pytest.raises(Unusable, match="No such file"):
        read(tmp_path / "b.json")


def test_changes_are_relative_to_peers_of_the_same_version() -> None:
    old = document([row(1.0, numpy=1.0, torch=4.0)], {}, HERE, 0)
    (same,) = changes([row(2.0, numpy=2.0, torch=8.0)], HERE, old)
    assert (same.factor, same.by) == (pytest.approx(1.0), ("numpy", "torch"))
    (slower,) = changes([row(2.0, numpy=1.0, torch=4.0)], HERE, old)
    assert (slower.factor, slower.longer) == (pytest.approx(2.0), True)
    other = {"versions": {"numpy": "2", "torch": "2"}}
    (alone,) = changes([row(2.0, numpy=2.0, torch=4.0)], other, old)
    assert (alone.factor, alone.by) == (pytest.approx(1.0), ("numpy",))
    (clock,) = changes([row(2.0)], HERE, old)
    assert (clock.factor, clock.by) == (2.0, ())


def test_what_overlaps_is_not_longer_and_other_cases_are_not_compared() -> None:
    old = document([row(1.0)], {}, HERE, 0)
    (near,) = changes([row(1.15)], HERE, old)
    assert not near.longer
    assert changes([row(1.0, "another")], HERE, old) == []


def test_the_environment() -> None:
    found = environment()
    assert found["versions"]["numpy"] and found["cores"] >= 1 and found["processor"]
    assert json.loads(json.dumps(found)) == found
