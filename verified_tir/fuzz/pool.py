"""Worker processes: started, watched, and ended.

Processes are spawned, not forked, so that each begins clean.  One that dies, or whose case takes too long, leaves the
case and its stack in files.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from verified_tir.fuzz import running, worker
from verified_tir.fuzz.reports import Report
from verified_tir.fuzz.running import Running
from verified_tir.fuzz.worker import Setup, Task

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

_DUMP: Final = 0.5
_ENDING: Final = 2.0
_SAID: Final = 12


@final
@dataclass(frozen=True, slots=True)
class Death:
    """How a worker ended.

    :param number: the signal that killed it, or minus its exit code.
    :param hung: it was stopped because its case took too long.
    :param case: what it was doing; nothing if it had not begun.
    :param trace: its stack, if it could be written.
    :param said: the last lines that it printed.
    """

    number: int
    hung: bool
    case: Running | None
    trace: str
    said: str


@final
class Hand:
    """One worker, and what it is doing.

    :param folder: for its files.
    :param hash_seed: makes the order of sets the same for a seed.
    """

    def __init__(self, folder: Path, number: int, hash_seed: int) -> None:
        self._setup = Setup(
            folder / f"worker-{number}.case",
            folder / f"worker-{number}.stack",
            folder / f"worker-{number}.log",
            folder / f"worker-{number}.cache",
            tuple(sys.path),
        )
        self._hash_seed = hash_seed
        self.task: Task | None = None
        self.heard = 0.0
        """When it was last given something, or said something, by ``time.monotonic``."""
        self._start()

    def _start(self) -> None:
        self._setup.journal.parent.mkdir(parents=True, exist_ok=True)
        # What an earlier worker of this number left must not be taken for this one's.
        self._setup.journal.unlink(missing_ok=True)
        shutil.rmtree(self._setup.cache, ignore_errors=True)
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        self.link: Connection = here
        self.process: SpawnProcess = context.Process(target=worker.main, args=(self._setup, there), daemon=True)
        with _environment(PYTHONHASHSEED=str(self._hash_seed)), _interrupts_held_back():
            self.process.start()
        there.close()

    def replace(self) -> None:
        """A fresh process instead of this one."""
        self.end()
        self._start()

    def give(self, task: Task) -> None:
        """Let it work; it may be dead, which shows later."""
        self.task, self.heard = task, time.monotonic()
        with contextlib.suppress(OSError):
            self.link.send(task)

    def reports(self) -> Iterator[Report]:
        """What it has said and was not heard yet."""
        try:
            while self.link.poll():
                report: Report = self.link.recv()
                self.heard = time.monotonic()
                yield report
        except (EOFError, OSError):
            return

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self.process.is_alive()

    def late(self, limit: float) -> bool:
        """Whether its case has been running for longer than that many seconds of a machine that is not crowded."""
        case = running.read(self._setup.journal)
        if case is None or case.phase == "idle":
            return False
        return time.monotonic() - case.since > limit * running.crowding()

    def death(self, *, hung: bool) -> Death:
        """How it ended; it is stopped first if it hangs."""
        if hung and self.process.pid is not None:
            with contextlib.suppress(OSError):
                os.kill(self.process.pid, signal.SIGUSR1)
            time.sleep(_DUMP)
        if hung:
            self._kill()
        self.process.join()
        code = self.process.exitcode or 0
        said = "\n".join(_text(self._setup.log).splitlines()[-_SAID:])
        return Death(-code, hung, running.read(self._setup.journal), _text(self._setup.trace), said)

    def end(self) -> None:
        """Stop it, whatever it is doing."""
        self._kill()
        self.process.join(_ENDING)
        self.link.close()

    def _kill(self) -> None:
        """Kill the process and those that it started, which are of its group: a case that hangs may be one of them."""
        if self.process.pid is not None and self.process.is_alive():
            with contextlib.suppress(ProcessLookupError):  # it has no group yet, and has started nothing
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        shutil.rmtree(self._setup.cache, ignore_errors=True)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def wait_for(hands: list[Hand], seconds: float) -> None:
    """Until a worker says something, or dies, or the time is over."""
    wait([*(hand.link for hand in hands), *(hand.process.sentinel for hand in hands)], seconds)


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    old = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in old.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Ctrl-C is for the campaign; a process that is just starting would print a traceback."""
    resource_tracker.ensure_running()  # it would let them through again when it starts, with the first process
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
