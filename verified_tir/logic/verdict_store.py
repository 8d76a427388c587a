"""Verdicts on disk: what Z3 was asked once is not asked again, by any process.

An entry is one small file, named by its key: a hash of the query's text, the budget, the solver's version and the way
it is asked (``z3_query``).  It holds a hash of the key and the rest, and the rest (JSON): ``unsat``, ``sat`` with the
values of the model, or ``unknown`` with the reason.  A question remains unknown for one budget and one version of the
solver: they are part of the key, so others ask again.  What came of a failure (no memory, for one) is not kept.

Somebody else writes entries, and keeps the folders small (``kept``).  What cannot be read, or does not have its hash,
is as good as absent and is written anew.  What has it was saved by this file as it is now: its text is part of the key.

A kept ``unsat`` is *believed*; a kept ``unknown`` proves nothing, and costs a refusal at the worst.  The hash says that
the entry is whole, and that it was written for this key; so if SHA-256 has no collisions and Z3 gave the answer of an
entry when it was written, what is loaded is Z3's answer to this query.  The hash finds damage, not malice: who can
write the files can have anything believed.  So files that another user owns or may write are not read.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import final

from verified_tir.ir.outside import ask
from verified_tir.logic.entry_files import read_entry
from verified_tir.logic.z3_query import Answer

SUFFIX = ".verdict"
LARGEST = 1 << 16
"""Bytes of an entry: larger models are not kept."""


@cache
def how_asked() -> str:
    """The solver, its version, and how it is asked: the sources of what asks it."""
    from importlib.metadata import version
    from importlib.util import find_spec

    digest = hashlib.sha256(os.environ.get("Z3_LIBRARY_PATH", "").encode())  # another library, then
    spec = find_spec("z3")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        for library in sorted(Path(folder, "lib").glob("libz3*")):
            digest.update(f"{library.name} {library.stat().st_size}\n".encode())
    for name in ("model.py", "settings.py", "z3_query.py", "witness.py", "concrete.py", "verdict_store.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    return f"z3 {version('z3-solver')} {digest.hexdigest()}"


@final
@dataclass(slots=True)
class VerdictStore:
    """The verdicts in a folder, which need not exist yet.

    :ivar asked: the solver and how it is asked; verdicts found otherwise are not seen.
    """

    folder: Path
    asked: str = field(default_factory=how_asked)

    def key(self, text: str, budget: int) -> str:
        """The name of a query, 64 hexadecimal digits."""
        return hashlib.sha256(f"{self.asked}\n{budget}\n{text}".encode()).hexdigest()

    def path(self, key: str) -> Path:
        """Where the entry of a key is kept: one of 256 folders has it."""
        return self.folder / key[:2] / f"{key}{SUFFIX}"

    def load(self, text: str, budget: int) -> Answer | None:
        """The answer to a query, if there is a sound entry."""
        key = self.key(text, budget)
        content = read_entry(self.path(key), LARGEST)
        if content is None or content[:64] != seal(key, content[64:]):
            return None
        ask("used", self.path(key))
        kind, detail = json.loads(content[64:])
        return kind, detail

    def save(self, text: str, budget: int, answer: Answer) -> bool:
        """Keep the answer to a query; whether it is kept."""
        if answer[0] not in ("unsat", "sat", "unknown"):
            return False
        key = self.key(text, budget)
        try:
            body = json.dumps(answer, sort_keys=True).encode()
        except ValueError:  # Python writes no number of thousands of digits
            return False
        return len(body) <= LARGEST - 64 and bool(ask("keep", self.path(key), seal(key, body) + body))


def seal(key: str, body: bytes) -> bytes:
    """What an entry begins with."""
    return hashlib.sha256(key.encode() + body).hexdigest().encode()


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
