"""What the tests of schedules share: a step is accepted and changes no result, or it is refused and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from zlib import crc32

from tests.nightly import WHOLE, few
from tests.schedule.schedule_programs import PROGRAMS
from verified_tir import NotApplicable, Refuted, Schedule, ScheduleError, parse_func
from verified_tir.ir.equal import structural_equal
from verified_tir.schedule.replay import Programs, Replay, replay

Steps = Callable[[Schedule], object]
E = TypeVar("E", bound=ScheduleError)

WORK = few(250, 800)
"""Stores and iterations for the comparison of one program before and after its schedule."""


def compared(s: Schedule, work: int = WORK) -> Replay:
    """The program as it was written and as it is scheduled, run on many inputs; parameters through their layouts."""
    theorem = s.theorem
    first = s.steps[0].before
    return replay(Programs(first, theorem.after, (), theorem.paddings, theorem.relation), {}, work)


def agree(s: Schedule, work: int = WORK) -> None:
    """Before and after give the same bits on the inputs tried, and the text reads back as the same program."""
    found = compared(s, work)
    assert not found.confirmed, f"{found.message}\n{s.script()}"
    assert found.inputs, s.script()
    assert structural_equal(parse_func(s.script()), s.func), s.script()


def accepted(program: str, steps: Steps) -> Schedule:
    """The schedule is accepted; the interpreter sees no difference.  ``program`` is a name or a text."""
    s = Schedule(PROGRAMS.get(program, program))
    steps(s)
    agree(s)
    return s


def written_out(refusal: ScheduleError) -> bool:
    """Whether the whole text of a refusal is made, with what would mend it, which takes as long as the rest: of every
    third, always the same ones, and of all with ``VTIR_TESTS=all``."""
    return WHOLE or crc32(f"{refusal.step} {refusal.reason}".encode()) % 3 == 0


def _refusal(program: str, steps: Steps, kind: type[E]) -> E:
    """The refusal of the last step, which changed nothing."""
    s = Schedule(PROGRAMS.get(program, program))
    try:
        steps(s)
    except ScheduleError as refusal:
        assert isinstance(refusal, kind), f"{type(refusal).__name__}: {refusal}"
        if written_out(refusal):
            assert refusal.step in str(refusal)
        records = s.steps
        assert s.func is records[-1].after
        if len(records) > 1:
            agree(s)
        return refusal
    raise AssertionError(f"accepted:\n{s.script()}")


def refused(program: str, steps: Steps, claim: str, *, confirmed: bool = True) -> Refuted:
    """An obligation whose claim contains ``claim`` is refuted, and (unless said otherwise) confirmed by a replay."""
    refusal = _refusal(program, steps, Refuted)
    assert claim in refusal.reason, refusal.reason
    assert refusal.confirmed == confirmed, str(refusal)
    return refusal


def not_applicable(program: str, steps: Steps, words: str) -> NotApplicable:
    """The step does not fit the program; its reason contains ``words``."""
    refusal = _refusal(program, steps, NotApplicable)
    assert words in refusal.reason, refusal.reason
    return refusal
