"""``vtir verify`` in other processes: each file is a call, and only its own report suffers if the process ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, final

from verified_tir.activity import Level, announce
from verified_tir.certificate.write import Written
from verified_tir.child.executors import each, failure
from verified_tir.child.helper import Ended
from verified_tir.cli.apart import ended_by
from verified_tir.cli.discover import Found
from verified_tir.cli.profile import Profile
from verified_tir.cli.second_opinion import Asked
from verified_tir.cli.verify import Listener, Settings, verify_file, warm_up
from verified_tir.report.error_codes import RAISED, UNREADABLE_FILE
from verified_tir.report.model import ErrorReport, FileReport, SourcePlace


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call is told besides its file.

    :ivar folder: the working folder, as seen from which files are named.
    :ivar settings: of :class:`Settings`, without what takes part in a run.
    """

    folder: Path
    settings: dict[str, Any]
    certify: bool
    profile: bool

    @staticmethod
    def of(settings: Settings) -> Wanted:
        """What is wanted of a run with these settings."""
        names = ("only", "budget", "places", "smt", "asked", "to_llvm", "cache", "expected", "programs", "diffs")
        plain = {name: getattr(settings, name) for name in names}
        return Wanted(Path.cwd(), plain, settings.written is not None, settings.profile is not None)


def verify_files(
    files: list[Found], settings: Settings, listener: Listener, executor: Executor
) -> Iterator[FileReport]:
    """The reports of files, in their order; certificates are added to those of ``settings``."""
    wanted = Wanted.of(settings)
    announce(Level.FILE, f"0 of {len(files)} files are done")
    found = each(executor, verify_there, [(file, wanted) for file in files], _lost)
    for k, (file, (report, written)) in enumerate(zip(files, found, strict=True)):
        announce(Level.FILE, f"{k + 1} of {len(files)} files are done")
        listener.file_begins(file)
        whole = _with_certificates(file, report, written, settings.written)
        for schedule in whole.schedules:
            listener.schedule_ends(schedule)
        listener.file_ends(whole)
        yield whole


def _with_certificates(file: Found, report: FileReport, new: Written, known: Written | None) -> FileReport:
    """The report of a file whose certificates have been added to those that are known."""
    if known is None:
        return report
    if twice := new.certificates.keys() & known.certificates.keys():
        return _error(file, f"there are two certificates called {min(twice)}", RAISED)
    known.certificates |= new.certificates
    known.queries |= new.queries
    return report


def verify_there(file: Found, wanted: Wanted) -> tuple[FileReport, Written]:
    """The report of a file and its certificates; this is what another process does."""
    written = Written()
    try:
        os.chdir(wanted.folder)
    except OSError as problem:
        why = f"{wanted.folder}: {problem.strerror}; workers need the files, at the same place as here"
        return _error(file, why, UNREADABLE_FILE), written
    _warm_up(wanted.settings["asked"])
    with Profile() if wanted.profile else nullcontext() as profile:
        settings = Settings(**wanted.settings, written=written if wanted.certify else None, profile=profile)
        return verify_file(file, settings, Listener()), written


@cache
def _warm_up(asked: Asked) -> None:
    warm_up(asked)


def _lost(problem: Exception, file: Found, _: Wanted) -> tuple[FileReport, Written]:
    """What is said of a file whose process ended, twice."""
    why = ended_by(problem.status, [file.shown, *problem.at[1:]]) if isinstance(problem, Ended) else failure(problem)
    return _error(file, why.removeprefix(f"{file.shown}: "), RAISED), Written()


def _error(file: Found, why: str, code: str) -> FileReport:
    return FileReport(file.shown, (), 0.0, ErrorReport("", why, SourcePlace(file.shown, 0), code=code))
