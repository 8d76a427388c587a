"""Verdicts on disk: what Z3 was asked once is not asked again, by any process.

An entry is one small file, named by its key: a hash of the query's text, the budget, the solver's version and the way
it is asked (``solver.py``).  It holds a line that says what it is, the hash of the rest, and the rest (JSON): the key
once more, and ``unsat``, ``sat`` with the values of the model, or ``unknown`` with the reason.  A question remains
unknown for one budget and one version of the solver: they are part of the key, so others ask again.  What came of a
failure (no memory, for one) is not kept.

An entry is written under another name and renamed, so that no reader sees half of one, and processes need not wait for
each other.  What cannot be read, or does not have its hash, its key and the form of an answer, is as good as absent and
is written anew.  There are 256 folders with a bounded number of entries each; those not used for longest go first.

A kept ``unsat`` is *believed*; a kept ``unknown`` proves nothing, and costs a refusal at the worst.  The hashes find
damage, not malice: who can write the files can have anything believed.  So files that another user owns or may write
are not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import final

from verified_tir.logic.entry_files import SELDOM, note_use, read_entry, write_entry
from verified_tir.logic.z3_query import Answer

MAGIC = b"verified_tir verdict 1\n"
SUFFIX = ".verdict"
MOST_IN_FOLDER = 128
"""Entries in each of the 256 folders: 32,768 in all, which take 128 MB where a file takes 4 KB at the least."""
LARGEST = 1 << 16
"""Bytes of an entry: larger models are not kept."""


@cache
def how_asked() -> str:
    """The solver, its version, and how it is asked: the sources of what asks it."""
    from importlib.metadata import version
    from importlib.util import find_spec

    digest = hashlib.sha256()
    spec = find_spec("z3")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        for library in sorted(Path(folder, "lib").glob("libz3*")):
            digest.update(f"{library.name} {library.stat().st_size}\n".encode())
    digest.update(os.environ.get("Z3_LIBRARY_PATH", "").encode())  # another library, then
    for name in ("solver.py", "witness.py", "concrete.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    return f"z3 {version('z3-solver')} {digest.hexdigest()}"


@final
@dataclass(slots=True)
class VerdictStore:
    """The verdicts in a folder, which need not exist yet.

    :ivar asked: the solver and how it is asked; verdicts found otherwise are not seen.
    :ivar most: entries in each of the 256 folders at the most.
    """

    folder: Path
    asked: str = field(default_factory=how_asked)
    most: int = MOST_IN_FOLDER

    def key(self, text: str, budget: int) -> str:
        """The name of a query, 64 hexadecimal digits."""
        digest = hashlib.sha256(f"{self.asked}\n{budget}\n".encode())
        digest.update(text.encode())
        return digest.hexdigest()

    def load(self, text: str, budget: int) -> Answer | None:
        """The answer to a query, if there is a sound entry."""
        key = self.key(text, budget)
        path = self._path(key)
        entry = read_entry(path, LARGEST)
        if entry is None:
            return None
        content, used = entry
        found = _decoded(content, key)
        if found is not None:
            note_use(path, used)
        return found

    def save(self, text: str, budget: int, answer: Answer) -> bool:
        """Keep the answer to a query; whether it is kept."""
        if answer[0] not in ("unsat", "sat", "unknown"):
            return False
        key = self.key(text, budget)
        try:
            content = _encoded(key, answer)
        except ValueError:  # Python writes no number of thousands of digits
            return False
        if len(content) > LARGEST:
            return False
        path = self._path(key)
        if not write_entry(path, content):
            return False
        self._prune(path.parent)
        return True

    def size(self) -> tuple[int, int]:
        """How many entries there are, and how many bytes."""
        sizes = [status.st_size for _, status in self._entries()]
        return len(sizes), sum(sizes)

    def clear(self) -> int:
        """Remove everything; gives how many entries there were."""
        count, _ = self.size()
        shutil.rmtree(self.folder, ignore_errors=True)
        return count

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}{SUFFIX}"

    def _entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        for number in range(256):  # no list of what there is: others may be removing it
            with contextlib.suppress(OSError):
                for name in os.listdir(folder := self.folder / f"{number:02x}"):
                    with contextlib.suppress(OSError):
                        if name.endswith(SUFFIX):
                            yield folder / name, os.stat(folder / name, follow_symlinks=False)

    def _prune(self, folder: Path) -> None:
        """Keep a folder small: when it is full a quarter goes, so that this is not done for every entry."""
        with contextlib.suppress(OSError):
            names = os.listdir(folder)
            if len(names) <= self.most:
                return
            found = []
            for name in names:
                with contextlib.suppress(OSError):
                    found.append((os.stat(folder / name).st_mtime, name))
            found.sort()
            surplus = len(found) - self.most * 3 // 4
            for used, name in found[:surplus]:
                if name.endswith(SUFFIX) or time.time() - used > SELDOM:
                    with contextlib.suppress(OSError):
                        os.unlink(folder / name)


@final
@dataclass(slots=True)
class VerdictsInMemory:
    """The verdicts of one process, for solvers that are to share them and nothing else."""

    _answers: dict[tuple[str, int], Answer] = field(init=False, default_factory=dict)

    def load(self, text: str, budget: int) -> Answer | None:
        """The answer to a query, if it was asked before."""
        return self._answers.get((text, budget))

    def save(self, text: str, budget: int, answer: Answer) -> bool:
        """Keep the answer to a query."""
        self._answers[text, budget] = answer
        return True


def _encoded(key: str, answer: Answer) -> bytes:
    kind, values = answer
    body = json.dumps({"key": key, "kind": kind, "values": values}, sort_keys=True).encode()
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _decoded(content: bytes, key: str) -> Answer | None:
    start = len(MAGIC) + 65
    body = content[start:]
    if content[:start] != MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n":
        return None
    try:
        match json.loads(body):
            case {"key": found, "kind": "unsat" | "sat" as kind, "values": None} if found == key:
                return kind, None
            case {"key": found, "kind": "unknown", "values": str(reason)} if found == key:
                return "unknown", reason
            case {"key": found, "kind": "sat", "values": dict(values)} if found == key:
                if all(type(v) is int for v in values.values()):
                    return "sat", values
    except (ValueError, RecursionError):
        return None
    return None
