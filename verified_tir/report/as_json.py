"""The report for programs.

The keys are those of the values in :mod:`verified_tir.report.model`.  ``schema`` is raised by one whenever a key
disappears or changes its meaning; keys may be added at any time.
"""

from __future__ import annotations

import json
from typing import Any

from verified_tir.report.model import (
    ErrorReport,
    FileReport,
    InputReport,
    MachineCodeReport,
    ObligationReport,
    OpinionReport,
    Outcome,
    Place,
    RefusalReport,
    Report,
    ScheduleReport,
    SourcePlace,
    StepReport,
)  # fmt: skip

SCHEMA = 1


def to_json(report: Report, version: str) -> str:
    """The report as a JSON text; ``version`` is that of the package."""
    return json.dumps(_report(report, version), indent=2, ensure_ascii=False)


def _report(r: Report, version: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": version,
        "exit_code": r.exit_code,
        "seconds": _seconds(r.seconds),
        "message": r.nothing or ("interrupted" if r.interrupted else None),
        "summary": {
            "files": len(r.files),
            "bad_files": r.bad_files,
            "schedules": len(r.schedules),
            **{outcome.value: r.count(outcome) for outcome in Outcome},
            "obligations": sum(s.obligations for s in r.schedules),
        },
        "files": [_file(f) for f in r.files],
    }


def _file(f: FileReport) -> dict[str, Any]:
    return {
        "file": f.file,
        "seconds": _seconds(f.seconds),
        "error": None if f.error is None else _error(f.error),
        "warning": f.warning or None,
        "schedules": [_schedule(s) for s in f.schedules],
    }


def _schedule(s: ScheduleReport) -> dict[str, Any]:
    return {
        "name": s.name,
        "file": s.at.file,
        "line": s.at.line,
        "doc": s.doc,
        "expect": s.expect,
        "outcome": s.outcome.value,
        "as_expected": s.outcome.as_expected,
        "seconds": _seconds(s.seconds),
        "steps": [_step(x) for x in s.steps],
        "expected_refusals": [_refusal(x) for x in s.expected_refusals],
        "refusal": None if s.refusal is None else _refusal(s.refusal),
        "error": None if s.error is None else _error(s.error),
        "assumptions": list(s.assumptions),
        "second_opinion": None if s.opinion is None else s.opinion.sentence,
        "validated": None if s.opinion is None else _opinion(s.opinion),
        "machine_code": None if s.machine_code is None else _machine_code(s.machine_code),
        "input": None if s.input is None else _input(s.input),
        "profile": {part: _seconds(seconds) for part, seconds in s.profile} or None,
        "program": s.program,
    }


def _input(found: InputReport) -> dict[str, Any]:
    return {
        "found": found.found,
        "sentence": found.sentence,
        "sizes": found.sizes,
        "steps": found.steps,
        "complete": found.complete,
        "contradictory": list(found.contradictory),
    }


def _step(s: StepReport) -> dict[str, Any]:
    return {
        "step": s.name,
        "arguments": s.arguments,
        "seconds": _seconds(s.seconds),
        "line": s.line or None,
        "obligations": [_obligation(o) for o in s.obligations],
        **({"diff": [str(line) for line in s.diff]} if s.diff else {}),
    }


def _machine_code(m: MachineCodeReport) -> dict[str, Any]:
    return {
        "word": m.word,
        "sentence": m.sentence,
        "seconds": _seconds(m.seconds),
        "sizes": [
            {
                "text": s.text,
                "sizes": s.sizes,
                "verdict": s.verdict,
                "instructions": s.instructions,
                "seconds": _seconds(s.seconds),
            }
            for s in m.sizes
        ],
    }


def _opinion(o: OpinionReport) -> dict[str, Any]:
    return {
        "word": o.word,
        "seconds": _seconds(sum(s.seconds for s in o.steps)),
        "steps": [
            {
                "step": s.step,
                "name": s.name,
                "word": s.word,
                "sentence": s.sentence,
                "sizes": list(s.sizes),
                "left_out": list(s.left_out),
                "operations": s.operations,
                "seconds": _seconds(s.seconds),
            }
            for s in o.steps
        ],
    }


def _obligation(o: ObligationReport) -> dict[str, Any]:
    return {
        "name": o.name,
        "claim": o.claim,
        "verdict": o.verdict,
        "how": o.how,
        "seconds": _seconds(o.seconds),
        "rule": o.rule or None,
        "place": _place(o.place),
        "lemmas": [_obligation(x) for x in o.lemmas],
    }


def _place(p: Place | None) -> dict[str, Any] | None:
    return None if p is None else {"program": p.program, "path": list(p.path), "line": p.line, "text": p.text}


def _refusal(r: RefusalReport) -> dict[str, Any]:
    return {
        "step": r.step,
        "code": r.code,
        "kind": r.kind,
        "claim": r.claim,
        "counterexample": r.counterexample,
        "replay": None if r.replay is None else {"confirmed": r.replay.confirmed, "message": r.replay.message},
        "place": _place(r.place),
        "remedy": r.remedy,
        "advice": r.advice,
        "program": r.program,
        "at": None if r.raised is None else _source(r.raised),
    }


def _error(e: ErrorReport) -> dict[str, Any]:
    return {"code": e.code, "kind": e.kind, "message": e.message, **_source(e.at)}


def _source(s: SourcePlace) -> dict[str, Any]:
    return {"file": s.file, "line": s.line or None, "column": s.column, "source": s.source}


def _seconds(value: float) -> float:
    return round(value, 6)
