"""Schedules and refusals as values of the report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, TypeAlias, final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.script import script, script_lines
from verified_tir.logic.verdict import Discharged, Obligation, Proved, Refuted, Unknown, Verdict
from verified_tir.report.diff import program_diff
from verified_tir.report.model import (
    InputReport,
    ObligationReport,
    Place,
    RefusalKind,
    RefusalReport,
    ReplayReport,
    SourcePlace,
    StepReport,
    VerdictName,
)  # fmt: skip
from verified_tir.schedule import errors
from verified_tir.schedule.claims import claim_of
from verified_tir.schedule.exhibit import Exhibit
from verified_tir.schedule.schedule import Schedule, StepRecord

Owed: TypeAlias = tuple[str, PrimFunc, PrimFunc]
"""A rule's name, and the programs before and after it."""


@final
class Texts:
    """Places in program texts; each program is written once."""

    def __init__(self) -> None:
        self._known: dict[PrimFunc, tuple[list[str], dict[Path, int]]] = {}

    def place(self, func: PrimFunc, path: Path, program: str) -> Place | None:
        """The statement at ``path``, or the nearest around it that has a line of its own; ``None`` if none has."""
        found = self._known.get(func)
        if found is None:
            found = self._known[func] = script_lines(func)
        lines, places = found
        while path not in places and path:
            path = path[:-1]
        line = places.get(path)
        return None if line is None else Place(program, path, line + 1, lines[line].strip())


def steps_of(
    schedule: Schedule, *, file: str = "", places: bool = False, programs: bool = False, diffs: bool = False
) -> tuple[StepReport, ...]:
    """The steps of a schedule.

    :param file: whose lines called them.
    :param places: find each obligation's statement (programs are written out for it).
    :param programs: write out the program after each step.
    :param diffs: say what each step changed in the program's text.
    """
    texts = Texts() if places else None
    known = dict(_rules(schedule))
    return tuple(_step(r, file, known, texts, programs, diffs) for r in schedule.steps)


def step_of(record: StepRecord) -> StepReport:
    """One step with the program after it; which rules its obligations come from is left out."""
    return _step(record, "", {}, None, True, False)


def _step(
    record: StepRecord, file: str, known: dict[int, Owed], texts: Texts | None, programs: bool, diffs: bool
) -> StepReport:
    return StepReport(
        record.name,
        record.arguments,
        record.seconds,
        tuple(_discharged(d, record, known, texts) for d in record.obligations),
        0 if record.call is None else record.call.line_in(file),
        script(record.after) if programs else "",
        program_diff(record.before, record.after) if diffs else (),
    )


def input_of(found: Exhibit) -> InputReport:
    """An input that was exhibited, without its arrays."""
    return InputReport(
        found=found.found,
        sentence=str(found),
        sizes={name: x if math.isfinite(x) else str(x) for name, x in found.sizes.items()},
        steps=found.steps,
        complete=found.complete,
        contradictory=found.contradictory,
    )


def _rules(schedule: Schedule) -> Iterator[tuple[int, Owed]]:
    """For every obligation of a step, by identity: the rule that owed it, and the programs around that rule."""
    theorem = schedule.theorem
    before = schedule.steps[0].after
    for step in theorem.derivation:
        for d in step.obligations:
            yield id(d), (type(step.rule).__name__, before, step.after)
        before = step.after


def _discharged(d: Discharged, record: StepRecord, known: dict[int, Owed], texts: Texts | None) -> ObligationReport:
    rule, before, after = known.get(id(d), ("", record.before, record.after))
    o = d.obligation
    place = None if texts is None else texts.place(before if o.where == "before" else after, o.place, o.where)
    lemmas = tuple(_answered(x.obligation, x.verdict) for x in d.lemmas)
    return _answered(o, d.verdict, rule, place, lemmas)


def _answered(
    o: Obligation, v: Verdict, rule: str = "", place: Place | None = None, lemmas: tuple[ObligationReport, ...] = ()
) -> ObligationReport:
    claim = claim_of(o)
    name = claim if o.name == o.claim else o.name  # a lemma is called what it claims
    return ObligationReport(name, claim, verdict_name(v), v.how, v.seconds, rule, place, lemmas)


def verdict_name(verdict: Verdict) -> VerdictName:
    """The verdict in one word."""
    match verdict:
        case Proved():
            return "proved"
        case Refuted():
            return "refuted"
        case Unknown():
            return "undecided"


RefusalDetail = Literal["all", "briefly", "nothing"]
"""How much somebody will read of a refusal: its text (a remedy is looked for, which may take as long as the schedule),
what came of the counterexample, or nothing."""


def refusal_of(
    refused: errors.ScheduleError, raised: SourcePlace | None, detail: RefusalDetail = "all"
) -> RefusalReport:
    """A refusal; ``raised`` is the line of the schedule that caused it."""
    kind: RefusalKind = "not-applicable"
    counterexample: dict[str, int] = {}
    replay = None
    where = "before"
    match refused:
        case errors.Refuted():
            kind = "refuted"
            counterexample = dict(refused.counterexample)
            if detail != "nothing" and refused.replay is not None:
                replay = ReplayReport(refused.replay.confirmed, refused.replay.message)
        case errors.Undecided():
            kind = "undecided"
    if isinstance(refused, (errors.Refuted, errors.Undecided)) and refused.obligation is not None:
        where = refused.obligation.where
    return RefusalReport(
        step=refused.step,
        kind=kind,
        claim=refused.claim,
        text=str(refused) if detail == "all" else "",
        program=errors.marked(refused.program, refused.place, refused.has_place),
        place=Texts().place(refused.program, refused.place, where) if refused.has_place else None,
        counterexample=counterexample,
        replay=replay,
        raised=raised,
        code=refused.code,
        remedy=refused.remedy if detail == "all" else None,
        advice=refused.advice,
    )
