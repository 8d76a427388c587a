"""Workers on other machines: a task is a call that an executor makes there.

There a worker of :mod:`verified_tir.fuzz.pool` does the task, is watched, and replaced if it dies; what it reports
comes back when the task is done.  A call that is lost with its machine has reported nothing: it is made again, with the
same cases.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, final

from verified_tir.fuzz.finish import Finish
from verified_tir.fuzz.pool import Death, Hand, wait_for
from verified_tir.fuzz.reports import Done, Finished, Replayed, Report
from verified_tir.fuzz.running import crowding
from verified_tir.fuzz.worker import RunRound, Task

_TICK: Final = 0.2

Outcome = tuple[list[Report], Death | None]


@final
class FarHand:
    """A worker somewhere else, and what it is doing; to a campaign it is like a :class:`Hand`.

    :param hash_seed: makes the order of sets the same for a seed.
    :param limit: seconds for one case.
    """

    def __init__(self, executor: Executor, hash_seed: int, limit: float) -> None:
        self._executor, self._hash_seed, self._limit = executor, hash_seed, limit
        self.task: Task | None = None
        self.future: Future[Outcome] | None = None
        self._death: Death | None = None

    def give(self, task: Task) -> None:
        """Let it work."""
        left = None
        if isinstance(task, RunRound) and task.until is not None:  # clocks of other machines show other times
            left = max(0.0, task.until - time.monotonic())
        self.task = task
        self.future = self._executor.submit(work_here, Path.cwd(), task, left, self._hash_seed, self._limit)

    def reports(self) -> Iterator[Report]:
        """What it has said: all of it when the task is done."""
        self._look()
        if self.future is not None and self.future.done():
            future, self.future = self.future, None
            yield from _outcome(future)[0]

    @property
    def alive(self) -> bool:
        """Whether it has not died of its task."""
        self._look()
        return self._death is None

    @property
    def heard(self) -> float:
        """Now: it is watched where it works."""
        return time.monotonic()

    def late(self, limit: float) -> bool:
        """Never here: it is stopped where it works."""
        return False

    def death(self, *, hung: bool) -> Death:
        """How it ended."""
        assert self._death is not None
        return self._death

    def replace(self) -> None:
        """Have nothing more to do with its task."""
        self.end()
        self.future, self._death = None, None

    def end(self) -> None:
        """Make the call not any more, if it has not begun."""
        if self.future is not None:
            self.future.cancel()

    def _look(self) -> None:
        if self.future is not None and self.future.done():
            self._death = _outcome(self.future)[1]


def _outcome(future: Future[Outcome]) -> Outcome:
    if future.cancelled():
        return [], None
    problem = future.exception()
    if problem is not None:
        return [], Death(0, False, None, "", f"{type(problem).__name__}: {problem}")
    return future.result()


def work_here(folder: Path, task: Task, left: float | None, hash_seed: int, limit: float) -> Outcome:
    """What a worker of this machine reports of a task, and its death if it dies of it.

    :param left: seconds of a round.
    """
    hand = _hand(folder, hash_seed)
    if isinstance(task, RunRound):
        task = replace(task, until=None if left is None else time.monotonic() + left)
    hand.give(task)
    said: list[Report] = []
    while True:
        dead = not hand.alive
        said += hand.reports()
        if said and _ends(said[-1]):
            if isinstance(said[-1], Done) and said[-1].tired:
                hand.replace()
            return said, None
        quiet = limit * crowding() * 6 + 300 + (task.seconds if isinstance(task, Finish) else 0.0)
        hung = hand.late(limit) or time.monotonic() - hand.heard > quiet
        if dead or hung:
            death = hand.death(hung=not dead)
            hand.replace()
            return said, death
        wait_for([hand], _TICK)


@cache
def _hand(folder: Path, hash_seed: int) -> Hand:
    """The worker of this process, which works in the campaign's folder: sources and targets are there."""
    os.chdir(folder)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return Hand(Path(tempfile.mkdtemp(prefix="vtir-fuzz-")), 0, hash_seed)


def _ends(report: Report) -> bool:
    return isinstance(report, Done | Finished) or (isinstance(report, Replayed) and report.choices is None)
