"""Campaigns over toys: each ends as documented.  The workers are real processes."""

from __future__ import annotations

import contextlib
import fcntl
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from verified_tir.fuzz.campaign import Campaign, run_campaign
from verified_tir.fuzz.findings import Finding, fails
from verified_tir.fuzz.finish import Finish
from verified_tir.fuzz.options import Listener, Options

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)  # the workers import the toys
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TOY_FLAG", str(tmp_path / "flag"))


def options(folder: Path, *names: str, examples: int | None = 12, seed: int | None = 1) -> Options:
    return Options(
        tuple(f"tests.fuzz.toys:{name}" for name in names), None, examples, seed=seed,
        findings=folder / "findings", regressions=folder / "regressions", state=folder / "state",
        limit=1.0, shrinking=3.0,
    )  # fmt: skip


def by_kind(campaign: Campaign) -> dict[str, Finding]:
    return {f"{f.key.target.rpartition(':')[2]} {f.key.kind}": f for f in campaign.findings}


@pytest.mark.nightly
def test_each_way_to_fail_is_a_finding_with_a_file(tmp_path: Path) -> None:
    names = ("FINE", "FAILS", "RAISES", "DIES", "HANGS", "FLAKY", "BROKEN", "EMPTY", "GREEDY")
    campaign = run_campaign(options(tmp_path, *names))
    found = by_kind(campaign)
    assert campaign.ending == "done"
    assert sorted(found) == [
        "BROKEN crash", "DIES died", "EMPTY crash", "FAILS too-large", "FLAKY once", "GREEDY crash", "HANGS hang",
        "RAISES crash",
    ]  # fmt: skip
    assert found["RAISES crash"].key.where == "KeyError in toys.py:_raises"
    assert found["DIES died"].key.where == "SIGSEGV in toys.py:_dies"
    assert found["GREEDY crash"].key.where == "MemoryError in toys.py:_greedy"
    assert found["HANGS hang"].key.where == "toys.py:check"
    assert found["FAILS too-large"].message == "[501, 1000] sums to 1501" and found["FAILS too-large"].times > 1
    assert "[901]" in found["DIES died"].source and "[701]" in found["RAISES crash"].source
    for name, finding in found.items():
        text = Path(finding.file).read_text(encoding="utf-8")
        assert f"Finding: {finding.key.target} | {finding.key.kind} | {finding.key.where}" in text
        assert finding.reproduced is (None if name == "FLAKY once" else True), name
        assert finding.shrunk is (
            name in ("FAILS too-large", "RAISES crash", "GREEDY crash", "DIES died", "HANGS hang")
        ), name
        assert finding.flaky is (name == "FLAKY once")
    assert len(list((tmp_path / "findings").glob("*.py"))) == len(found)
    # A case that kills its process costs no other one: all were checked.
    cases = {name: campaign.tally(f"tests.fuzz.toys:{name}").cases for name in names}
    assert cases == {name: 0 if name == "EMPTY" else 12 for name in names}
    assert campaign.tally("tests.fuzz.toys:FINE").totals["programs"] == 12


class Stops(Listener):
    """Ends the campaign as Ctrl-C does, after some cases."""

    def __init__(self, cases: int) -> None:
        self.cases = cases

    def tick(self, campaign: Campaign) -> None:
        if sum(campaign.tally(name).cases for name in campaign.options.targets) >= self.cases:
            campaign.stop()


def drawn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The cases that were checked since the last call."""
    log = folder / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    monkeypatch.setenv("TOY_LOG", str(log))
    return lines


@pytest.mark.nightly
def test_an_interrupted_run_goes_on_and_one_that_ended_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn(tmp_path, monkeypatch)
    given = options(tmp_path, "SLEEPS", examples=120)
    first = Campaign(given, Stops(30))
    assert first() == "interrupted"
    part = drawn(tmp_path, monkeypatch)
    assert 30 <= len(part) < 120
    second = run_campaign(given)
    rest = drawn(tmp_path, monkeypatch)
    assert second.goes_on and second.ending == "done" and second.state.runs == 1
    # What was counted is not run again; what ran when the worker was stopped is.
    counted = first.tally(given.targets[0]).cases
    assert second.state.tally(given.targets[0]).cases == 120 and len(rest) == 120 - counted
    third = run_campaign(given)
    assert not third.goes_on and third.state.runs == 2 and third.state.tally(given.targets[0]).cases == 240
    whole = drawn(tmp_path, monkeypatch)
    assert part[:counted] + rest == whole
    onwards = run_campaign(replace(given, examples=130, resume=True))
    assert onwards.run.seed == 1 and len(drawn(tmp_path, monkeypatch)) == 10
    fresh = run_campaign(replace(given, examples=10, resume=False))
    assert fresh.state.runs == 1 and drawn(tmp_path, monkeypatch) == whole[:10]


@pytest.mark.nightly
def test_the_cases_do_not_depend_on_the_number_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn(tmp_path, monkeypatch)
    found = []
    for jobs in (1, 2):
        run_campaign(replace(options(tmp_path / str(jobs), "FINE", "FAILS", examples=60), jobs=jobs))
        lines = [line for line in drawn(tmp_path, monkeypatch) if line.startswith("fine")]
        found.append(sorted(lines))
    assert found[0] == found[1] and len(found[0]) == 60


@pytest.mark.nightly
def test_a_finding_is_known_as_long_as_its_file_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = options(tmp_path, "FAILS", examples=10)
    (first,) = run_campaign(given).findings
    assert not first.known
    moved = tmp_path / "regressions" / "test_sums_that_are_too_large.py"
    moved.parent.mkdir()
    Path(first.file).rename(moved)
    campaign = run_campaign(replace(given, seed=2))
    (second,) = campaign.findings
    assert second.known == str(moved) and campaign.reporter.replayed == 1
    assert list((tmp_path / "findings").glob("*.py")) == []
    # Mended, it says, but a case fails in the same way: that is another mistake.
    moved.write_text(moved.read_text().replace("    FAILS.check", "    assert FAILS  # FAILS.check"))
    assert fails(moved, 60) is False
    (third,) = run_campaign(replace(given, seed=3)).findings
    assert not third.known and Path(third.file).parent == tmp_path / "findings"


@pytest.mark.nightly
def test_what_was_interrupted_before_it_was_small_is_made_small_the_next_time(tmp_path: Path) -> None:
    class AtOnce(Listener):
        def tick(self, campaign: Campaign) -> None:
            if campaign.findings:
                campaign.stop()

    given = options(tmp_path, "RAISES", examples=20)
    stopped = Campaign(given, AtOnce())
    stopped()
    (first,) = stopped.findings
    assert "not made smaller" in Path(first.file).read_text() and fails(Path(first.file), 60) is True
    (second,) = run_campaign(given).findings
    assert second.shrunk and second.file == first.file and "[701]" in Path(second.file).read_text()
    assert [path.name for path in (tmp_path / "findings").glob("*.py")] == [Path(first.file).name]


@pytest.mark.nightly
def test_nothing_hangs_on_when_a_campaign_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped while a case that hangs is made smaller, in a process that a worker has started."""
    hanging = tmp_path / "hanging"
    monkeypatch.setenv("TOY_HANGING", str(hanging))

    class Apart(Listener):
        def tick(self, campaign: Campaign) -> None:
            if hanging.exists() and len(set(hanging.read_text().split())) > 1:
                campaign.stop()

    assert Campaign(options(tmp_path, "HANGS", examples=200), Apart())() == "interrupted"

    def nobody() -> bool:
        with contextlib.suppress(BlockingIOError), hanging.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    until = time.monotonic() + 20
    while not nobody() and time.monotonic() < until:
        time.sleep(0.05)
    assert nobody()


def test_a_case_is_made_smaller_for_as_long_as_the_campaign_lasts(tmp_path: Path) -> None:
    campaign, given = Campaign(replace(options(tmp_path, "HANGS"), seconds=30.0)), list[Finish]()
    hand: Any = SimpleNamespace(give=given.append)
    for over in (False, True):
        campaign.reporter.finishing.append(Finish(cast(Any, None), True, seconds=3.0, limit=120.0, known=()))
        assert campaign._give(hand, over)
    assert [(task.left, task.hurry) for task in given] == [(30.0, False), (15.0, True)]


@pytest.mark.nightly
def test_time_is_shared_and_kept(tmp_path: Path) -> None:
    given = replace(options(tmp_path, "FINE", "SLEEPS", examples=None), seconds=4.0)
    campaign = run_campaign(given)
    assert campaign.ending == "done" and 4 <= campaign.elapsed < 4 + 15
    assert all(campaign.tally(name).cases for name in given.targets)
    # Both begin at once; however slow the machine, neither has all the time.
    spent = [campaign.tally(name).seconds for name in given.targets]
    assert min(spent) > 0.1 * max(spent)
