"""The case that a worker runs now, written down before it runs.

A case may kill the process that runs it, or never end.  So its choices (what Hypothesis drew, as bytes) are in a file
first, one for each worker; the campaign reads it when the worker is dead, or to see how long the case has been running.
A write to a file outlives the process that made it.
"""

from __future__ import annotations

import os
import pickle
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final


@final
@dataclass(frozen=True, slots=True)
class Running:
    """What a worker is doing.

    :param since: when it began, by ``time.monotonic``, which is one clock for all processes of a machine.
    :param turn: the number of the round, -1 outside rounds.
    :param index: which case of the round.
    :param choices: the case; empty while it is drawn.
    """

    phase: Literal["idle", "drawing", "checking"]
    since: float
    target: str = ""
    turn: int = -1
    index: int = -1
    choices: bytes = b""


@final
class Journal:
    """The writing end, in the worker."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self.idle()

    def idle(self) -> None:
        """No case is running."""
        self._write(Running("idle", time.monotonic()))

    def drawing(self, target: str, turn: int = -1, index: int = -1) -> None:
        """A case is being drawn."""
        self._write(Running("drawing", time.monotonic(), target, turn, index))

    def checking(self, target: str, choices: bytes, turn: int = -1, index: int = -1) -> None:
        """A case is about to be checked."""
        self._write(Running("checking", time.monotonic(), target, turn, index, choices))

    def _write(self, what: Running) -> None:
        record = pickle.dumps(what)
        os.pwrite(self._file, pickle.dumps((record, zlib.crc32(record))), 0)


def read(path: Path) -> Running | None:
    """What the worker's file says; nothing if it is not there, or was read while it was written."""
    try:
        record, checksum = pickle.loads(path.read_bytes())
        running: Running = pickle.loads(record)
        return running if zlib.crc32(record) == checksum else None
    except Exception:  # half of one record and half of another may be anything
        return None


def crowding() -> float:
    """How many processes wait for each processor, at least 1: a case may take so much longer before it is a hang."""
    try:
        return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    except OSError:  # nobody knows
        return 1.0
