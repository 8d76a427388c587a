"""What files give a name for everybody in the process, such as intrinsics: as long as the file lasts.

A file that is verified must not rest on what another one registered before.  What a module registers while it is
imported is kept as long as Python keeps the module, for it is not executed again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType, ModuleType
from typing import Any, Final, final

_ABSENT: Final = object()


@final
@dataclass(frozen=True, slots=True)
class _Entry:
    table: dict[str, Any]
    name: str
    before: Any
    after: Any
    module: ModuleType | None
    """The one that was imported at the time."""


_open: list[list[_Entry]] = []


def register(table: dict[str, Any], name: str, value: Any) -> None:
    """Give a name in a table to a value, for as long as what is executed lasts."""
    _enter(_Entry(table, name, table.get(name, _ABSENT), value, _imported()))


def unregister(table: dict[str, Any], name: str) -> None:
    """Take a name from a table, for as long as what is executed lasts; nothing happens if it is not there."""
    _enter(_Entry(table, name, table.get(name, _ABSENT), _ABSENT, _imported()))


@contextmanager
def forgotten() -> Iterator[None]:
    """What is registered in the block is undone after it, except what modules registered that Python keeps."""
    made: list[_Entry] = []
    before = set(sys.modules)
    _open.append(made)
    try:
        yield
    finally:
        _open.pop()
        for entry in reversed(made):
            _set(entry.table, entry.name, entry.before)
        for entry in made:
            module = entry.module
            if module is not None and module.__name__ not in before and sys.modules.get(module.__name__) is module:
                _enter(replace(entry, before=entry.table.get(entry.name, _ABSENT)))


def _enter(entry: _Entry) -> None:
    _set(entry.table, entry.name, entry.after)
    if _open:
        _open[-1].append(entry)


def _set(table: dict[str, Any], name: str, value: Any) -> None:
    if value is _ABSENT:
        table.pop(name, None)
    else:
        table[name] = value


def _imported() -> ModuleType | None:
    """The module whose text is being executed, the innermost one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = sys.modules.get(str(frame.f_globals.get("__name__")))
        if frame.f_code.co_name == "<module>" and isinstance(module, ModuleType) and vars(module) is frame.f_globals:
            return module
        frame = frame.f_back
    return None
