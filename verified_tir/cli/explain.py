"""``vtir explain``: one schedule, step by step, on the terminal, as a page, or as pictures."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from rich.console import Console

from verified_tir.cli.apart import write_any_character
from verified_tir.cli.discover import Found, split_schedule
from verified_tir.cli.load import BadFileError, loaded
from verified_tir.cli.lower import complain
from verified_tir.cli.progress import Bar
from verified_tir.cli.verify import Made, Settings, named, verify_schedule, warm_up
from verified_tir.logic.solver import INTEGER_BUDGET, Solver
from verified_tir.report.model import FileReport, Report
from verified_tir.report.text import Detail, TextReport

if TYPE_CHECKING:
    from verified_tir.explain.story import Story
    from verified_tir.schedule.registry import ScheduleFunction


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``vtir explain``, as they are on the command line."""

    where: str
    html: Path | None = None
    svg: Path | None = None
    budget: int | None = None
    cache: bool = True


@final
class _Made(Made):
    """Shows the bar meanwhile."""

    def __init__(self, bar: Bar | None) -> None:
        super().__init__()
        self._bar = bar

    def schedule_begins(self, name: str, solver: Solver) -> None:
        if self._bar is not None:
            self._bar.schedule_begins(name, solver)


class _Mistake(ValueError):
    """What the command cannot do: said in one line."""


def explain(options: Options) -> int:
    """Verify a schedule, show it, and give the exit code of ``vtir verify``."""
    write_any_character()
    out = sys.stdout  # while the file is open, what it prints goes to the standard error
    try:
        told = story_of(options)
        if options.html is None and options.svg is None:
            _show(told, Console(file=out, highlight=False, markup=False, emoji=False))
        else:
            _write(told, options)
    except _Mistake as mistake:
        return complain(str(mistake))
    except BadFileError as bad:
        at = bad.report.at
        return complain(f"{at if at.line else at.file}: {bad.report.message}")
    except KeyboardInterrupt:
        print("vtir: interrupted", file=sys.stderr)
        return 130
    return Report((FileReport(told.source.file, (told.report,)),), 0.0).exit_code


def story_of(options: Options) -> Story:
    """The schedule, verified, with what happened in it.

    :raises BadFileError: if the file cannot be executed.
    """
    from verified_tir.explain.story import story

    path, name = split_schedule(options.where)
    if not path.is_file():
        problem = "this is a folder; give one file" if path.is_dir() else "there is no such file"
        raise _Mistake(f"{path}: {problem}")
    if options.html is not None and options.html.exists() and options.html.samefile(path):
        raise _Mistake(f"--html {options.html}: this is the file of the schedule; nothing was written")
    settings = Settings(
        budget=options.budget or INTEGER_BUDGET, cache=options.cache, places=True, diffs=options.html is None
    )
    warm_up(settings.asked)
    errors = Console(stderr=True)
    with loaded(path, str(path)) as functions:
        function = _chosen(named(functions), name, path)
        watched = errors.file.isatty() and not errors.is_dumb_terminal
        with Bar(errors, 1) if watched else nullcontext() as bar:
            heard = _Made(bar)
            found = Found(path.absolute(), str(path), explicit=True)
            report = verify_schedule(name or function.name, function, found, settings, heard)
        return story(function, report, heard.made, heard.refused)


def _chosen(functions: list[tuple[str, ScheduleFunction]], name: str, path: Path) -> ScheduleFunction:
    names = ", ".join(n for n, _ in functions)
    if not functions:
        raise _Mistake(f"{path}: there is no function decorated with @schedule(program) in this file")
    if not name and len(functions) > 1:
        raise _Mistake(f"{path}: there are several schedules; name one, as in {path}:{functions[0][0]} (of {names})")
    for n, function in functions:
        if n == (name or functions[0][0]):
            return function
    raise _Mistake(f"{path}: there is no schedule {name}; there are {names}")


def _show(told: Story, console: Console) -> None:
    from verified_tir.explain.terminal import show_answers

    TextReport(console, Detail.OBLIGATIONS, diffs=True).schedule(told.report)
    show_answers(told, console)


def _write(told: Story, options: Options) -> None:
    """Write what was asked for, and say what was written.

    :raises _Mistake: if a file cannot be written.
    """
    from verified_tir.explain.page import page
    from verified_tir.explain.pictures import write_pictures

    try:
        if options.html is not None:
            text = page(told).encode()
            options.html.write_bytes(text)
            print(f"{options.html}: {len(text) / 1000:.0f} kB, {told.report.name} {told.report.outcome.value}")
        if options.svg is not None:
            written = write_pictures(told, options.svg)
            print(f"{options.svg}: {len(written)} picture{'' if len(written) == 1 else 's'}")
    except OSError as problem:
        where = problem.filename or options.html or options.svg  # a device that is full has no name
        raise _Mistake(f"{where}: {problem.strerror}") from None
