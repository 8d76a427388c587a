"""The enumeration at length: hours, with its progress on the screen and in a file from which it goes on when stopped.

    python -m tests.kernel.exhaustive.campaign --programs 1000000 --log proofs/exhaustive.jsonl

The families take turns, so that each is covered evenly from the start; with ``--jobs`` several have theirs at a time.
The log begins with a hash of the kernel's code.  After each part of a family one line of JSON is appended to it: the
family, the turns, the counts, the findings; at the end the lines of each family are added up.  The same command later
reads the log and does the rest, if the kernel is the same; the turns of a family do not depend on ``--programs``, nor
on ``--jobs``, so that these may be others then.  Ends with 1 if something was found, and prints it; with 2 if the log
is of another kernel.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.kernel.exhaustive.family import Exploration, Report
from tests.mutation.trusted import kernel_digest
from tests.rules.families import BY_NAME, FAMILIES
from verified_tir.ir.collector import seldom_collected

ROOT = Path(__file__).resolve().parents[3]
PART = 100
"""How many turns a family has before the next one's."""
REFUSALS = 50
"""Every how many refusals one is looked at."""
PAUSE = 10.0
"""Seconds between two lines of progress."""
COUNTS = ("programs", "meaningless", "applications", "accepted", "refused", "unmatched", "looked_at", "harmless")


def shares(total: int) -> dict[str, int]:
    """How many programs of each family: equal shares, what a small family leaves going to the others."""
    left, found = total, {}
    ordered = sorted(FAMILIES, key=lambda f: f.size)
    for k, family in enumerate(ordered):
        share = min(family.size, left // (len(ordered) - k))
        found[family.name] = share
        left -= share
    return found


def main() -> int:
    """Run or go on with a campaign."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--programs", type=int, default=1_000_000, help="how many combinations over all families")
    parser.add_argument("--log", type=Path, default=Path("exhaustive.jsonl"), help="what was done, line by line")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    wanted = parser.parse_args()
    try:
        campaign = Campaign(shares(wanted.programs), wanted.log)
    except OtherKernel:
        print(f"{wanted.log} is about another kernel; remove it, or give another --log", file=sys.stderr)
        return 2
    try:
        campaign.run(wanted.minutes * 60, wanted.jobs)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
    campaign.keep()
    return campaign.summary()


class OtherKernel(ValueError):
    """A log that says nothing of the kernel as it is."""


class Campaign:
    """Families with the turns that each has had and shall have, and the sums so far."""

    def __init__(self, wanted: dict[str, int], log: Path, kernel: str | None = None) -> None:
        """:raises OtherKernel: if the log is of another one."""
        self.wanted, self.log = wanted, log
        self.kernel = kernel or kernel_digest(ROOT)
        self.families = BY_NAME
        self.done: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.rules: Counter[str] = Counter()
        self.findings: list[str] = []
        self.records: dict[str, dict[str, Any]] = {}
        if log.exists():
            first, *records = map(json.loads, log.read_text().splitlines())
            if first != {"kernel": self.kernel}:
                raise OtherKernel(log)
            for record in records:
                self._add(record)
        else:
            log.write_text(json.dumps({"kernel": self.kernel}) + "\n")

    def _add(self, record: dict[str, Any]) -> None:
        name = record["family"]
        self.records[name] = _sum(self.records[name], record) if name in self.records else record
        self.done[name] = max(self.done[name], record["to"])
        self.counts.update({c: record[c] for c in COUNTS})
        self.rules.update(record["rules"])
        self.findings += [f"{name} {text}" for text in (*record["unsound"], *record["crashes"])]

    def run(self, seconds: float, jobs: int = 1) -> None:
        """All turns that are left, or as many as the time allows; a family has one part at a time under way."""
        end, clock = time.monotonic() + seconds, _Clock(self._turns())
        with ProcessPoolExecutor(jobs, get_context("fork"), signal.signal, (signal.SIGINT, signal.SIG_IGN)) as workers:
            running: dict[Future[dict[str, Any]], str] = {}
            waiting = deque(name for name in self.families if self.done[name] < self.wanted[name])
            while running or (waiting and time.monotonic() < end):
                while waiting and len(running) < jobs and time.monotonic() < end:
                    name = waiting.popleft()
                    running[workers.submit(explored, *self.next_part(name))] = name
                for part in wait(running, return_when=FIRST_COMPLETED).done:
                    name = running.pop(part)
                    self.add(part.result())
                    if self.done[name] < self.wanted[name]:
                        waiting.append(name)
                if clock.is_time():
                    self.progress(clock.rate(self._turns()))

    def next_part(self, name: str) -> tuple[str, int, int, int]:
        """The family, how many turns it shall have, and which of them are next."""
        first, limit = self.done[name], self.wanted[name]
        return name, limit, first, min(first + PART, limit)

    def add(self, record: dict[str, Any]) -> None:
        """What one part has shown."""
        with self.log.open("a") as log:
            log.write(json.dumps(record) + "\n")
        self._add(record)

    def keep(self) -> None:
        """Write the log anew, with one line for each family."""
        lines = [{"kernel": self.kernel}, *(self.records[name] for name in sorted(self.records))]
        self.log.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def _turns(self) -> int:
        return sum(self.done.values())

    def progress(self, rate: float) -> None:
        """One line for people; ``rate`` in turns a second."""
        left = sum(max(0, n - self.done[name]) for name, n in self.wanted.items())
        c = self.counts
        print(
            f"{self._turns()} of {sum(self.wanted.values())} turns, {rate:.0f} a second, "
            f"{left / max(rate, 1e-9) / 60:.0f} minutes left; {c['programs']} programs, {c['applications']} "
            f"applications: {c['accepted']} accepted, {c['refused']} refused; {len(self.findings)} findings",
            flush=True,
        )

    def summary(self) -> int:
        """All counts, the acceptances of each rule, the findings; 1 if there are any."""
        print(", ".join(f"{c} {self.counts[c]}" for c in COUNTS))
        print("accepted: " + ", ".join(f"{name} {count}" for name, count in self.rules.most_common()))
        for finding in self.findings:
            print(f"\n{finding}")
        return 1 if self.findings else 0


def _sum(one: dict[str, Any], next_: dict[str, Any]) -> dict[str, Any]:
    """What two parts of a family say together, of which the second goes on where the first one ends."""
    rules = Counter(one["rules"]) + Counter(next_["rules"])
    added = {key: one[key] + next_[key] for key in (*COUNTS, "unsound", "crashes")}
    return {**one, "to": next_["to"], **added, "rules": dict(sorted(rules.items()))}


@dataclass(slots=True)
class _Clock:
    """When the next line is due, and how fast it goes."""

    first: int
    start: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)

    def is_time(self) -> bool:
        now = time.monotonic()
        due = now - self.last >= PAUSE
        self.last = now if due else self.last
        return due

    def rate(self, turns: int) -> float:
        """Turns a second."""
        return (turns - self.first) / (time.monotonic() - self.start)


_explorations: dict[str, Exploration] = {}
"""Of this process, by family."""


@seldom_collected()
def explored(name: str, limit: int, first: int, last: int) -> dict[str, Any]:
    """What some turns of a family show, as a line for the log."""
    if first == 0 or name not in _explorations:
        _explorations[name] = Exploration(BY_NAME[name], limit, look_at_refusals=REFUSALS)
    report = _explorations[name].advance(first, last)
    return {"family": name, "from": first, "to": last, **as_record(report)}


def as_record(report: Report) -> dict[str, Any]:
    """What a report says, for the log."""
    return {
        **{c: getattr(report, c) for c in COUNTS},
        "rules": dict(report.accepted_rules),
        "unsound": report.unsound,
        "crashes": report.crashes,
    }


if __name__ == "__main__":
    sys.exit(main())
