"""Entries of a cache as files: read only if nobody else can have written them (written by ``kept``)."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_entry(path: Path, largest: int | None = None) -> bytes | None:
    """The content of a plain file that is the user's own; ``None`` for anything else, and for what is larger than
    ``largest`` bytes."""
    try:
        with open(path, "rb", opener=_at_once) as file:
            status = os.fstat(file.fileno())
            if not _trusted(status) or (largest is not None and status.st_size > largest):
                return None
            return file.read(-1 if largest is None else largest)
    except OSError:
        return None


def _at_once(path: str, flags: int) -> int:
    """Open a file without waiting for somebody to write it, should it be a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _trusted(found: os.stat_result) -> bool:
    """A plain file that nobody else can have written."""
    own = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)
    return own and stat.S_ISREG(found.st_mode)
