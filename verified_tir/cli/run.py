"""The command ``verify``: options in, exit code out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from rich.console import Console

from verified_tir import __version__
from verified_tir.cli.apart import write_any_character
from verified_tir.cli.changed import changes_since
from verified_tir.cli.discover import NOTHING_EXCLUDED, Choose, Excluded, Found, find_files
from verified_tir.cli.executors import BadExecutor, executor_of
from verified_tir.cli.git import NoChanges
from verified_tir.cli.profile import Profile
from verified_tir.cli.progress import Bar
from verified_tir.cli.second_opinion import Asked, When
from verified_tir.cli.verify import Listener, Settings, names_in, verify_file, warm_up
from verified_tir.logic.solver import INTEGER_BUDGET, Solver
from verified_tir.report.collect import RefusalDetail
from verified_tir.report.error_codes import code_of_exception, with_code
from verified_tir.report.formats import Format, formatted
from verified_tir.report.model import FileReport, Report, ScheduleReport
from verified_tir.report.text import Detail, TextReport

if TYPE_CHECKING:
    from verified_tir.certificate.write import Written


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``vtir verify``, as they are on the command line, or in a project's settings.

    :ivar project: the file of the project's settings.
    :ivar jobs: processes; 0 for one on each core.
    :ivar executor: where they are (:mod:`verified_tir.cli.executors`).
    """

    paths: tuple[Path, ...]
    format: Format = "text"
    verbose: bool = False
    quiet: bool = False
    only: str = ""
    show_program: bool = False
    smt: Path | None = None
    budget: int | None = None
    validate: When = "last"
    most_operations: int | None = None
    certify: Path | None = None
    to_llvm: bool = False
    cache: bool = True
    diff: bool = False
    exclude: Excluded = NOTHING_EXCLUDED
    changed_since: str | None = None
    project: Path | None = None
    profile: bool = False
    jobs: int = 1
    executor: str = "processes"


@final
class _Listeners(Listener):
    """Passes everything on: first the text, then the bar."""

    def __init__(self, bar: Bar | None, text: TextReport | None) -> None:
        self._bar = bar
        self._text = text
        self.finished: list[ScheduleReport] = []

    def file_begins(self, file: Found) -> None:
        self.finished = []
        if self._bar is not None:
            self._bar.file_begins(file)

    def schedule_begins(self, name: str, solver: Solver) -> None:
        if self._bar is not None:
            self._bar.schedule_begins(name, solver)

    def schedule_ends(self, report: ScheduleReport) -> None:
        self.finished.append(report)
        if self._text is not None:
            self._text.schedule(report)
        if self._bar is not None:
            self._bar.schedule_ends(report)

    def file_ends(self, report: FileReport) -> None:
        if self._text is not None:
            self._text.file(report)
        if self._bar is not None:
            self._bar.file_ends(report)


def run(options: Options, choose: Choose = list) -> int:
    """Verify, write the report to the standard output, and give the exit code."""
    write_any_character()
    out = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    detail = Detail.OBLIGATIONS if options.verbose else Detail.QUIET if options.quiet else Detail.STEPS
    shown = {"show_program": options.show_program, "diffs": options.diff}
    text = None if options.format != "text" else TextReport(out, detail, **shown)
    try:
        if options.smt is not None:
            options.smt.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        why = "this is not a folder" if isinstance(problem, FileExistsError) else problem.strerror
        print(f"vtir: error: --smt {options.smt}: {why}", file=sys.stderr)
        return 2
    try:
        files, others = _chosen(options, choose)
    except NoChanges as problem:
        print(f"vtir: error: {problem}", file=sys.stderr)
        return 2
    written = _written(options)
    try:
        report = _run(options, files, others, text, _bar_of(options, out), written)
    except BadExecutor as problem:
        print(f"vtir: error: {with_code(str(problem), code_of_exception(problem))}", file=sys.stderr)
        return 2
    if options.certify is not None and written is not None:
        from verified_tir.certificate.store import BadStore, save

        try:
            if not report.interrupted:
                save(options.certify, written.certificates, written.queries)
        except (OSError, BadStore) as problem:
            print(f"vtir: no certificate was written: {problem}", file=sys.stderr)
            return 2
    if text is None:
        sys.stdout.write(formatted(report, options.format, __version__))
    if options.format in ("text", "github"):
        TextReport(out, detail).summary(report)
    return report.exit_code


def _written(options: Options) -> Written | None:
    if options.certify is None:
        return None
    from verified_tir.certificate.write import Written

    return Written()


def show_nothing(why: str, form: Format) -> None:
    """Write the document of a run that came to nothing."""
    sys.stdout.write(formatted(Report((), 0.0, why), form, __version__))


def _chosen(options: Options, choose: Choose) -> tuple[list[Found], list[Found]]:
    """The files to verify, and those that did not change.

    :raises NoChanges: if it cannot be said what changed.
    """
    files = choose(find_files(options.paths, options.exclude))
    if options.changed_since is None:
        return files, []
    affected = changes_since(options.changed_since, Path.cwd()).affected(files, options.project)
    affected += [f for f in files if f not in affected and f.name and f.name not in names_in(f)]  # which is a mistake
    if not affected:
        print(f"no schedule file, and nothing that one imports, changed since {options.changed_since}", file=sys.stderr)
    return affected, [f for f in files if f not in affected]


def _bar_of(options: Options, out: Console) -> Callable[[int], Bar] | None:
    """A bar where a person looks and nothing else is written: the report's own terminal, or else that of the errors."""
    console = out if out.file.isatty() and options.format == "text" else Console(stderr=True)
    if options.quiet or not console.file.isatty() or console.is_dumb_terminal:
        return None
    return lambda files: Bar(console, files)


def _run(
    options: Options,
    files: list[Found],
    others: list[Found],
    text: TextReport | None,
    bar_of: Callable[[int], Bar] | None,
    written: Written | None,
) -> Report:
    start = time.perf_counter()
    asked = Asked(options.validate, options.most_operations)
    budget = options.budget or INTEGER_BUDGET
    json = options.format == "json"
    brief: RefusalDetail = "nothing" if options.quiet or options.format != "text" else "briefly"
    detail: RefusalDetail = "all" if json or options.verbose else brief
    settings = Settings(
        options.only, budget, json, options.smt, asked, options.to_llvm, written, options.cache,
        expected=detail, diffs=options.diff, profile=Profile() if options.profile else None,
    )  # fmt: skip
    done: list[FileReport] = []
    interrupted = False
    listeners: _Listeners | None = None
    try:
        profiled = settings.profile or nullcontext()
        with profiled, bar_of(len(files)) if bar_of is not None else nullcontext() as bar:
            listeners = _Listeners(bar, text)
            for report_of_file in _verified(options, files, settings, listeners):
                done.append(report_of_file)
    except KeyboardInterrupt:
        interrupted = True
        if listeners is not None and len(done) < len(files):
            done.append(FileReport(files[len(done)].shown, tuple(listeners.finished)))
    report = Report(tuple(done), time.perf_counter() - start, interrupted=interrupted)
    if not report.schedules and not report.bad_files and not interrupted:
        return Report(report.files, report.seconds, _nothing(options, files, others))
    return report


def _verified(options: Options, files: list[Found], settings: Settings, listener: Listener) -> Iterator[FileReport]:
    """The reports of files, in their order, from as many processes as are wanted."""
    jobs = min(options.jobs or os.cpu_count() or 1, len(files))
    with executor_of(options.executor, jobs or 1) as executor:
        if executor is None:
            if files:
                warm_up(settings.asked)
            yield from (verify_file(file, settings, listener) for file in files)
            return
        from verified_tir.cli.verify_apart import verify_files

        yield from verify_files(files, settings, listener, executor)


def _nothing(options: Options, files: list[Found], others: list[Found]) -> str:
    """Why there was nothing to verify; nothing where that is as it should be: what there is did not change."""
    if options.changed_since is not None:
        only = options.only.lower()
        if not only or any(only in name.lower() for f in others for name in names_in(f)):
            return ""
    if not files and not others:
        return "there are no Python files in the folders given"
    if options.only:
        return f"no schedule's name contains {options.only!r}"
    where = "the file" if len(files) == 1 else f"the {len(files)} files"
    return f"no schedule was found: no function in {where} is decorated with @schedule(program)"
