"""Verify the text of one file, in a process of its own: the file is executed, and may do anything.

Answers: ``{"begins": line, "name": …}`` before a schedule function, and what is found, as soon as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, final

from verified_tir.child.worker import Answer, work
from verified_tir.cli.discover import Found
from verified_tir.cli.second_opinion import Asked
from verified_tir.cli.verify import Listener, Settings, verify_file
from verified_tir.editor.findings import of_file, of_schedule
from verified_tir.editor.places import Places
from verified_tir.logic.solver import Solver
from verified_tir.report.model import ScheduleReport


@final
class _Telling(Listener):
    """Says what is found while the rest is still being verified."""

    def __init__(self, answer: Answer, file: str, places: Places) -> None:
        self._answer, self._file, self._places = answer, file, places

    def schedule_begins(self, name: str, solver: Solver) -> None:
        self._answer({"begins": name})

    def schedule_ends(self, report: ScheduleReport) -> None:
        self._answer(of_schedule(report, self._file, self._places))


def verify(request: Any, answer: Answer) -> None:
    """Verify ``{"path": …, "text": …}``; the validator is not asked."""
    path, text = Path(request["path"]), str(request["text"])
    places = Places.of(text)
    file = Found(path, path.name, explicit=True, text=text)
    settings = Settings(asked=Asked("never"), programs=True)
    report = verify_file(file, settings, _Telling(answer, path.name, places))
    answer(of_file(report, places))


if __name__ == "__main__":
    work(verify)
