"""Take the steps of one request, in a process of its own, which may be stopped at any time.

Answers, each an object with one key, in this order: ``program`` (the check of the program itself), ``step`` for each
step that was proved, and at last ``end``, or what ended the work before: ``mistake`` (of the author, with the field
that it is in and the line), or ``refused`` and perhaps a ``remedy``.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any, Final

from verified_tir.child.worker import Answer, work
from verified_tir.ir.node import IRError
from verified_tir.ir.script import ScriptError, script
from verified_tir.report.collect import input_of, refusal_of, step_of
from verified_tir.report.diff import diff_lines
from verified_tir.report.model import StepReport
from verified_tir.schedule.errors import Refuted, ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.serve.limits import MEMORY
from verified_tir.serve.reading import BadStep, steps_in, take

WHOLE: Final = 10**6
"""Lines around a change that are shown: all."""


def answer_request(request: Any, answer: Answer) -> None:
    """Take the steps of ``{"program": …, "steps": …}``.  Nothing of it is executed, and nothing is written to disk."""
    started = time.perf_counter()
    line, field = 1, "program"
    try:
        schedule = Schedule(str(request["program"]), cache=False)
        answer({"program": _step(step_of(schedule.steps[0]), "")})
        known: dict[str, Any] = {}
        field = "steps"
        for step in steps_in(str(request["steps"])):
            line, before = step.line, len(schedule.steps)
            take(schedule, step, known)
            for record in schedule.steps[before:]:
                old = script(record.before)
                answer({"step": {**_step(step_of(record), old), "line": line}})
        field = "end"
        schedule.prove_race_free()
        answer({"end": _end(schedule, time.perf_counter() - started)})
    except ScheduleError as refused:
        answer({"refused": {"line": line, "field": field, **_refusal(refused)}})
        if refused.remedy is not None:  # looking for one may take as long as all the rest
            answer({"remedy": refused.remedy})
    except BadStep as problem:
        answer({"mistake": {"field": "steps", "line": problem.line, "message": str(problem)}})
    except ScriptError as problem:
        answer({"mistake": {"field": field, "line": problem.line if field == "program" else line,
                            "column": problem.column, "message": problem.message}})  # fmt: skip
    except MemoryError:
        message = f"this takes more than {MEMORY // 2**30} GiB of memory: try smaller extents, or vtir verify"
        answer({"mistake": {"field": field, "line": line, "message": message}})
    except RecursionError:
        answer({"mistake": {"field": field, "line": line, "message": "this is nested too deeply"}})
    except (IRError, TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError) as problem:
        answer({"mistake": {"field": field, "line": line, "message": str(problem) or type(problem).__name__}})


def _step(s: StepReport, before: str) -> dict[str, Any]:
    lines = diff_lines(before.splitlines(), s.program.splitlines(), WHOLE) if before else ()
    return asdict(s) | {"text": str(s), "diff": [[line.kind, line.text] for line in lines]}


def _refusal(refused: ScheduleError) -> dict[str, Any]:
    found = asdict(refusal_of(refused, None, "briefly"))
    found["counterexample"] = {name: str(value) for name, value in found["counterexample"].items()}
    replay = refused.replay if isinstance(refused, Refuted) else None
    return found | {"answers": None if replay is None else replay.answers}


def _end(schedule: Schedule, seconds: float) -> dict[str, Any]:
    shown = input_of(schedule.exhibit())
    return {
        "assumptions": schedule.assumptions,
        "notes": schedule.notes,
        "input": {"found": shown.found, "sentence": shown.sentence},
        "obligations": sum(len(r.obligations) for r in schedule.steps),
        "seconds": seconds,
    }


if __name__ == "__main__":
    work(answer_request, MEMORY)
