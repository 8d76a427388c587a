"""``[tool.vtir]`` in pyproject.toml: what a project always asks for, so that nobody has to type it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from verified_tir.cli.discover import NOTHING_EXCLUDED, Excluded
from verified_tir.report.formats import FORMATS, Format

MOST_BUDGET: Final = 2**32 - 1
"""What Z3 takes; of a greater number it would take the last 32 bits."""


@final
class BadSettings(ValueError):
    """A pyproject.toml that cannot be read, or what it says is not what it may say; the message names the file."""


@final
@dataclass(frozen=True, slots=True)
class Project:
    """What ``[tool.vtir]`` says; options on the command line win.

    :ivar file: the pyproject.toml, or ``None`` if there is none with such a table.
    :ivar paths: files and folders with schedules, as seen from the working folder.
    :ivar exclude: what is left out of folders.
    :ivar validate: as ``--validate`` and ``--no-validate``; ``None`` for little work.
    """

    file: Path | None = None
    paths: tuple[Path, ...] = ()
    exclude: Excluded = NOTHING_EXCLUDED
    budget: int | None = None
    format: Format = "text"
    validate: bool | None = None
    most_operations: int | None = None


def project_settings(start: Path) -> Project:
    """The settings of the nearest pyproject.toml with a table ``[tool.vtir]``, in a folder or one above it.

    :raises BadSettings: if one on the way cannot be read, or says what it may not say.
    """
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _project(file, table, start)
    return Project()


def _table(file: Path) -> Mapping[str, Any] | None:
    try:
        tool = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except OSError as problem:
        raise BadSettings(f"{file}: {problem.strerror or problem}") from None
    except ValueError as problem:  # of TOML, and of UTF-8
        raise BadSettings(f"{file}: {problem}") from None
    table = tool.get("vtir") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise BadSettings(f"{file}: tool.vtir is a table, as in [tool.vtir]")
    return table


def _strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v for v in value)


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _budget(value: object) -> bool:
    return isinstance(value, int) and _count(value) and value <= MOST_BUDGET


_KEYS: Final[dict[str, tuple[Callable[[object], bool], str]]] = {
    "paths": (_strings, "a list of files and folders"),
    "exclude": (_strings, "a list of patterns"),
    "budget": (_budget, f"a number from 1 to {MOST_BUDGET}"),
    "format": (lambda value: value in FORMATS, f"one of {', '.join(FORMATS)}"),
    "validate": (lambda value: isinstance(value, bool), "true or false"),
    "most-operations": (_count, "a positive integer"),
}
"""The keys, with a test of the value and what the value is to be."""


def _project(file: Path, table: Mapping[str, Any], start: Path) -> Project:
    for key, value in table.items():
        if key not in _KEYS:
            from verified_tir.schedule.spelling import meant

            known = f"; the keys are {', '.join(_KEYS)}"
            raise BadSettings(f"{file}: [tool.vtir] has no key {key!r}{meant(key, _KEYS) or known}")
        fits, wanted = _KEYS[key]
        if not fits(value):
            raise BadSettings(f"{file}: [tool.vtir] {key} is {wanted}, not {value!r}")
    folder = file.parent
    return Project(
        file,
        tuple(Path(os.path.relpath(folder / path, start)) for path in table.get("paths", ())),
        Excluded(folder, tuple(table.get("exclude", ()))),
        table.get("budget"),
        table.get("format", "text"),
        table.get("validate"),
        table.get("most-operations"),
    )
