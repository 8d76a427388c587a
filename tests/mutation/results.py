"""What became of mutants, kept on disk: one JSON object a line.

A result belongs to a mutant, to the text of its function, and to the tests that decided it.  When one of these changes
the mutant is run again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias, final

from tests.mutation.mutant import Mutant
from tests.mutation.sources import Source

Status: TypeAlias = Literal["killed", "timeout", "survived", "out of time", "crashed", "unreached"]
"""``timeout``: a test that ends without the mutant does not end with it.  ``crashed``: the process died in a test.
``survived``: all tests that reach it pass.  ``out of time``: those passed that were run within the budget.
``unreached``: no test reaches the place."""

KILLED: frozenset[Status] = frozenset({"killed", "timeout", "crashed"})


@final
@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one mutant: by which test it was killed, with which message, in how many seconds."""

    id: str
    key: str
    status: Status
    by: str = ""
    how: str = ""
    seconds: float = 0.0
    ran: int = 0
    of: int = 0

    @property
    def killed(self) -> bool:
        return self.status in KILLED


def change_of(mutant: Mutant, source: Source) -> str:
    """The half of a key that says what was run: the change, and the function around it."""
    function = source.function(mutant.function)
    return _hash(mutant.id, str(mutant.start - function.start), mutant.text, function.digest())


def key_of(mutant: Mutant, source: Source, tests: Iterable[str], digests: dict[str, str]) -> str:
    """What a result rests on: the change (see ``change_of``), and tests (their files' contents).

    Of a mutant that was killed, the test that killed it; of one that survived, all tests that reach it.
    """
    files = sorted({t.partition("::")[0] for t in tests})
    return "-".join((change_of(mutant, source), _hash(*(f"{f}={digests.get(f, '')}" for f in files))))


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@final
class Results:
    """The file of results.  What was appended last about a mutant counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.by_id: dict[str, Result] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    result = Result(**json.loads(line))
                except (json.JSONDecodeError, TypeError):
                    continue  # the last line of a run that was stopped while writing it
                self.by_id[result.id] = result

    def add(self, result: Result) -> None:
        self.by_id[result.id] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as out:
            print(json.dumps(asdict(result)), file=out)
