"""The campaign that runs with every change: all targets, few cases, always the same ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from verified_tir.fuzz.campaign import run_campaign
from verified_tir.fuzz.options import Options
from verified_tir.fuzz.registry import TARGETS, MissingModule, load

EXAMPLES = 6
ROOT = Path(__file__).resolve().parents[2]


def runs_here(name: str) -> bool:
    """Whether its extra is installed; a target that is broken does not count as absent."""
    try:
        load(name)
    except MissingModule as missing:
        assert missing.modules == ("tvm",)
        return False
    return True


@pytest.mark.nightly  # each target has tests of its own
def test_a_short_campaign_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names = tuple(name for name in TARGETS if runs_here(name))
    assert set(TARGETS) - {"tvm"} <= set(names)
    campaign = run_campaign(
        Options(names, None, EXAMPLES, seed=2026, findings=tmp_path / "findings", state=tmp_path / "state")
    )
    assert [f"{finding.key}: {finding.message}" for finding in campaign.findings] == []
    assert {name: campaign.tally(name).cases for name in names} == dict.fromkeys(names, EXAMPLES)
    assert all(campaign.tally(name).covered for name in names)
