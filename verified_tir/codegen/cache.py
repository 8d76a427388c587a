"""Object code on disk, so that a program that was compiled once is loaded in less than a millisecond.

The folder is ``$VTIR_CACHE_DIR``, else ``verified_tir`` in ``$XDG_CACHE_HOME`` or ``~/.cache``.  An entry is one file,
named by its key: a line that says what it is, the hash of the rest, and a header (JSON) with the object code behind it.
Entries are written under another name and renamed, so that no reader sees half of one.  What cannot be read, or does
not have its hash, is as good as absent.  Proofs are never stored here (verdicts are, in a folder
below: ``verified_tir.logic.verdict_store``).

The folder holds machine code that will be run: entries that another user owns or may write are not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from verified_tir.logic.entry_files import read_entry
from verified_tir.logic.kept import note_use, write_entry

MAGIC = b"verified_tir object code 1\n"
SUFFIX = ".vtir"
LARGEST_CACHE = 256 * 2**20
"""Bytes that the folder holds at the most; the entries that were not used for longest go first.

A process looks at all entries when it stores its first one and when by its count there is too much, and then makes some
room, so that this is not done for every entry."""
MOST_UNSEEN = 256
"""After so many entries a process looks again, since others may have stored some, too."""


@final
@dataclass(frozen=True, slots=True)
class Compiled:
    """Object code, and the messages of the program's assertions."""

    code: bytes
    asserts: tuple[str, ...]


def cache_folder() -> Path | None:
    """Where entries are kept; ``None`` if there is no home to keep them in."""
    given = os.environ.get("VTIR_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the specification says to ignore a relative one
        return Path(base) / "verified_tir"
    try:
        return Path.home() / ".cache" / "verified_tir"
    except RuntimeError:
        return None


def load(key: str) -> Compiled | None:
    """The entry of a key, if there is a sound one."""
    folder = cache_folder()
    if folder is None:
        return None
    path = folder / f"{key}{SUFFIX}"
    content = read_entry(path)
    found = None if content is None else _decoded(content)
    if found is not None:
        note_use(path)
    return found


def store(key: str, compiled: Compiled, *, largest: int = LARGEST_CACHE) -> bool:
    """Keep an entry, then remove old ones if there is too much; whether it could be kept."""
    folder = cache_folder()
    if folder is None:
        return False
    content = _encoded(compiled)
    if not write_entry(folder / f"{key}{SUFFIX}", content):
        return False
    total, unseen = _held.get(folder, (largest, MOST_UNSEEN))
    if unseen >= MOST_UNSEEN or total + len(content) > largest:
        _held[folder] = _prune(folder, largest), 0
    else:
        _held[folder] = total + len(content), unseen + 1
    return True


_held: dict[Path, tuple[int, int]] = {}
"""How many bytes each folder held when it was looked at, with what was stored since; and how many entries that were."""


def _encoded(compiled: Compiled) -> bytes:
    header = json.dumps({"asserts": compiled.asserts}).encode()
    body = len(header).to_bytes(8, "little") + header + compiled.code
    return MAGIC + hashlib.sha256(body).digest() + body


def _decoded(content: bytes) -> Compiled | None:
    start = len(MAGIC) + 32
    body = content[start:]
    if not content.startswith(MAGIC) or hashlib.sha256(body).digest() != content[len(MAGIC) : start]:
        return None
    size = int.from_bytes(body[:8], "little")
    asserts = json.loads(body[8 : 8 + size])["asserts"]
    return Compiled(body[8 + size :], tuple(asserts))


def _entries(folder: Path) -> Iterator[tuple[float, int, str]]:
    """When each file was used last, its size and path; among them what an interrupted writer left behind."""
    with os.scandir(folder) as found:
        for entry in found:
            if entry.name.endswith((SUFFIX, ".tmp")):
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    yield status.st_mtime, status.st_size, entry.path


def _prune(folder: Path, largest: int) -> int:
    """Remove entries until there are no more than 15/16 of ``largest`` bytes, if there were more; gives how many."""
    total = 0
    with contextlib.suppress(OSError):
        entries = sorted(_entries(folder))
        total = sum(size for _, size, _ in entries)
        wanted = largest if total <= largest else largest - largest // 16
        for _, size, path in entries:
            if total <= wanted:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                total -= size
    return total
