"""Pages as blocks of code.  The conventions are written in docs/contributing/write-pages.md."""

from __future__ import annotations

import ast
import contextlib
import difflib
import io
import linecache
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tests.cli.files import invoke

ROOT = Path(__file__).resolve().parents[2]
CHECKED = "<!-- checked -->"
_FENCE = re.compile(r"(`{3,}|~{3,}|:{3,})\s*(\S*)(\s.*)?")
_COUNTEREXAMPLE = re.compile(r"^(\s*counterexample: )(.*)$", re.MULTILINE)
_TIME = re.compile(r"\d+(\.\d+)? [mµ]?s\b")


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


class Page:
    """A page whose outputs are compared with what its code gives, or rewritten (``update``)."""

    def __init__(self, path: Path, *, update: bool = False, vtir: Callable[..., tuple[int, str]] | None = None) -> None:
        self.path = path
        self._vtir = vtir or invoked
        self.update = update
        self.blocks = blocks(path.read_text(encoding="utf-8"))
        self._new: dict[Block, str] = {}

    def run_python(self) -> None:
        """Execute the Python blocks, and compare what they print with the text blocks that follow them.

        Lines have the numbers that they have in the page, and ``inspect`` finds the sources of functions.
        """
        module = ModuleType(f"page_{self.path.stem}")
        module.__file__ = str(self.path)
        sys.modules[module.__name__] = module
        linecache.cache[str(self.path)] = (1, None, self._code_lines(), str(self.path))
        handlers = Handlers()
        vars(module)[Handlers.NAME] = handlers
        try:
            for k, block in enumerate(self.blocks):
                after = self.blocks[k + 1] if k + 1 < len(self.blocks) else None
                if block.language != "python":
                    continue
                printed = io.StringIO()
                source = "\n" * (block.line - 1) + block.text
                code = compile(handlers.watched(source), str(self.path), "exec", dont_inherit=True)
                with contextlib.redirect_stdout(printed):
                    exec(code, vars(module))
                if after is not None and after.language == "text" and after.follows:
                    self._compare(after, _masked(printed.getvalue()), _masked(after.text), printed.getvalue())
        finally:
            del sys.modules[module.__name__]
            linecache.cache.pop(str(self.path), None)
        if handlers.unused:
            found = [
                f"{self.path.name}:{line}: nothing was refused: this except was never entered"
                for line in handlers.unused
            ]
            pytest.fail("\n".join(found), pytrace=False)
        self._write()

    def _code_lines(self) -> list[str]:
        """The page with everything blank that is not Python."""
        code = [b for b in self.blocks if b.language == "python"]
        lines = ["\n"] * max((b.line + len(b.lines) for b in code), default=0)
        for b in code:
            lines[b.line - 1 : b.line - 1 + len(b.lines)] = [f"{line}\n" for line in b.lines]
        return lines

    def run_console(self) -> int:
        """Check the marked console blocks; gives the number of commands."""
        count = 0
        for block in self.blocks:
            if block.language != "console" or not block.checked:
                continue
            shown: list[str] = []
            code = 0
            for command, output in commands(block):
                count += 1
                code, new = self._run(block, command, output, code)
                shown += [f"$ {command}", *new.rstrip().splitlines()]
            self._compare(block, settled("\n".join(shown)), settled(block.text), "\n".join(shown))
        self._write()
        return count

    def _run(self, block: Block, command: str, output: str, code: int) -> tuple[int, str]:
        words = command.split()
        if command == "echo $?":
            return code, str(code)
        if words[0] == "make":
            subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, check=True, capture_output=True)
            return 0, output
        assert words[0] == "vtir", f"{self.path.name}:{block.line}: only vtir and make can be checked: {command}"
        return self._vtir(*words[1:])

    def _compare(self, block: Block, shown: str, written: str, new: str) -> None:
        if shown == written:
            return
        if self.update:
            self._new[block] = new.rstrip()
            return
        lines = difflib.unified_diff(written.splitlines(), shown.splitlines(), "written", "shown", lineterm="")
        pytest.fail("\n".join([f"{self.path.name}:{block.line}", *lines]), pytrace=False)

    def _write(self) -> None:
        lines = self.path.read_text(encoding="utf-8").splitlines()
        for block, text in sorted(self._new.items(), key=lambda item: -item[0].line):
            lines[block.line - 1 : block.line - 1 + len(block.lines)] = text.splitlines()
        if self._new:
            self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


class Handlers:
    """The ``except`` clauses of a page's code, and which of them were entered.

    A page that shows a refusal is wrong when nothing is refused, also where it prints nothing.
    """

    NAME = "_entered_handlers"

    def __init__(self) -> None:
        self._lines: set[int] = set()
        self._entered: set[int] = set()

    def watched(self, source: str) -> ast.Module:
        """The code with a call at the beginning of each ``except`` clause that notes its line."""
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                self._lines.add(node.lineno)
                note = ast.parse(f"{self.NAME}.enter({node.lineno})").body[0]
                for part in ast.walk(note):
                    ast.copy_location(part, node)
                node.body.insert(0, note)
        return tree

    def enter(self, line: int) -> None:
        """Called by the code."""
        self._entered.add(line)

    @property
    def unused(self) -> list[int]:
        return sorted(self._lines - self._entered)


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


def invoked(*arguments: str) -> tuple[int, str]:
    """The exit code and the output of a command, run in the project's folder and in this process."""
    done = invoke(*arguments, cwd=ROOT)
    return done.returncode, done.stdout


def vtir(*arguments: str) -> tuple[int, str]:
    """The same, in a process of its own."""
    code = "from verified_tir.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout


def _masked(text: str) -> str:
    """The values of a counterexample do not count: another version of the solver may find others."""
    return _COUNTEREXAMPLE.sub(lambda m: m[1] + re.sub(r"= -?\d+", "= …", m[2]), text.rstrip())


def settled(output: str) -> str:
    """The output without what differs from run to run: times, the spaces that make columns of them, model values."""
    lines = output.rstrip().splitlines()
    return _masked("\n".join(re.sub(r" +", " ", _TIME.sub("TIME", line)).rstrip() for line in lines))
