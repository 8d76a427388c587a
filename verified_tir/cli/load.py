"""Schedule files: ordinary Python, executed.

A file runs under a module name of its own, with its folder first on ``sys.path``, so that it can import the helpers
that lie beside it.  They are forgotten afterwards: another folder may have helpers of the same names.  So is what the
file registers, intrinsics for example, and the working folder is what it was: paths of other files are relative to it.
Whatever the file does wrong becomes one :class:`BadFileError` with a place.
"""

from __future__ import annotations

import io
import itertools
import linecache
import os
import sys
import tokenize
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from types import ModuleType
from typing import final

from verified_tir.ir.script import ScriptError
from verified_tir.report.error_codes import code_of_exception
from verified_tir.report.model import ErrorReport, SourcePlace
from verified_tir.schedule.registrations import forgotten
from verified_tir.schedule.registry import Exited, ScheduleFunction, collecting

_numbers = itertools.count(1)


@final
class BadFileError(Exception):
    """A file that cannot be used; ``report`` says why."""

    def __init__(self, report: ErrorReport) -> None:
        super().__init__(report.message)
        self.report = report
        self.code = report.code


@contextmanager
def loaded(path: Path, shown: str, text: str | None = None) -> Iterator[list[ScheduleFunction]]:
    """The schedule functions of a file, in the order in which they were made; inside the block they can be called.

    Those that modules make which the file imports are not among them; those that it makes of their functions are.  What
    the file prints goes to the standard error.

    :raises BadFileError: if the file cannot be read or executed.
    """
    with executed(path, shown, text) as (_, functions):
        yield functions


@contextmanager
def executed(path: Path, shown: str, text: str | None = None) -> Iterator[tuple[ModuleType, list[ScheduleFunction]]]:
    """A file as a module, with its schedule functions; see :func:`loaded`.

    :param text: what is executed instead of what the file contains.
    :raises BadFileError: if the file cannot be read or executed.
    """
    full = path.resolve()
    name = f"vtir_schedule_file_{next(_numbers)}"
    module = ModuleType(name)
    module.__file__ = str(full)
    with forgotten(), _surroundings(full.parent, name, module), redirect_stdout(sys.stderr):
        try:
            source = full.read_bytes() if text is None else text.encode()
            if b"\0" in source:  # Python says it in several ways
                raise SyntaxError("the file contains null bytes")
            _check_encoding(source, full)
            linecache.checkcache(str(full))
            if text is not None:  # the parser of programs asks for lines; those without a time are not read again
                linecache.cache[str(full)] = (len(text), None, text.splitlines(keepends=True), str(full))
            with collecting(module) as made:
                exec(compile(source if text is None else text, str(full), "exec", dont_inherit=True), vars(module))
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # SystemExit too
            raise BadFileError(describe(problem, full, shown)) from None
        yield module, made


def _check_encoding(source: bytes, file: Path) -> None:
    """:raises SyntaxError: if a text is not in its encoding, with the place; Python's message names neither."""
    encoding = "utf-8"
    with suppress(SyntaxError):  # an unknown encoding, which the compiler names, or a first line in another
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    try:
        source.decode(encoding)
    except UnicodeDecodeError as bad:
        before = source[: bad.start].split(b"\n")
        line = source.split(b"\n")[len(before) - 1].decode(errors="replace")
        raise SyntaxError(
            f"the byte 0x{source[bad.start]:02x} is not {bad.encoding.upper()}; save the file as UTF-8, or name its "
            "encoding in the first line, as in # coding: latin-1",
            (str(file), len(before), len(before[-1].decode(errors="replace")) + 1, line),
        ) from None


@contextmanager
def _surroundings(folder: Path, name: str, module: ModuleType) -> Iterator[None]:
    """The file's folder on the path and its module known; both undone afterwards, helpers beside it forgotten, and the
    working folder what it was."""
    before = set(sys.modules)
    path = list(sys.path)
    here = working_folder()
    sys.path.insert(0, str(folder))
    sys.modules[name] = module
    try:
        yield
    finally:
        sys.path[:] = path
        with suppress(OSError):  # the file may have deleted it
            os.chdir(here)
        new = set(sys.modules) - before
        helpers = {n for n in new if "." not in n and _stands_in(sys.modules[n], folder)}
        for other in new:
            if other == name or other.partition(".")[0] in helpers:
                del sys.modules[other]


def working_folder() -> Path:
    """The working folder with its full path, or as ``.`` if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return Path()


def _stands_in(module: ModuleType, folder: Path) -> bool:
    """Whether a module is a file or a package directly in the folder."""
    places = [Path(p) for p in getattr(module, "__path__", ())]
    if not places and module.__spec__ is not None and module.__spec__.origin is not None:
        places = [Path(module.__spec__.origin)]
    return any(p.parent.resolve() == folder for p in places)


def describe(problem: BaseException, file: Path, shown: str, line: int = 0) -> ErrorReport:
    """An exception as an error with a place: the innermost line of ``file`` that led to it.

    :param shown: how to call the file.
    :param line: the line to name if no line of the file led to it.
    """
    if isinstance(problem, Exited) and problem.__cause__ is not None:
        problem = problem.__cause__
    kind, message = type(problem).__name__, _text(problem)
    at = raised_at(problem, file, shown) or line_of(file, shown, line)
    match problem:
        case ScriptError(filename=str(name)) if not name.startswith("<"):
            place = _named(name, file, shown, problem.line, problem.column, problem.source_line)
            message, at = problem.message + _reached(at, place), place
        case SyntaxError(filename=str(name), lineno=int(number)) if number > 0:
            place = _named(name, file, shown, number, problem.offset or None, problem.text or "")
            message, at = problem.msg + _reached(at, place), place
        case SystemExit(code=code):
            message = str(Exited(code))
        case RecursionError():
            compiled = "during compilation" in message
            message += (
                f"; {'an expression is nested too deeply' if compiled else 'does a function call itself without end?'}"
            )
        case OSError(filename=name) if name is not None and Path(name) == file:
            kind, message = "", problem.strerror or message
    details = "" if isinstance(problem, RecursionError) else "".join(traceback.format_exception(problem))
    return ErrorReport(kind, message or "no message", at, details, code=code_of_exception(problem))


def raised_at(problem: BaseException, file: Path, shown: str) -> SourcePlace | None:
    """The innermost line of ``file`` that led to an exception."""
    frames = traceback.walk_tb(problem.__traceback__)
    lines = [line for f, line in frames if f.f_code.co_filename == str(file)]
    return line_of(file, shown, lines[-1]) if lines else None


def line_of(file: Path, shown: str, line: int) -> SourcePlace:
    """A line of the file; 0 stands for the file as a whole."""
    return SourcePlace(shown, line, None, linecache.getline(str(file), line).strip() if line else "")


def _named(name: str, file: Path, shown: str, line: int, column: int | None, source: str) -> SourcePlace:
    return SourcePlace(shown if name == str(file) else _short(name), line, column, source.rstrip("\n"))


def _reached(here: SourcePlace, place: SourcePlace) -> str:
    """From where another file was reached."""
    return f" (reached from {here})" if place.file != here.file and here.line else ""


def _short(name: str) -> str:
    """A path as seen from the working folder, if it lies below."""
    path = Path(name)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else name


def _text(problem: BaseException) -> str:
    try:
        return str(problem)
    except Exception:  # an exception whose own text fails must not end the run
        return "(its message cannot be shown)"
