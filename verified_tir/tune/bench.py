"""Candidates of one strategy, each proved, built, compared with the plain program, and then timed.

Times are medians of calls that take turns with those of the best candidate so far, so that what else the machine does
slows both.  With one thread the processor time of the thread is measured, with several the time on the clock.  A value
is the time relative to that of the default, through the chain of the best ones: smaller is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, final

from verified_tir.activity import Level, announce
from verified_tir.bench.cases import difference
from verified_tir.bench.measure import Timing, clock_of, in_turns
from verified_tir.codegen.build import build
from verified_tir.codegen.errors import CodegenError
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.theorem import Refines
from verified_tir.logic.solver import INTEGER_BUDGET, Solver
from verified_tir.logic.verdict_store import VerdictStore
from verified_tir.lower.passes import Pipeline
from verified_tir.report.error_codes import code_of_exception
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.fitting_inputs import NoneFit, check_fit, fitting
from verified_tir.schedule.registry import Exited, ScheduleFunction
from verified_tir.schedule.replay_inputs import Array
from verified_tir.schedule.replay_layout import Masks, arguments_of, move, pad
from verified_tir.schedule.schedule import Schedule
from verified_tir.tune.space import Choice, Decision, Open, Tuned

Decisions = Sequence[tuple[Choice | None, Decision]] | None

PATIENCE: Final = 0.4
"""Seconds for timing one candidate against the best so far."""
TOLERANCE: Final = 1e-3
"""Difference, relative to the largest element, of sums that the user allows to be made in another order."""


@final
@dataclass(frozen=True, slots=True)
class Result:
    """What came of a candidate.

    :ivar kind: ``open`` if the strategy asks for a decision that was not given: ``choices`` is what it asks, and
        ``number`` that of the decision.
    :ivar choices: what the strategy asked.
    :ivar value: the time relative to that of the default.
    :ivar seconds: of one call.
    :ivar reason: why it was refused, or where its results differ; ``code`` is that of the refusal.
    :ivar queries: questions to the solver; ``shared`` of them had been answered for this or another candidate.
    """

    kind: Literal["measured", "refused", "differs", "open"]
    choices: tuple[Choice, ...] = ()
    value: float = 0.0
    seconds: float = 0.0
    reason: str = ""
    code: str = ""
    queries: int = 0
    shared: int = 0
    number: int = 0


@final
@dataclass(slots=True)
class Built:
    """Machine code of a candidate, with arguments of its own."""

    call: Callable[[], Any]
    difference: str
    value: float = 1.0


@final
@dataclass(slots=True)
class Bench:
    """Where candidates of a strategy are measured.

    :param arrays: arguments of the plain program, by name, or others in their place if they do not satisfy what it
        assumes; ``sizes``: its symbols and scalars.
    :param threads: into how many threads parallel loops are divided.
    """

    function: ScheduleFunction
    pipeline: Pipeline
    sizes: Mapping[str, Any]
    arrays: Mapping[str, Array]
    threads: int = 1
    budget: int = INTEGER_BUDGET
    store: VerdictStore = field(default_factory=VerdictStore)
    best: Built | None = None
    _expected: dict[str, Array] = field(default_factory=dict)
    _written: PrimFunc | None = None

    def prove(self, decisions: Decisions) -> Tuned:
        """The schedule of a candidate; the default without decisions.

        :raises Open: if the strategy asks for another decision.
        :raises ScheduleError: if it is refused.
        """
        made = self._begun(Solver(self.budget, store=self.store), decisions)
        self.function.apply(made)
        return made

    def measure(self, decisions: Decisions) -> Result:
        """Prove, build, compare and time a candidate."""
        solver = Solver(self.budget, store=self.store)
        made: Tuned | None = None
        try:
            made = self._begun(solver, decisions)
            self.function.apply(made)
            built = self.built(made)
        except Open as question:
            return Result("open", (question.choice,), number=question.number)
        except Exception as refused:  # of the kernel, of the code generator, or raised by the strategy
            choices = () if made is None else made.choices
            return Result("refused", choices, 0.0, 0.0, _why(refused), code_of_exception(refused), *_asked(solver))
        choices = made.choices
        if built.difference:
            return Result("differs", choices, 0.0, 0.0, built.difference, "", *_asked(solver))
        announce(Level.STEP, "timing")
        seconds = self._time(built)
        return Result("measured", choices, built.value, seconds, "", "", *_asked(solver))

    def _begun(self, solver: Solver, decisions: Decisions) -> Tuned:
        made = self.function.begun(Tuned, solver=solver)
        made.decisions = decisions
        return made

    def built(self, schedule: Schedule) -> Built:
        """A candidate as machine code, and how its results differ from those of the plain program.

        :raises ScheduleError, CodegenError: if it cannot be lowered or built.
        """
        schedule.prove_race_free()
        theorem = self.pipeline.run(schedule)
        announce(Level.STEP, "building")
        compiled = build(theorem, threads=self.threads)
        plain = self._plain()
        # A candidate may assume what others do not.
        if self._written is None or not structural_equal(theorem.before, self._written):
            check_fit(theorem.before, self.sizes, self.arrays)
        arrays = move(theorem.relation, self.arrays, dict(self.sizes))
        masks = pad(theorem.after, theorem.paddings, arrays, dict(self.sizes))
        arguments = arguments_of(theorem.after, arrays, self.sizes)
        compiled(*arguments)
        expected = move(theorem.relation, plain, dict(self.sizes))
        return Built(lambda: compiled(*arguments), _difference(theorem, expected, arrays, masks))

    def _plain(self) -> dict[str, Array]:
        """What the program computes without a schedule, on arrays that satisfy what it assumes."""
        if not self._expected:
            theorem = self.pipeline.run(self.function.begun(Schedule, solver=Solver(self.budget, store=self.store)))
            self.arrays, self._written = fitting(theorem.before, self.sizes, self.arrays), theorem.before
            given = {n: a.copy() for n, a in self.arrays.items()}
            build(theorem, threads=self.threads)(*arguments_of(theorem.after, given, self.sizes))
            self._expected.update(given)
        return self._expected

    def _time(self, built: Built) -> float:
        """The seconds of one call; sets the value, and the best so far."""
        best = self.best
        if best is None:
            self.best = built
            return self.in_turns([built], PATIENCE)[0].median
        ours, theirs = self.in_turns([built, best], PATIENCE)
        built.value = best.value * ours.median / theirs.median
        if built.value < best.value:
            self.best = built
        return ours.median

    def in_turns(self, candidates: Sequence[Built], seconds: float) -> list[Timing]:
        """The times of candidates that take turns for so long."""
        _, clock = clock_of(self.threads)
        timed = in_turns({str(k): b.call for k, b in enumerate(candidates)}, clock, seconds)
        return [*timed.values()]


def _asked(solver: Solver) -> tuple[int, int]:
    counts = solver.statistics
    return counts.queries + counts.cached, counts.cached


def _why(refused: Exception) -> str:
    if isinstance(refused, ScheduleError):
        return refused.summary()
    said = isinstance(refused, (CodegenError, Exited, NoneFit))
    return str(refused) if said else f"{type(refused).__name__}: {refused}"


def _difference(theorem: Refines, expected: Mapping[str, Array], found: Mapping[str, Array], masks: Masks) -> str:
    """Where results differ from those of the plain program, in one sentence."""
    tolerance = TOLERANCE if theorem.reassociated else None
    for name, array in found.items():
        if text := difference(array, expected[name], tolerance, masks.counts(name, array.shape)):
            return f"{name}: {text}"
    return ""
