"""Which files are meant by the paths that a user gives."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, final

from verified_tir.cli.reading import problem_with


@final
@dataclass(frozen=True, slots=True)
class Found:
    """A file to verify: its place, how to call it, and whether the user named it (rather than a folder around it).

    A place is a full path, also if what a user gives is not: a file that is executed may change the working folder.
    ``problem`` is set if it cannot be read.  ``name`` is set if one schedule was named, as ``FILE:NAME``.  ``text`` is
    what the file contains, while it is being edited.
    """

    path: Path
    shown: str
    explicit: bool
    problem: str = ""
    text: str | None = None
    name: str = ""


Choose = Callable[[list[Found]], list[Found]]
"""Which of the files that were found are verified."""


@final
@dataclass(frozen=True, slots=True)
class Excluded:
    """Patterns of what is left out of folders: paths as seen from ``folder``, where ``*`` also matches ``/``."""

    folder: Path = Path()
    patterns: tuple[str, ...] = ()

    def __contains__(self, path: Path) -> bool:
        if not self.patterns:
            return False
        name = Path(os.path.relpath(path, self.folder)).as_posix()
        return any(fnmatch(name, pattern.removesuffix("/")) for pattern in self.patterns)


NOTHING_EXCLUDED: Final = Excluded()


def find_files(paths: Iterable[Path], exclude: Excluded = NOTHING_EXCLUDED) -> list[Found]:
    """The files among ``paths``, and every ``*.py`` below the folders among them; each once, folders in sorted order.

    Hidden folders, ``__pycache__``, virtual environments and what is excluded are not entered, unless they are given
    themselves.  Links to folders are followed.
    """
    found: dict[tuple[Path, str], Found] = {}
    for path in paths:
        for one in _below(path, exclude):
            key = one.path if one.problem else one.path.resolve(), one.name
            if key not in found or (one.explicit and not found[key].explicit):
                found[key] = one
    return list(found.values())


def split_name(where: str) -> tuple[Path, str]:
    """``FILE:function`` as file and name (empty if none is given)."""
    path, colon, name = where.rpartition(":")
    return (Path(path), name) if colon and name.isidentifier() else (Path(where), "")


def split_schedule(where: str) -> tuple[Path, str]:
    """``FILE:SCHEDULE`` as file and name; the second ``padded`` of a file is ``padded#2``."""
    found = re.fullmatch(r"(.+):([^\W\d]\w*(?:#\d+)?)", where)
    return (Path(found[1]), found[2]) if found else (Path(where), "")


def _below(path: Path, exclude: Excluded) -> Iterator[Found]:
    if os.path.isdir(path):
        unreadable: list[OSError] = []
        for folder, names in walk(path, lambda d: is_entered(d) and d not in exclude, unreadable.append):
            for name in names:
                file = Path(folder, name)
                if name.endswith(".py") and file not in exclude:
                    yield Found(file.absolute(), str(file), explicit=False, problem=problem_with(file))
        for bad in unreadable:
            place = str(bad.filename)
            yield Found(Path(place), place, explicit=True, problem=bad.strerror or "the folder cannot be read")
        return
    problem, (file, name) = problem_with(path), split_schedule(str(path))
    if problem and name and not problem_with(file):
        yield Found(file.absolute(), str(file), explicit=True, name=name)
    else:
        yield Found(path if problem else path.absolute(), str(path), explicit=True, problem=problem)


def walk(
    top: Path, entered: Callable[[Path], bool], failed: Callable[[OSError], object] | None = None
) -> Iterator[tuple[Path, list[str]]]:
    """The folders at and below one, with the names of their files, in sorted order.

    Links are followed, but not to a folder around them.  What is below them comes last, and each folder once.

    :param entered: which folders are.
    """
    seen: set[Path] = set()
    todo = [top]
    while todo:
        for here, inner, names in os.walk(todo.pop(0), onerror=failed):
            folder, real = Path(here), Path(os.path.realpath(here))
            if real in seen:
                inner.clear()
                continue
            seen.add(real)
            below = [folder / name for name in sorted(inner) if entered(folder / name)]
            links = [d for d in below if d.is_symlink()]
            todo += [d for d in links if not real.is_relative_to(os.path.realpath(d))]
            inner[:] = [d.name for d in below if d not in links]
            yield folder, sorted(names)


def is_entered(folder: Path) -> bool:
    """Whether a folder is neither hidden nor a virtual environment, and has more than what Python compiled."""
    return (
        not folder.name.startswith(".") and folder.name != "__pycache__" and not os.path.exists(folder / "pyvenv.cfg")
    )
