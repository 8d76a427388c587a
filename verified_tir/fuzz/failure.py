"""What went wrong with a case, and when two failures are one finding.

A ``Disagreement`` says itself what kind it is and where.  Any other exception is a *crash*: its place is its type and
the innermost function of the compiler on the stack, by file and name, without line numbers, which change with every
edit.  A process that died, or was too slow, left a stack that ``faulthandler`` wrote; its place is found alike.
"""

from __future__ import annotations

import itertools
import re
import signal
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from verified_tir.fuzz.target import Disagreement

CRASH, DIED, HANG = "crash", "died", "hang"
"""The kinds that targets do not name: an exception, a process that was killed, a case that did not end."""

_OURS: Final = re.compile(r"\b(?:verified_tir/(?!fuzz/)|tests/(?=fuzz/targets/|fuzz/onnx_models/|parts/|rules/))(.*)$")
"""A file of the package that is not the engine of campaigns, or of a target among the tests."""
_COMPILER: Final = re.compile(r"\bverified_tir/(?!fuzz/|testing/)(.*)$")
"""A file of the package that is not there to test the others."""
_ENGINE: Final = re.compile(r"\bverified_tir/fuzz/")
_FRAME: Final = re.compile(r'^\s*File "(?P<file>[^"]+)", line \d+ in (?P<function>.+)$', re.MULTILINE)
_LINES: Final = 60


@final
@dataclass(frozen=True, slots=True)
class Key:
    """What makes two failures one finding."""

    target: str
    kind: str
    where: str

    @property
    def name(self) -> str:
        """The name of its test, and of the file that holds it: ``test_kernel_accepted_but_differs_split``."""
        words = re.findall(r"[A-Za-z0-9]+", f"{self.target.rpartition(':')[2]} {self.kind} {self.where}")
        return "test_" + "_".join(words).lower()[:100].rstrip("_")

    def __str__(self) -> str:
        return f"{self.target}: {self.kind} ({self.where})"


@final
@dataclass(frozen=True, slots=True)
class Failure:
    """One case that failed: which finding it is, and what is to be said to a reader."""

    key: Key
    message: str
    traceback: str


def failure_of(target: str, error: BaseException) -> Failure:
    """What an exception means that ``Target.check`` or its strategy raised."""
    text = "".join(traceback.format_exception(error))
    if isinstance(error, Disagreement):
        return Failure(Key(target, error.kind, error.where), error.message, _end(text))
    frames = [(f.filename, f.name) for f in traceback.extract_tb(error.__traceback__)]
    # A recursion without end stops anywhere; where it began is always the same.
    place = _beginning(frames[::-1]) if isinstance(error, RecursionError) else _place(frames[::-1])
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Failure(Key(target, CRASH, f"{type(error).__name__} in {place}"), message, _end(text))


def failure_of_death(target: str, number: int, trace: str) -> Failure:
    """What it means that the process died in which a case ran.

    :param number: the signal that killed it, or minus its exit code if it ended by itself.
    :param trace: what ``faulthandler`` wrote, perhaps nothing.
    """
    how = _signal_name(number) if number > 0 else f"exit code {-number}"
    frames = _frames(trace)
    where = f"{how} in {_place(frames)}" if frames else how
    return Failure(Key(target, DIED, where), f"the process that ran the case ended with {how}", trace)


def failure_of_hang(target: str, seconds: float, trace: str) -> Failure:
    """What it means that a case took too long, and was stopped."""
    frames = _frames(trace)
    # Where exactly it was is chance; what was asked for first is not.
    return Failure(Key(target, HANG, _beginning(frames)), f"the case did not end in {seconds:g} seconds", trace)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _frames(trace: str) -> list[tuple[str, str]]:
    """The frames of the thread at fault, innermost first, of what ``faulthandler`` wrote."""
    _, _, stack = trace.partition("(most recent call first):")
    return [(m["file"], m["function"]) for m in _FRAME.finditer(stack.partition("\n\n")[0])]


def _beginning(frames: Sequence[tuple[str, str]]) -> str:
    """The outermost function of the compiler, or what the target itself began with.

    :param frames: innermost first.
    """
    inside = list(itertools.takewhile(lambda frame: not _ENGINE.search(frame[0]), frames))[::-1]
    for file, function in inside:
        if found := _COMPILER.search(file):
            return f"{found[1]}:{function}"
    return _place(inside)


def _place(frames: Sequence[tuple[str, str]]) -> str:
    """The first frame of the compiler, otherwise the first one that is of no library, or of any."""
    for file, function in frames:
        if found := _OURS.search(file):
            return f"{found[1]}:{function}"
    for file, function in frames:
        if not re.search(r"/lib/python|site-packages|/verified_tir/fuzz/", file) and not file.startswith("<"):
            return f"{file.rpartition('/')[2]}:{function}"
    return f"{frames[0][0].rpartition('/')[2]}:{frames[0][1]}" if frames else "unknown"


def _end(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(lines if len(lines) <= _LINES else ["…", *lines[-_LINES:]])
