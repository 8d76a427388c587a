"""What workers tell the campaign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from verified_tir.fuzz.cases import Round
from verified_tir.fuzz.failure import Failure, Key


@final
@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted since the last report.

    :param upto: so many cases of the round are done.
    :param cases: of them, since the last report.
    :param seconds: since the last report.
    """

    work: Round
    upto: int
    cases: int
    seconds: float
    totals: Mapping[str, int]
    covered: Mapping[tuple[str, str], int]


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
    """A finding is as small as it gets, and has a test.

    :param known: a file that is about it already, and still fails.
    :param reproduced: whether the test fails; none if it was not run.
    """

    key: Key
    failure: Failure
    choices: bytes
    source: str
    shrunk: bool
    flaky: bool
    reproduced: bool | None
    known: str


Report = Counted | Failed | Done | Replayed | Finished
