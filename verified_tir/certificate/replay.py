"""A schedule made again from the text of its program and the notes of its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from verified_tir.ir.node import IRError
from verified_tir.logic.solver import Solver
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.recorded_text import Unrecordable
from verified_tir.schedule.recording import Call, repeat
from verified_tir.schedule.schedule import Schedule


@final
class ReplayFailed(Exception):
    """A step could not be taken again; ``step`` is its number, 0 for the check of the program itself."""

    def __init__(self, step: int, why: str) -> None:
        super().__init__(why)
        self.step = step


def noted_calls(trace: Sequence[Mapping[str, Any]]) -> list[Call]:
    """The calls that a certificate notes; the first of its steps is the program."""
    return [Call(step["primitive"], step["arguments"], step["named"]) for step in trace[1:]]


def made_again(text: str, calls: Sequence[Call], solver: Solver) -> Schedule:
    """The schedule of the calls.

    :raises ReplayFailed: if a call fits no arguments, is refused, or is not a step.
    """
    try:
        schedule = Schedule(text, solver=solver)
    except Exception as refused:  # whatever a text that somebody wrote brings about, it is not a proof
        raise ReplayFailed(0, _said(refused)) from refused
    for k, call in enumerate(calls, 1):
        try:
            repeat(schedule, call)
        except Exception as refused:  # so are arguments that somebody wrote
            raise ReplayFailed(k, _said(refused)) from refused
    return schedule


def _said(refused: Exception) -> str:
    if isinstance(refused, ScheduleError):
        return refused.summary()
    known = isinstance(refused, (Unrecordable, IRError, TypeError, ValueError))
    return str(refused) if known else f"{type(refused).__name__}: {refused}"
