"""What a campaign shows while it runs: a table that changes on a terminal, otherwise a line now and then."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final, final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from verified_tir.cli.fuzz_report import COLUMNS, coverage_line, finding_line, header, row, total, universe
from verified_tir.durations import clock
from verified_tir.fuzz.campaign import Campaign
from verified_tir.fuzz.findings import Finding
from verified_tir.fuzz.options import Listener
from verified_tir.fuzz.target import Target
from verified_tir.fuzz.worker import Replay, RunRound

_EVERY: Final = 10.0
"""Seconds between two lines, at first; later lines are further apart."""
_SLOWEST: Final = 60.0
_FEW: Final = ("primitive", "rule", "pass")
"""Groups whose coverage is in every line; the others are in the summary."""
_NARROW: Final = 100


def first_line(campaign: Campaign) -> str:
    """What is going to be run."""
    options = campaign.options
    long = "" if options.seconds is None else f", {clock(options.seconds)}"
    many = "" if options.examples is None else f", {options.examples:,} examples each"
    workers = "1 worker" if options.jobs == 1 else f"{options.jobs} workers"
    goes_on = f"; goes on at {clock(campaign.elapsed)}" if campaign.goes_on else ""
    return f"{', '.join(options.targets)}: {workers}{long}{many}, seed {campaign.run.seed}{goes_on}"


def time_line(campaign: Campaign) -> str:
    """How long it has been running, and how long it will."""
    left = campaign.left
    return clock(campaign.elapsed) + ("" if left is None else f", {clock(left)} left")


@final
class Lines(Listener):
    """For files and pipes: findings at once, and a line about the rest now and then.

    :param targets: those that are run; ``absent``: those that are not, and why.
    """

    def __init__(self, targets: Mapping[str, Target[Any]], absent: Mapping[str, str], *, progress: bool = True) -> None:
        self._absent = absent
        self._universe = universe(targets)
        self._progress = progress
        self._last = time.monotonic()
        self._every = _EVERY

    def begins(self, campaign: Campaign) -> None:
        if self._progress:
            print(first_line(campaign), flush=True)
            for reason in self._absent.values():
                print(f"not run: {reason}", flush=True)

    def tick(self, campaign: Campaign) -> None:
        now = time.monotonic()
        if not self._progress or now - self._last < self._every:
            return
        self._last, self._every = now, min(_SLOWEST, self._every * 1.25)
        names = campaign.options.targets
        cells = total([campaign.tally(name) for name in names], campaign.worked)
        counts = ", ".join(
            f"{cell} {name}" for cell, name in zip(cells[2:-2], COLUMNS, strict=True) if cell
        )  # the counts between the cases and the rate
        covered = coverage_line(self._universe, campaign.state.tallies, _FEW)
        print(
            f"{time_line(campaign)}: {cells[1]} cases, {counts or 'nothing counted'}, {cells[-2]} a minute; "
            f"{len(campaign.findings)} findings" + (f"; {covered}" if covered else ""),
            flush=True,
        )

    def found(self, finding: Finding) -> None:
        if self._progress:
            print(f"found: {finding.key}; making it smaller", flush=True)

    def finished(self, finding: Finding) -> None:
        print(f"finding: {finding_line(finding)}", flush=True)

    def note(self, text: str) -> None:
        print(f"note: {text}", flush=True)


@final
class Screen(Listener):
    """For a terminal: a table that is kept up to date, and gone when the campaign ends; findings stay above it."""

    def __init__(self, targets: Mapping[str, Target[Any]], absent: Mapping[str, str]) -> None:
        self._absent = absent
        self._universe = universe(targets)
        self._console = Console(highlight=False)
        self._live = Live(console=self._console, transient=True, refresh_per_second=4, redirect_stdout=False)

    def begins(self, campaign: Campaign) -> None:
        self._console.print(first_line(campaign), markup=False)
        for reason in self._absent.values():
            self._console.print(f"not run: {reason}", style="yellow", markup=False)
        self._live.start()

    def ends(self) -> None:
        self._live.stop()

    def tick(self, campaign: Campaign) -> None:
        self._live.update(self._picture(campaign))

    def _picture(self, campaign: Campaign) -> Group:
        gap = 2 if self._console.width > _NARROW else 1
        table = Table(box=None, padding=(0, gap, 0, 0), header_style="dim")
        for number, name in enumerate(header()):
            table.add_column(name, justify="right" if number else "left", no_wrap=number == 0)
        names = campaign.options.targets
        for name in names:
            table.add_row(*row(name, campaign.tally(name)))
        if len(names) > 1:
            table.add_row(*total([campaign.tally(name) for name in names], campaign.worked), style="bold")
        line = Text(f"{time_line(campaign)}; {len(campaign.findings)} findings", style="bold")
        covered = coverage_line(self._universe, campaign.state.tallies)
        doing = Text("; ".join(_doing(campaign)), style="dim")
        return Group(line, table, *([Text(f"coverage, all runs: {covered}")] if covered else []), doing)

    def found(self, finding: Finding) -> None:
        self._live.console.print(f"found: {finding.key}; making it smaller", style="yellow", markup=False)

    def finished(self, finding: Finding) -> None:
        self._live.console.print(f"finding: {finding_line(finding)}", style="red", markup=False)

    def note(self, text: str) -> None:
        self._live.console.print(f"note: {text}", style="yellow", markup=False)


def _doing(campaign: Campaign) -> list[str]:
    """What each worker is doing."""
    words = []
    for number, hand in enumerate(campaign.hands, start=1):
        match hand.task:
            case None:
                words.append(f"worker {number} has nothing to do")
            case RunRound(work=work):
                words.append(f"worker {number}: {work.target}, round {work.turn}")
            case Replay(target=target):
                words.append(f"worker {number} replays {target}")
            case task:
                words.append(f"worker {number} makes {task.key} smaller")
    return words
