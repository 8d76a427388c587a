"""The process that draws and checks cases, and makes those that fail smaller.

It is handed one task after another and answers with reports.  It believes that it may die at any moment: what it knows
is sent at once, and the case that runs is written down first (``running``).
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, assert_never, final

from verified_tir.child.worker import end_with
from verified_tir.fuzz.cases import Enough, Listeners, Round, check, recheck, run_round
from verified_tir.fuzz.failure import Failure, Key, failure_of
from verified_tir.fuzz.finish import Finish, finish
from verified_tir.fuzz.registry import load
from verified_tir.fuzz.reports import Counted, Done, Failed, Finished, Replayed, Report, Tally
from verified_tir.fuzz.running import Journal
from verified_tir.fuzz.sandbox import listen_for_stacks
from verified_tir.fuzz.target import Observed, Target

_REPORT: Final = 0.5
"""Seconds between two reports of what was counted."""
_MEMORY: Final = 2_000_000_000
"""Bytes after which a worker is replaced by a fresh one: solvers and compiled code do not give back all they take."""
_ADDRESSES: Final = 8 << 30
"""Bytes of addresses that a worker may take.  A case that takes more is a finding with a place, and not the end of what
else runs on the machine."""


@final
@dataclass(frozen=True, slots=True)
class RunRound:
    """Draw and check the cases of a round, but not after some time (by ``time.monotonic``)."""

    work: Round
    until: float | None
    known: frozenset[Key]


@final
@dataclass(frozen=True, slots=True)
class Replay:
    """Check cases that failed before, here or on another machine."""

    target: str
    choices: tuple[bytes, ...]


Task = RunRound | Replay | Finish


@final
@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is told when it starts.

    :param journal: the file of the case that runs.
    :param trace: the file for the stack, should the process die.
    :param cache: a folder for compiled code and temporary files, which is the campaign's own.
    :param log: for what cases, and libraries, print.
    """

    journal: Path
    trace: Path
    log: Path
    cache: Path
    path: tuple[str, ...]


def main(setup: Setup, link: Connection) -> None:
    """The life of a worker: it ends when nobody talks to it any more."""
    end_with(os.getppid())
    os.setpgid(0, 0)  # whoever kills this process kills those that it started
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the campaign ends its workers itself
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    said = os.open(setup.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    os.dup2(said, 1)
    os.dup2(said, 2)
    sys.path[:] = setup.path
    os.environ["VTIR_CACHE_DIR"] = str(setup.cache)
    setup.cache.mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = str(setup.cache)  # a worker is killed when it is done, and removes nothing
    os.environ["VTIR_VERDICT_CACHE"] = "off"  # what is proved is proved now
    _limit_memory()
    with setup.trace.open("w") as trace:
        listen_for_stacks(trace)
        worker = Worker(Journal(setup.journal), link)
        try:
            while (task := link.recv()) is not None:
                worker.work(task)
        except (EOFError, BrokenPipeError, ConnectionResetError):  # the campaign is gone
            pass


@dataclass(slots=True)
class Worker:
    """The state of a worker between tasks: targets that were loaded, and what was not reported yet."""

    journal: Journal
    link: Connection
    targets: dict[str, Target[Any]] = field(default_factory=dict)

    def work(self, task: Task) -> None:
        """Do a task; its last report is ``Done``, ``Replayed`` or ``Finished``."""
        match task:
            case RunRound():
                self.round(task)
            case Replay():
                self.replay(task)
            case Finish():
                self.finish(task)
            case _:
                assert_never(task)

    def target(self, name: str) -> Target[Any]:
        """A target by name, loaded once."""
        if name not in self.targets:
            self.targets[name] = load(name)
        return self.targets[name]

    def send(self, report: Report) -> None:
        """Tell the campaign."""
        self.link.send(report)

    def round(self, task: RunRound) -> None:
        """Run a round; its counts are sent now and then."""
        work = task.work
        counting = _Counting(work, self.send)
        known = set(task.known)

        def failed(failure: Failure, choices: bytes, index: int) -> None:
            new = failure.key not in known
            known.add(failure.key)
            counting.send()  # the case is counted, whatever becomes of the process
            self.send(Failed(failure if new else _short(failure), choices if new else b"", work, index))

        ended, trouble = False, None
        try:
            target = self.target(work.target)
            listeners = Listeners(self.journal, failed, counting.passed, task.until)
            ended = run_round(target, work, counting.observed, listeners)
        except Enough:
            pass
        except Exception as error:  # the strategy draws nothing, or not the same twice
            trouble = failure_of(work.target, error)
        counting.send()
        self.send(Done(work, ended, trouble, _memory() > _MEMORY))

    def replay(self, task: Replay) -> None:
        """Check old cases; those that pass now are of no use any more."""
        target = self.target(task.target)

        def checked(case: Any, choices: bytes) -> Failure | None:
            self.journal.checking(task.target, choices)
            return check(target, task.target, case, Observed())

        for choices in task.choices:
            try:
                self.journal.drawing(task.target)
                failure = recheck(target, choices, checked)
            except Exception as error:
                failure = failure_of(task.target, error)
            self.journal.idle()
            self.send(Replayed(task.target, choices, failure))
        self.send(Replayed(task.target, None, None))

    def finish(self, task: Finish) -> None:
        """Make a case smaller, and a test of it."""

        def other(failure: Failure, choices: bytes) -> None:
            self.send(Failed(failure, choices, Round(task.key.target, task.finding.seed, -1, 0), -1))

        try:
            self.send(Finished(finish(self.target(task.key.target), task, self.journal, other)))
        finally:
            self.journal.idle()


@final
class _Counting:
    """What a round counted and did not report yet."""

    def __init__(self, work: Round, send: Callable[[Report], None]) -> None:
        self.observed = Observed()
        self._work = work
        self._send = send
        self._drawn = work.skip
        self._sent = work.skip
        self._last = time.monotonic()

    def passed(self, drawn: int) -> None:
        """So many cases of the round are done."""
        self._drawn = drawn
        if time.monotonic() - self._last >= _REPORT:
            self.send()

    def send(self) -> None:
        """Report now."""
        now, seen = time.monotonic(), self.observed
        tally = Tally(self._drawn - self._sent, now - self._last, 0, seen.totals, seen.covered)
        self._send(Counted(self._work, self._drawn, tally))
        seen.totals, seen.covered = Counter(), Counter()
        self._sent, self._last = self._drawn, now


def _limit_memory() -> None:
    with contextlib.suppress(ValueError, OSError):  # less is allowed anyway, or the system has no such limit
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, hard))


def _short(failure: Failure) -> Failure:
    return Failure(failure.key, "", "")


def _memory() -> int:
    """The most memory that this process had, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
