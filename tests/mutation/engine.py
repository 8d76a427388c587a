"""Runs mutants: plans which tests decide each, starts workers, keeps what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from tests.mutation.mutant import Mutant
from tests.mutation.reach import Reach, TestFile, digest_of
from tests.mutation.results import KILLED, Result, Results, change_of, key_of
from tests.mutation.selection import may_decide, test_files
from tests.mutation.sources import Source, checkout, mutated_files
from tests.mutation.worker import Request, Task

Report = Callable[[dict[str, Any]], None]
"""Hears what happens: the worker's events, one by one."""


@final
@dataclass(slots=True)
class Engine:
    """A checkout, where its results are kept, and how much work is done for a mutant.

    :param budget: seconds of processor time for one mutant.
    :param time: no mutant is begun after so many seconds of a run, unless this is 0.
    :param tests: test files (relative to the root) that may decide; those of the kernel unless given.
    :param last: ``module:function``, called on mutants that no test killed.
    :param package: what is mutated.
    :param fine: files of it of which every statement counts; for the others it is known which functions tests reach.
    :param slack: seconds that a test may take longer than twenty times what it took without the mutant.
    """

    root: Path
    state: Path
    jobs: int = 1
    budget: float = 20.0
    time: float = 0.0
    tests: Sequence[str] = ()
    last: str = ""
    package: str = "verified_tir"
    fine: Sequence[str] = ()
    slack: float = 10.0
    report: Report = lambda event: None
    sources: dict[str, Source] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tests = tuple(self.tests) or tuple(test_files(self.root, everything=False))
        self.fine = tuple(self.fine) or tuple(mutated_files(self.root))

    @property
    def results(self) -> Results:
        return Results(self.state / "results.jsonl")

    def source(self, file: str) -> Source:
        if file not in self.sources:
            self.sources[file] = Source.read(self.root, file)
        return self.sources[file]

    # -- what tests reach -----------------------------------------------------------------------------------------

    def record(self, tests: Sequence[str] | None = None) -> Reach:
        """What tests (all, unless given) reach; files that are new or changed are run once for it."""
        tests = self.tests if tests is None else tests
        missing = self._unrecorded(tests)
        if missing:
            for event in self._worker(self._request("reach", missing, store=str(self._store))):
                self.report(event)
        reach = Reach()
        for t in tests:
            path = _stored(self._store, t)
            if path.exists():
                reach.add(TestFile.load(path))
        return reach

    @property
    def _store(self) -> Path:
        return self.state / "reach"

    def _unrecorded(self, tests: Sequence[str]) -> list[str]:
        return [t for t in tests if not _is_current(self._store, self.root, t)]

    def known(self, mutants: Iterable[Mutant]) -> list[Result]:
        """Results of earlier runs, those left out whose function has changed since."""
        by_id = self.results.by_id
        found = [(m, by_id[m.id]) for m in mutants if m.id in by_id]
        return [r for m, r in found if r.key.partition("-")[0] == change_of(m, self.source(m.file))]

    # -- mutants --------------------------------------------------------------------------------------------------

    def run(self, mutants: Iterable[Mutant], *, again: bool = False) -> list[Result]:
        """Run mutants, those left out of which a result is known that still counts; gives results in their order.

        As long as it is not known what all tests reach, the mutated rules' own tests are tried before that is found
        out: most mutants need no others.

        :param again: run all of them.
        """
        mutants = list(mutants)
        digests = {t: digest_of(self.root / t) for t in self.tests}
        known = self.results
        if again:
            known.by_id = {}
        decided = {r.id: r for m in mutants if (r := known.by_id.get(m.id)) is not None and r.killed
                   and r.key == self._key(m, r, (), digests)}  # fmt: skip
        near = self._near(mutants) if self._unrecorded(self.tests) else []
        for tests, complete in ((near, False), (self.tests, True)):
            left = [m for m in mutants if m.id not in decided]
            if not left or not tests:
                continue
            reach = self.record(tests)
            tasks = [Task(m, t, tuple(reach.seconds[n] for n in t))
                     for m in left for t in (self._deciding(m, reach),)]  # fmt: skip
            if complete:
                decided |= self._settled(tasks, known, digests)
            tasks = [t for t in tasks if t.mutant.id not in decided and (t.tests or (complete and self.last))]
            for result in self._decide(tasks, digests, self.last if complete else ""):
                if complete or result.killed:
                    known.add(result)
                    decided[result.id] = result
        return [decided[m.id] for m in mutants if m.id in decided]

    def _deciding(self, mutant: Mutant, reach: Reach) -> tuple[str, ...]:
        """The tests that reach a mutant, and may kill it."""
        reaching = reach.reaching(mutant, self.source(mutant.file))
        return tuple(sorted(t for t in reaching if may_decide(t, mutant.file)))

    def _settled(self, tasks: Sequence[Task], known: Results, digests: dict[str, str]) -> dict[str, Result]:
        """Who is known to have survived these very tests, and who is reached by none."""
        found: dict[str, Result] = {}
        for task in tasks:
            m, old = task.mutant, known.by_id.get(task.mutant.id)
            if old is not None and old.key == self._key(m, old, task.tests, digests):
                if old.status != "out of time" or old.seconds >= self.budget:
                    found[m.id] = old
            elif not task.tests and not self.last:
                found[m.id] = Result(m.id, key_of(m, self.source(m.file), ("",), digests), "unreached")
                known.add(found[m.id])
        return found

    def _near(self, mutants: Sequence[Mutant]) -> list[str]:
        """The rules' own tests."""
        own = tuple(f"test_{Path(file).stem}" for file in {m.file for m in mutants})
        return [t for t in self.tests if t.startswith("tests/kernel/rules/") and Path(t).name.startswith(own)]

    def _key(self, mutant: Mutant, result: Result, tests: Sequence[str], digests: dict[str, str]) -> str:
        decided = (result.by,) if result.killed else (*tests, self.last)
        return key_of(mutant, self.source(mutant.file), decided, digests)

    def _decide(self, tasks: list[Task], digests: dict[str, str], last: str) -> Iterator[Result]:
        if not tasks:
            return
        by_id = {t.mutant.id: t for t in tasks}
        files = sorted({t.partition("::")[0] for task in tasks for t in task.tests}) or list(self.tests[:1])
        for event in self._worker(self._request("run", files, tasks=tasks, last=last)):
            task = by_id.get(event.get("id", ""))
            if task is not None and event["status"] != "not run":
                killed = event["status"] in KILLED
                decided = (event["by"],) if killed else (*task.tests, self.last)
                key = key_of(task.mutant, self.source(task.mutant.file), decided, digests)
                yield Result(
                    task.mutant.id, key, event["status"], event["by"], event["how"], event["seconds"],
                    event["ran"], event["of"],
                )  # fmt: skip
            self.report(event)

    def _request(
        self, mode: str, files: list[str], store: str = "", tasks: Sequence[Task] = (), last: str = ""
    ) -> Request:
        return Request(
            mode, str(self.root), files, jobs=self.jobs, budget=self.budget, time=self.time, store=store,
            tasks=list(tasks), last=last, package=self.package, fine=list(self.fine), slack=self.slack,
        )  # fmt: skip

    def _worker(self, request: Request) -> Iterator[dict[str, Any]]:
        """Start a worker, and hear what it says.

        :raises WorkerFailed: if it ends before its time.
        """
        with tempfile.TemporaryDirectory(prefix="vtir-mutate-") as folder:
            path = Path(folder) / "request.json"
            request.save(path)
            command = [sys.executable, "-m", "tests.mutation.worker", str(path)]
            places = (str(self.root), str(checkout()), os.environ.get("PYTHONPATH", ""))
            paths = os.pathsep.join(p for p in places if p)
            environment = {"VTIR_EXAMPLES": "20", "VTIR_EXHAUSTIVE": "500", **os.environ, "PYTHONPATH": paths}
            errors = Path(folder) / "errors"
            with errors.open("w") as log:
                process = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, cwd=self.root
                )
                assert process.stdout is not None
                collected = False
                try:
                    for line in process.stdout:
                        event = json.loads(line)
                        collected = collected or event.get("event") == "collected"
                        yield event
                finally:
                    if process.poll() is None and not collected:
                        process.terminate()
                    _stop(process)
            if not collected:
                raise WorkerFailed(f"the tests could not be collected:\n{errors.read_text()[-2000:]}")


class WorkerFailed(Exception):
    """The process that runs the tests ended without having run them."""


def _stop(process: subprocess.Popen[str]) -> None:
    if process.stdout is not None:
        process.stdout.close()
    for _ in range(20):
        if process.poll() is not None:
            return
        time.sleep(0.05)
    process.terminate()
    process.wait()


def _stored(store: Path, test: str) -> Path:
    return store / (test.replace("/", "+") + ".json")


def _is_current(store: Path, root: Path, test: str) -> bool:
    path = _stored(store, test)
    if not path.exists():
        return False
    with path.open(encoding="utf-8") as document:  # the digest comes first
        return f'{{"digest": "{digest_of(root / test)}"' in document.read(40)
