"""A mutant: one small change of the source."""

from __future__ import annotations

import ast
import difflib
import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from tests.mutation.sources import Source, SourceFunction

Effect: TypeAlias = Literal["weaker", "stricter", "either"]
"""What the change does to the kernel: it may accept more, it can only refuse more, or who knows.

Mutants that make the kernel stricter are no danger to soundness.  A test of acceptance must notice them all the same.
"""


@final
@dataclass(frozen=True, slots=True)
class Edit:
    """What an operator makes of a place: the text of ``node`` is replaced."""

    operator: str
    node: ast.AST
    text: str
    words: str
    effect: Effect = "either"


@final
@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one file, between the bytes ``start`` and ``end``.

    ``id`` names file, function, operator, and the place among those where the operator applies in this function; so it
    survives changes elsewhere.
    """

    id: str
    file: str
    function: str
    operator: str
    effect: Effect
    words: str
    line: int
    start: int
    end: int
    text: str

    def apply(self, data: bytes) -> bytes:
        """The file's bytes, mutated."""
        return data[: self.start] + self.text.encode() + data[self.end :]

    def diff(self, data: bytes, context: int = 3) -> str:
        """The change as a unified diff."""
        old, new = data.decode().splitlines(), self.apply(data).decode().splitlines()
        return "\n".join(difflib.unified_diff(old, new, self.file, self.file, "", "", context, lineterm=""))

    def changed_lines(self, data: bytes) -> tuple[str, str]:
        """The lines that change, before and after, for a table."""
        old, new = data.decode().splitlines(), self.apply(data).decode().splitlines()
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        before: list[str] = []
        after: list[str] = []
        for tag, i, j, k, m in matcher.get_opcodes():
            if tag != "equal":
                before += old[i:j]
                after += new[k:m]
        return "\n".join(before), "\n".join(after)


def short_name(file: str) -> str:
    """``rules.reorder`` for ``verified_tir/kernel/rules/reorder.py``; other files keep their package's name."""
    dotted = file.removeprefix("verified_tir/").removesuffix(".py").replace("/", ".")
    return dotted.removeprefix("kernel.")


def mutants_of(source: Source, function: SourceFunction, edits: Iterable[Edit]) -> list[Mutant]:
    """Mutants from edits of one function, those left out that change nothing or equal another one.

    Whether a change is one at all is asked of the compiler: two texts with the same code are the same program.
    """
    found: list[Mutant] = []
    seen = {_code(source, function, source.data)}
    count: Counter[str] = Counter()
    for edit in edits:
        count[edit.operator] += 1
        start, end = source.span(edit.node)
        name = f"{short_name(source.file)}:{function.name}:{edit.operator}:{count[edit.operator]}"
        line = source.line_of(start)
        mutant = Mutant(
            name, source.file, function.name, edit.operator, edit.effect, edit.words, line, start, end, edit.text
        )
        code = _code(source, function, mutant.apply(source.data))
        if code is not None and code not in seen:
            seen.add(code)
            found.append(mutant)
    return found


def _code(source: Source, function: SourceFunction, data: bytes) -> str | None:
    """What identifies the program that a function's text is; ``None`` for what is none."""
    end = function.end + len(data) - len(source.data)
    text = " " * function.node.col_offset + data[function.start : end].decode()
    try:
        tree = ast.parse(f"if True:\n{text}" if function.node.col_offset else text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a mutant compares may be odd
            compile(tree, source.file, "exec", dont_inherit=True)
    except SyntaxError:
        return None
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
