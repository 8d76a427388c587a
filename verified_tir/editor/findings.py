"""The report of a file as what an editor shows: diagnostics, texts for hovering, lenses and hints.

Everything is a JSON value, since it comes from a child process: a finding is a range with a severity and a message, a
hover a range with Markdown, a lens or a hint a line with a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

from verified_tir.durations import duration
from verified_tir.editor.places import Places, Range
from verified_tir.report.error_codes import NO_INPUT, NOT_REFUSED, STOPPED, VACUOUS
from verified_tir.report.model import (
    ErrorReport,
    FileReport,
    ObligationReport,
    Outcome,
    RefusalReport,
    ScheduleReport,
    StepReport,
)  # fmt: skip
from verified_tir.report.problems import ACCEPTED

Severity = Literal["error", "warning", "information"]
Found: TypeAlias = dict[str, list[Any]]
"""Lists under ``diagnostics``, ``hovers``, ``lenses``, ``hints``."""

SHOWN: Final = 12
"""Obligations in a hover at the most."""

_WORDS: Final = {
    Outcome.PROVED: "proved",
    Outcome.REFUSED_AS_EXPECTED: "refused as expected",
    Outcome.REFUSED: "refused",
    Outcome.NOT_REFUSED: "not refused, though this was expected",
    Outcome.VACUOUS: "proved of no input",
    Outcome.NO_INPUT: "proved of no known input",
    Outcome.ERROR: "error",
}


def of_file(report: FileReport, places: Places) -> Found:
    """What there is to say of a file besides its schedules."""
    found: Found = {"diagnostics": []}
    if report.error is not None:
        found["diagnostics"].append(_error(report.error, report.file, places, 1))
    return found


def of_schedule(s: ScheduleReport, file: str, places: Places) -> Found:
    """What there is to say of one schedule function.

    :param file: the file that is shown; a place in another one is named in the message.
    """
    name = places.function(s.at.line) if s.at.file == file else places.at(1)
    word = _WORDS[s.outcome]
    proved = f"{word}: {_obligations(s.obligations)}, {duration(s.seconds)}" if s.outcome is Outcome.PROVED else word
    steps = [x for x in s.steps if x.line] if s.at.file == file else []
    return {
        "diagnostics": list(_diagnostics(s, file, places, name)),
        "hovers": [*_steps(steps, places), *_refused(s, file, places), _hover(name, _summary(s, proved))],
        "lenses": [{"range": name, "text": proved}],
        "hints": [{"range": places.at(line), "text": text} for line, text in _hints(steps)],
    }


# -- diagnostics ------------------------------------------------------------------------------------------------------


def _diagnostics(s: ScheduleReport, file: str, places: Places, name: Range) -> Iterator[dict[str, Any]]:
    for refusal in s.expected_refusals:
        yield _refusal(refusal, file, places, name, expected=True)
    if s.refusal is not None:
        yield _refusal(s.refusal, file, places, name, expected=s.outcome is Outcome.REFUSED_AS_EXPECTED)
    match s.outcome:
        case Outcome.NOT_REFUSED:
            yield _diagnostic(name, "error", NOT_REFUSED, f"{s.name}: {ACCEPTED}")
        case Outcome.VACUOUS | Outcome.NO_INPUT:
            sentence = "" if s.input is None else s.input.sentence
            code = VACUOUS if s.outcome is Outcome.VACUOUS else NO_INPUT
            yield _diagnostic(name, "warning", code, f"{s.name}: every step was proved, but {sentence}")
        case Outcome.ERROR if s.error is not None:
            yield _error(s.error, file, places, s.at.line)


def _refusal(r: RefusalReport, file: str, places: Places, name: Range, *, expected: bool) -> dict[str, Any]:
    lines = [f"{r.step}: refused as expected: {r.claim}" if expected else r.text.partition("\n")[0]]
    if r.counterexample:
        lines.append(f"counterexample: {r.values}")
    if r.replay is not None:
        lines.append(str(r.replay))
    if not expected and (r.remedy or r.advice):
        lines.append(r.remedy or f"try: {r.advice}")
    there = r.raised is not None and r.raised.file == file
    if r.raised is not None and not there:
        lines.append(f"(at {r.raised})")
    where = places.at(r.raised.line) if r.raised is not None and there else name
    return _diagnostic(where, "information" if expected else "error", r.code, "\n".join(lines))


def _error(e: ErrorReport, file: str, places: Places, line: int) -> dict[str, Any]:
    if e.at.file == file:
        return _diagnostic(places.at(e.at.line or line, e.at.column), "error", e.code, e.sentence)
    return _diagnostic(places.at(line), "error", e.code, f"{e.sentence} (at {e.at})")


def _diagnostic(where: Range, severity: Severity, code: str, message: str) -> dict[str, Any]:
    return {"range": where, "severity": severity, "code": code, "message": message}


def stopped(line: int, why: str, places: Places) -> dict[str, Any]:
    """That a file was not verified to its end, and why."""
    return _diagnostic(places.function(line), "error", STOPPED, why)


# -- hovers, lenses, hints -------------------------------------------------------------------------------------------


def _steps(steps: Sequence[StepReport], places: Places) -> Iterator[dict[str, Any]]:
    for line in dict.fromkeys(s.line for s in steps):
        here = [s for s in steps if s.line == line]
        heads = [f"`{s}`  {_obligations(len(s.obligations))} proved, {duration(s.seconds)}" for s in here]
        owed = [o for s in here for o in s.obligations]
        yield _hover(places.at(line), "\n\n".join([*heads, _program(here[-1].program), _listed(owed)]))


def _refused(s: ScheduleReport, file: str, places: Places) -> Iterator[dict[str, Any]]:
    for r in (*s.expected_refusals, *([] if s.refusal is None else [s.refusal])):
        if r.raised is not None and r.raised.file == file:
            yield _hover(places.at(r.raised.line), f"`{r.step}`  refused\n\n{_program(r.program)}")


def _summary(s: ScheduleReport, proved: str) -> str:
    parts = [f"**{s.name}**  {proved}", *([s.doc] if s.doc else [])]
    if s.outcome is Outcome.PROVED and s.assumptions:
        parts.append("\n".join(["It assumes:", "", *(f"- {_plain(a)}" for a in s.assumptions)]))
    if s.program:
        parts.append(_program(s.program))
    return "\n\n".join(parts)


def _hints(steps: Sequence[StepReport]) -> Iterator[tuple[int, str]]:
    for line in dict.fromkeys(s.line for s in steps):
        here = [s for s in steps if s.line == line]
        count, seconds = sum(len(s.obligations) for s in here), sum(s.seconds for s in here)
        yield line, f"{count} proved, {duration(seconds)}"


def _listed(owed: Sequence[ObligationReport]) -> str:
    lines = [f"- {_plain(o.claim)} ({o.how}{f', {duration(o.seconds)}' if o.seconds else ''})" for o in owed[:SHOWN]]
    return "\n".join([*lines, *([f"- and {len(owed) - SHOWN} more"] if len(owed) > SHOWN else [])])


def _plain(text: str) -> str:
    """A sentence that Markdown shows as it is."""
    for sign in "\\`*_<>[]|#":
        text = text.replace(sign, f"\\{sign}")
    return text


def _program(text: str) -> str:
    return f"```python\n{text.rstrip()}\n```" if text else ""


def _hover(where: Range, text: str) -> dict[str, Any]:
    return {"range": where, "text": text}


def _obligations(count: int) -> str:
    return f"{count} obligation{'s' * (count != 1)}"
