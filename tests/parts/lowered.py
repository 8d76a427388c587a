"""Passes against the interpreter: what a pass accepts computes what it did before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from tests.parts.roundtrip import assert_round_trip
from verified_tir.codegen.errors import CodegenError
from verified_tir.fuzz.target import Disagreement
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.ir.wellformed import problem
from verified_tir.kernel.theorem import Refines, Step
from verified_tir.lower.expression import parse_pipeline
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.semantics.interpreter import ArgumentError, Outcome
from verified_tir.testing.assertions import assert_refines
from verified_tir.testing.reference import Given, NotCompared, ended

Sets: TypeAlias = list[Mapping[str, Any]]

MARKS: dict[str, Callable[[Schedule, int], object]] = {
    "vectorize": lambda s, k: s.vectorize(s.loops()[k]),
    "parallel": lambda s, k: s.parallel(s.loops()[k]),
    "unroll": lambda s, k: s.unroll(s.loops()[k]),
    "vthread": lambda s, k: s.bind(s.loops()[k], "vthread.x"),
    "split by 4": lambda s, k: s.split(s.loops()[k], [None, 4]),
    "split by 3": lambda s, k: s.split(s.loops()[k], [None, 3]),
}
"""Steps that give passes something to do, each for the loop at a position."""


def assert_lowers_alike(
    program: PrimFunc | str,
    arguments: Iterable[Mapping[str, Any]],
    passes: str,
    *,
    marks: Iterable[tuple[str, int]] = (),
    seen: Callable[[str, str], None] = lambda kind, name: None,
) -> bool:
    """After every pass the interpreter finds what it found before, and in the end machine code does.

    A pass that is refused changes nothing.

    :param arguments: of the program as written; one set or more.
    :param passes: as text, ``"FlattenBuffer() >> UnrollLoop(max_extent=3)"``.
    :param marks: names in :data:`MARKS` with the positions of loops; those that are refused are left out.
    :param seen: is told of each pass that ``changed``, ``kept`` or was ``refused``, by name, and of each ``rule`` that
        was applied.
    :returns: whether the program was proved at all, and had a meaning on some arguments.
    :raises AssertionError: if something differs, or a pass says what is not so.
    """
    try:
        s = Schedule(program)
    except ScheduleError:
        return False
    for name, position in marks:
        loops = len(s.loops())
        if loops:
            with suppress(ScheduleError):
                MARKS[name](s, position % loops)
    sets = list(arguments)
    theorem, changed = s.theorem, "the schedule"
    for step in parse_pipeline(passes):
        try:
            lowered = step.run(theorem, solver=s.solver)
        except ScheduleError as refusal:
            seen("refused", step.name)
            if refusal.step != repr(step):
                raise Disagreement(
                    "pass-misnamed", step.name, f"the refusal names {refusal.step}: {refusal}"
                ) from refusal
            continue
        if lowered.after is theorem.after:
            seen("kept", step.name)
            continue
        seen("changed", step.name)
        for rule in rule_names(lowered.derivation[len(theorem.derivation) :]):
            seen("rule", rule)
        if lowered.before is not theorem.before:
            raise Disagreement(
                "pass-forgets", step.name, f"the theorem is about another program:\n{script(lowered.before)}"
            )
        theorem, changed = lowered, step.name
        broken = problem(theorem.after)
        if broken is not None:
            raise Disagreement("pass-malformed", step.name, f"{broken}\n{script(theorem.after)}")
        assert_round_trip(theorem.after)
        sets = _compared(theorem, sets, step.name, machine_code=False)
    return bool(_compared(s if theorem is s.theorem else theorem, sets, changed, machine_code=True))


def rule_names(steps: Iterable[Step]) -> list[str]:
    """The rules that were applied, by name; of several that were applied as one, that one, too."""
    rules = [step.rule for step in steps]
    return [type(r).__name__ for rule in rules for r in (rule, *getattr(rule, "rules", ()))]


def _compared(
    proved: Schedule | Refines, sets: list[Mapping[str, Any]], where: str, *, machine_code: bool
) -> list[Mapping[str, Any]]:
    """Compare on the arguments; gives those on which the program has a meaning."""
    kept = []
    theorem = proved.theorem if isinstance(proved, Schedule) else proved
    for given in sets:
        try:
            meaning = isinstance(ended(theorem.before, Given(given, {}, {})), Outcome)
        except ArgumentError:
            meaning = False
        if not meaning:
            continue
        try:
            assert_refines(proved, given, machine_code=machine_code)
        except NotCompared:
            continue
        except (CodegenError, ValueError, TypeError, OverflowError, BufferError) as refused:
            raise Disagreement("build-refuses", where, f"{refused!r}\n{script(theorem.after)}") from refused
        except Disagreement:
            raise
        except AssertionError as wrong:
            kind = "jit-differs" if str(wrong).startswith("machine code") else "accepted-but-differs"
            raise Disagreement(kind, where, str(wrong)) from wrong
        kept.append(given)
    return kept
