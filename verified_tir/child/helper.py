"""A child process that makes one call after another, and may die of one.

A call is a function that can be imported, with arguments that can be pickled; so is its result.  The child is the first
of a process group and session of its own: Ctrl-C in the terminal does not reach it, and whatever it has started ends
with it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Final, TypeVar, final

from verified_tir.child.calls import read_message, write_message

R = TypeVar("R")

_PROGRAM: Final = "from verified_tir.child.calls import serve; serve()"


@final
class Ended(RuntimeError):
    """The process of a call ended before it gave a result.

    :ivar status: its exit code, or minus the signal that ended it.
    :ivar at: what it announced last, at each level of :class:`verified_tir.activity.Level`.
    """

    def __init__(self, status: int, at: Sequence[str] = ()) -> None:
        super().__init__(status, tuple(at))
        self.status, self.at = status, tuple(at)

    def __str__(self) -> str:
        return f"its process ended {how(self.status)}"


def how(status: int) -> str:
    """How a process ended: with an exit code, or by a signal."""
    return f"with exit code {status}" if status >= 0 else f"by {signal.Signals(-status).name}"


@final
class Helper:
    """Starts its process when there is a call, and again after that has ended."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None

    def call(self, function: Callable[..., R], *arguments: object) -> R:
        """What a function gives there.

        :raises Ended: if the process ends first.
        :raises Exception: whatever the function raises.
        """
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        at: list[str] = []
        try:
            with contextlib.suppress(BrokenPipeError):  # that it has ended shows when it is heard
                write_message(process.stdin, (function, arguments))
            while (message := read_message(process.stdout)) is not None:
                match pickle.loads(message):
                    case ("at", int(level), str(what)):
                        at[level:] = [*[""] * (level - len(at)), what]
                    case ("gave", bytes(content)):
                        found: R = pickle.loads(content)
                        return found
                    case ("raised", Exception() as problem):
                        raise problem
        except (OSError, ValueError) as problem:
            if self._running is process:
                raise
            raise Ended(-signal.SIGKILL, at) from problem  # ended by another thread
        status = process.wait()
        self.end()
        raise Ended(status, at)

    def end(self) -> None:
        """Kill the process with its group, if there is one."""
        process, self._running = self._running, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # all of them have ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._running is None:
            package = str(Path(__file__).resolve().parents[2])
            path = os.pathsep.join([*(p or os.getcwd() for p in sys.path), package])
            self._running = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM], stdin=PIPE, stdout=PIPE, start_new_session=True,
                env={**os.environ, "PYTHONPATH": path},
            )  # fmt: skip
        return self._running
