"""What a campaign did, on disk: totals, coverage, seeds, findings, and where to go on.

One JSON object a line.  Lines are appended, each by one write; a line that was cut short, by a crash say, is ignored.
When a campaign begins, the lines of earlier ones are replaced by their sum, in one step.
"""

from __future__ import annotations

import json
import os
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

from verified_tir.fuzz.cases import Round
from verified_tir.fuzz.failure import Key
from verified_tir.fuzz.findings import Finding, write
from verified_tir.fuzz.reports import Counted

SCHEMA: Final = 1


@final
class StateInUse(RuntimeError):
    """Another campaign is running with this state."""


@final
class BadState(ValueError):
    """The file is not the state of a campaign, or that of another version."""


@final
@dataclass(slots=True)
class Tally:
    """What was counted of one target.

    :param cases: checked.
    :param seconds: of work, in all processes together.
    :param failed: cases that failed, however often for the same reason.
    """

    cases: int = 0
    seconds: float = 0.0
    failed: int = 0
    totals: Counter[str] = field(default_factory=Counter)
    covered: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, counted: Counted) -> None:
        """Count a report of a worker."""
        self.cases += counted.cases
        self.seconds += counted.seconds
        self.totals.update(counted.totals)
        self.covered.update(counted.covered)

    def as_record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "cases": self.cases,
            "seconds": round(self.seconds, 3),
            "failed": self.failed,
            "totals": dict(self.totals),
            "covered": [[group, name, count] for (group, name), count in sorted(self.covered.items())],
        }

    def add_record(self, record: Mapping[str, Any]) -> None:
        """Count what ``as_record`` gave."""
        self.cases += record["cases"]
        self.seconds += record["seconds"]
        self.failed += record["failed"]
        self.totals.update(record["totals"])
        self.covered.update({(group, name): count for group, name, count in record["covered"]})


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


class State:
    """The state in a folder.

    :raises StateInUse: if another campaign has it.
    :raises BadState: if the file is something else.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder = folder
        self.path = folder / "campaign.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder / "lock")
        self.tallies: dict[str, Tally] = {}
        self.findings: dict[Key, Finding] = {}
        self.runs = 0
        self.seconds = 0.0
        self.last: Run | None = None
        if not fresh and self.path.exists():
            try:
                self._read()
            except BadState:
                os.close(self._lock)
                raise
        write(self.path, "".join(line + "\n" for line in self._summed()))
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND)

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._file)
        os.close(self._lock)

    def tally(self, target: str) -> Tally:
        """What was counted of a target in all runs."""
        return self.tallies.setdefault(target, Tally())

    # -- what happened ------------------------------------------------------------------------------------------------

    def begin(self, run: Run, *, goes_on: bool) -> None:
        """A run begins, or goes on."""
        self.last = run
        self.runs += not goes_on
        self._append({"record": "run", **_run_record(run), "new": not goes_on})

    def counted(self, target: str, tally: Tally, elapsed: float) -> None:
        """What was counted since the last time, already part of ``tally(target)``, and where the target is."""
        assert self.last is not None
        self._pass(elapsed)
        self._append(
            {
                "record": "counted",
                "target": target,
                **tally.as_record(),
                "place": _place_record(self.last.place(target)),
                "elapsed": round(elapsed, 3),
            }
        )

    def found(self, finding: Finding) -> None:
        """A finding is new, or more is known about it."""
        self.findings[finding.key] = finding
        self._append({"record": "finding", **finding.as_record()})

    def end(self, elapsed: float, *, ended: bool) -> None:
        """The run is over, or interrupted."""
        assert self.last is not None
        self._pass(elapsed)
        self.last.ended = ended
        self._append({"record": "end", "elapsed": round(elapsed, 3), "ended": ended})

    def _pass(self, elapsed: float) -> None:
        assert self.last is not None
        self.seconds += elapsed - self.last.elapsed
        self.last.elapsed = elapsed

    # -- lines --------------------------------------------------------------------------------------------------------

    def _append(self, record: dict[str, Any]) -> None:
        os.write(self._file, (json.dumps(record, ensure_ascii=False) + "\n").encode())

    def _summed(self) -> list[str]:
        records: list[dict[str, Any]] = [
            {"record": "campaign", "schema": SCHEMA, "runs": self.runs, "seconds": round(self.seconds, 3)},
            *({"record": "tally", "target": name, **tally.as_record()} for name, tally in self.tallies.items()),
            *({"record": "finding", **finding.as_record()} for finding in self.findings.values()),
            *([{"record": "last", **_run_record(self.last)}] if self.last is not None else []),
        ]
        return [json.dumps(record, ensure_ascii=False) for record in records]

    def _read(self) -> None:
        lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        try:
            head = json.loads(lines[0]) if lines else {}
        except ValueError:
            head = {}
        if not isinstance(head, dict) or head.get("schema") != SCHEMA:
            raise BadState(f"{self.path} is not the state of a campaign of this version; --fresh starts anew")
        self.runs, self.seconds = head["runs"], head["seconds"]
        for number, line in enumerate(lines[1:], start=2):
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError, AssertionError):
                if number < len(lines):  # only the last one may have been cut short
                    raise BadState(f"{self.path}: line {number} cannot be read; --fresh starts anew") from None

    def _take(self, record: dict[str, Any]) -> None:
        match record["record"]:
            case "tally":
                self.tally(record["target"]).add_record(record)
            case "run" | "last":
                self.runs += bool(record.get("new"))
                self.last = _run_of(record)
            case "counted":
                assert self.last is not None
                self.tally(record["target"]).add_record(record)
                self.last.places[record["target"]] = _place_of(record["place"])
                self._pass(record["elapsed"])
            case "finding":
                finding = Finding.from_record(record)
                self.findings[finding.key] = finding
            case "end":
                assert self.last is not None
                self._pass(record["elapsed"])
                self.last.ended = record["ended"]
            case other:
                raise ValueError(f"no such record: {other}")


def new_seed() -> int:
    """A seed that nobody chose; short enough to be typed."""
    return secrets.randbelow(10**9)


def _run_record(run: Run) -> dict[str, Any]:
    return {
        "seed": run.seed,
        "command": run.command,
        "elapsed": round(run.elapsed, 3),
        "ended": run.ended,
        "places": {name: _place_record(place) for name, place in run.places.items()},
    }


def _run_of(record: Mapping[str, Any]) -> Run:
    places = {name: _place_of(place) for name, place in record["places"].items()}
    return Run(record["seed"], record["command"], record["elapsed"], record["ended"], places)


def _place_record(place: Place) -> list[Any]:
    return [place.following, sorted(place.open.items())]


def _place_of(record: Sequence[Any]) -> Place:
    following, unfinished = record
    return Place(following, dict(unfinished))


def begun(place: Place, work: Round, upto: int) -> None:
    """Note that so many cases of a round are done."""
    place.open[work.turn] = max(place.open.get(work.turn, 0), upto)


def _locked(path: Path) -> int:
    """An open file that only one process can have; the lock goes with the process."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # not a Unix: nothing keeps two campaigns apart
        pass
    except OSError:
        os.close(file)
        raise StateInUse(
            f"another campaign is using {path.parent}; wait for it, or give this one its own with --state"
        ) from None
    return file
