"""Assertions about schedules and the validator: neither contradicts the other.

assert_validator_agrees(program, ['s.split("i", [None, 4])', 's.vectorize("i_1")'])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tests.parts.near_misses import near_miss
from tests.parts.reference_runs import Maps, sizes_of, symbols
from tests.parts.verdicts import WrongVerdict, assert_verdict_holds
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.testing.scheduling.step import Step
from verified_tir.validate import Report

if TYPE_CHECKING:
    from verified_tir.schedule.errors import Refuted
    from verified_tir.schedule.schedule import Schedule
    from verified_tir.schedule.second_opinion import Validation

OPERATIONS: Final = 50_000
"""To execute symbolically for one opinion."""


def assert_validator_agrees(
    program: PrimFunc | str, steps: Sequence[str], *, numbers: Sequence[int] = (), change: Sequence[int] = ()
) -> None:
    """Take steps on a program, and hold the validator's word on each outcome against kernel and interpreter.

    A refused step is passed over, after the validator was asked about what it would have led to.

    :param steps: calls of primitives, in which ``s`` is the schedule.
    :param numbers: which sizes to ask about (:func:`tests.parts.reference_runs.sizes_of`).
    :param change: what to change in the scheduled program before it is compared once more
        (:func:`tests.parts.near_misses.near_miss`).
    :raises WrongVerdict: if two of the three contradict each other.
    """
    from verified_tir.schedule.errors import Refuted, ScheduleError
    from verified_tir.schedule.schedule import Schedule

    s = Schedule(program, cache=False)
    for text in steps:
        try:
            Step(text.partition("(")[0].removeprefix("s."), text).apply(s)
        except Refuted as refusal:
            if refusal.confirmed:
                assert_refusal_holds(s.func, refusal)
        except ScheduleError:
            continue
    assert_accepted(s)
    assert_change_is_judged(s, numbers, change)


def assert_accepted(schedule: Schedule) -> Validation:
    """The validator does not call different what was proved.

    :raises WrongVerdict: if it does.
    """
    from verified_tir.schedule.disagreement import BugInThisTool

    try:
        return schedule.validate(most_operations=OPERATIONS)
    except BugInThisTool as bug:
        raise WrongVerdict("validator-against-kernel", str(bug)) from bug


def assert_refusal_holds(before: PrimFunc, refusal: Refuted) -> Report | None:
    """The validator does not call equal what a replayed counterexample shows to differ.

    :param before: the program that the refused step was applied to.
    :returns: the validator's report; ``None`` where the refusal is not about another program.
    :raises WrongVerdict: if it does.
    """
    replay = refusal.replay
    if replay is None or refusal.program is before or not replay.arguments or refusal.obligation is None:
        return None
    if refusal.obligation.name == "race":
        return None
    arguments = dict(replay.arguments)
    sizes = {n: int(arguments[n]) for n in symbols(before) if isinstance(arguments.get(n), int)}
    sizes = {**_from_shapes(before, arguments), **sizes}
    return assert_verdict_holds(before, refusal.program, sizes=sizes, more=(arguments,), trials=4)


def assert_change_is_judged(schedule: Schedule, numbers: Sequence[int], change: Sequence[int]) -> Report | None:
    """The program as written against what the schedule left, with a change; parameters in other layouts among them.

    :returns: the validator's report; ``None`` if it has no form for the layouts.
    :raises WrongVerdict: if it is refuted by a run.
    """
    written = schedule.steps[0].before
    changed = near_miss(schedule.func, change)
    sizes = {**sizes_of(written, numbers), **sizes_of(changed, numbers)}
    maps = correspondences(schedule, sizes)
    if maps is None:
        return None
    try:
        return assert_verdict_holds(written, changed, sizes=sizes, maps=maps)
    except WrongVerdict as wrong:
        shown = f"{wrong.message}\nbefore:\n{script(written)}\nafter:\n{script(changed)}\nat {sizes}"
        raise WrongVerdict(wrong.kind, shown) from wrong


def correspondences(schedule: Schedule, sizes: Mapping[str, int]) -> Maps | None:
    """How the parameters of a schedule moved, as the validator takes it; ``None`` if it has no form for that."""
    from verified_tir.schedule.correspondence import NotExpressible, interface, with_parameters

    written = with_parameters(schedule.steps[0].before, schedule.func)
    if len(written.params) != len(schedule.steps[0].before.params):
        return None
    try:
        return interface(schedule.theorem, written, schedule.func, sizes)
    except NotExpressible:
        return None


def _from_shapes(func: PrimFunc, arguments: Mapping[str, object]) -> dict[str, int]:
    """The symbols that stand alone as extents."""
    found: dict[str, int] = {}
    for buffer in func.buffers:
        shape: Sequence[int] = getattr(arguments.get(buffer.name), "shape", ())
        for e, n in zip(buffer.shape, shape, strict=False):
            if isinstance(e, Var):
                found[e.name] = n
    return found
