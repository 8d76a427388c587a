"""What the tests of passes share: a program is lowered, computes what it did, and reads exactly so."""

from __future__ import annotations

from textwrap import dedent

from tests.nightly import few
from verified_tir import Refines, Refuted, Schedule, ScheduleError, parse_func, script
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.stmt import Assume
from verified_tir.ir.visit import walk
from verified_tir.ir.wellformed import problem
from verified_tir.lower.passes import Pass, PassRecord, Pipeline
from verified_tir.schedule.replay import Programs, replay

WORK = few(250, 800)
"""Stores and iterations for the comparison of one program before and after it was lowered."""


def agree(before: Schedule, theorem: Refines, work: int = WORK) -> None:
    """The program as written and as lowered give the same bits on the inputs tried; the text reads back."""
    first, after = before.steps[0].before, theorem.after
    text = script(after)
    assert problem(after) is None, text
    found = replay(Programs(first, after, (), theorem.paddings, theorem.relation), {}, work)
    assert not found.confirmed, f"{found.message}\n{text}"
    assert found.inputs or any(isinstance(n, Assume) for n in walk(first)), text  # which no input tried may satisfy
    assert structural_equal(parse_func(text), after), text


def body_of(theorem: Refines) -> str:
    """The statements as text."""
    lines = script(theorem.after).rstrip("\n").split("\n")
    start = next(k for k, line in enumerate(lines) if line.startswith("def ")) + 1
    return "\n".join(line.removeprefix("    ") for line in lines[start:])


def lowered(program: str | Schedule, passes: Pass | Pipeline) -> tuple[Refines, list[PassRecord]]:
    """The theorem and what each pass did; the interpreter sees no difference."""
    s = program if isinstance(program, Schedule) else Schedule(dedent(program))
    records: list[PassRecord] = []
    theorem = passes.run(s, after=records.append)
    agree(s, theorem)
    return theorem, records


def gives(program: str | Schedule, passes: Pass | Pipeline, text: str) -> list[str]:
    """The lowered program's statements read exactly so; gives the notes."""
    theorem, records = lowered(program, passes)
    assert body_of(theorem) == dedent(text).strip("\n")
    return [note for r in records for note in r.notes]


def refused(program: str | Schedule, passes: Pass | Pipeline, words: str) -> ScheduleError:
    """The pass is refused and names itself; its reason contains ``words``."""
    s = program if isinstance(program, Schedule) else Schedule(dedent(program))
    try:
        theorem = passes.run(s)
    except ScheduleError as refusal:
        assert words in refusal.reason, refusal.reason
        names = [p.name for p in ([passes] if isinstance(passes, Pass) else passes)]
        assert refusal.step.partition("(")[0] in names
        assert isinstance(refusal, Refuted) or refusal.step in str(refusal)
        return refusal
    raise AssertionError(f"accepted:\n{script(theorem.after)}")
