"""What workers tell the campaign."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, final

from verified_tir.fuzz.cases import Round
from verified_tir.fuzz.failure import Failure
from verified_tir.fuzz.findings import Finding


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

    def add(self, other: Tally) -> None:
        """Count what another one has."""
        self.cases += other.cases
        self.seconds += other.seconds
        self.failed += other.failed
        self.totals.update(other.totals)
        self.covered.update(other.covered)

    def as_record(self) -> dict[str, Any]:
        """As JSON."""
        covered = [[*what, times] for what, times in sorted(self.covered.items())]
        return {**{name: getattr(self, name) for name in self.__slots__}, "covered": covered}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Tally:
        """From what ``as_record`` gave."""
        covered = Counter({(group, name): times for group, name, times in record["covered"]})
        return cls(**{**record, "totals": Counter(record["totals"]), "covered": covered})


@final
@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted since the last report.

    :param upto: so many cases of the round are done.
    """

    work: Round
    upto: int
    tally: Tally


@final
@dataclass(frozen=True, slots=True)
class Failed:
    """A case failed; without choices and message if such a failure is known."""

    failure: Failure
    choices: bytes
    work: Round
    index: int


@final
@dataclass(frozen=True, slots=True)
class Done:
    """A round is over.

    :param ended: whether all its cases were drawn.
    :param trouble: why nothing could be drawn.
    :param tired: the worker wants to be replaced.
    """

    work: Round
    ended: bool
    trouble: Failure | None
    tired: bool


@final
@dataclass(frozen=True, slots=True)
class Replayed:
    """An old case was checked again; ``choices`` is none after the last one."""

    target: str
    choices: bytes | None
    failure: Failure | None


@final
@dataclass(frozen=True, slots=True)
class Finished:
    """A finding is as small as it gets, and has a test; or it is known."""

    finding: Finding


Report = Counted | Failed | Done | Replayed | Finished
