"""The child's side of :mod:`verified_tir.child.helper`: it makes one call after another.

Calls come in on the standard input; results, and what is announced meanwhile, go out on what was the standard output.
A thread reads ahead, so that the child hears at any time that its parent has ended: then its group is killed.
"""

from __future__ import annotations

import os
import pickle
import queue
import threading
from typing import IO, Any, Final, Protocol

from verified_tir.activity import watched
from verified_tir.child.worker import end_group, taken_streams

LENGTH: Final = 8
"""Bytes that say how long a message is."""


def write_message(stream: IO[bytes], message: object) -> None:
    """Send one message."""
    content = pickle.dumps(message)
    stream.write(len(content).to_bytes(LENGTH, "big") + content)
    stream.flush()


class Stream(Protocol):
    """What messages are read from."""

    def read(self, size: int, /) -> bytes:
        """So many bytes; fewer at the end."""


def read_message(stream: Stream) -> bytes | None:
    """The next message, to be unpickled; ``None`` if the other side has ended, be it in the middle of one."""
    length = int.from_bytes(header := stream.read(LENGTH), "big")
    if len(header) < LENGTH:
        return None
    content = stream.read(length)
    return content if len(content) == length else None


def serve() -> None:
    """Make the calls that come in until the parent ends."""
    calls, channel = taken_streams()
    me = os.getpid()

    def send(kind: str, *content: object) -> None:
        if os.getpid() == me:  # and not a copy that a call made of the process
            write_message(channel, (kind, *content))

    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_ahead, args=(calls, waiting), daemon=True).start()
    with watched(lambda level, what: send("at", int(level), what[:500])):
        while True:
            try:
                function, arguments = pickle.loads(waiting.get())
                found = function(*arguments)
                content: Any = pickle.dumps(found)
            except Exception as problem:
                send("raised", _picklable(problem))
            else:
                send("gave", content)


def _read_ahead(calls: IO[bytes], waiting: queue.SimpleQueue[bytes]) -> None:
    while (message := read_message(calls)) is not None:
        waiting.put(message)
    end_group()


def _picklable(problem: Exception) -> Exception:
    """The exception itself, or one with its text."""
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:
        return RuntimeError(f"{type(problem).__name__}: {problem}")
    return problem
