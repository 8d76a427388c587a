"""Entries of a cache as files: read only if nobody else can have written them (written by ``kept``)."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_entry(path: Path) -> bytes | None:
    """The content of a plain file that nobody else can have written; ``None`` for anything else."""
    try:
        # it does not wait for somebody to write it, should it be a pipe
        with open(path, "rb", opener=lambda p, flags: os.open(p, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            found = os.fstat(file.fileno())
            own = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)
            return file.read() if own and stat.S_ISREG(found.st_mode) else None
    except OSError:
        return None
