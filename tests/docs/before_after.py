"""A program before and after a change, side by side, as Markdown for the pages that are made by tests."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterator

from verified_tir import Schedule, script


def before_after(before: str, after: str) -> Iterator[str]:
    """Two programs with their different lines marked; one, where they have the same text."""
    if before == after:
        yield "The text of the program stays:"
        yield ""
        yield from code_block("python", before)
        return
    yield "::::{container} before-after"
    for name, text, other in (("before", before, after), ("after", after, before)):
        yield f":::{{container}} {name}"
        yield from code_block("python", text, marked=_changed(text, other))
        yield ":::"
    yield "::::"


def code_block(language: str, *texts: str, marked: str = "") -> Iterator[str]:
    """A code block that the tests of the pages do not execute: pages with such blocks are made by running them."""
    yield f"```{{code-block}} {language}"
    if marked:
        yield f":emphasize-lines: {marked}"
    yield ""
    for text in texts:
        yield text.rstrip("\n")
    yield "```"


def shown(s: Schedule, module: bool = False) -> str:
    """The program of a schedule without its header; ``module``: its functions, with calls."""
    return without_header(script(s.module) if module else s.script())


def without_header(text: str) -> str:
    """The functions of a text of TVMScript, from their ``def`` on."""
    functions = re.split(r"^ *@T\.prim_func.*\n", text, flags=re.MULTILINE)[1:]
    return "\n\n".join(inspect.cleandoc("\n" + f).rstrip() for f in functions)


def _changed(text: str, other: str) -> str:
    """The numbers of the lines of a text that another text does not have, whatever their indentation."""
    ours, theirs = ([line.strip() for line in t.splitlines()] for t in (text, other))
    kept = {
        k
        for match in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
        for k in range(match.a, match.a + match.size)
    }
    return ",".join(str(k + 1) for k, line in enumerate(ours) if k not in kept and line)
