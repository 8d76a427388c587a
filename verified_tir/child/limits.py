"""Start a child process, hear what it answers, and end it: when it is done, or when its time is over.

A child is a module that calls :func:`verified_tir.child.worker.work`.  It gets one request, a JSON value, and answers
with JSON values, one a line, as they are found.  Its standard output is not theirs, so nothing that it prints can spoil
them.  It is the first of a process group of its own; whatever it has started ends with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from subprocess import PIPE
from typing import Any, Final, TypeAlias, final

Process: TypeAlias = "subprocess.Popen[bytes]"
LONGEST: Final = 64 * 2**20
"""Bytes of one answer at the most."""


@final
@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended: it said that it was done, its time was over, or it ended on the way with an exit code."""

    done: bool = False
    late: bool = False
    code: int = 0

    def __str__(self) -> str:
        if self.done:
            return "done"
        if self.late:
            return "its time was over"
        return f"it was ended by signal {-self.code}" if self.code < 0 else f"it ended with exit code {self.code}"


@final
class Children:
    """Children of one module.  One waits for its request while nothing is asked: starting takes longer than most work.

    :param module: what ``python -m`` runs.
    :param seconds: the most time for one request.
    """

    def __init__(self, module: str, seconds: float) -> None:
        self._module, self._seconds = module, seconds
        self._waiting: Process | None = None

    def prepare(self) -> None:
        """Start the child that waits."""
        if self._waiting is None:
            command = [sys.executable, "-P", "-m", self._module]
            self._waiting = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, start_new_session=True)

    def close(self) -> None:
        """End the child that waits."""
        if self._waiting is not None:
            _end(self._waiting)
            self._waiting = None

    async def run(self, request: object, heard: Callable[[Any], None]) -> Ending:
        """Let a child work on a request.

        However this ends, also by cancellation, the child and what it started have ended afterwards.

        :param heard: called with each answer.
        """
        if self._waiting is not None and self._waiting.poll() is not None:  # somebody has killed it
            self.close()
        self.prepare()
        assert self._waiting is not None
        process, self._waiting = self._waiting, None
        try:
            async with asyncio.timeout(self._seconds):
                return await _heard(process, request, heard)
        except TimeoutError:
            return Ending(late=True)
        finally:
            _end(process)
            self.prepare()


async def _heard(process: Process, request: object, heard: Callable[[Any], None]) -> Ending:
    reader = asyncio.StreamReader(limit=LONGEST)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, process.stdout)
    try:
        await asyncio.to_thread(_send, process, json.dumps(request).encode() + b"\n")
        while line := await reader.readline():
            answer = json.loads(line)
            if answer is None:
                return Ending(done=True)
            heard(answer)
        return Ending(code=await asyncio.to_thread(process.wait))
    except ValueError:  # an answer that is too long, or cut off
        return Ending(code=1)
    finally:
        transport.close()


def _send(process: Process, request: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):  # it has ended
        process.stdin.write(request)
        process.stdin.flush()


def _end(process: Process) -> None:
    """Kill a child with its group, whether it has ended or not: what it started may still run."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):  # all of them have ended
        pass
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
