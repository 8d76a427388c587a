"""What is mutated: the files, and the functions in them.

Positions are offsets into the bytes of a file, as ``ast`` counts columns in bytes.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, final

from tests.mutation.trusted import KERNEL, trusted_files

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

RULES = f"{KERNEL}/rules/"


def checkout() -> Path:
    """The root of the source checkout that this package was imported from."""
    return Path(__file__).resolve().parents[2]


def mutated_files(root: Path) -> list[str]:
    """The files of the trusted base, relative to the root: rules first, then the kernel, then what these import."""
    names = [p.relative_to(root).as_posix() for p in trusted_files(root) if p.read_bytes().strip()]
    return sorted(names, key=lambda name: (not name.startswith(RULES), not name.startswith(KERNEL), name))


@final
@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function of a module or a method of a class; functions inside of it belong to it."""

    name: str
    node: Function
    start: int
    end: int
    text: str

    def digest(self) -> str:
        """Changes with the text of the function, and with nothing else."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


@final
@dataclass(slots=True)
class Source:
    """One file: its bytes, its syntax tree, its functions."""

    file: str
    data: bytes
    tree: ast.Module = field(init=False)
    functions: list[SourceFunction] = field(init=False)
    _lines: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.data, self.file)
        self._lines = [0]
        for line in self.data.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self.functions = list(self._functions(self.tree, ""))

    @classmethod
    def read(cls, root: Path, file: str) -> Source:
        return cls(file, (root / file).read_bytes())

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node stands, from its first byte to the one after its last."""
        start = self._lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self._lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.data[start:end].decode()

    def line_of(self, offset: int) -> int:
        return self.data.count(b"\n", 0, offset) + 1

    def function(self, name: str) -> SourceFunction:
        """The function of that name.

        :raises KeyError: if there is none, or several (overloads, redefinitions).
        """
        found = [fn for fn in self.functions if fn.name == name]
        if len(found) != 1:
            raise KeyError(f"{self.file} has {len(found)} functions named {name!r}")
        return found[0]

    def _functions(self, inside: ast.Module | ast.ClassDef, prefix: str) -> Iterator[SourceFunction]:
        for node in inside.body:
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    start, end = self.span(node)
                    start = min([start, *(self.span(d)[0] - 1 for d in node.decorator_list)])
                    yield SourceFunction(prefix + name, node, start, end, self.data[start:end].decode())
                case ast.ClassDef(name=name):
                    yield from self._functions(node, f"{prefix}{name}.")
                case _:
                    pass
