"""What is being done right now, for whoever shows progress: a file, a function in it, a step of that.

Work announces, and does not know who listens; mostly nobody does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum


class Level(IntEnum):
    """How much of the work an announcement speaks of; what is announced at one level ends all levels below."""

    FILE = 0
    FUNCTION = 1
    STEP = 2


Watcher = Callable[[Level, str], None]

_watchers: list[Watcher] = []


def announce(level: Level, what: str) -> None:
    """Say what begins now."""
    for watcher in _watchers:
        watcher(level, what)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Have a function hear of everything that is announced in the block."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)
