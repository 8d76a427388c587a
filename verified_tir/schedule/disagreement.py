"""What to report when kernel and validator disagree: a file that holds everything and runs by itself.

The file is Python.  Its docstring is for people: versions, the steps of the schedule, the relation of the interfaces,
what was found.  Below it stand both programs, the index maps as tables, the sizes and the arrays, bit for bit; run as a
program it asks the validator again and runs both programs with the interpreter.
"""

from __future__ import annotations

import base64
import hashlib
import platform
import re
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from verified_tir.derivation.assumptions import assumptions
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.correspondence import moves_to
from verified_tir.schedule.replay_inputs import shapes
from verified_tir.validate import Correspondence, Different, Report


def write_reproduction(name: str, text: str, folder: Path | None = None) -> Path:
    """Write a file that shows a bug, named after its content, into a folder: the working folder unless given, or where
    that cannot be written the one for temporary files."""
    name = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}.py"
    path = (folder or Path.cwd()) / name
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        path = Path(tempfile.gettempdir()) / name
        path.write_text(text, encoding="utf-8")
    return path


_PACKAGES = ("verified_tir", "z3-solver", "numpy", "ml_dtypes")

_HELPERS = '''\
import base64
import zlib

import ml_dtypes  # numpy then knows bfloat16
import numpy as np

from verified_tir import parse_func
from verified_tir.semantics.interpreter import Stopped, run
from verified_tir.validate import Correspondence, validate


def array(dtype, shape, data):
    return np.frombuffer(zlib.decompress(base64.b64decode(data)), dtype).reshape(shape).copy()


def moved(shape, places, padding):
    """Element ``x`` of an array of this shape went to ``places[0][x], places[1][x], …``."""

    def index_map(*indices):
        flat = np.zeros_like(indices[0]) if indices else 0
        for index, extent in zip(indices, shape):
            flat = flat * extent + index
        return [place[flat] for place in places]

    return Correspondence(index_map, padding)


def left(func, arguments):
    try:
        return run(func, arguments).arrays
    except Stopped as end:
        return f"{type(end).__name__}: {end}"

'''

_MAIN = """
if __name__ == "__main__":
    print(validate(before, after, sizes=sizes, maps=maps).verdict)
    if arguments is not None:
        print("before leaves", left(before, arguments))
        print("after leaves", left(after, arguments_after))
"""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Both programs, how their interfaces correspond, and what the validator found.

    ``trace`` are the steps of the schedule so far, the one that ``after`` comes from last.
    """

    before: PrimFunc
    after: PrimFunc
    theorem: Refines
    trace: tuple[str, ...]
    report: Report
    maps: Mapping[str, Correspondence]
    found: str

    def text(self) -> str:
        """The file."""
        head = "\n".join(self._summary()).replace("\\", "\\\\").replace('"""', "'''")
        return f'"""{head}\n"""\n\n{_HELPERS}\n' + "\n".join(self._values()) + "\n\n" + _MAIN

    def write(self, folder: Path | None = None) -> Path:
        """Write the file into a folder (by default the working folder; if that cannot be, one for temporary files)."""
        text = self.text()
        name = re.sub(r"[^\w.-]+", "_", self.before.name)
        return write_reproduction(f"vtir-bug-{name}", text, folder)

    def _summary(self) -> Iterator[str]:
        yield "Two nets of verified_tir disagree about one schedule: the kernel proved it, the validator objects."
        yield ""
        yield f"found:    {self.found}"
        yield f"program:  {self.before.name}"
        yield f"step:     {self.trace[-1]}"
        yield f"versions: {versions()}"
        yield f"sizes:    {_sizes(self.report.sizes)}"
        yield "seed:     none; the validator draws the same inputs every time"
        yield "steps:"
        yield from (f"    {step}" for step in self.trace)
        yield "relation:"
        for m in moves_to(self.theorem, self.after):
            inputs, outputs = ", ".join(v.name for v in m.inputs), ", ".join(script(e) for e in m.outputs)
            yield f"    {m.before.name}[{inputs}] is {m.after.name}[{outputs}]"
        yield "the theorem assumes:"
        yield from (f"    {sentence}" for sentence in assumptions(self.theorem))
        for finding in self.report.findings:
            yield f"finding:  {finding}"
        yield ""
        yield "Run this file to see it again."

    def _values(self) -> Iterator[str]:
        yield f"before = parse_func({_quoted(script(self.before))})"
        yield f"after = parse_func({_quoted(script(self.after))})"
        yield f"sizes = {dict(self.report.sizes)!r}"
        extents = shapes(self.before, dict(self.report.sizes)) or {}
        yield "maps = {"
        for name, moved in self.maps.items():
            yield f"    {name!r}: {_moved(extents[name], moved)},"
        yield "}"
        verdict = self.report.verdict
        if not isinstance(verdict, Different):
            yield "arguments = arguments_after = None"
            return
        for variable, values in (("arguments", verdict.arguments), ("arguments_after", verdict.arguments_after)):
            yield f"{variable} = {{"
            yield from (f"    {name!r}: {_literal(value)}," for name, value in values.items())
            yield "}"


class BugInThisTool(Exception):
    """The kernel proved a schedule, and the validator finds a difference: one of them is wrong.

    No :class:`ScheduleError`: nothing that the user wrote is to blame, and no ``except`` for refusals should hide it.
    ``evidence`` holds both programs and the input; ``evidence.write()`` makes a file of it.
    """

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence)
        self.evidence = evidence

    def __str__(self) -> str:
        e = self.evidence
        lines = [
            "The kernel has proved this schedule, and the validator says otherwise. That is a bug in verified_tir.",
            "Do not use the result. Please report it with what follows.",
            f"found: {e.found}",
            f"after the step: {e.trace[-1]}",
            f"sizes: {_sizes(e.report.sizes)}",
            f"versions: {versions()}",
        ]
        if isinstance(e.report.verdict, Different):
            with np.printoptions(threshold=200):
                lines += [f"{name} = {value!r}" for name, value in e.report.verdict.arguments.items()]
        return "\n".join([*lines, "before:", script(e.before), "after:", script(e.after)])


def versions() -> str:
    """Of this package, of what its verdicts depend on, of Python and the machine."""
    found = [f"{name} {version(name)}" for name in _PACKAGES]
    return ", ".join([*found, f"Python {sys.version.split()[0]}", platform.platform()])


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items()) or "those in the programs"


def _quoted(text: str) -> str:
    return repr(text) if "'''" in text or "\\" in text else f"'''\n{text}\n'''"


def _literal(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, float):
        return f"float({str(value)!r})"  # nan and inf are not literals
    return repr(value)


def _array(value: npt.NDArray[Any]) -> str:
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes(), 9)).decode()
    return f"array({str(value.dtype)!r}, {value.shape}, {data!r})"


def _moved(shape: tuple[int, ...], moved: Correspondence) -> str:
    assert moved.index_map is not None
    grid = [axis.reshape(-1) for axis in np.indices(shape, dtype=np.int64)]
    count = int(np.prod(shape, dtype=np.int64))
    places = [np.broadcast_to(np.asarray(p, np.int64), (count,)) for p in moved.index_map(*grid)]
    return f"moved({shape}, [{', '.join(map(_array, places))}], {_literal(moved.padding)})"
