"""Which files are meant by the paths that a user gives."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final


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


def find_files(paths: Iterable[Path]) -> list[Found]:
    """The files among ``paths``, and every ``*.py`` below the folders among them; each once, folders in sorted order.

    Hidden folders, ``__pycache__`` and virtual environments are not entered, unless they are given themselves.
    """
    found: dict[Path, Found] = {}
    for path in paths:
        for one in _below(path):
            key = one.path.resolve()
            if key not in found or (one.explicit and not found[key].explicit):
                found[key] = one
    return list(found.values())


def _below(path: Path) -> Iterator[Found]:
    if path.is_dir():
        unreadable: list[OSError] = []
        for folder, inner, names in os.walk(path, onerror=unreadable.append):
            inner[:] = sorted(d for d in inner if _entered(Path(folder, d)))
            for name in sorted(names):
                if name.endswith(".py"):
                    file = Path(folder, name)
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
