"""Which files are meant by the paths that a user gives."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, final


@final
@dataclass(frozen=True, slots=True)
class Found:
    """A file to verify: its place, how to call it, and whether the user named it (rather than a folder around it).

    ``problem`` is set if there is no such file.  ``text`` stands for what the file contains, while it is being edited.
    """

    path: Path
    shown: str
    explicit: bool
    problem: str = ""
    text: str | None = None


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
    themselves.
    """
    found: dict[Path, Found] = {}
    for path in paths:
        for one in _below(path, exclude):
            key = one.path.resolve()
            if key not in found or (one.explicit and not found[key].explicit):
                found[key] = one
    return list(found.values())


def _below(path: Path, exclude: Excluded) -> Iterator[Found]:
    if path.is_dir():
        unreadable: list[OSError] = []
        for folder, inner, names in os.walk(path, onerror=unreadable.append):
            inner[:] = sorted(d for d in inner if _entered(Path(folder, d)) and Path(folder, d) not in exclude)
            for name in sorted(names):
                file = Path(folder, name)
                if name.endswith(".py") and file not in exclude:
                    yield Found(file, str(file), explicit=False)
        for problem in unreadable:
            place = str(problem.filename)
            yield Found(Path(place), place, explicit=True, problem=problem.strerror or "the folder cannot be read")
    elif not path.exists():
        yield Found(path, str(path), explicit=True, problem="there is no such file or folder")
    else:
        yield Found(path, str(path), explicit=True)


def _entered(folder: Path) -> bool:
    return not folder.name.startswith(".") and folder.name != "__pycache__" and not (folder / "pyvenv.cfg").exists()
