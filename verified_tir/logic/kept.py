"""Where verdicts and object code are kept: how they are written, how much there is, and what goes if it is too much.

Nothing rests on it: what goes is asked again, and what was not written as it was given has not its seal
(``verdict_store``).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from verified_tir.logic.verdict_store import SUFFIX

SELDOM = 3600.0
"""Seconds for which an entry counts as used just now (noting each use would cost more than reading it), and after
which a half-written one was given up."""

MOST_IN_FOLDER = 128
"""Entries in each of the 256 folders: 32,768 in all, which take 128 MB where a file takes 4 KB at the least."""


def keep(path: Path, content: bytes) -> bool:
    """Write a verdict, and remove others if there are too many; whether that went well."""
    if not write_entry(path, content):
        return False
    thin(path.parent)
    return True


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


def note_use(path: Path) -> None:
    """Note that an entry was used just now, unless it was noted lately."""
    with contextlib.suppress(OSError):
        if time.time() - os.stat(path).st_mtime > SELDOM:
            os.utime(path)


def thin(folder: Path) -> None:
    """Keep one of the folders of verdicts small: when it is full a quarter goes, so that this is not done for every
    entry, and those not used for longest go first."""
    with contextlib.suppress(OSError):
        names = os.listdir(folder)
        if len(names) <= MOST_IN_FOLDER:
            return
        found = []
        for name in names:
            with contextlib.suppress(OSError):
                found.append((os.stat(folder / name).st_mtime, name))
        found.sort()
        surplus = len(found) - MOST_IN_FOLDER * 3 // 4
        for used, name in found[:surplus]:
            if name.endswith(SUFFIX) or time.time() - used > SELDOM:
                with contextlib.suppress(OSError):
                    os.unlink(folder / name)


def size(folder: Path) -> tuple[int, int]:
    """How many verdicts there are, and how many bytes."""
    sizes = [status.st_size for _, status in _entries(folder)]
    return len(sizes), sum(sizes)


def clear(folder: Path) -> int:
    """Remove all verdicts; gives how many there were."""
    count, _ = size(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return count


def _entries(whole: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for number in range(256):  # no list of what there is: others may be removing it
        with contextlib.suppress(OSError):
            for name in os.listdir(folder := whole / f"{number:02x}"):
                with contextlib.suppress(OSError):
                    if name.endswith(SUFFIX):
                        yield folder / name, os.stat(folder / name, follow_symlinks=False)
