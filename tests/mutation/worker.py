"""A process that has collected the tests and imported everything, and forks a child for each mutant.

Run as ``python -m tests.mutation.worker REQUEST``, where the request is a JSON file (see :class:`Request`).  It
writes one JSON object a line to its standard output; what tests print goes nowhere.

The children need what only the parent can know: that the failing test passes without the mutant.  It is asked once for
each test, in a child without any mutant.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO, final

import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.mutant import Mutant
from tests.mutation.reach import Recorder, TestFile, digest_of
from tests.mutation.selection import CERTIFICATES, COUNTS, Order
from tests.mutation.sources import Source
from tests.mutation.swap import forget_results, swap

_NO_KILL = ("DeadlineExceeded", "FailedHealthCheck", "Flaky", "MemoryError")
"""Exceptions that tell of a slow machine, and not of the mutant."""

PATIENCE = 20.0
"""A test that takes so many times as long as without the mutant, and some seconds more, hangs.  All times that decide
are processor times: a busy machine must not kill a mutant."""

_LONGEST = 30
"""A child that waits, and does not compute, is given up after so many times the budget."""


@final
@dataclass(frozen=True, slots=True)
class Task:
    """A mutant, the tests that reach it, and how long they took without it."""

    mutant: Mutant
    tests: tuple[str, ...]
    seconds: tuple[float, ...]


@final
@dataclass(slots=True)
class Request:
    """What a worker is to do: ``reach`` (record what each test reaches) or ``run`` (mutants)."""

    mode: str
    root: str
    tests: list[str]
    """Files to collect."""
    jobs: int = 1
    budget: float = 60.0
    """Seconds of processor time for one mutant's tests, and as many for what is asked last."""
    time: float = 0.0
    """No mutant is begun after so many seconds, unless this is 0."""
    store: str = ""
    """Folder for what tests reach."""
    tasks: list[Task] = field(default_factory=list)
    package: str = "verified_tir"
    fine: list[str] = field(default_factory=list)
    """Files of which it is recorded which statements are reached, and not functions only."""
    slack: float = 10.0
    """Seconds that a test may take longer than ``PATIENCE`` times what it took without the mutant."""
    last: str = ""
    """``module:function`` to call on a mutant that no test killed: it returns what killed it, or nothing."""

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Request:
        d = json.loads(path.read_text(encoding="utf-8"))
        tasks = [Task(Mutant(**t["mutant"]), tuple(t["tests"]), tuple(t["seconds"])) for t in d.pop("tasks")]
        return cls(**d, tasks=tasks)


@final
@dataclass(slots=True)
class _Child:
    """A running child: its process, what it says, and when patience with it ends."""

    pid: int
    pipe: int
    task: Task
    deadline: float
    test: str = ""
    ran: int = 0
    text: str = ""
    end: dict[str, Any] = field(default_factory=dict)


class _Plugin:
    """Takes the place of pytest's own loop over the tests."""

    def __init__(self, request: Request, out: TextIO) -> None:
        self.request = request
        self.out = out
        self.items: dict[str, pytest.Item] = {}
        self.passes: dict[str, bool] = {}
        self.order = Order()
        self.sources: dict[str, Source] = {}

    def pytest_collection(self) -> None:
        """After the conftest files were read, before test modules are: no deadlines, no shrinking."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile(
            "mutation", settings(), derandomize=True, database=None, deadline=None, phases=phases, print_blob=False
        )
        settings.load_profile("mutation")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.say(event="collected", tests=len(self.items))
        gc.collect()
        gc.freeze()
        if self.request.mode == "reach":
            self.record()
        else:
            self.run()
        return True

    def say(self, **event: Any) -> None:
        print(json.dumps(event), file=self.out, flush=True)

    # -- what tests reach -----------------------------------------------------------------------------------------

    def record(self) -> None:
        waiting = [(file, [i for n, i in self.items.items() if n.partition("::")[0] == file])
                   for file in self.request.tests]  # fmt: skip
        running: set[int] = set()
        names: dict[int, str] = {}
        recorder = Recorder(Path(self.request.root), self.request.package, frozenset(self.request.fine))
        recorder.instrument()
        gc.freeze()
        while waiting or running:
            while waiting and len(running) < self.request.jobs:
                file, items = waiting.pop(0)
                pid = os.fork()
                if pid == 0:
                    with _silence():
                        self._record_file(recorder, file, items)
                    os._exit(0)
                running.add(pid)
                names[pid] = file
            pid, status = os.wait()
            running.discard(pid)
            self.say(event="recorded", file=names.get(pid, ""), ok=status == 0)

    def _record_file(self, recorder: Recorder, file: str, items: list[pytest.Item]) -> None:
        root = Path(self.request.root)
        tests: dict[str, tuple[float, str]] = {}
        reached: dict[str, int] = {}
        for k, item in enumerate(items):
            recorder.take()
            forget_results(self.request.package)
            start = time.process_time()
            failure, outcome = _run(item, items[k + 1] if k + 1 < len(items) else None)
            tests[item.nodeid] = (round(time.process_time() - start, 4), "failed" if failure is not None else outcome)
            bits = 0
            for key in recorder.take():
                bits |= 1 << key
            reached[item.nodeid] = bits
        used = 0
        for bits in reached.values():
            used |= bits
        wanted = [k for k in range(len(recorder.keys)) if used >> k & 1]
        position = {k: i for i, k in enumerate(wanted)}
        compact = {
            name: sum(1 << position[k] for k in wanted if bits >> k & 1) if bits else 0
            for name, bits in reached.items()
        }
        keys = [recorder.keys[k] for k in wanted]
        files = {name: digest_of(root / name) for name in self.request.fine}
        found = TestFile(digest_of(root / file), keys, tests, compact, files)
        found.save(Path(self.request.store) / (file.replace("/", "+") + ".json"))

    # -- mutants --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        running: list[_Child] = []
        try:
            self._run_all(running)
        finally:  # stopped from outside: no mutant outlives its parent
            for child in running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)

    def _run_all(self, running: list[_Child]) -> None:
        waiting = list(reversed(self.request.tasks))
        end = time.monotonic() + self.request.time if self.request.time else float("inf")
        while waiting or running:
            if time.monotonic() > end:
                waiting.clear()
            while waiting and len(running) < self.request.jobs:
                running.append(self.start(waiting.pop()))
            ready, _, _ = select.select([c.pipe for c in running], [], [], 0.2)
            for child in list(running):
                if child.pipe in ready:
                    self.hear(child)
                if self.over(child):
                    running.remove(child)
                    again = self.finish(child)
                    if again is not None:
                        waiting.append(again)

    def source(self, file: str) -> Source:
        if file not in self.sources:
            self.sources[file] = Source.read(Path(self.request.root), file)
        return self.sources[file]

    def start(self, task: Task) -> _Child:
        seconds = dict(zip(task.tests, task.seconds, strict=True))
        usable = [t for t in task.tests if t in self.items and self.passes.get(t, True) and _decides(self.items[t])]
        tests = self.order.sort(task.mutant, usable, seconds)
        task = Task(task.mutant, tuple(tests), tuple(seconds[t] for t in tests))
        self.source(task.mutant.file)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.close(read)
            code = 1
            with _silence():
                code = self._child(task, os.fdopen(write, "w"))
            os._exit(code)
        os.close(write)
        longest = _LONGEST * (self.request.budget * (2 if self.request.last else 1) + self.request.slack)
        return _Child(pid, read, task, time.monotonic() + longest)

    def _child(self, task: Task, pipe: TextIO) -> int:
        def tell(**event: Any) -> None:
            print(json.dumps(event), file=pipe, flush=True)

        forget_results(self.request.package)
        _compile_apart()
        try:
            swap(task.mutant, self.source(task.mutant.file))
        except Exception as problem:  # nothing was tested
            tell(end="not run", how=str(problem))
            return 0
        end = "survived"
        start = time.process_time()
        for name, usual in zip(task.tests, task.seconds, strict=True):
            if time.process_time() - start > self.request.budget:
                end = "out of time"
                break
            tell(test=name)
            signal.setitimer(signal.ITIMER_PROF, PATIENCE * usual + self.request.slack)  # ends the process
            failure, _ = _run(self.items[name], None)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if failure is not None:
                tell(end="killed", by=name, how=failure)
                return 0
        if self.request.last:
            tell(asks=self.request.last)
            killer = _resolve(self.request.last)(task.mutant, self.request.budget)
            if killer:
                tell(end="killed", by=killer[0], how=killer[1])
                return 0
        tell(end=end)
        return 0

    def hear(self, child: _Child) -> None:
        data = os.read(child.pipe, 1 << 16)
        if not data:
            child.end = child.end or {"end": "died", "how": "its process ended"}
            return
        *lines, child.text = (child.text + data.decode()).split("\n")
        for line in lines:
            event = json.loads(line)
            if "test" in event:
                child.ran += 1
                child.test = event["test"]
            elif "asks" in event:
                child.test = ""
            else:
                child.end = event

    def over(self, child: _Child) -> bool:
        if not child.end and time.monotonic() > child.deadline:
            child.end = {"end": "timeout" if child.test else "out of time", "by": child.test, "how": "it does not end"}
        return bool(child.end)

    def finish(self, child: _Child) -> Task | None:
        """Say what became of a mutant; gives a task to try instead if its killer proves nothing."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        _, status, usage = os.wait4(child.pid, 0)
        os.close(child.pipe)
        end, task = child.end, child.task
        if end["end"] == "died":
            slow = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
            end = {"end": "timeout", "how": "it does not end"} if slow else {"end": "crashed", "how": "it ends Python"}
            end["by"] = child.test
        killer = end.get("by", "")
        if killer in task.tests and not self._passes(killer):
            self.say(event="unusable", test=killer)
            kept = [(t, s) for t, s in zip(task.tests, task.seconds, strict=True) if t != killer]
            return Task(task.mutant, tuple(t for t, _ in kept), tuple(s for _, s in kept))
        if killer in task.tests:
            self.order.note(task.mutant, killer)
        self.say(
            event="done", id=task.mutant.id, status=end["end"], by=killer, how=end.get("how", ""),
            seconds=round(usage.ru_utime + usage.ru_stime, 2), ran=child.ran, of=len(task.tests),
        )  # fmt: skip
        return None

    def _passes(self, name: str) -> bool:
        """Whether a test passes without any mutant."""
        if name not in self.passes:
            pid = os.fork()
            if pid == 0:
                code = 1
                with _silence():
                    forget_results(self.request.package)
                    _compile_apart()
                    failure, outcome = _run(self.items[name], None)
                    code = 0 if failure is None and outcome == "passed" else 1
                os._exit(code)
            self.passes[name] = os.waitpid(pid, 0)[1] == 0
        return self.passes[name]


def _run(item: pytest.Item, following: pytest.Item | None) -> tuple[str | None, str]:
    """Run one test: how it failed, or ``None``; and whether it passed or was skipped."""
    failure: str | None = None
    outcome = "passed"
    for report in runtestprotocol(item, log=False, nextitem=following):
        if report.skipped:
            outcome = "skipped"
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = str(crash.message if crash is not None else report.longrepr).split("\n")[0]
            if any(name in str(report.longrepr) for name in _NO_KILL):
                outcome = "skipped"
            elif failure is None:
                failure = message[:200]
    return failure, outcome


def _decides(item: pytest.Item) -> bool:
    """Whether a test says what the kernel accepts, and not how many obligations it prints (see ``selection``)."""
    if getattr(item, "nodeid", "").startswith(CERTIFICATES):
        return True  # it is only asked where obligations are what may be wrong
    if "golden" in getattr(item, "fixturenames", ()):
        return False
    function = getattr(item, "function", None)
    code, around = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    if code is None:
        return True
    called = (around.get(name) for name in code.co_names)
    helpers = (getattr(f, "__code__", None) for f in called if not _is_tested(getattr(f, "__module__", "")))
    return all(COUNTS.isdisjoint(c.co_names) for c in (code, *helpers) if c is not None)


def _is_tested(module: str | None) -> bool:
    """Whether a module is what tests are about: what its functions name says nothing of who calls them."""
    name = module or ""
    if name.startswith("verified_tir.testing."):
        return False
    return name.startswith(("verified_tir.", "tests.fuzz.targets."))


def _resolve(name: str) -> Callable[[Mutant, float], tuple[str, str] | None]:
    module, _, function = name.partition(":")
    found: Callable[[Mutant, float], tuple[str, str] | None] = getattr(importlib.import_module(module), function)
    return found


def _compile_apart() -> None:
    """What this process compiles is for itself: the sources, by which code is kept, are those of no mutant."""
    os.environ["VTIR_CACHE_DIR"] = tempfile.mkdtemp(dir=os.environ.get("VTIR_CACHE_DIR"))


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Nothing that a test prints, nor an error that escapes, is seen."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    try:
        yield
    except BaseException:
        os._exit(1)


def main(path: str) -> int:
    """Do what a request says."""
    request = Request.load(Path(path))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    out = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.chdir(request.root)
    sys.path.insert(0, request.root)
    options = ["-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", request.root, *request.tests]
    return int(pytest.main(options, plugins=[_Plugin(request, out)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
