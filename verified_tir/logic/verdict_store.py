"""Texts that Z3 found unsatisfiable, and the only ways to become one: Z3 says so, or said so when an entry was written.

With a folder what Z3 was asked once is not asked again, by any process.  An entry is one small file, named by its key:
a hash of the query's text, the budget, the solver's version and the way it is asked (``how_asked``).  It holds another
hash of the key.  With another budget or version a query is asked again, so that a verdict does not depend on what was
asked before.

Somebody else writes entries, and keeps the folders small (``kept``); there, too, is what was not proved.  What cannot
be read, or holds anything else, is as good as absent and is written anew.  What holds it was written for this file as
it is now: its text is part of the key.

A kept entry is *believed*.  If SHA-256 has no collisions and Z3 gave the answer when the entry was written, what is
believed is Z3's answer to this query.  The hash finds damage, not malice: who can write the files can have anything
believed.  So files that another user owns or may write are not read.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, final

from verified_tir.ir.outside import ask
from verified_tir.logic.entry_files import read_entry

SUFFIX = ".verdict"
SOURCES = ("answers", "concrete", "model", "settings", "verdict_store", "witness", "z3_query")
"""What asks Z3."""


@cache
def how_asked() -> str:
    """The solver, its version and its files, and the sources of what asks it.  The installer's record of the files is
    found without ``importlib.metadata``, which takes longer to import than many a step to prove."""
    records = [*Path(find_spec("z3").origin).parents[1].glob("z3_solver-*.dist-info/RECORD")]  # type: ignore
    if len(records) != 1:
        raise ImportError(f"z3-solver is installed {len(records)} times; it is needed once")
    files = (*records, *[Path(__file__).with_name(f"{name}.py") for name in SOURCES])
    said = os.environ.get("Z3_LIBRARY_PATH", "").encode() + b"".join([f.read_bytes() for f in files])
    return f"z3 {records[0].parent.stem.removeprefix('z3_solver-')} {hashlib.sha256(said).hexdigest()}"


@final
@dataclass(slots=True)
class VerdictStore:
    """The texts that Z3 found unsatisfiable: of this process, and those in a folder, which need not exist yet.

    Not for use from several threads at once.

    :ivar kept: how many were found on disk.
    :ivar notes: the search's own.  Nothing is read here.
    """

    folder: Path | None = None
    kept: int = field(init=False, default=0)
    notes: dict[Any, Any] = field(init=False, default_factory=dict)
    _unsat: set[tuple[str, int]] = field(init=False, default_factory=set)
    _shared: dict[int, Any] = field(init=False, default_factory=dict)

    def proved(self, text: str, budget: int) -> bool:
        """Whether Z3 found the text unsatisfiable when it was asked by a solver of this budget."""
        text = str.__str__(text)  # and not what another object compares equal to
        if (text, budget) not in self._unsat and self.folder is not None:
            path, content = self._entry(self.folder, text, budget)
            if read_entry(path) == content:
                ask("used", path)
                self.kept += 1
                self._unsat.add((text, budget))
        return (text, budget) in self._unsat

    def check(self, text: str, budget: int, setting: str, limit: int) -> tuple[str, Any]:
        """What Z3 says of a text (``z3_query.check``), for a solver of this budget; ``limit`` bounds the work."""
        from verified_tir.logic import z3_query

        text = str.__str__(text)
        answer = z3_query.check(text, setting, limit, self._shared)
        if answer[0] == "unsat":
            self._unsat.add((text, budget))
            if self.folder is not None:
                ask("keep", *self._entry(self.folder, text, budget))
        return answer

    def _entry(self, folder: Path, text: str, budget: int) -> tuple[Path, bytes]:
        """Where the entry of a text is kept, one of 256 folders has it; and what it holds."""
        key = hashlib.sha256(f"{how_asked()}\n{budget}\n{text}".encode()).hexdigest()
        return folder / key[:2] / f"{key}{SUFFIX}", hashlib.sha256(f"unsat {key}".encode()).hexdigest().encode()
