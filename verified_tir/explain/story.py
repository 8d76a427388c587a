"""A schedule that was verified, as it is told: its source, its steps with programs and pictures, its refusals."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.explain import nests
from verified_tir.explain.answers import Answers, answers
from verified_tir.explain.drawing import Drawing, beside
from verified_tir.explain.grids import Marks, draw, layout_grids
from verified_tir.explain.relaid import Layout, Relaid, assumptions_of, layout_of, relaid_by, sizes_of
from verified_tir.explain.touched import Iteration, first_iteration
from verified_tir.explain.witness import Witnessed, witnessed
from verified_tir.report.model import RefusalReport, ScheduleReport, SourcePlace, StepReport
from verified_tir.schedule.errors import Refuted, ScheduleError
from verified_tir.schedule.registry import ScheduleFunction
from verified_tir.schedule.schedule import Schedule, StepRecord


@final
@dataclass(frozen=True, slots=True)
class Source:
    """The lines of a schedule function: its file, as it is called, and the number of the first line."""

    file: str
    first: int
    lines: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class LayoutStory:
    """A layout that a step changes: what to draw of it, and what an iteration touches.

    ``layout`` is ``None`` if it cannot be drawn.
    """

    relaid: Relaid
    layout: Layout | None
    touched: Iteration | None

    @property
    def drawings(self) -> tuple[Drawing, Drawing] | None:
        """The logical and the physical grid."""
        if self.layout is None:
            return None
        marks = Marks() if self.touched is None else Marks(self.touched.elements)
        before, after = layout_grids(self.layout, marks)
        return draw(before), draw(after)

    @property
    def drawing(self) -> Drawing | None:
        """Both in one picture."""
        both = self.drawings
        return None if both is None else beside(f"The layout of {self.relaid.after.name}", *both)


@final
@dataclass(frozen=True, slots=True)
class StepStory:
    """A step that was proved.

    ``line`` is that of the schedule function, 0 if the step was not called from there; ``helper`` the innermost line of
    what it called, if that called the primitive.
    """

    number: int
    report: StepReport
    record: StepRecord
    line: int
    helper: SourcePlace | None
    layouts: tuple[LayoutStory, ...]

    @property
    def nests(self) -> tuple[Drawing, Drawing] | None:
        """The loop nests before and after; ``None`` if no loop changed."""
        before, after = (
            nests.nest(self.record.before, self.record.after),
            nests.nest(self.record.after, self.record.before),
        )
        if nests.same_loops(before, after):
            return None
        before, after = nests.changed(before, after)
        return nests.draw(before, "before"), nests.draw(after, "after")


@final
@dataclass(frozen=True, slots=True)
class RefusalStory:
    """A step that was refused, when there were ``after`` steps; ``expected`` tells whether that was to happen."""

    report: RefusalReport
    error: ScheduleError
    after: int
    line: int
    expected: bool
    witnessed: tuple[Witnessed, ...]
    answers: Answers | None


@final
@dataclass(frozen=True, slots=True)
class Story:
    """A schedule function, what it did and what came of it."""

    report: ScheduleReport
    source: Source
    steps: tuple[StepStory, ...]
    refusals: tuple[RefusalStory, ...]
    made: Schedule | None

    def parts(self) -> Iterator[StepStory | RefusalStory]:
        """Steps and refusals in the order in which they happened."""
        for k, step in enumerate(self.steps, 1):
            yield step
            yield from (r for r in self.refusals if r.after == k)
        yield from (r for r in self.refusals if r.after == 0)


def story(
    function: ScheduleFunction, report: ScheduleReport, made: Schedule | None, refused: ScheduleError | None
) -> Story:
    """The story of a schedule function that was run."""
    source = _source(function, report.at.file)
    steps: list[StepStory] = []
    drawn: list[LayoutStory] = []
    for k, (record, said) in enumerate(zip(made.steps if made is not None else (), report.steps, strict=True)):
        layouts, line = tuple(_layouts(record)), _line(record, function.file, source)
        drawn += layouts
        steps.append(StepStory(k, said, record, line, _helper(record, function.file, source, line), layouts))
    refusals = list(_refusals(report, made, refused, source, drawn))
    return Story(report, source, tuple(steps), tuple(refusals), made)


def _source(function: ScheduleFunction, shown: str) -> Source:
    try:
        lines, first = inspect.getsourcelines(function.function)
    except (OSError, TypeError):
        lines, first = [linecache.getline(function.file, function.line)], function.line
    return Source(shown, first, tuple(line.rstrip("\n") for line in lines))


def _line(record: StepRecord, file: str, source: Source) -> int:
    """The innermost line of the schedule function that led to a step."""
    known = range(source.first, source.first + len(source.lines))
    if record.call is None:  # the program, which the decorator names
        return source.first
    return next((n for name, n in record.call.lines if name == file and n in known), 0)


def _helper(record: StepRecord, file: str, source: Source, line: int) -> SourcePlace | None:
    """The innermost line that led to a step, if it is not the schedule's own."""
    lines = () if record.call is None else record.call.lines
    if not lines or lines[0] == (file, line):
        return None
    name, number = lines[0]
    return SourcePlace(source.file if name == file else name, number, None, linecache.getline(name, number).strip())


def _layouts(record: StepRecord) -> Iterator[LayoutStory]:
    assumed = assumptions_of(record.after.body)
    for r in relaid_by(record.rules, record.before):
        sizes = sizes_of(r, assumed)
        layout = None if sizes is None else layout_of(r, sizes)
        touched = None if sizes is None or layout is None else first_iteration(record.after, r.after, sizes)
        yield LayoutStory(r, layout, touched)


def _refusals(
    report: ScheduleReport, made: Schedule | None, refused: ScheduleError | None, source: Source,
    layouts: list[LayoutStory],
) -> Iterator[RefusalStory]:  # fmt: skip
    errors = made.refusals if made is not None else ()
    after = made.refused_after if made is not None else ()
    told = [(e, r, n, True) for e, r, n in zip(errors, report.expected_refusals, after, strict=True)]
    if refused is not None and report.refusal is not None:
        told.append((refused, report.refusal, len(report.steps), report.outcome.as_expected))
    relaid = {x.relaid.after: x.relaid for x in layouts}
    for error, said, number, expected in told:
        known = range(source.first, source.first + len(source.lines))
        line = said.raised.line if said.raised is not None and said.raised.line in known else 0
        seen = tuple(witnessed(error, relaid)) if isinstance(error, Refuted) else ()
        both = answers(error) if isinstance(error, Refuted) else None
        yield RefusalStory(said, error, number, line, expected, seen, both)
