"""Entries of a cache as files: read only if nobody else can have written them, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
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


def write_entry(path: Path, content: bytes) -> bool:
    """Write an entry under another name and rename it, so that no reader sees half of it; whether that went well.

    Folders that are made, and the file, are for their owner only.
    """
    temporary = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return False
    return True


def _at_once(path: str, flags: int) -> int:
    """Open a file without waiting for somebody to write it, should it be a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _trusted(found: os.stat_result) -> bool:
    """A plain file that nobody else can have written."""
    if not stat.S_ISREG(found.st_mode):
        return False
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)
