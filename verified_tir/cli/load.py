"""Schedule files: ordinary Python, executed.

A file runs under a module name of its own, with its folder first on ``sys.path``, so that it can import the helpers
that lie beside it.  They are forgotten afterwards: another folder may have helpers of the same names.  Whatever the
file does wrong becomes one :class:`BadFileError` with a place.
"""

from __future__ import annotations

import itertools
import linecache
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import final

from verified_tir.ir.script import ScriptError
from verified_tir.report.model import ErrorReport, SourcePlace
from verified_tir.schedule.registry import ScheduleFunction, collecting

_numbers = itertools.count(1)
_PACKAGE = str(Path(__file__).resolve().parent.parent)


@final
class BadFileError(Exception):
    """A file that cannot be used; ``report`` says why."""

    def __init__(self, report: ErrorReport) -> None:
        super().__init__(report.message)
        self.report = report


@contextmanager
def loaded(path: Path, shown: str) -> Iterator[list[ScheduleFunction]]:
    """The schedule functions of a file, in the order in which they were made; inside the block they can be called.

    Those of modules that the file imports are not among them, except schedules that it had made by a function of such a
    module.  What the file prints goes to the standard error.

    :raises BadFileError: if the file cannot be read or executed.
    """
    full = path.resolve()
    name = f"vtir_schedule_file_{next(_numbers)}"
    module = ModuleType(name)
    module.__file__ = str(full)
    with _surroundings(full.parent, name, module), redirect_stdout(sys.stderr):
        try:
            source = full.read_bytes()
            linecache.checkcache(str(full))
            with collecting() as made:
                exec(compile(source, str(full), "exec", dont_inherit=True), vars(module))
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # SystemExit too
            raise BadFileError(describe(problem, full, shown)) from None
        yield [s for s in made if _belongs(s, full, module)]


@contextmanager
def _surroundings(folder: Path, name: str, module: ModuleType) -> Iterator[None]:
    """The file's folder on the path and its module known; both undone afterwards, and helpers beside it forgotten."""
    before = set(sys.modules)
    path = list(sys.path)
    sys.path.insert(0, str(folder))
    sys.modules[name] = module
    try:
        yield
    finally:
        sys.path[:] = path
        for other in set(sys.modules) - before:
            origin = getattr(sys.modules[other], "__file__", None)
            if other == name or (origin and Path(origin).resolve().is_relative_to(folder)):
                del sys.modules[other]


def _belongs(s: ScheduleFunction, file: Path, module: ModuleType) -> bool:
    if s.file == str(file):
        return True
    made_by_call = "<locals>" in s.function.__qualname__
    return made_by_call and any(value is s for value in vars(module).values())


def describe(problem: BaseException, file: Path, shown: str, line: int = 0) -> ErrorReport:
    """An exception as an error with a place: the innermost line of ``file`` that led to it.

    :param shown: how to call the file.
    :param line: the line to name if no line of the file led to it.
    """
    kind = type(problem).__name__
    message = _text(problem)
    at = SourcePlace(shown, line, None, _source(file, line))
    match problem:
        case ScriptError() if not problem.filename.startswith("<"):
            message = problem.message
            at = _named(problem.filename, file, shown, problem.line, problem.column, problem.source_line)
        case SyntaxError(filename=str(name), lineno=int(number)) if number > 0:
            message = problem.msg
            at = _named(name, file, shown, number, problem.offset or None, problem.text or "")
        case _:
            found = raised_at(problem, file, shown)
            if found is not None:
                at = found
    match problem:
        case SystemExit():
            message = f"the file calls sys.exit({problem.code!r})" if problem.code is not None else "the file exits"
        case RecursionError():
            message = "infinite recursion" if not message else f"infinite recursion ({message})"
        case OSError() if problem.filename is not None and Path(problem.filename) == file:
            message = problem.strerror or message
            kind = ""
    details = "" if isinstance(problem, RecursionError) else "".join(traceback.format_exception(problem))
    return ErrorReport(kind, message or "no message", at, details)


def raised_at(problem: BaseException, file: Path, shown: str) -> SourcePlace | None:
    """The innermost line of ``file`` that led to an exception; failing that, of another file that is not ours."""
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(problem.__traceback__)]
    own = [line for name, line in frames if name == str(file)]
    if own:
        return SourcePlace(shown, own[-1], None, _source(file, own[-1]))
    return None


def _named(name: str, file: Path, shown: str, line: int, column: int | None, source: str) -> SourcePlace:
    return SourcePlace(shown if name == str(file) else _short(name), line, column, source.rstrip("\n"))


def _short(name: str) -> str:
    """A path as seen from the working folder, if it lies below."""
    path = Path(name)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else name


def _source(file: Path, line: int) -> str:
    return linecache.getline(str(file), line).rstrip("\n").strip() if line else ""


def _text(problem: BaseException) -> str:
    try:
        return str(problem)
    except Exception:  # an exception whose own text fails must not end the run
        return "(its message cannot be shown)"
