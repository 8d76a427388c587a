"""Pages as blocks of code.  The conventions are written in docs/how-to/write-pages.md."""

from __future__ import annotations

import contextlib
import difflib
import io
import linecache
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKED = "<!-- checked -->"
_FENCE = re.compile(r"(`{3,}|~{3,}|:{3,})\s*(\S*)\s*$")
_COUNTEREXAMPLE = re.compile(r"^(\s*counterexample: )(.*)$", re.MULTILINE)
_TIME = re.compile(r"\d+(\.\d+)? m?s\b")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the number of its first line of content, and its content."""

    language: str
    line: int
    lines: tuple[str, ...]
    checked: bool
    follows: bool
    """Only blank lines stand between this block and the one before."""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    lines = text.splitlines()
    start, fence, language = 0, "", ""
    last_end = -1
    for k, line in enumerate(lines):
        m = _FENCE.fullmatch(line.strip())
        if m is None:
            continue
        if not fence:
            start, fence, language = k, m[1], m[2]
        elif m[1].startswith(fence) and not m[2]:
            between = lines[last_end + 1 : start]
            follows = last_end >= 0 and not any(x.strip() for x in between)
            checked = start > 0 and lines[start - 1].strip() == CHECKED
            found.append(Block(language, start + 2, tuple(lines[start + 1 : k]), checked, follows))
            fence, last_end = "", k
    assert not fence, f"the block of line {start + 1} has no end"
    return found


def run_python(page: Path) -> None:
    """Execute the Python blocks of a page, and compare what they print with the text blocks that follow them.

    Lines have the numbers that they have in the page, and ``inspect`` finds the sources of functions.
    """
    found = blocks(page.read_text(encoding="utf-8"))
    code = [b for b in found if b.language == "python"]
    lines = [""] * max((b.line + len(b.lines) for b in code), default=0)
    for b in code:
        lines[b.line - 1 : b.line - 1 + len(b.lines)] = b.lines
    module = ModuleType(f"page_{page.stem}")
    module.__file__ = str(page)
    sys.modules[module.__name__] = module
    linecache.cache[str(page)] = (1, None, [f"{line}\n" for line in lines], str(page))
    try:
        for k, b in enumerate(found):
            if b.language != "python":
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * (b.line - 1) + b.text, str(page), "exec", dont_inherit=True), vars(module))
            after = found[k + 1] if k + 1 < len(found) else None
            if after is not None and after.language == "text" and after.follows:
                compare(f"{page.name}:{after.line}", printed.getvalue(), after.text)
    finally:
        del sys.modules[module.__name__]
        linecache.cache.pop(str(page), None)


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with its output."""
    command, output = "", list[str]()
    for line in block.lines:
        if line.startswith("$ "):
            if command:
                yield command, "\n".join(output)
            command, output = line[2:], []
        else:
            output.append(line)
    yield command, "\n".join(output)


def run_console(page: Path) -> int:
    """Check the marked console blocks of a page; gives the number of commands."""
    count = 0
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language != "console" or not block.checked:
            continue
        code = 0
        for command, output in commands(block):
            count += 1
            words = command.split()
            if command == "echo $?":
                shown = str(code)
            elif words[0] == "make":
                subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, check=True, capture_output=True)
                continue
            else:
                assert words[0] == "vtir", f"{page.name}:{block.line}: only vtir and make can be checked: {command}"
                code, shown = vtir(*words[1:])
            compare(f"{page.name}:{block.line}: {command}", settled(shown), settled(output))
    return count


def vtir(*arguments: str) -> tuple[int, str]:
    """The exit code and the output of a command, run in the project's folder."""
    code = "from verified_tir.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout


def compare(where: str, shown: str, written: str) -> None:
    """Fail with a difference if the page says something else than what was shown.

    The values of a counterexample do not count: another version of the solver may find others.
    """
    shown, written = (
        _COUNTEREXAMPLE.sub(lambda m: m[1] + re.sub(r"= -?\d+", "= …", m[2]), text.rstrip())
        for text in (shown, written)
    )
    if shown != written:
        lines = difflib.unified_diff(written.splitlines(), shown.splitlines(), "written", "shown", lineterm="")
        pytest.fail("\n".join([where, *lines]), pytrace=False)


def settled(output: str) -> str:
    """The output without what differs from run to run: times, and the spaces that make columns of them."""
    lines = output.rstrip().splitlines()
    return "\n".join(re.sub(r" +", " ", _TIME.sub("TIME", line)).rstrip() for line in lines)
