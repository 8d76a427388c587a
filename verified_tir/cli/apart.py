"""The work of a command, in a process of its own, so that a file that it executes cannot pass for the command.

Schedule files are Python and are executed.  One may end its process, or write to the standard output behind Python's
back.  So the command forks before anything heavy is imported.  The child works; its file descriptor 1 is the standard
error, and only the report goes to the standard output.  When all is done it says so to the parent through a pipe, with
the exit code.  A child that ends without having said so was ended, and the parent reports that as an error.

The parent only waits.  It can therefore also say every ten seconds what is going on, whatever the child is busy with.

This guards against accidents.  It is no sandbox: a file that wants to deceive can do so.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Final, NoReturn, final

from verified_tir.activity import Level, watched
from verified_tir.child.helper import how
from verified_tir.child.worker import bind_copies, end_with
from verified_tir.report.visible import visible

MISTAKE, INTERRUPTED = 2, 130
"""Exit codes."""

HEARTBEAT: Final = 10.0
"""Seconds between two lines that say what is going on."""

_ONE_INTERRUPT: Final = 0.5
"""Seconds in which interrupts are one: a terminal sends Ctrl-C to the child and to the parent, which passes it on."""

_FORWARDED: Final = ("SIGINT", "SIGTERM", "SIGHUP")


def apart(work: Callable[[], int], *, quiet: bool = False, otherwise: Callable[[str], None] | None = None) -> int:
    """Do the work of a command in a child process; gives its exit code, with which the parent has ended.

    Where a fork is not possible or not safe (other threads run, or the output was replaced), the work is done here.

    :param quiet: no line every ten seconds.
    :param otherwise: writes a report if the child was ended; it gets the sentence that is also on the standard error.
    """
    if not _can_fork():
        return _worked(work)
    code = in_child(work, quiet=quiet, otherwise=otherwise)
    _flush()
    os._exit(code)  # the child has ended as processes do; here that would take time, since collections are frozen


def in_child(work: Callable[[], int], *, quiet: bool = False, otherwise: Callable[[str], None] | None = None) -> int:
    """Do some work as :func:`apart` does; the parent goes on with its exit code."""
    if not _can_fork():
        return _worked(work)
    _flush()
    gc.freeze()  # a collection would touch, and so copy, all that the two processes share
    reading, writing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reading)
        raise SystemExit(_child(work, writing, parent))
    os.close(writing)
    code = _Watch(child, reading, beats=not quiet and not sys.stderr.isatty()).exit_code(otherwise)
    os.close(reading)
    return code


def _can_fork() -> bool:
    return hasattr(os, "fork") and threading.active_count() == 1 and sys.stdout is sys.__stdout__


def write_any_character() -> None:
    """Have names and claims written that hold characters which the locale lacks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _worked(work: Callable[[], int]) -> int:
    """The exit code of the work; an interrupt, and output that cannot be written, have their own."""
    try:
        code = work()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("vtir: interrupted", file=sys.stderr)
        return INTERRUPTED
    except OSError as problem:
        if problem.filename is not None:
            raise
        print(f"vtir: error: the output could not be written: {problem.strerror}", file=sys.stderr)
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (Python would try to flush the other)
        return MISTAKE


# -- the child ---------------------------------------------------------------------------------------------------------


def _child(work: Callable[[], int], writing: int, parent: int) -> int:
    end_with(parent)
    _one_interrupt()
    before = sys.stdout
    report = os.dup(1)  # not inherited by processes that a file starts
    os.dup2(2, 1)
    written = os.fdopen(
        report, "w", encoding=before.encoding, errors=before.errors, buffering=1 if before.isatty() else -1
    )
    sys.stdout = written
    me = os.getpid()
    os.register_at_fork(after_in_child=lambda: os.dup2(2, report))  # a copy that a file makes has no report
    bind_copies(writing)

    def send(message: list[object]) -> None:
        if os.getpid() == me:
            with suppress(OSError):  # a file may have closed the pipe: then the parent hears of no end
                os.write(writing, json.dumps(message).encode() + b"\n")

    code = 1
    try:
        with watched(lambda level, what: send(["at", level, what[:500]])):
            code = _worked(work)
    finally:
        send(["ends", code])
        sys.stdout = before
        with suppress(OSError):  # what could not be written was reported
            written.close()
    return code


def _one_interrupt() -> None:
    """Two interrupts in quick succession are one."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    last = -_ONE_INTERRUPT

    def heard(number: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _ONE_INTERRUPT:
            last = now
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, heard)


# -- the parent --------------------------------------------------------------------------------------------------------


@final
@dataclass(slots=True)
class _Watch:
    """What the parent knows of its child."""

    child: int
    reading: int
    beats: bool
    at: list[str] = field(default_factory=list)
    said: int | None = None
    heard: int | None = None

    def exit_code(self, otherwise: Callable[[str], None] | None) -> int:
        """Wait for the child's end."""
        before = {n: signal.getsignal(n) for n in map(signal.Signals.__getitem__, _FORWARDED) if _heeded(n)}
        for number in before:
            signal.signal(number, self._forward)
        try:
            self._listen()
            _, status = os.waitpid(self.child, 0)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if self.said is not None:
            return self.said
        return self._ended(os.waitstatus_to_exitcode(status), otherwise)

    def _forward(self, number: int, frame: FrameType | None) -> None:
        self.heard = number
        os.kill(self.child, number)

    def _listen(self) -> None:
        """Read what the child says until that is all, and show now and then that it is alive."""
        start = beat = time.monotonic()
        rest = b""
        while True:
            ready, _, _ = select.select([self.reading], [], [], max(0.0, beat + HEARTBEAT - time.monotonic()))
            if time.monotonic() >= beat + HEARTBEAT:
                beat = time.monotonic()
                self._beat(beat - start)
            if not ready:
                continue
            part = os.read(self.reading, 65536)
            if not part:
                return
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                self._hear(json.loads(line))
            if self.said is not None:
                return

    def _hear(self, message: list[object]) -> None:
        match message:
            case ["at", int(level), str(what)]:
                self.at = [*self.at[:level], *[""] * (level - len(self.at)), what]
            case ["ends", int(code)]:
                self.said = code

    def _beat(self, seconds: float) -> None:
        if self.beats:
            print(f"vtir: after {seconds:.0f} s: {visible(self._where()) or 'starting'}", file=sys.stderr, flush=True)

    def _where(self) -> str:
        return ", ".join(filter(None, self.at))

    def _ended(self, status: int, otherwise: Callable[[str], None] | None) -> int:
        """The exit code for a child that was ended."""
        if self.heard == signal.SIGINT:
            print("vtir: interrupted", file=sys.stderr)
            return INTERRUPTED
        if self.heard is not None or status == -signal.SIGPIPE:
            _end_by(self.heard or signal.SIGPIPE)
        sentence = ended_by(status, self.at)
        print(f"vtir: error: {sentence}", file=sys.stderr)
        if otherwise is not None:
            otherwise(sentence)
        return MISTAKE


def ended_by(status: int, at: Sequence[str]) -> str:
    """One sentence on a process that ended before its report was complete.

    :param status: its exit code, or minus the signal that ended it.
    :param at: what it announced last, at each level.
    """
    memory = "; if the file did not do that, memory may have run out" if status == -signal.SIGKILL else ""
    file = at[Level.FILE] if at else ""
    function, step = (*at[Level.FUNCTION :], "", "")[:2]
    did = f"{file}: the file ended the process {how(status)}" if file else f"the process was ended {how(status)}"
    when = f" while {function} ran{f' (last step: {step})' if step else ''}" if function else ""
    return f"{did}{when}, before the report was complete{memory}"


def _heeded(number: signal.Signals) -> bool:
    return signal.getsignal(number) is not signal.SIG_IGN


def _end_by(number: int) -> NoReturn:
    """End as the child did."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    raise SystemExit(128 + number)
