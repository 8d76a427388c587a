"""Lines of a Python text as ranges, and whether the text is a schedule file, without executing it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TypeAlias, final

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Range: TypeAlias = tuple[int, int, int, int]
"""First line and character, last line and the character behind it; all count from 0, characters are code points."""


def is_schedule_file(text: str) -> bool:
    """Whether a text asks for ``schedule`` of verified_tir: only such files are executed when they are opened.

    One that is not Python, for the moment, counts if it mentions both.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "verified_tir" in text and "schedule" in text
    whole = False
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if _ours(module):
                if any(n.name in ("schedule", "*") for n in names):
                    return True
            case ast.Import(names=names):
                whole |= any(_ours(n.name) for n in names)
    return whole and any(isinstance(n, ast.Attribute) and n.attr == "schedule" for n in ast.walk(tree))


def _ours(module: str) -> bool:
    return module.partition(".")[0] == "verified_tir"


@final
@dataclass(slots=True)
class Places:
    """Where the statements of a text are."""

    lines: list[str]
    statements: list[ast.stmt]

    @staticmethod
    def of(text: str) -> Places:
        """The places of a text; one that is not Python has lines only."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        try:
            found = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.stmt)]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            found = []
        return Places(lines, found)

    def at(self, line: int, column: int | None = None) -> Range:
        """The statement on a line, which counts from 1; of a compound statement the line itself.

        :param column: from where to underline, counted from 1; to the end of the word that is there.
        """
        row = min(max(line, 1), len(self.lines)) - 1
        text = self.lines[row]
        if column is not None and column <= len(text):
            first = column - 1
            length = next((k for k, c in enumerate(text[first:]) if not (c.isalnum() or c == "_")), len(text) - first)
            return row, first, row, first + max(length, 1)
        simple = [s for s in self.statements if s.lineno <= line <= (s.end_lineno or s.lineno) and not _compound(s)]
        if simple:
            s = simple[-1]
            last = (s.end_lineno or s.lineno) - 1
            return (
                s.lineno - 1,
                self._character(s.lineno - 1, s.col_offset),
                last,
                self._character(last, s.end_col_offset),
            )
        return row, len(text) - len(text.lstrip()), row, len(text.rstrip())

    def _character(self, row: int, offset: int | None) -> int:
        """A column of ``ast``, which counts bytes of UTF-8."""
        return len(self.lines[row].encode(errors="replace")[:offset].decode(errors="replace"))

    def line_of(self, name: str) -> int:
        """The line where a function of this name begins (``padded#2`` is the second one); 1 if there is none."""
        plain, _, number = name.partition("#")
        found = [_first_line(s) for s in self.statements if isinstance(s, FUNCTIONS) and s.name == plain]
        return found[int(number or 1) - 1] if len(found) >= int(number or 1) else 1

    def function(self, line: int) -> Range:
        """The name of the function whose first decorator, or else whose ``def``, is on a line."""
        for s in self.statements:
            if isinstance(s, FUNCTIONS) and _first_line(s) == line:
                row = s.lineno - 1
                column = self.lines[row].find(s.name, self.lines[row].find("def") + 3)
                return row, column, row, column + len(s.name)
        return self.at(line)


def _first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([function.lineno, *(d.lineno for d in function.decorator_list)])


def _compound(s: ast.stmt) -> bool:
    return hasattr(s, "body")
