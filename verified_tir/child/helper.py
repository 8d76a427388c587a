"""A child process that makes one call after another, and may die of one.

A call is a function that can be imported, with arguments that can be pickled; so is its result.  The child is the first
of a process group and session of its own: Ctrl-C in the terminal does not reach it, and whatever it has started ends
with it.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Final, TypeVar, final

from verified_tir.child.calls import read_message, write_message

R = TypeVar("R")

_LOOK: Final = 500
"""Milliseconds between looks at whether a silent process still runs."""

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
class _Output:
    """What a process writes until it has ended, even if another process holds its pipe open."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert isinstance(process.stdout, io.BufferedReader)
        self.process, self._pipe = process, process.stdout
        self._rest = bytearray()

    def read(self, size: int, /) -> bytes:
        """So many bytes; fewer if it has ended."""
        while len(self._rest) < size and self._more() and (part := self._pipe.read1(1 << 16)):
            self._rest += part
        found = bytes(self._rest[:size])
        del self._rest[:size]
        return found

    def _more(self) -> bool:
        """Whether there is something to read, be it the end of the pipe, before the process ends."""
        while True:
            ended = self.process.poll() is not None
            there = select.poll()
            there.register(self._pipe, select.POLLIN)
            if there.poll(0 if ended else _LOOK):
                return True
            if ended:
                return False


@final
class Helper:
    """Starts its process when there is a call, and again after that has ended."""

    def __init__(self) -> None:
        self._running: _Output | None = None

    def call(self, function: Callable[..., R], *arguments: object) -> R:
        """What a function gives there.

        :raises Ended: if the process ends first.
        :raises Exception: whatever the function raises.
        """
        output = self._started()
        process = output.process
        assert process.stdin is not None
        at: list[str] = []
        try:
            with contextlib.suppress(BrokenPipeError):  # that it has ended shows when it is heard
                write_message(process.stdin, (function, arguments))
            while (message := read_message(output)) is not None:
                match pickle.loads(message):
                    case ("at", int(level), str(what)):
                        at[level:] = [*[""] * (level - len(at)), what]
                    case ("gave", bytes(content)):
                        found: R = pickle.loads(content)
                        return found
                    case ("raised", Exception() as problem):
                        raise problem
        except (OSError, ValueError) as problem:
            if self._running is output:
                raise
            raise Ended(-signal.SIGKILL, at) from problem  # ended by another thread
        status = process.wait()
        self.end()
        raise Ended(status, at)

    def end(self) -> None:
        """Kill the process with its group, if there is one."""
        running, self._running = self._running, None
        if running is None:
            return
        process = running.process
        with contextlib.suppress(ProcessLookupError, PermissionError):  # all of them have ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _started(self) -> _Output:
        if self._running is None:
            package = str(Path(__file__).resolve().parents[2])
            path = os.pathsep.join([*(p or os.getcwd() for p in sys.path), package])
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM], stdin=PIPE, stdout=PIPE, start_new_session=True,
                env={**os.environ, "PYTHONPATH": path},
            )  # fmt: skip
            self._running = _Output(process)
        return self._running
