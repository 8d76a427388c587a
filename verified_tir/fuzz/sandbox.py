"""A case checked in a process of its own: what kills it, or never ends, is found, and can be made smaller.

The process is a fork of this one, which costs milliseconds; this one checks nothing itself, so that it has no threads
that a fork would lose.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import tempfile
import time
import warnings
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Any, Final

from verified_tir.child.worker import end_with
from verified_tir.fuzz.cases import check
from verified_tir.fuzz.failure import Failure, failure_of_death, failure_of_hang
from verified_tir.fuzz.running import crowding
from verified_tir.fuzz.target import Observed, Target

_DUMP: Final = 0.5
"""Seconds in which a process that hangs writes its stack."""


def check_apart(target: Target[Any], name: str, case: Any, seconds: float) -> Failure | None:
    """What is wrong with a case, the death of its process and more than some seconds included."""
    with tempfile.TemporaryFile("w+") as trace:
        answer, mouth = Pipe(duplex=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about threads, of which the libraries' do no harm
            parent = os.getpid()
            child = os.fork()
        if child == 0:
            end_with(parent)
            _child(target, name, case, mouth, trace)
        mouth.close()
        with answer:
            return _outcome(name, child, answer, trace, seconds * crowding())


def _child(target: Target[Any], name: str, case: Any, mouth: Connection, trace: IO[str]) -> None:
    """Check, send the answer, and end without what other processes do when they end."""
    code = 1
    try:
        listen_for_stacks(trace)
        mouth.send(check(target, name, case, Observed()))
        code = 0
    finally:
        os._exit(code)


def _outcome(name: str, child: int, answer: Connection, trace: IO[str], seconds: float) -> Failure | None:
    found: Failure | None = None
    try:
        hung = not answer.poll(seconds)
        found = None if hung else answer.recv()
    except EOFError:  # it died before it could answer
        hung = False
    if hung:
        os.kill(child, signal.SIGUSR1)
        time.sleep(_DUMP)
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if hung:
        return failure_of_hang(name, seconds, _text(trace))
    return found if status == 0 else failure_of_death(name, -status, _text(trace))


def _text(trace: IO[str]) -> str:
    trace.seek(0)
    return trace.read()


def listen_for_stacks(file: IO[str]) -> None:
    """Write this process's stack to a file if it dies, or when SIGUSR1 asks for it."""
    faulthandler.disable()  # what was enabled before some library took the signals over would only change its file
    faulthandler.enable(file, all_threads=False)
    faulthandler.register(signal.SIGUSR1, file, all_threads=False)
