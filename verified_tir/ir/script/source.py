"""Source text and the errors that point into it.

Every mistake of the author of a text ends in a :class:`ScriptError`, which names the file, the line and the column and
shows the line with a caret below it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Protocol, final

from verified_tir.ir.node import IRError
from verified_tir.ir.script.separators import SeparatorNumbering


class ScriptError(IRError):
    """A mistake in a TVMScript text.

    :ivar filename: the file as given to the parser.
    :ivar line: the line of the mistake, counted from 1.
    :ivar column: the column of the mistake in characters, counted from 1.
    :ivar message: what is wrong, in one sentence.
    """

    def __init__(self, message: str, filename: str, line: int, column: int, source_line: str = "") -> None:
        self.message = message
        self.filename = filename
        self.line = line
        self.column = column
        self.source_line = source_line
        super().__init__(str(self))

    def __str__(self) -> str:
        head = f"{self.filename}:{self.line}:{self.column}: error: {self.message}"
        if not self.source_line.strip():
            return head
        # tabs stay tabs, so that the caret stands below its character however wide they are shown
        pad = "".join("\t" if c == "\t" else " " for c in self.source_line[: self.column - 1])
        return f"{head}\n{self.source_line}\n{pad}^"


class Located(Protocol):
    """Whatever carries a position in the text: the nodes of ``ast`` that stand for code."""

    lineno: int
    col_offset: int


@final
@dataclass(slots=True)
class Source:
    """A text being parsed, and where it stands in its file: ``line_offset`` lines precede it.

    An indented text is read as the body of a line put before it, so that its columns stay those of the file.
    """

    text: str
    filename: str = "<string>"
    line_offset: int = 0
    indented: bool = False
    numbering: SeparatorNumbering = "tvm"
    lines: list[str] = field(init=False)

    def __post_init__(self) -> None:
        if self.indented:
            self.text = f"if True:\n{self.text}"
            self.line_offset -= 1
        # ast counts only these as line ends; str.splitlines would count form feeds and others too
        self.lines = self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def tree(self) -> list[ast.stmt]:
        """The statements of the text.

        :raises ScriptError: if the text is no Python.
        """
        try:
            body = ast.parse(self.text, self.filename).body
        except SyntaxError as e:
            line, column = e.lineno or 1, e.offset or 1
            raise self._error(e.msg, line, max(column, 1)) from None
        except ValueError as e:  # null bytes
            raise self._error(str(e), 1, 1) from None
        except (RecursionError, MemoryError):
            raise self.too_deep() from None
        match body:
            case [ast.If(body=inner)] if self.indented:
                return inner
        return body

    def error(self, place: Located, message: str) -> ScriptError:
        """A mistake at ``place`` (a node of the syntax tree)."""
        line = self.lines[place.lineno - 1] if place.lineno <= len(self.lines) else ""
        # ast counts columns in bytes of UTF-8
        column = len(line.encode()[: place.col_offset].decode(errors="replace")) + 1
        return self._error(message, place.lineno, column)

    def too_deep(self) -> ScriptError:
        """The mistake of nesting beyond what the parser can follow."""
        return self._error("the text is nested too deeply", 1, 1)

    def _error(self, message: str, line: int, column: int) -> ScriptError:
        shown = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return ScriptError(message, self.filename, line + self.line_offset, column, shown)
