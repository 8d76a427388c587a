"""Files to a report: every schedule function is run, and what the kernel proved or refused is collected."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

from verified_tir.activity import Level, announce
from verified_tir.cli.discover import Found
from verified_tir.cli.load import BadFileError, describe, line_of, loaded, raised_at, working_folder
from verified_tir.cli.second_opinion import LITTLE, Asked, ask, opinion_report
from verified_tir.logic.formula import INT, integer, le, var
from verified_tir.logic.solver import INTEGER_BUDGET, Solver
from verified_tir.logic.verdict_store import VerdictStore
from verified_tir.report.collect import RefusalDetail, input_of, refusal_of, steps_of
from verified_tir.report.error_codes import BUG, NOTHING_TO_DO, UNREADABLE_FILE
from verified_tir.report.model import (
    ErrorReport,
    FileReport,
    InputReport,
    MachineCodeReport,
    OpinionReport,
    Outcome,
    RefusalReport,
    ScheduleReport,
    SourcePlace,
)  # fmt: skip
from verified_tir.report.smt import file_name, folder_for, write_obligations, write_refusal
from verified_tir.schedule.errors import ScheduleError, not_expected
from verified_tir.schedule.registry import ScheduleFunction
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.spelling import meant
from verified_tir.schedule.verdicts import open_store

if TYPE_CHECKING:
    from verified_tir.certificate.write import Written
    from verified_tir.cli.profile import Profile


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """What a run does.

    :ivar only: verify the schedules whose names contain this text.
    :ivar budget: resource limit of one integer query.
    :ivar places: find the statement that each obligation is about.
    :ivar diffs: say what each step changed in the program's text.
    :ivar smt: folder for the obligations' SMT-LIB texts.
    :ivar asked: how much the independent validator is asked.
    :ivar cache: whether verdicts on disk are believed, and new ones kept.
    :ivar during: verdicts of this run, for all of its schedules where none are kept on disk.
    :ivar to_llvm: compare the LLVM IR of every schedule that was proved with its program.
    :ivar expected: how much is said of refusals that were expected.
    :ivar programs: write out the program after each step.
    :ivar profile: tells where the time of each schedule went.
    :ivar written: gets a certificate of every schedule that was proved.
    :ivar folder: what relative paths are relative to; a file that is executed may change the working folder.
    """

    only: str = ""
    budget: int = INTEGER_BUDGET
    places: bool = False
    smt: Path | None = None
    asked: Asked = LITTLE
    to_llvm: bool = False
    written: Written | None = None
    cache: bool = True
    during: VerdictStore = field(default_factory=VerdictStore)
    expected: RefusalDetail = "all"
    programs: bool = False
    diffs: bool = False
    profile: Profile | None = None
    folder: Path = field(default_factory=working_folder)


class Listener:
    """Hears of a run while it goes on; this one does nothing."""

    def file_begins(self, file: Found) -> None:
        """Before a file is executed."""

    def schedule_begins(self, name: str, solver: Solver) -> None:
        """Before a schedule function runs; ``solver.statistics`` counts what it asks."""

    def schedule_made(self, made: Schedule | None, refused: ScheduleError | None) -> None:
        """After a schedule function, before its report: what it made, and what ended it."""

    def schedule_ends(self, report: ScheduleReport) -> None:
        """After a schedule function."""

    def file_ends(self, report: FileReport) -> None:
        """After the last schedule of a file."""


class Made(Listener):
    """Keeps what a schedule function made, and its refusal."""

    def __init__(self) -> None:
        self.made: Schedule | None = None
        self.refused: ScheduleError | None = None

    def schedule_made(self, made: Schedule | None, refused: ScheduleError | None) -> None:
        self.made, self.refused = made, refused


def warm_up(asked: Asked = LITTLE) -> None:
    """Load the solver and the validator, so that the first obligation and schedule are not charged for it."""
    Solver().prove((), le(var("x", INT), integer(0)))
    if asked.when != "never":
        import verified_tir.schedule.second_opinion  # noqa: F401


def verify_file(file: Found, settings: Settings, listener: Listener) -> FileReport:
    """Execute a file and verify its schedules.  A mistake in the file is part of the report."""
    start = time.perf_counter()
    done: list[ScheduleReport] = []
    error: ErrorReport | None = None
    warning = ""
    announce(Level.FILE, file.shown)
    listener.file_begins(file)
    if file.problem:
        error = ErrorReport("", file.problem, SourcePlace(file.shown, 0), code=UNREADABLE_FILE)
    else:
        try:
            with loaded(file.path, file.shown, file.text) as functions:
                if not functions and file.explicit:
                    warning = "there is no function decorated with @schedule(program) in this file"
                found = named(functions)
                if file.name and file.name not in dict(found):
                    why = _no_schedule(file.name, dict(found))
                    raise BadFileError(ErrorReport("", why, SourcePlace(file.shown, 0), code=NOTHING_TO_DO))
                for name, function in found:
                    if file.name in ("", name) and settings.only.lower() in name.lower():
                        verified = verify_schedule(name, function, file, settings, listener)
                        done.append(_profiled(verified, settings.profile))
                        listener.schedule_ends(done[-1])
        except BadFileError as bad:
            error = bad.report
    report = FileReport(file.shown, tuple(done), time.perf_counter() - start, error, warning)
    listener.file_ends(report)
    return report


def _no_schedule(name: str, known: Iterable[str]) -> str:
    has = f"there are {', '.join(known)}" if known else "there are none"
    return f"there is no schedule {name} in this file; {has}{meant(name, known)}"


def named(functions: Iterable[ScheduleFunction]) -> list[tuple[str, ScheduleFunction]]:
    """The functions with names that differ: the second ``padded`` of a file is ``padded#2``."""
    counts: dict[str, int] = {}
    found = []
    for f in functions:
        counts[f.name] = counts.get(f.name, 0) + 1
        found.append((f.name if counts[f.name] == 1 else f"{f.name}#{counts[f.name]}", f))
    return found


def names_in(file: Found) -> list[str]:
    """The names of a file's schedules, which are not verified; none of a file that cannot be used."""
    try:
        with loaded(file.path, file.shown, file.text) as functions:
            return [name for name, _ in named(functions)]
    except BadFileError:
        return []


@final
@dataclass(slots=True)
class _Run:
    """What came of one schedule function."""

    made: Schedule | None = None
    refused: ScheduleError | None = None
    error: ErrorReport | None = None
    seconds: float = 0.0
    opinion: OpinionReport | None = None
    machine_code: MachineCodeReport | None = None
    input: InputReport | None = None


def verify_schedule(
    name: str, function: ScheduleFunction, file: Found, settings: Settings, listener: Listener
) -> ScheduleReport:
    """Run one schedule and report it.  An exception is an error of this schedule, not of the run."""
    full = Path(function.file)
    shown = file.shown if full == file.path.resolve() else function.file
    store = open_store(settings.cache)
    store = settings.during if store.folder is None else store
    solver = Solver(settings.budget, store=store)  # one for each schedule: verdicts do not depend on its neighbours
    announce(Level.FUNCTION, name)
    listener.schedule_begins(name, solver)
    run = _Run()
    start = time.perf_counter()
    try:
        run.made = function.begun(Schedule, solver=solver)
        function.apply(run.made)
        run.made.prove_race_free()
    except ScheduleError as refused:
        run.refused = refused
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        run.error = describe(problem, full, shown, function.line)
    at = line_of(full, shown, function.line)
    if run.made is not None and run.error is None and _outcome(function.expect, run) is Outcome.PROVED:
        _exhibit(run, run.made, at)
    if run.made is not None and run.error is None and _outcome(function.expect, run).as_expected:
        _second_opinion(run, run.made, settings, at)
        if settings.to_llvm and run.refused is None and run.error is None:
            _to_llvm(run, run.made, at)
    run.seconds = time.perf_counter() - start
    try:
        if settings.smt is not None:
            _write(folder_for(settings.folder / settings.smt, file.shown) / file_name(name), run)
        listener.schedule_made(run.made, run.refused)
        report = _report(name, function, at, run, settings)
        if settings.written is not None and run.made is not None and report.outcome is Outcome.PROVED:
            from verified_tir.certificate.write import Origin, certificate_name, shown_below

            here = shown_below(file.path, settings.folder)
            origin = Origin(name, here, function.line, function.file)
            settings.written.add(certificate_name(here, name), run.made, origin)
        return report
    except Exception as problem:  # what cannot be shown or written must not pass for proved
        error = describe(problem, full, shown, function.line)
        return _report(name, function, at, _Run(error=error, seconds=run.seconds), Settings())


def _profiled(report: ScheduleReport, profile: Profile | None) -> ScheduleReport:
    return report if profile is None else replace(report, profile=profile.take())


def _exhibit(run: _Run, made: Schedule, at: SourcePlace) -> None:
    """An input that the theorem speaks of, or that there is none."""
    announce(Level.STEP, "the search for an input")
    try:
        run.input = input_of(made.exhibit())
    except KeyboardInterrupt:
        raise
    except Exception as problem:  # it is to have no exceptions; whatever it has must not pass for an input
        message = f"the search for an input failed: {type(problem).__name__}: {problem}"
        run.error = _bug(message, at, problem)


def _bug(message: str, at: SourcePlace, problem: Exception) -> ErrorReport:
    return ErrorReport("BugInThisTool", message, at, "".join(traceback.format_exception(problem)), code=BUG)


def _second_opinion(run: _Run, made: Schedule, settings: Settings, at: SourcePlace) -> None:
    """The validator's word; that it disagrees, or fails, is an error of the schedule."""
    announce(Level.STEP, "the validator")
    try:
        validation = ask(made, settings.asked)
    except KeyboardInterrupt:
        raise
    except Exception as problem:  # it is to have no exceptions; whatever it has must not pass for consent
        message = f"the validator failed: {type(problem).__name__}: {problem}"
        run.error = _bug(message, at, problem)
        return
    if validation is not None:
        run.opinion = opinion_report(validation)
        if validation.bug is not None:
            path = validation.bug.evidence.write(settings.folder)
            message = f"{validation.bug}\nall of this, to attach to a report: {path}"
            run.error = ErrorReport("BugInThisTool", message, at, code=BUG)


def _to_llvm(run: _Run, made: Schedule, at: SourcePlace) -> None:
    """The executor's word on the LLVM IR; a difference is an error of the schedule."""
    from verified_tir.cli.to_llvm import to_llvm

    announce(Level.STEP, "the comparison with LLVM IR")
    try:
        found = to_llvm(made)
    except KeyboardInterrupt:
        raise
    except Exception as problem:
        message = f"the comparison with LLVM IR failed: {type(problem).__name__}: {problem}"
        run.error = _bug(message, at, problem)
        return
    run.machine_code = found.report
    if found.bug:
        run.error = ErrorReport("BugInThisToolOrLLVM", found.bug, at, code=BUG)


def _report(name: str, function: ScheduleFunction, at: SourcePlace, run: _Run, settings: Settings) -> ScheduleReport:
    def refusal(r: ScheduleError, detail: RefusalDetail) -> RefusalReport:
        return refusal_of(r, raised_at(r, Path(function.file), at.file) or at, detail)

    made = run.made
    outcome, detail = _outcome(function.expect, run), settings.expected
    if detail == "nothing" and not outcome.as_expected:  # then the schedule is shown, and all that was refused in it
        detail = "briefly"
    ended = detail if outcome is Outcome.REFUSED_AS_EXPECTED else "all"
    return ScheduleReport(
        name=name,
        at=at,
        doc=function.doc,
        expect=function.expect,
        outcome=outcome,
        seconds=run.seconds,
        steps=()
        if made is None
        else steps_of(
            made, file=function.file, places=settings.places, programs=settings.programs, diffs=settings.diffs
        ),
        expected_refusals=() if made is None else tuple(refusal(r, detail) for r in made.refusals),
        refusal=None if run.refused is None else refusal(run.refused, ended),
        error=run.error,
        assumptions=() if made is None else tuple(made.assumptions),
        program="" if made is None else made.script(),
        opinion=run.opinion,
        machine_code=run.machine_code,
        input=run.input,
        unexpected=_unexpected(function.expect, run),
    )


def _unexpected(expect: str, run: _Run) -> str:
    """Why the refusal that ended a schedule is not the one that was expected, where one was."""
    if run.refused is None:
        return ""
    said = not_expected(run.refused, run.made) if expect == "refused" else ""
    return said or next(iter(getattr(run.refused, "__notes__", ())), "")  # a note is that of a block of expect_refusal


def _outcome(expect: str, run: _Run) -> Outcome:
    if run.error is not None:
        return Outcome.ERROR
    if run.refused is not None:  # the program itself, or another schedule, is not what was to be refused
        own = expect == "refused" and run.made is not None and not not_expected(run.refused, run.made)
        return Outcome.REFUSED_AS_EXPECTED if own else Outcome.REFUSED
    if expect == "refused":
        return Outcome.NOT_REFUSED
    found = "input" if run.input is None else run.input.found
    return {"vacuous": Outcome.VACUOUS, "no input found": Outcome.NO_INPUT}.get(found, Outcome.PROVED)


def _write(folder: Path, run: _Run) -> None:
    refusals = [] if run.refused is None else [run.refused]
    if run.made is not None:
        write_obligations(folder, run.made)
        refusals = [*run.made.refusals, *refusals]
    for k, refused in enumerate(refusals):
        write_refusal(folder, f"refused-{k}-{file_name(refused.step.partition('(')[0])}", refused)
