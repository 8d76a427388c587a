"""A campaign: workers, what they are given to do, and what comes of it.

The campaign draws and checks nothing itself, so nothing that a case does can harm it: it hands out rounds, hears what
was counted and what failed, writes findings and state, and replaces workers that die.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Final, Literal, assert_never, final

from verified_tir.fuzz.database import Examples
from verified_tir.fuzz.failure import failure_of_death, failure_of_hang
from verified_tir.fuzz.far import FarHand
from verified_tir.fuzz.findings import Finding
from verified_tir.fuzz.finish import Finish
from verified_tir.fuzz.options import Listener, Options
from verified_tir.fuzz.plan import Plan
from verified_tir.fuzz.pool import Death, Hand, wait_for
from verified_tir.fuzz.reporter import Reporter
from verified_tir.fuzz.reports import Counted, Done, Failed, Finished, Replayed, Report, Tally
from verified_tir.fuzz.running import Running, crowding
from verified_tir.fuzz.state import Run, State, new_seed
from verified_tir.fuzz.worker import Replay, RunRound

TICK: Final = 0.2
"""Seconds between two looks at the workers."""
_KEEP: Final = 5.0
"""Seconds between two records of what was counted, and two looks for what other machines found."""
_GRACE: Final = 15.0
"""Seconds that a case may still run when the time is over."""
_HURRY: Final = 15.0
"""Seconds for making a finding smaller when the time is over."""
_DEATHS: Final = 20
"""Deaths of workers in one target after which it is given up."""
_HANGS: Final = 4
"""A hang costs more than a death: it counts for so many."""
_TROUBLES: Final = 10
"""Rounds that Hypothesis could not end after which a target is given up; one whose first case cannot be drawn is so."""
_STILLBORN: Final = 5
"""Deaths without a case, one after the other, after which the campaign is."""

Ending = Literal["done", "interrupted"]


@final
class NoWorkers(RuntimeError):
    """Workers die before they do anything: it is not the cases' fault."""


@dataclass(slots=True)
class Campaign:
    """A campaign that is to be run once.

    :ivar executor: makes the workers' tasks calls elsewhere; they are processes here if there is none.

    :raises StateInUse, BadState, NoDatabase, MissingModule: when it is made, if it cannot be run.
    """

    options: Options
    listener: Listener = field(default_factory=Listener)
    state: State = field(init=False)
    run: Run = field(init=False)
    goes_on: bool = field(init=False)
    examples: Examples = field(init=False)
    reporter: Reporter = field(init=False)
    plan: Plan = field(init=False)
    executor: Executor | None = None
    hands: list[Hand | FarHand] = field(default_factory=list)
    ending: Ending = "interrupted"
    _deaths: Counter[str] = field(default_factory=Counter)
    _undrawn: set[tuple[str, int, int]] = field(default_factory=set)
    _troubles: Counter[str] = field(default_factory=Counter)
    _stillborn: int = 0
    _start: float = 0.0
    _end: float = 0.0
    _before: float = 0.0
    _kept: float = 0.0
    _stopping: bool = False

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
        self.reporter = Reporter(options, self.listener, self.state, self.examples, self.run.seed)
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
        return self.state.tally_now(target)

    @property
    def unchecked(self) -> list[str]:
        """The targets of which this run has not checked one case: of them nothing is known.

        (Of a run that was interrupted, what was checked before counts.)
        """
        return [t for t in self.options.targets if not self.tally(t).cases and not self.run.place(t).checked]

    @property
    def findings(self) -> Sequence[Finding]:
        """Of this run, in the order in which they were found."""
        return tuple(self.reporter.findings.values())

    # -- the loop -----------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """End soon, as if interrupted; for handlers of signals."""
        self._stopping = True

    def __call__(self) -> Ending:
        """Run; ``stop`` or a ``KeyboardInterrupt`` ends it, with all that is known written down.

        :raises NoWorkers: if workers cannot be started.
        """
        options = self.options
        self._start = time.monotonic()
        self.state.begin(self.run, goes_on=self.goes_on)
        try:
            for number in range(options.jobs):
                self.hands.append(self._hand(number))
            self.listener.begins(self)
            self.reporter.look()
            going = True
            while going and not self._stopping:
                going = self._step()
                self.listener.tick(self)
                wait_for([h for h in self.hands if isinstance(h, Hand)], TICK if going else 0.0)
            self.ending = "interrupted" if self._stopping else "done"
        except KeyboardInterrupt:
            self.ending = "interrupted"
        finally:
            self._stop()
            self.listener.ends()
        return self.ending

    def _hand(self, number: int) -> Hand | FarHand:
        seed = self.run.seed % 2**32
        if self.executor is not None:
            return FarHand(self.executor, seed, self.options.limit)
        return Hand(self.options.state / "running", number, seed)

    def _step(self) -> bool:
        """Hear, mend and hand out; whether anything is going on."""
        for hand in self.hands:
            self._attend(hand)
        if self.examples.shared and time.monotonic() - self.reporter.looked > _KEEP:
            self.reporter.look()
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

    def _attend(self, hand: Hand | FarHand) -> None:
        """Hear what a worker has to say; replace it if it is dead, or its case takes too long."""
        dead = not hand.alive
        for report in hand.reports():
            self._hear(hand, report)
        task = hand.task
        limit = self.options.limit * crowding()
        quiet = limit * 6 + task.seconds + 300 if isinstance(task, Finish) else limit * 2 + 60
        hung = task is not None and (hand.late(self.options.limit) or time.monotonic() - hand.heard > quiet)
        if not (dead or hung):
            return
        if task is not None:
            hand.task = None
            self._died(task, hand.death(hung=hung and not dead))
        hand.replace()

    def _give(self, hand: Hand | FarHand, over: bool) -> bool:
        """The next task for a worker, if there is one."""
        if self.reporter.finishing:
            end = math.inf if self.left is None else self.left
            hand.give(replace(self.reporter.finishing.popleft(), left=_HURRY if over else end, hurry=over))
        elif over:
            return False
        elif self.reporter.replays:
            hand.give(self.reporter.replays.popleft())
        elif (work := self.plan.next()) is not None:
            left, part = self.left, self.plan.slice
            ends = [time.monotonic() + s for s in (left, part) if s is not None]
            hand.give(RunRound(work, min(ends, default=None), self.reporter.known(work.target)))
        else:
            return False
        return True

    def _stop(self) -> None:
        """End all workers; write down what is known."""
        for hand in self.hands:
            for report in hand.reports():
                self._hear(hand, report)
            hand.end()
        self.reporter.abandon()
        self._end = time.monotonic()
        self.state.keep(self.elapsed, ended=self.ending == "done")
        self.state.close()

    # -- reports ------------------------------------------------------------------------------------------------------

    def _hear(self, hand: Hand | FarHand, report: Report) -> None:
        match report:
            case Counted():
                self._stillborn = 0
                self._counted(report)
            case Failed():
                self.reporter.failed(report.failure, report.choices, report.work.turn, report.index)
            case Done():
                hand.task = None
                self._done(report)
                if report.tired:
                    hand.replace()
            case Replayed(choices=None):
                hand.task = None
            case Replayed(target=target, choices=bytes(choices), failure=failure):
                self.reporter.tried(target, choices, failure)
            case Finished():
                hand.task = None
                self.reporter.finished(report.finding)
            case Replayed():
                raise AssertionError(report)
            case _:
                assert_never(report)

    def _counted(self, report: Counted) -> None:
        target = report.work.target
        self.state.count(target, report.tally)
        self.plan.spent[target] = self.plan.spent.get(target, 0.0) + report.tally.seconds
        self.run.place(target).reached(report.work.turn, report.upto)

    def _keep(self) -> None:
        """Write down what was counted."""
        self._kept = time.monotonic()
        self.state.keep(self.elapsed)

    def _done(self, report: Done) -> None:
        work = report.work
        drawn = self.run.place(work.target).open.get(work.turn, 0)
        cut = not report.ended and report.trouble is None
        whole = self.options.examples is not None or self.left == 0.0
        if (cut and whole) or (drawn == 0 and not report.ended):  # a round without a case is not over
            self.plan.interrupted(work)
        else:
            self.plan.over(work)
        if report.trouble is not None:
            self.reporter.failed(report.trouble, b"", work.turn, 0)
            self._troubles[work.target] += 1
            if drawn == 0 or self._troubles[work.target] >= _TROUBLES:
                message = report.trouble.message.partition(". ")[0]
                self._give_up(work.target, f"no more cases can be drawn: {message}")

    def _give_up(self, target: str, reason: str) -> None:
        self.plan.stopped.add(target)
        self.listener.note(f"{target} is not run any more: {reason}")

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
            raise NoWorkers(f"{_STILLBORN} workers ended before they did anything; the last one said:\n{death.said}")
        match task:
            case RunRound(work=work):
                self._round_died(task, case.index if case is not None and failure is not None else -1, case, work.turn)
            case Replay():
                rest = tuple(c for c in task.choices if case is None or c != case.choices)
                if rest and len(rest) < len(task.choices):
                    self.reporter.replays.append(Replay(name, rest))
            case Finish():
                self._finish_died(task)
            case _:
                assert_never(task)
        if failure is not None and case is not None and not (isinstance(task, Finish) and task.apart):
            self.reporter.failed(failure, case.choices, case.turn, case.index, apart=True)
        if self._deaths[name] >= _DEATHS and name not in self.plan.stopped:
            self._give_up(name, "too many of its cases kill their process, or do not end")

    def _round_died(self, task: RunRound, index: int, case: Running | None, turn: int) -> None:
        """The round goes on after the case; one that could not even be drawn is tried again, but only once."""
        place = self.run.place(task.work.target)
        if case is not None and case.phase == "drawing":
            index -= 1
            if (place_of := (task.work.target, turn, index)) in self._undrawn:
                self.plan.over(task.work)
                return
            self._undrawn.add(place_of)
        self.plan.interrupted(task.work)
        missed = index + 1 - place.open.get(turn, 0)
        if index >= 0 and missed > 0:
            place.reached(turn, index + 1)
            self.state.count(task.work.target, Tally(cases=missed))

    def _finish_died(self, task: Finish) -> None:
        finding = self.reporter.findings[task.key]
        if task.apart:
            self.reporter.as_it_is(finding)
            self.listener.finished(finding)
        else:  # a smaller case did what this one does not
            self.reporter.finish(finding, apart=True)


def _target(task: Replay | Finish) -> str:
    return task.target if isinstance(task, Replay) else task.key.target


def run_campaign(options: Options, listener: Callable[[], Listener] = Listener) -> Campaign:
    """Run a campaign from its beginning to its end; what it found is in ``findings`` of the result."""
    campaign = Campaign(options, listener())
    campaign()
    return campaign
