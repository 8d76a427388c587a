"""Functions to lower or run: those of a file, found by name, each with what proves it.

A file that imports ``verified_tir`` is executed, as by ``vtir verify``: its ``@schedule`` functions and its programs
are found.  Any other file is read as TVMScript and never executed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import final

from verified_tir.activity import Level, announce
from verified_tir.cli.load import BadFileError, describe, executed, line_of
from verified_tir.cli.reading import problem_with, text_of
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.script import parse
from verified_tir.report.error_codes import NOTHING_TO_DO, UNREADABLE_FILE
from verified_tir.report.model import ErrorReport
from verified_tir.schedule.registry import ScheduleFunction
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.spelling import meant


@final
@dataclass(frozen=True, slots=True)
class Proved:
    """A function of a file: its name, and how it is proved (``ScheduleError`` if it cannot be)."""

    name: str
    prove: Callable[[], Schedule]


@contextmanager
def functions_of(path: Path, name: str) -> Iterator[list[Proved]]:
    """The functions of a file; inside the block they can be proved.

    Without a name: its schedules, or if there are none, its programs.

    :raises BadFileError: if the file cannot be read, or holds no such function.
    """
    shown = str(path)
    announce(Level.FILE, shown)
    wrong = problem_with(path)
    if wrong:
        raise BadFileError(ErrorReport("", wrong, line_of(path, shown, 0), code=UNREADABLE_FILE))
    if _imports_us(path):
        with executed(path, shown) as (module, made):
            yield _chosen(_schedules(made), _programs(module), name, shown, path)
        return
    try:
        text = text_of(path)
    except ValueError as bad:
        raise BadFileError(ErrorReport("", str(bad), line_of(path, shown, 0), code=UNREADABLE_FILE)) from None
    try:
        found = parse(text, filename=str(path.resolve()))
    except Exception as problem:
        raise BadFileError(describe(problem, path.resolve(), shown)) from None
    programs = [found] if isinstance(found, PrimFunc) else [f for _, f in found.functions]
    yield _chosen([], [Proved(f.name, _proof(f)) for f in programs], name, shown, path)


def _imports_us(path: Path) -> bool:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return True  # executing it says what is wrong
    except (RecursionError, MemoryError):
        return False  # reading it says so
    modules = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    modules += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    return any(m.partition(".")[0] == "verified_tir" for m in modules)


def _proof(func: PrimFunc) -> Callable[[], Schedule]:
    return lambda: Schedule(func)


def _schedules(made: list[ScheduleFunction]) -> list[Proved]:
    return [Proved(s.name, s) for s in made if s.expect == "proved"]


def _programs(module: ModuleType) -> list[Proved]:
    found: list[Proved] = []
    for name, value in vars(module).items():
        if isinstance(value, PrimFunc):
            found.append(Proved(name, _proof(value)))
        elif isinstance(value, IRModule):
            found += [Proved(n, _proof(f)) for n, f in value.functions]
    return found


def _chosen(schedules: list[Proved], programs: list[Proved], name: str, shown: str, path: Path) -> list[Proved]:
    if not name:
        if schedules or programs:
            return schedules or programs
        none = "there is no program in this file: no function is decorated with @T.prim_func or @schedule(program)"
        raise BadFileError(ErrorReport("", none, line_of(path, shown, 0), code=NOTHING_TO_DO))
    found = [p for p in (*schedules, *programs) if p.name == name]
    if found:
        return found[:1]
    names = ", ".join(dict.fromkeys(p.name for p in (*schedules, *programs))) or "none"
    known = list(dict.fromkeys(p.name for p in (*schedules, *programs)))
    problem = f"there is no function {name} in this file; there are {names}{meant(name, known)}"
    raise BadFileError(ErrorReport("", problem, line_of(path, shown, 0), code=NOTHING_TO_DO))
