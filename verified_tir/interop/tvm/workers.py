"""Comparisons in other processes, so that a build need not wait for them.

Each process gets texts and limits, and gives back a report.  It is a new one and not a copy of this
one: TVM has threads of its own, and the main program may be a script without a guard.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import IO, Any, Final, final

from verified_tir.interop.tvm.judge import Limits, judge
from verified_tir.interop.tvm.reading import Printed, read_text
from verified_tir.interop.tvm.report import StepReport

_PROGRAM: Final = "from verified_tir.interop.tvm.workers import main; main()"


@final
@dataclass(frozen=True, slots=True)
class Task:
    """One change of one function, as texts."""

    step: str
    function: str
    before: str
    after: str
    limits: Limits
    depth: int = 0

    @staticmethod
    def of(step: str, before: Printed, after: Printed, limits: Limits, depth: int) -> Task:
        return Task(step, before.name, before.text, after.text, limits, depth)

    def run(self) -> StepReport:
        before, after = (read_text(text, self.function) for text in (self.before, self.after))
        return judge(self.step, before, after, self.limits, depth=self.depth)


@final
class Workers:
    """Some processes, started when they are first needed."""

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="validate")
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._all: list[subprocess.Popen[bytes]] = []

    def submit(self, task: Task) -> Future[StepReport]:
        return self._threads.submit(self._asked, task)

    def close(self) -> None:
        """End the processes when they have answered what they were asked."""
        self._threads.shutdown()
        for process in self._all:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            process.stdout.close()
            process.wait()

    def _asked(self, task: Task) -> StepReport:
        process = self._process()
        try:
            assert process.stdin is not None and process.stdout is not None
            pickle.dump(task, process.stdin)
            process.stdin.flush()
            found: StepReport = pickle.load(process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as problem:  # it died: of memory, mostly
            process.kill()
            text = f"unknown: the process that compared it ended ({type(problem).__name__})"
            return StepReport(task.step, task.function, "unknown", text, task.before, task.after, depth=task.depth)
        self._idle.put(process)
        return found

    def _process(self) -> subprocess.Popen[bytes]:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            command = [sys.executable, "-c", _PROGRAM]
            path = os.pathsep.join(p or os.getcwd() for p in sys.path)
            made = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
            )
            self._all.append(made)
            return made


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Answer tasks until there are no more."""
    while True:
        try:
            task: Any = pickle.load(source)
        except EOFError:
            return
        pickle.dump(replace(task.run(), maps={}), target)
        target.flush()


def main() -> None:
    """What a process runs."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what somebody prints is no answer
    serve(sys.stdin.buffer, answers)
