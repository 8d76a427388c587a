"""A solver in a process of its own, which is killed when its time is over.

The counters of solvers bound their work and make verdicts the same on every machine.  They do not count everything: a
simplifier that multiplies out a tower of squares counts nothing and ends nowhere, and memory may be used up before
time is.  So a question has a limit on the clock as well, far above what the counters allow, and the process a limit on
its memory.  Whoever is killed has not answered: the verdict is ``unknown``, with that reason.

One process serves one thread, question after question; after a kill there is a new one.  It ends with its standard
input, and by itself should nobody be left to kill it.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import faulthandler
import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any, Final, final

from verified_tir.logic.recheck import BUDGET, Answer, SolverName, ask

SECONDS: Final = 60.0
"""What a question may take on the clock, with the usual budget; one that has more has more time."""
MEMORY: Final = 8 * 2**30
"""Bytes that the process may address."""
_COMMAND: Final = "from verified_tir.certificate.solver_process import serve; serve()"


def seconds_for(budget: int) -> float:
    """The limit on the clock that goes with a budget."""
    return SECONDS * max(1.0, budget / BUDGET)


def ask_apart(solver: SolverName, text: str, budget: int = BUDGET, seconds: float | None = None) -> Answer:
    """The verdict of a solver, asked in a process of its own.

    :param seconds: the limit on the clock; what goes with the budget if it is not given.
    """
    process = getattr(_OF_THREAD, "process", None)
    if process is None:
        process = _OF_THREAD.process = _Process()
    assert isinstance(process, _Process)
    return process.ask(solver, text, budget, seconds_for(budget) if seconds is None else seconds)


@final
class _Process:
    """Starts the process when there is a question, and again after it has ended."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[str] | None = None
        _ALL.add(self)

    def ask(self, solver: SolverName, text: str, budget: int, seconds: float) -> Answer:
        running = self._started()
        assert running.stdin is not None and running.stdout is not None
        late = threading.Event()

        def kill() -> None:
            late.set()
            running.kill()

        timer = threading.Timer(seconds, kill)
        timer.daemon = True
        timer.start()
        try:
            running.stdin.write(json.dumps([solver, text, budget, seconds]) + "\n")
            running.stdin.flush()
            line = running.stdout.readline()
        except OSError:
            line = ""
        except BaseException:  # an interrupt: the answer that comes later is to no question of ours
            self.end()
            raise
        finally:
            timer.cancel()
        if not line.endswith("\n"):
            self.end()
            reason = f"killed after {seconds:g} s" if late.is_set() else "the process of the solver ended"
            return Answer("unknown", seconds if late.is_set() else 0.0, reason=reason)
        return Answer(**json.loads(line))

    def _started(self) -> subprocess.Popen[str]:
        if self._running is None or self._running.poll() is not None:
            self.end()
            package = str(Path(__file__).resolve().parents[2])
            paths = os.pathsep.join(p for p in (package, os.environ.get("PYTHONPATH", "")) if p)
            self._running = subprocess.Popen(
                [sys.executable, "-c", _COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": paths},
            )  # fmt: skip
        return self._running

    def end(self) -> None:
        """Kill the process, if there is one."""
        if self._running is None:
            return
        running, self._running = self._running, None
        running.kill()
        running.wait()
        for stream in (running.stdin, running.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def __del__(self) -> None:
        self.end()


_OF_THREAD: Final = threading.local()
_ALL: Final[weakref.WeakSet[_Process]] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for process in list(_ALL):
        process.end()


def serve() -> None:
    """Answer questions from the standard input, one line each, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks is interrupted, and kills
    _bound_memory()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a solver prints is not an answer
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        for line in sys.stdin:
            solver, text, budget, seconds = json.loads(line)
            faulthandler.dump_traceback_later(seconds + 5, exit=True, file=nowhere)
            answer: dict[str, Any] = dataclasses.asdict(_asked(solver, text, budget))
            faulthandler.cancel_dump_traceback_later()
            out.write(json.dumps(answer) + "\n")
            out.flush()


def _asked(solver: SolverName, text: str, budget: int) -> Answer:
    try:
        return ask(solver, text, budget)
    except Exception as problem:
        return Answer("unknown", 0.0, reason=f"{type(problem).__name__}: {problem}"[:500])


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Unix
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
