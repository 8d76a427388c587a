"""Which files of a project import which: read from their text, nothing is executed.

A name may stand for any file whose path ends in it: ``import gemm.tiles`` for ``gemm/tiles.py`` in every folder, since
what is on ``sys.path`` is known only when a file runs.  So more imports are found than there are.  Those that are
computed (``importlib.import_module(name)``) are not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import final

_Parts = tuple[str, ...]


@final
class ImportGraph:
    """The imports among some files, which are given by resolved paths; they need not exist any more."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._files = frozenset(files)
        self._called: dict[str, list[tuple[_Parts, Path]]] = {}
        for file in self._files:
            parts = _module(file)
            self._called.setdefault(parts[-1], []).append((parts, file))
        self._direct: dict[Path, frozenset[Path]] = {}

    def reached(self, file: Path) -> frozenset[Path]:
        """A file, and all that it imports, directly or through others; of a link, also the file that it leads to.

        What cannot be parsed imports nothing.
        """
        found = {file}
        todo = [file]
        while todo:
            here = todo.pop()
            for other in {*self._imported(here), here.resolve()} - found:
                found.add(other)
                todo.append(other)
        return frozenset(found)

    def _imported(self, file: Path) -> frozenset[Path]:
        known = self._direct.get(file)
        if known is None:
            known = self._direct[file] = frozenset(self._names(file)) - {file}
        return known

    def _names(self, file: Path) -> Iterator[Path]:
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            return
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    for name in names:
                        yield from self._absolute(tuple(name.name.split(".")))
                case ast.ImportFrom(module=module, names=names, level=level):
                    base = tuple(module.split(".")) if module else ()
                    for name in names:
                        parts = base if name.name == "*" else (*base, name.name)
                        found = [*(self._relative(file, parts, level) if level else self._absolute(parts))]
                        yield from found
                        if name.name == "*":  # also the modules that __all__ of a package names
                            yield from self._below({f.parent for f in found if f.name == "__init__.py"})

    def _below(self, packages: set[Path]) -> Iterator[Path]:
        """The modules and packages directly in some packages."""
        for file in self._files:
            folder = file.parent.parent if file.name == "__init__.py" else file.parent
            if folder in packages:
                yield file

    def _absolute(self, parts: _Parts) -> Iterator[Path]:
        """The files that a dotted name may mean, and those of the packages around it."""
        for n in range(1, len(parts) + 1):
            head = parts[:n]
            for called, file in self._called.get(head[-1], ()):
                if called[-n:] == head:
                    yield file

    def _relative(self, file: Path, parts: _Parts, level: int) -> Iterator[Path]:
        folder = file.parent
        for _ in range(level - 1):
            folder = folder.parent
        for n in range(len(parts) + 1):
            here = folder.joinpath(*parts[:n])
            as_file = [here.with_name(f"{here.name}.py")] if here.name else []  # with more dots there is no such folder
            for candidate in (*as_file, here / "__init__.py"):
                if candidate in self._files:
                    yield candidate


def _module(file: Path) -> _Parts:
    """The parts of the longest dotted name that a file can have."""
    parts = file.with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts
