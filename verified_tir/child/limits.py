"""Start a child process, hear what it answers, and end it: when it is done, or when its time is over.

A child is a module that calls :func:`verified_tir.child.worker.work`.  It gets one request, a JSON value, and answers
with JSON values, one a line, as they are found.  Its standard output is not theirs, so nothing that it prints can spoil
them.  It is the first of a process group of its own; whatever it has started ends with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

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


async def run_child(module: str, request: object, seconds: float, heard: Callable[[Any], None]) -> Ending:
    """Let a child work on a request for so many seconds at the most.

    However this ends, also by cancellation, the child and what it started have ended afterwards.

    :param module: what ``python -m`` runs.
    :param heard: called with each answer.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", module, stdin=PIPE, stdout=PIPE, start_new_session=True, limit=LONGEST
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    done = False
    try:
        async with asyncio.timeout(seconds):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            while line := await process.stdout.readline():
                answer = json.loads(line)
                if answer is None:
                    done = True
                    break
                heard(answer)
            code = 0 if done else await process.wait()
    except TimeoutError:
        return Ending(late=True)
    except (ValueError, ConnectionError):  # an answer that is too long, or cut off
        done, code = False, process.returncode or 1
    finally:
        _end(process)
        await process.wait()
    return Ending(done, code=code)


def _end(process: Process) -> None:
    """Kill a child with its group, whether it has ended or not: what it started may still run."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):  # all of them have ended
        pass
