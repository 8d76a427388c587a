"""From a case that failed to a finding: confirmed, made smaller, written as a test, and the test tried."""

from __future__ import annotations

import ast
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

from verified_tir.fuzz import findings
from verified_tir.fuzz.cases import check, recheck, redraw, shrink
from verified_tir.fuzz.failure import DIED, HANG, Failure, Key
from verified_tir.fuzz.findings import Finding
from verified_tir.fuzz.running import Journal
from verified_tir.fuzz.sandbox import check_apart
from verified_tir.fuzz.target import Observed, Target

_ATTEMPTS: Final = 3
"""How often a case that passes is run again before it is called flaky."""
_SLOW: Final = 4
"""Cases that do not end, in the time for making one smaller."""
_STARTING: Final = 60.0
"""Seconds for a process that runs a test, beyond the time of its case."""


@final
@dataclass(frozen=True, slots=True)
class Finish:
    """Make a finding of a case that failed.

    :param finding: as it was found.
    :param apart: each check in a process of its own: the case kills its process, or does not end.
    :param seconds: for making it smaller; of a case that does not end, long enough for some of these.
    :param limit: seconds for one case.
    :param known: files that are about such a finding; it is known if one of them still fails.
    :param left: seconds until the campaign's time is over.
    :param hurry: the campaign's time is over; what does not end is not made smaller then.
    """

    finding: Finding
    apart: bool
    seconds: float
    limit: float
    known: tuple[Path, ...]
    left: float = math.inf
    hurry: bool = False

    @property
    def key(self) -> Key:
        """Of the finding."""
        return self.finding.key


Checker = Callable[[Any, bytes], Failure | None]


def finish(target: Target[Any], task: Finish, journal: Journal, other: Callable[[Failure, bytes], None]) -> Finding:
    """Confirm, shrink, write and try: the finding, with all that is known now.

    :param other: is told of failures of other kinds that come up on the way.
    """
    finding = task.finding
    if known := next((p for p in task.known if findings.fails(p, task.limit + _STARTING)), None):
        return replace(finding, known=str(known))
    if not finding.choices:  # it could not be drawn
        return _with_source(target, task, finding, [])
    checker = _checker(target, task, journal)
    failure = _confirmed(target, task, checker, other)
    if failure is None:
        return _with_source(
            target, task, replace(finding, flaky=True), redraw(target, finding.choices, lambda drawn: drawn)
        )
    seen: set[Key] = {task.key}

    def fails(case: Any, choices: bytes) -> bool:
        found = checker(case, choices)
        if found is not None and found.key not in seen:
            seen.add(found.key)
            other(found, choices)
        return found is not None and found.key == task.key

    hang = task.key.kind == HANG
    until = time.monotonic() + min(max(task.seconds, _SLOW * task.limit) if hang else task.seconds, task.left)
    smaller = None if hang and task.hurry else shrink(target, finding.choices, fails, until)
    choices = finding.choices if smaller is None else smaller
    # The smallest case speaks for itself: its message, not that of the one it came from.
    case = redraw(target, choices, lambda drawn: drawn)
    failure = (None if hang else recheck(target, choices, checker)) or failure
    found = replace(
        finding, message=failure.message, traceback=failure.traceback, choices=choices, shrunk=smaller is not None
    )
    return _with_source(target, task, found, case)


def _checker(target: Target[Any], task: Finish, journal: Journal) -> Checker:
    name = task.key.target

    def here(case: Any, choices: bytes) -> Failure | None:
        journal.checking(name, choices)
        try:
            return check(target, name, case, Observed())
        finally:
            journal.idle()

    def apart(case: Any, choices: bytes) -> Failure | None:
        return check_apart(target, name, case, task.limit)

    return apart if task.apart else here


def _confirmed(
    target: Target[Any], task: Finish, checker: Checker, other: Callable[[Failure, bytes], None]
) -> Failure | None:
    """The failure once more, if the case still fails so."""
    for _ in range(1 if task.key.kind == HANG else _ATTEMPTS):
        failure = recheck(target, task.finding.choices, checker)
        if failure is not None:
            key = failure.key
            if key == task.key or (key.kind == task.key.kind and key.kind in (DIED, HANG)):
                return failure
            other(failure, task.finding.choices)
    return None


def _with_source(target: Target[Any], task: Finish, finding: Finding, case: list[Any]) -> Finding:
    """Write the test of a case, and see whether it fails; if it does not, by its choices.

    :param case: nothing, if there is none.
    """
    name, choices = task.key.name, finding.choices
    sources = [s for s in (_as_test(target, drawn, name) for drawn in case) if s]
    if choices:
        sources.append(findings.replaying_source(task.key, choices, name, instead=bool(sources)))
    elif finding.turn >= 0:
        sources.append(findings.redrawing_source(task.key, finding.seed, finding.turn, finding.index, name))
    if task.key.kind == HANG:
        sources = [findings.limited(source, task.limit) for source in sources]
    if finding.flaky or not sources:
        return replace(finding, source=sources[0] if sources else "")
    failing = next((source for source in sources if _test_fails(source, name, task.limit + _STARTING)), None)
    return replace(finding, source=failing or sources[0], reproduced=failing is not None)


def _as_test(target: Target[Any], case: Any, name: str) -> str:
    try:
        source = target.as_test(case, name)
        ast.parse(source)
    except Exception:  # the choices still tell the case
        return ""
    return source


def _test_fails(source: str, name: str, seconds: float) -> bool:
    with tempfile.TemporaryDirectory(prefix="vtir-fuzz-") as folder:
        path = Path(folder) / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        return findings.fails(path, seconds) is True
