"""A campaign: workers, what they are given to do, and what comes of it.

The campaign draws and checks nothing itself, so nothing that a case does can harm it: it hands out rounds, hears what
was counted and what failed, writes findings and state, and replaces workers that die.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, assert_never, final

from verified_tir.fuzz.database import Examples
from verified_tir.fuzz.failure import HANG, Failure, Key, failure_of_death, failure_of_hang
from verified_tir.fuzz.findings import Finding, file_text, files_about, free_path, replaying_source, write
from verified_tir.fuzz.finish import Finish
from verified_tir.fuzz.plan import Plan
from verified_tir.fuzz.pool import Death, Hand, wait_for
from verified_tir.fuzz.reports import Counted, Done, Failed, Finished, Replayed, Report
from verified_tir.fuzz.state import Run, State, Tally, begun, new_seed
from verified_tir.fuzz.worker import Replay, RunRound

TICK: Final = 0.2
"""Seconds between two looks at the workers."""
_KEEP: Final = 5.0
"""Seconds between two records of what was counted, and two looks for what other machines found."""
_GRACE: Final = 15.0
"""Seconds that a case may still run when the time is over."""
_DEATHS: Final = 20
"""Deaths of workers in one target after which it is given up."""
_HANGS: Final = 4
"""A hang costs more than a death: it counts for so many."""
_STILLBORN: Final = 5
"""Deaths without a case, one after the other, after which the campaign is."""

Ending = Literal["done", "interrupted"]


@final
class NoWorkers(RuntimeError):
    """Workers die before they do anything: it is not the cases' fault."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """What a campaign is asked to do.

    :param targets: their names.
    :param seconds: how long it runs; until the examples are done, or it is interrupted, if none.
    :param examples: cases of each target; any number if none.
    :param seed: of the sequence of cases; none for one that nobody chose.
    :param resume: go on with the last seed where it stopped, if true; if false forget all earlier runs; if none, go on
        only with the same options, and only if the last run was interrupted.
    :param findings: the folder for files about findings; ``regressions``: one that has files already.
    :param database: a folder, or the address of a Redis server.
    :param limit: seconds for one case.
    :param shrinking: seconds for making one finding smaller.
    :param command: as it was typed, for the files about findings.
    """

    targets: tuple[str, ...]
    seconds: float | None = 600.0
    examples: int | None = None
    jobs: int = 1
    seed: int | None = None
    resume: bool | None = None
    findings: Path = Path("fuzz-findings")
    regressions: Path = Path("tests/regressions")
    database: str = ""
    state: Path = Path(".vtir-fuzz")
    limit: float = 120.0
    shrinking: float = 60.0
    command: str = "vtir fuzz"

    @property
    def sequence(self) -> dict[str, Any]:
        """What must be the same for a run to go on."""
        return {
            "targets": sorted(self.targets),
            "seconds": self.seconds,
            "examples": self.examples,
            "seed": self.seed,
        }


class Listener:
    """Who is told what happens; every method may be overridden."""

    def begins(self, campaign: Campaign) -> None:
        """The workers have been started."""

    def tick(self, campaign: Campaign) -> None:
        """Time has passed."""

    def found(self, finding: Finding) -> None:
        """A case failed as none did before; it is going to be made smaller."""

    def finished(self, finding: Finding) -> None:
        """A finding has its file, or is known."""

    def note(self, text: str) -> None:
        """Something that is to be known."""

    def ends(self) -> None:
        """The workers have been stopped."""


@dataclass(slots=True)
class Campaign:
    """A campaign that is to be run once.

    :raises StateInUse, BadState, NoDatabase, MissingModule: when it is made, if it cannot be run.
    """

    options: Options
    listener: Listener = field(default_factory=Listener)
    state: State = field(init=False)
    run: Run = field(init=False)
    goes_on: bool = field(init=False)
    examples: Examples = field(init=False)
    plan: Plan = field(init=False)
    hands: list[Hand] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)
    findings: dict[Key, Finding] = field(default_factory=dict)
    slow: int = 0
    replayed: int = 0
    ending: Ending = "interrupted"
    _finishing: deque[Finish] = field(default_factory=deque)
    _replays: deque[Replay] = field(default_factory=deque)
    _unsaved: dict[str, Tally] = field(default_factory=dict)
    _seen: dict[str, set[bytes]] = field(default_factory=dict)
    _deaths: Counter[str] = field(default_factory=Counter)
    _stillborn: int = 0
    _start: float = 0.0
    _end: float = 0.0
    _before: float = 0.0
    _kept: float = 0.0
    _looked: float = 0.0

    def __post_init__(self) -> None:
        options = self.options
        self.state = State(options.state, fresh=options.resume is False)
        try:
            place = options.database or str(options.state / "examples")
            self.examples = Examples(place, options.state / "examples", self.listener.note)
        except BaseException:
            self.state.close()
            raise
        self.run, self.goes_on = self._the_run()
        self.plan = Plan(self.run, options.targets, options.examples, options.seconds, options.jobs)
        self._before = self.run.elapsed

    def _the_run(self) -> tuple[Run, bool]:
        """The run that was interrupted, or a new one."""
        options, last = self.options, self.state.last
        if last is not None and options.resume is not False:
            if not last.ended and last.command == options.sequence:
                return last, True
            if options.resume and options.seed in (None, last.seed):
                return Run(last.seed, options.sequence, places=last.places), False
        return Run(new_seed() if options.seed is None else options.seed, options.sequence), False

    # -- what is shown ------------------------------------------------------------------------------------------------

    @property
    def elapsed(self) -> float:
        """Seconds of this run, those before it was interrupted included."""
        return self._before + self.worked

    @property
    def worked(self) -> float:
        """Seconds of this process."""
        return (self._end or time.monotonic()) - self._start if self._start else 0.0

    @property
    def left(self) -> float | None:
        """Seconds that are left, if there is an end."""
        return None if self.options.seconds is None else max(0.0, self.options.seconds - self.elapsed)

    def tally(self, target: str) -> Tally:
        """What was counted of a target by this process."""
        return self.tallies.setdefault(target, Tally())

    # -- the loop -----------------------------------------------------------------------------------------------------

    def __call__(self) -> Ending:
        """Run; a ``KeyboardInterrupt`` ends it, with all that is known written down."""
        options = self.options
        self._start = time.monotonic()
        self.state.begin(self.run, goes_on=self.goes_on)
        try:
            for number in range(options.jobs):
                self.hands.append(Hand(options.state / "running", number, self.run.seed % 2**32))
            self.listener.begins(self)
            self._look()
            while self._step():
                self.listener.tick(self)
                wait_for(self.hands, TICK)
            self.ending = "done"
        except KeyboardInterrupt:
            self.ending = "interrupted"
        finally:
            self._stop()
            self.listener.ends()
        return self.ending

    def _step(self) -> bool:
        """Hear, mend and hand out; whether anything is going on."""
        for hand in self.hands:
            self._attend(hand)
        if self.examples.shared and time.monotonic() - self._looked > _KEEP:
            self._look()
        if time.monotonic() - self._kept > _KEEP:
            self._keep()
        over = self.left == 0.0
        for hand in self.hands:
            if hand.task is None and not self._give(hand, over):
                continue
            if over and isinstance(hand.task, RunRound | Replay) and self._overdue():
                if isinstance(hand.task, RunRound):
                    self.plan.interrupted(hand.task.work)
                hand.task = None
                hand.replace()
        return any(hand.task is not None for hand in self.hands)

    def _overdue(self) -> bool:
        assert self.options.seconds is not None
        return self.elapsed > self.options.seconds + _GRACE

    def _attend(self, hand: Hand) -> None:
        """Hear what a worker has to say; replace it if it is dead, or its case takes too long."""
        dead = not hand.alive
        for report in hand.reports():
            self._hear(hand, report)
        task = hand.task
        hung = task is not None and (
            hand.late(self.options.limit)
            or (isinstance(task, Finish) and time.monotonic() - hand.since > task.seconds + 6 * task.limit + 300)
        )
        if not (dead or hung):
            return
        if task is not None:
            hand.task = None
            self._died(task, hand.death(hung=hung and not dead))
        hand.replace()

    def _give(self, hand: Hand, over: bool) -> bool:
        """The next task for a worker, if there is one."""
        if self._finishing:
            hand.give(self._finishing.popleft())
        elif over:
            return False
        elif self._replays:
            hand.give(self._replays.popleft())
        elif (work := self.plan.next()) is not None:
            left, part = self.left, self.plan.slice
            ends = [time.monotonic() + s for s in (left, part) if s is not None]
            known = frozenset(key for key in self.findings if key.target == work.target)
            hand.give(RunRound(work, min(ends, default=None), known))
        else:
            return False
        return True

    def _stop(self) -> None:
        """End all workers; write down what is known."""
        for hand in self.hands:
            for report in hand.reports():
                self._hear(hand, report)
            hand.end()
        for finding in self.findings.values():
            if not finding.file and not finding.known:  # there was no time to finish it
                key = finding.key
                finding.source = replaying_source(key, finding.choices, key.name)
                self._write(finding)
        self._end = time.monotonic()
        self._keep()
        self.state.end(self.elapsed, ended=self.ending == "done")
        self.state.close()

    # -- reports ------------------------------------------------------------------------------------------------------

    def _hear(self, hand: Hand, report: Report) -> None:
        match report:
            case Counted():
                self._stillborn = 0
                self._counted(report)
            case Failed():
                self._failed(report.failure, report.choices, report.work.turn, report.index)
            case Done():
                hand.task = None
                self._done(report)
                if report.tired:
                    hand.replace()
            case Replayed(choices=None):
                hand.task = None
            case Replayed(target=target, choices=bytes(choices), failure=failure):
                self._replayed(target, choices, failure)
            case Finished():
                hand.task = None
                self._finished(report)
            case Replayed():
                raise AssertionError(report)
            case _:
                assert_never(report)

    def _counted(self, report: Counted) -> None:
        target = report.work.target
        for tally in (self.tally(target), self.state.tally(target), self._pending(target)):
            tally.add(report)
        self.plan.spent[target] = self.plan.spent.get(target, 0.0) + report.seconds
        begun(self.run.place(target), report.work, report.upto)

    def _pending(self, target: str) -> Tally:
        return self._unsaved.setdefault(target, Tally())

    def _keep(self) -> None:
        """Write down what was counted."""
        self._kept = time.monotonic()
        for target, tally in self._unsaved.items():
            self.state.counted(target, tally, self.elapsed)
        self._unsaved.clear()

    def _done(self, report: Done) -> None:
        work = report.work
        cut = not report.ended and report.trouble is None
        if cut and (self.options.examples is not None or self.left == 0.0):
            self.plan.interrupted(work)
        else:
            self.plan.over(work)
        self._pending(work.target)
        if report.trouble is not None:
            self._failed(report.trouble, b"", work.turn, 0)
            message = report.trouble.message.partition(". ")[0]
            self._give_up(work.target, f"no more cases can be drawn: {message}")

    def _give_up(self, target: str, reason: str) -> None:
        self.plan.stopped.add(target)
        self.listener.note(f"{target} is not run any more: {reason}")

    def _failed(self, failure: Failure, choices: bytes, turn: int, index: int) -> None:
        """A case failed: a finding, or one more case of it."""
        key = failure.key
        for tally in (self.tally(key.target), self.state.tally(key.target), self._pending(key.target)):
            tally.failed += 1
        if key in self.findings:
            self.findings[key].times += 1
            return
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        finding = Finding(key, failure.message, failure.traceback, choices, self.run.seed, turn, index, now)
        self.findings[key] = finding
        if choices:
            self._seen.setdefault(key.target, set()).add(choices)
            self.examples.save(key.target, choices)
        self.listener.found(finding)
        self._finish(finding, apart=False)

    def _finish(self, finding: Finding, *, apart: bool) -> None:
        """Have a finding made smaller; one that was not the last time is made so now."""
        options = self.options
        about = files_about(finding.key, (options.findings, options.regressions))
        old = self.state.findings.get(finding.key)
        if old is not None and not old.shrunk and not old.flaky and Path(old.file) in about:
            about.remove(Path(old.file))
            finding.file = old.file
        self._finishing.append(Finish(finding, apart, options.shrinking, options.limit, tuple(about)))

    def _finished(self, report: Finished) -> None:
        finding = self.findings[report.key]
        if report.flaky and report.key.kind == HANG:  # it was the machine that was slow
            self.slow += 1
            self.examples.delete(report.key.target, finding.choices)
            del self.findings[report.key]
            self.listener.note(f"{report.key.target}: a case took more than {self.options.limit:g} s, but not again")
            return
        if report.choices != finding.choices:
            self._seen.setdefault(report.key.target, set()).add(report.choices)
            self.examples.delete(report.key.target, finding.choices)
            self.examples.save(report.key.target, report.choices)
        finding.message, finding.traceback = report.failure.message, report.failure.traceback
        finding.choices, finding.source = report.choices, report.source
        finding.shrunk, finding.flaky, finding.reproduced = report.shrunk, report.flaky, report.reproduced
        finding.known = report.known
        if finding.known:
            self.state.found(finding)
        else:
            self._write(finding)
        self.listener.finished(finding)

    def _write(self, finding: Finding) -> None:
        options = self.options
        path = Path(finding.file) if finding.file else free_path(options.findings, finding.key.name)
        finding.file = str(path)
        write(path, file_text(finding, options.command, options.limit))
        self.state.found(finding)

    # -- old cases ----------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Cases in the database that were not replayed yet: an earlier campaign's, or another machine's."""
        self._looked = time.monotonic()
        for target in self.options.targets:
            seen = self._seen.setdefault(target, set())
            if fresh := [c for c in self.examples.fetch(target) if c not in seen]:
                seen.update(fresh)
                self._replays.append(Replay(target, tuple(fresh)))

    def _replayed(self, target: str, choices: bytes, failure: Failure | None) -> None:
        self.replayed += 1
        if failure is None:
            self.examples.delete(target, choices)
        else:
            self._failed(failure, choices, -1, -1)

    # -- deaths -------------------------------------------------------------------------------------------------------

    def _died(self, task: RunRound | Replay | Finish, death: Death) -> None:
        """A worker died, or was stopped: the case that it had written down is to blame."""
        case = death.case
        name = task.work.target if isinstance(task, RunRound) else _target(task)
        failure = None
        if case is not None and case.phase != "idle":
            failure = (
                failure_of_hang(name, self.options.limit, death.trace)
                if death.hung
                else failure_of_death(name, death.number, death.trace)
            )
        self._deaths[name] += 0 if failure is None else _HANGS if death.hung else 1
        self._stillborn = 0 if failure is not None else self._stillborn + 1
        if self._stillborn >= _STILLBORN:
            raise NoWorkers(f"{_STILLBORN} workers ended before they did anything; what they said is above")
        match task:
            case RunRound(work=work):
                self._round_died(task, case.index if case is not None and failure is not None else -1, case, work.turn)
            case Replay():
                rest = tuple(c for c in task.choices if case is None or c != case.choices)
                if rest and len(rest) < len(task.choices):
                    self._replays.append(Replay(name, rest))
            case Finish():
                self._finish_died(task)
            case _:
                assert_never(task)
        if failure is not None and case is not None and not (isinstance(task, Finish) and task.apart):
            new = failure.key not in self.findings
            self._failed(failure, case.choices, case.turn, case.index)
            if new:
                self._finishing.pop()
                self._finish(self.findings[failure.key], apart=True)
        if self._deaths[name] >= _DEATHS and name not in self.plan.stopped:
            self._give_up(name, "too many of its cases kill their process, or do not end")

    def _round_died(self, task: RunRound, index: int, case: Any, turn: int) -> None:
        """The round goes on after the case; not if it could not even be drawn, since it would not be drawn again."""
        place = self.run.place(task.work.target)
        if case is not None and case.phase == "drawing":
            self.plan.over(task.work)
            return
        self.plan.interrupted(task.work)
        missed = index + 1 - place.open.get(turn, 0)
        if index >= 0 and missed > 0:
            begun(place, task.work, index + 1)
            for tally in (self.tally(task.work.target), self.state.tally(task.work.target)):
                tally.cases += missed
            self._pending(task.work.target).cases += missed

    def _finish_died(self, task: Finish) -> None:
        finding = self.findings[task.key]
        if not task.apart:  # a smaller case did what this one does not
            self._finish(finding, apart=True)
            return
        finding.source = replaying_source(task.key, finding.choices, task.key.name)
        self._write(finding)
        self.listener.finished(finding)


def _target(task: Replay | Finish) -> str:
    return task.target if isinstance(task, Replay) else task.key.target


def run_campaign(options: Options, listener: Callable[[], Listener] = Listener) -> Campaign:
    """Run a campaign from its beginning to its end; what it found is in ``findings`` of the result."""
    campaign = Campaign(options, listener())
    campaign()
    return campaign
