"""The bar that is shown on a terminal while a run is long."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from rich.console import Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from verified_tir.activity import Level, watched
from verified_tir.cli.discover import Found
from verified_tir.cli.verify import Listener
from verified_tir.logic.solver import Solver
from verified_tir.report.model import FileReport, ScheduleReport

if TYPE_CHECKING:
    from rich.console import Console

_PATIENCE = 0.7
"""Seconds before the bar appears: a short run shows none."""


class _LateProgress(Progress):
    """A progress display that stays empty for a moment."""

    def get_renderable(self) -> RenderableType:
        elapsed = self.tasks[0].elapsed if self.tasks else None
        return super().get_renderable() if elapsed is not None and elapsed > _PATIENCE else Group()


@final
class _Queries(ProgressColumn):
    """How much the solver has been asked for the schedule at hand."""

    solver: Solver | None = None

    def render(self, task: Task) -> Text:
        return Text("" if self.solver is None else f"{self.solver.statistics.queries} queries", style="dim")


@final
class Bar(Listener):
    """A bar over the files, with the schedule at hand and its step; gone when the run is over."""

    def __init__(self, console: Console, files: int) -> None:
        self._queries = _Queries()
        self._progress = _LateProgress(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            self._queries,
            TextColumn("{task.fields[step]}", style="dim", markup=False),
            console=console,
            transient=True,
            redirect_stdout=False,
        )
        self._task = self._progress.add_task("", total=files, step="")
        self._watching = watched(self._announced)

    def __enter__(self) -> Bar:
        self._watching.__enter__()
        self._progress.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._progress.stop()
        self._watching.__exit__(None, None, None)

    def _announced(self, level: Level, what: str) -> None:
        self._progress.update(self._task, step=what if level is Level.STEP else "")

    def file_begins(self, file: Found) -> None:
        self._progress.update(self._task, description=file.path.name)

    def schedule_begins(self, name: str, solver: Solver) -> None:
        self._queries.solver = solver
        self._progress.update(self._task, description=name)

    def schedule_ends(self, report: ScheduleReport) -> None:
        self._queries.solver = None

    def file_ends(self, report: FileReport) -> None:
        self._progress.advance(self._task)
