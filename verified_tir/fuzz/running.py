"""The case that a worker runs now, written down before it runs.

A case may kill the process that runs it, or never end.  So its choices (what Hypothesis drew, as bytes) are in a file
first, one for each worker; the campaign reads it when the worker is dead, or to see how long the case has been running.
A write to a file outlives the process that made it.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, final

Phase = Literal["idle", "drawing", "checking"]

_PHASES: Final[tuple[Phase, ...]] = ("idle", "drawing", "checking")
_HEADER: Final = struct.Struct("<IBdqqHI")  # checksum, phase, start, round, index, lengths of the name and the choices


@final
@dataclass(frozen=True, slots=True)
class Running:
    """What a worker is doing.

    :param since: when it began, by ``time.monotonic``, which is one clock for all processes of a machine.
    :param turn: the number of the round, -1 outside rounds.
    :param index: which case of the round.
    :param choices: the case; empty while it is drawn.
    """

    phase: Phase
    since: float
    target: str
    turn: int
    index: int
    choices: bytes


@final
class Journal:
    """The writing end, in the worker."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self.idle()

    def idle(self) -> None:
        """No case is running."""
        self._write(0, "", -1, -1, b"")

    def drawing(self, target: str, turn: int, index: int) -> None:
        """A case is being drawn."""
        self._write(1, target, turn, index, b"")

    def checking(self, target: str, turn: int, index: int, choices: bytes) -> None:
        """A case is about to be checked."""
        self._write(2, target, turn, index, choices)

    def _write(self, phase: int, target: str, turn: int, index: int, choices: bytes) -> None:
        name = target.encode()
        body = _HEADER.pack(0, phase, time.monotonic(), turn, index, len(name), len(choices))[4:] + name + choices
        os.pwrite(self._file, struct.pack("<I", zlib.crc32(body)) + body, 0)


def read(path: Path) -> Running | None:
    """What the worker's file says; nothing if it is not there, or was read while it was written."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if len(data) < _HEADER.size:
        return None
    checksum, phase, since, turn, index, wide, long = _HEADER.unpack_from(data)
    end = _HEADER.size + wide + long
    if len(data) < end or phase >= len(_PHASES) or zlib.crc32(data[4:end]) != checksum:
        return None
    name = data[_HEADER.size : _HEADER.size + wide].decode()
    return Running(_PHASES[phase], since, name, turn, index, data[_HEADER.size + wide : end])


def crowding() -> float:
    """How many processes wait for each processor, at least 1: a case may take so much longer before it is a hang."""
    try:
        return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    except (AttributeError, OSError):  # not every system says
        return 1.0
