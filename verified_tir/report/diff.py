"""What a step changed in the text of a program."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Literal, final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script_lines

_MANY = 2000
"""Lines of which those that occur often are not looked at first: unrolled loops take too long otherwise."""


@final
@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a difference: of both programs, of one, or ``"@"`` where unchanged lines are left out."""

    kind: Literal[" ", "-", "+", "@"]
    text: str

    def __str__(self) -> str:
        return f"@@ {self.text} @@" if self.kind == "@" else f"{self.kind}{self.text}"


def program_diff(before: PrimFunc, after: PrimFunc, context: int = 2) -> tuple[DiffLine, ...]:
    """The difference of two programs' texts; empty if they are the same."""
    return () if before is after else tuple(diff_lines(program_lines(before), program_lines(after), context))


def program_lines(func: PrimFunc) -> list[str]:
    """The lines of a program's text, from its decorator on."""
    return below_header(script_lines(func)[0])


def below_header(lines: Sequence[str]) -> list[str]:
    """The lines of a text from the program's decorator on: what stands above it is the same for all."""
    return list(dropwhile(lambda line: not line or line.startswith("#"), lines))


def diff_lines(before: Sequence[str], after: Sequence[str], context: int = 2) -> Iterator[DiffLine]:
    """The difference of two texts, with some unchanged lines around each change."""
    shown = 0  # lines of ``before`` that were shown, or said to be left out
    small = len(before) + len(after) < _MANY
    for group in difflib.SequenceMatcher(None, before, after, autojunk=not small).get_grouped_opcodes(context):
        start, end = group[0][1], group[-1][2]
        if start > shown:
            yield _left_out(start - shown)
        for tag, i, j, k, m in group:
            if tag == "equal":
                yield from (DiffLine(" ", line) for line in before[i:j])
                continue
            yield from (DiffLine("-", line) for line in before[i:j])
            yield from (DiffLine("+", line) for line in after[k:m])
        shown = end
    if 0 < shown < len(before):
        yield _left_out(len(before) - shown)


def _left_out(count: int) -> DiffLine:
    return DiffLine("@", f"{count} unchanged line{'s' if count > 1 else ''}")
