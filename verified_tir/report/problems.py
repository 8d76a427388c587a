"""What went wrong in a run, one value for each schedule or file: what the formats for other programs have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, assert_never, final

from verified_tir.report.error_codes import NO_INPUT, NOT_REFUSED, NOTHING_TO_DO, VACUOUS
from verified_tir.report.model import (
    ErrorReport,
    FileReport,
    Outcome,
    RefusalReport,
    Report,
    ScheduleReport,
    SourcePlace,
)

Weight = Literal["failure", "error", "warning"]
"""A schedule that did not end as expected; something that kept it from being verified; something odd."""


ACCEPTED: Final = 'every step was accepted, but the schedule is marked expect="refused"'
"""Why a schedule that was not refused did not end as expected."""


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to correct.

    :ivar rule: what kind of problem it is, as a code.
    :ivar title: what happened to which schedule.
    :ivar message: why, in one sentence.
    :ivar details: all that there is to say about it; begins with the message or says the same.
    :ivar at: the line to look at.
    """

    weight: Weight
    rule: str
    title: str
    message: str
    details: str
    at: SourcePlace


def rule_of(problem: RefusalReport | ErrorReport | Outcome) -> str:
    """The code of a problem (``vtir help CODE``)."""
    match problem:
        case RefusalReport() | ErrorReport():
            return problem.code
        case Outcome.VACUOUS:
            return VACUOUS
        case Outcome.NO_INPUT:
            return NO_INPUT
        case _:
            return NOT_REFUSED


def meaning(rule: str) -> str:
    """What a code is about, in one sentence."""
    from verified_tir.report.codes import PAGES

    return PAGES[rule].title if rule in PAGES else f"vtir help {rule} explains this problem."


def problems_of(report: Report) -> Iterator[Problem]:
    """All problems of a run, in the order of its files; not that it was interrupted, or that nothing was verified."""
    for file in report.files:
        found = problem_of_file(file)
        if found is not None:
            yield found
        yield from (p for p in map(problem_of, file.schedules) if p is not None)


def problem_of_file(file: FileReport) -> Problem | None:
    """Why a file could not be used, or what is odd about it."""
    if file.error is not None:
        return _error(file.error, f"{file.file} cannot be verified")
    if file.warning:
        at = SourcePlace(file.file, 0)
        return Problem("warning", NOTHING_TO_DO, f"{file.file} has no schedule", file.warning, file.warning, at)
    return None


def problem_of(s: ScheduleReport) -> Problem | None:
    """Why a schedule did not end as expected, if it did not."""
    match s.outcome:
        case Outcome.PROVED | Outcome.REFUSED_AS_EXPECTED:
            return None
        case Outcome.REFUSED:
            assert s.refusal is not None
            r = s.refusal
            title = f"{s.name}: {r.step} is refused"
            details = "\n\n".join(filter(None, (r.text or r.claim, s.unexpected)))
            return Problem("failure", rule_of(r), title, r.claim, details, r.raised or s.at)
        case Outcome.NOT_REFUSED:
            return Problem("failure", rule_of(s.outcome), f"{s.name}: not refused", ACCEPTED, ACCEPTED, s.at)
        case Outcome.VACUOUS | Outcome.NO_INPUT:
            why = "every step was proved" + ("" if s.input is None else f", but {s.input.sentence}")
            return Problem("failure", rule_of(s.outcome), f"{s.name}: proves nothing", why, why, s.at)
        case Outcome.ERROR:
            assert s.error is not None
            return _error(s.error, f"{s.name}: error")
        case _:
            assert_never(s.outcome)


def _error(e: ErrorReport, title: str) -> Problem:
    first, _, rest = e.sentence.partition("\n")
    source = f"\n{e.at.source.strip()}" if e.at.source.strip() else ""
    details = first + (f"\n{rest}" if rest else "") + source
    return Problem("error", rule_of(e), title, first, details, e.at)
