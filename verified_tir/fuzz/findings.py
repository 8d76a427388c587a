"""Findings as files: each one a pytest file that fails as long as the bug is there.

A finding is known if there is a file about it already, in the folder of findings or among the regressions, *and* that
file still fails.  One that passes is about a bug that was mended: what fails now is another one of the same kind.
"""

from __future__ import annotations

import ast
import base64
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

from verified_tir import __version__
from verified_tir.fuzz.failure import CRASH, DIED, HANG, Failure, Key

_MARK: Final = "Finding: "
_MESSAGE: Final = 40  # lines of the message that the file repeats
_STACK: Final = 16  # lines of the stack
_BASE64: Final = 100  # characters in a line


@final
@dataclass(slots=True)
class Finding:
    """One finding.

    :param choices: the smallest case known, as Hypothesis's choices; empty if it could not be drawn.
    :param source: of its test, without the heading; empty until it is made.
    :param shrunk: whether Hypothesis had the time to make it smaller.
    :param flaky: it failed once, and not when it was run again.
    :param reproduced: whether the test was run and failed; none if it was not run.
    :param known: the file that is about it already, if there is one.
    """

    key: Key
    message: str
    traceback: str
    choices: bytes
    seed: int
    turn: int
    index: int
    found: str
    source: str = ""
    shrunk: bool = False
    flaky: bool = False
    reproduced: bool | None = None
    known: str = ""
    file: str = ""
    times: int = 1

    @property
    def failure(self) -> Failure:
        """What is wrong with the case."""
        return Failure(self.key, self.message, self.traceback)

    def as_record(self) -> dict[str, Any]:
        """As JSON."""
        record = asdict(self)
        record["key"] = [self.key.target, self.key.kind, self.key.where]
        record["choices"] = base64.b64encode(self.choices).decode()
        return record

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Finding:
        """From what ``as_record`` gave."""
        given = {name: value for name, value in record.items() if name in cls.__slots__}
        given["key"] = Key(*record["key"])
        given["choices"] = base64.b64decode(record["choices"])
        return cls(**given)


def file_text(finding: Finding, command: str) -> str:
    """The pytest file of a finding."""
    heading = _heading(finding, command)
    rest = finding.source
    old = ""
    try:
        tree = ast.parse(rest)
    except SyntaxError:
        tree = ast.Module([], [])
    match tree.body:
        case [ast.Expr(value=ast.Constant(value=str(text)), end_lineno=int(last)), *_]:
            old = f"\n\n{text.strip()}"
            rest = "".join(rest.splitlines(keepends=True)[last:])
    return f'"""{_quoted(heading + old)}\n"""\n\n{rest.lstrip()}'


def _heading(finding: Finding, command: str) -> str:
    key = finding.key
    first = f"{key.kind}: {key.where}." if len(key.where) < 60 else f"{key.kind}."
    state = []
    if finding.flaky:
        state.append("It failed once, and passed when it was run again.")
    if not finding.shrunk and not finding.flaky:
        state.append("It was not made smaller: there was no time, or the case kills its process.")
    if finding.reproduced is False and not finding.flaky:
        state.append("This file did not fail when it was written; the case did.")
    place = (
        f"{finding.seed}, round {finding.turn}, case {finding.index}"
        if finding.turn >= 0
        else f"{finding.seed}, while another case was made smaller, or from the database"
    )
    message = "\n".join(finding.message.splitlines()[:_MESSAGE])
    return "\n".join(
        [
            first,
            "",
            *([*state, ""] if state else []),
            f"{_MARK}{key.target} | {key.kind} | {key.where}",
            f"Seed:    {place}",
            f"Command: {command}",
            f"Version: {__version__}",
            f"Date:    {finding.found}",
            "",
            *(f"    {line}".rstrip() for line in message.splitlines()),
            *(f"    {line}".rstrip() for line in _stack(finding)),
        ]
    ).replace(f"{Path.cwd()}/", "")


def _stack(finding: Finding) -> list[str]:
    """The end of the stack, if it says more than the message."""
    if finding.key.kind not in (CRASH, DIED, HANG):
        return []
    lines = finding.traceback.splitlines()
    return ["", *lines[-_STACK:]] if finding.key.kind == CRASH else ["", *lines[:_STACK]]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def limited(source: str, seconds: float) -> str:
    """A test that ends, with a stack, also when its case does not."""
    future = "from __future__ import annotations\n"
    body = ast.parse(source).body
    last = 0
    match body:
        case [ast.Expr(value=ast.Constant(value=str()), end_lineno=int(last)), *_]:
            pass
    lines = source.splitlines(keepends=True)
    rest = "".join(lines[last:]).replace(future, "").lstrip()
    guard = (
        "@pytest.fixture(autouse=True)\n"
        "def in_time() -> Iterator[None]:\n"
        f'    """The case did not end: more than {seconds:g} seconds end the process with exit code 1."""\n'
        f"    faulthandler.dump_traceback_later({seconds:g}, exit=True)\n"
        "    yield\n"
        "    faulthandler.cancel_dump_traceback_later()\n"
    )
    imports = "import faulthandler\nfrom collections.abc import Iterator\n\nimport pytest\n"
    head = "".join(lines[:last]) + ("\n" if last else "")
    return f"{head}{future}\n{imports}\n{rest.rstrip()}\n\n\n{guard}"


def replaying_source(key: Key, choices: bytes, name: str, *, instead: bool = False) -> str:
    """A test of the case by its choices, for one that cannot be written as a program.

    :param instead: there was a test with the program, which did not fail.
    """
    why = "The test that the target writes of this case does not fail.\n\n" if instead else ""
    data = base64.b64encode(choices).decode()
    lines = "".join(f'        "{data[k : k + _BASE64]}"\n' for k in range(0, len(data) or 1, _BASE64))
    return (
        f'"""{why}The case is what Hypothesis makes of these choices; other versions, or other strategies, may not.'
        '\n"""\n\nfrom __future__ import annotations\n\nfrom verified_tir.fuzz import replay\n\n\n'
        f'def {name}() -> None:\n    replay(\n        "{key.target}",\n{lines.rstrip()},\n    )\n'
    )


def redrawing_source(key: Key, seed: int, turn: int, index: int, name: str) -> str:
    """A test of a case that could not be drawn: the round is drawn up to it."""
    return (
        "from __future__ import annotations\n\nfrom verified_tir.fuzz import replay_round\n\n\n"
        f'def {name}() -> None:\n    replay_round("{key.target}", seed={seed}, turn={turn}, index={index})\n'
    )


# -- files that are there ---------------------------------------------------------------------------------------------


def files_about(key: Key, folders: Iterable[Path]) -> list[Path]:
    """The files in some folders that say that they are about a finding."""
    mark = f"{_MARK}{key.target} | {key.kind} | {key.where}\n"
    found = []
    for folder in folders:
        for path in sorted(folder.glob("test_*.py")):
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if _quoted(mark) in text:
                found.append(path)
    return found


def free_path(folder: Path, name: str) -> Path:
    """A file that is not there yet: ``name.py``, ``name_2.py``, …"""
    number = 1
    while (path := folder / (f"{name}.py" if number == 1 else f"{name}_{number}.py")).exists():
        number += 1
    return path


def write(path: Path, text: str) -> None:
    """Write a file as a whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False, encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())  # or a power cut may leave an empty file of the new name
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def fails(path: Path, seconds: float) -> bool | None:
    """Whether the tests of a file fail, in a process of its own; none if the file could not be run as tests.

    A process that dies, or takes too long, fails.
    """
    environment = {**os.environ, "VTIR_VERDICT_CACHE": "off", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTHONHASHSEED", None)
    try:
        done = subprocess.run(
            _runner(path), capture_output=True, timeout=seconds, env=environment, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return True
    if done.returncode in (0, 1) or done.returncode < 0:
        return done.returncode != 0
    return None


def _runner(path: Path) -> Sequence[str]:
    if importlib.util.find_spec("pytest") is not None:
        alone = ["-q", "-x", "-p", "no:cacheprovider", "--rootdir", str(path.parent), "-c", os.devnull]
        return [sys.executable, "-m", "pytest", *alone, str(path)]
    call = "import runpy, sys\nfor n, f in runpy.run_path(sys.argv[1]).items():\n    n.startswith('test_') and f()"
    return [sys.executable, "-c", call, str(path)]


def described(path: Path) -> str:
    """What a file says it is about, or its name."""
    try:
        found = re.search(rf"^{_MARK}(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        found = None
    return found[1] if found else path.name
