"""What a campaign did, on disk: totals, coverage, seeds, findings, and where to go on.

One JSON object, written as a whole every few seconds, with every finding, and at the end.  A crash costs the seconds
since then: counts and places are of one moment.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

from verified_tir.fuzz.failure import Key
from verified_tir.fuzz.findings import Finding, write
from verified_tir.fuzz.reports import Tally

SCHEMA: Final = 2


@final
class StateInUse(RuntimeError):
    """Another campaign is running with this state."""


@final
class BadState(ValueError):
    """The file is not the state of a campaign, or that of another version."""


@final
@dataclass(slots=True)
class Place:
    """Where a target is in the sequence of its rounds.

    :param following: the number of the next round.
    :param open: rounds that were begun and not finished, and how many of their cases are done.
    """

    following: int = 0
    open: dict[int, int] = field(default_factory=dict)

    @property
    def checked(self) -> bool:
        """Whether some case was drawn."""
        return self.following > len(self.open) or any(self.open.values())

    def reached(self, turn: int, upto: int) -> None:
        """Note that so many cases of a round are done."""
        self.open[turn] = max(self.open.get(turn, 0), upto)


@final
@dataclass(slots=True)
class Run:
    """One run of the command, as it was begun.

    :param command: the options that decide what is run; a run goes on only if they are the same.
    :param elapsed: seconds that it had run when it was last heard of.
    :param ended: whether it came to its end.
    """

    seed: int
    command: dict[str, Any]
    elapsed: float = 0.0
    ended: bool = False
    places: dict[str, Place] = field(default_factory=dict)

    def place(self, target: str) -> Place:
        """Where a target is."""
        return self.places.setdefault(target, Place())

    def as_record(self) -> dict[str, Any]:
        """As JSON."""
        places = {name: [place.following, sorted(place.open.items())] for name, place in self.places.items()}
        return {**{name: getattr(self, name) for name in self.__slots__}, "places": places}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Run:
        """From what ``as_record`` gave."""
        places = {name: Place(following, dict(open_)) for name, (following, open_) in record["places"].items()}
        return cls(**{**record, "places": places})


class State:
    """The state in a folder.

    :ivar tallies: what was counted of each target in all runs; ``now``: by this process.
    :raises StateInUse: if another campaign has it.
    :raises BadState: if the file is something else.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.path = folder / "campaign.json"
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder / "lock")
        self.tallies: dict[str, Tally] = {}
        self.now: dict[str, Tally] = {}
        self.findings: dict[Key, Finding] = {}
        self.runs = 0
        self.seconds = 0.0
        self.last: Run | None = None
        try:
            if not fresh and self.path.exists():
                self._read()
            self._save()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._lock)

    def tally(self, target: str) -> Tally:
        """What was counted of a target in all runs."""
        return self.tallies.setdefault(target, Tally())

    def tally_now(self, target: str) -> Tally:
        """What was counted of a target by this process."""
        return self.now.setdefault(target, Tally())

    # -- what happened ------------------------------------------------------------------------------------------------

    def begin(self, run: Run, *, goes_on: bool) -> None:
        """A run begins, or goes on."""
        self.last = run
        self.runs += not goes_on
        self._save()

    def count(self, target: str, tally: Tally) -> None:
        """Count something; it is written with what comes next."""
        for each in (self.tally(target), self.tally_now(target)):
            each.add(tally)

    def found(self, finding: Finding) -> None:
        """A finding is new, or more is known about it."""
        self.findings[finding.key] = finding
        self._save()

    def keep(self, elapsed: float, *, ended: bool = False) -> None:
        """Write down what was counted, and where the targets are."""
        assert self.last is not None
        self.seconds += elapsed - self.last.elapsed
        self.last.elapsed, self.last.ended = elapsed, ended
        self._save()

    # -- the file -----------------------------------------------------------------------------------------------------

    def _save(self) -> None:
        record = {
            "schema": SCHEMA,
            "runs": self.runs,
            "seconds": self.seconds,
            "tallies": {name: tally.as_record() for name, tally in self.tallies.items()},
            "findings": [finding.as_record() for finding in self.findings.values()],
            "last": self.last and self.last.as_record(),
        }
        write(self.path, json.dumps(record, ensure_ascii=False) + "\n")

    def _read(self) -> None:
        try:
            record = json.loads(self.path.read_bytes())
            if record["schema"] != SCHEMA:
                raise ValueError(record["schema"])
            self.runs, self.seconds = record["runs"], record["seconds"]
            self.tallies = {name: Tally.from_record(tally) for name, tally in record["tallies"].items()}
            self.findings = {f.key: f for f in map(Finding.from_record, record["findings"])}
            self.last = record["last"] and Run.from_record(record["last"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadState(f"{self.path} is not the state of a campaign of this version; --fresh starts anew") from None


def new_seed() -> int:
    """A seed that nobody chose; short enough to be typed."""
    return secrets.randbelow(10**9)


def _locked(path: Path) -> int:
    """An open file that only one process can have; the lock goes with the process."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise StateInUse(
            f"another campaign is using {path.parent}; wait for it, or give this one its own with --state"
        ) from None
    return file
