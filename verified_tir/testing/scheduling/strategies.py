"""Strategies: steps for a program, and programs with schedules for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from hypothesis import strategies as st

from verified_tir.testing.scheduling import sequences
from verified_tir.testing.scheduling.seeds import seeds
from verified_tir.testing.scheduling.step import FITTING, SEQUENCES, WRITERS, Plan, Step

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from verified_tir.ir.func import PrimFunc
    from verified_tir.schedule.errors import ScheduleError
    from verified_tir.schedule.schedule import Schedule

DECISIONS = 12
"""How many decisions a plan holds; what comes later is decided for the first option."""

assert sequences  # importing it has filled SEQUENCES


def plans(names: Sequence[str] = ()) -> SearchStrategy[Plan]:
    """A step that is written when the program is known: a primitive that fits, a sequence, or any primitive.

    :param names: of primitives and sequences, among which to choose; all of them unless given.
    """
    bytes_ = st.binary(min_size=DECISIONS, max_size=DECISIONS)
    if names:
        return st.builds(Plan, st.sampled_from(tuple(names)), bytes_)
    # most plans fit; the others see to it that every primitive is tried on what it was not made for
    kinds = st.sampled_from(((FITTING,),) * 5 + (tuple(sorted(SEQUENCES)),) * 3 + (tuple(sorted(WRITERS)),))
    return st.builds(Plan, kinds.flatmap(st.sampled_from), bytes_)


def steps(program: PrimFunc | str | Schedule, names: Sequence[str] = ()) -> SearchStrategy[Step]:
    """One step for a program or for a schedule as it stands, mostly a plausible one; absurd ones now and then.

    :param program: a program, or a schedule; it is only looked at.
    :param names: of primitives, among which to choose; all of them unless given.
    """
    from verified_tir.schedule.schedule import Schedule

    schedule = program if isinstance(program, Schedule) else Schedule(program)
    wanted = tuple(names) or tuple(sorted(WRITERS))
    return plans(wanted).map(lambda plan: next(plan.steps(schedule)))


@final
@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was tried, and its refusal if it was refused."""

    step: Step
    refusal: ScheduleError | None = None

    def __str__(self) -> str:
        return f"{self.step}{'' if self.refusal is None else f'  # {type(self.refusal).__name__}'}"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Draft:
    """A program and plans for its schedule.  :meth:`schedule` makes the schedule of it.

    ``repr`` shows the steps as plans, with the decisions that they are written from; :meth:`text` as they are written.
    """

    program: PrimFunc | str
    plans: tuple[Plan, ...] = field(default=())

    def steps(self, schedule: Schedule, announce: Callable[[Step], object] | None = None) -> Iterator[Taken]:
        """Take the steps on a schedule of the program, one by one.

        What is no ``ScheduleError`` goes through: a step must raise nothing else.

        :param announce: is told of each step before it is taken.
        """
        from verified_tir.schedule.errors import ScheduleError

        for plan in self.plans:
            for step in plan.steps(schedule):
                if announce is not None:
                    announce(step)
                try:
                    step.apply(schedule)
                except ScheduleError as refusal:
                    yield Taken(step, refusal)
                else:
                    yield Taken(step)

    def schedule(self) -> Schedule:
        """The program with all steps that are accepted.

        :raises ScheduleError: if the program has no meaning.
        """
        from verified_tir.schedule.schedule import Schedule

        s = Schedule(self.program, cache=False)
        for _ in self.steps(s):
            pass
        return s

    def __repr__(self) -> str:
        from verified_tir.ir.script import script

        program = self.program if isinstance(self.program, str) else script(self.program)
        return f"Draft({program.strip()!r}, {self.plans})"

    def text(self) -> str:
        """The program and its steps, as a person would write them; refused ones are marked."""
        from verified_tir.ir.script import script
        from verified_tir.schedule.schedule import Schedule

        program = self.program if isinstance(self.program, str) else script(self.program)
        s = Schedule(self.program, cache=False)
        lines = [str(taken) for taken in self.steps(s)]
        return "\n".join([program.rstrip(), "", *lines])


def schedules(
    programs: SearchStrategy[PrimFunc] | SearchStrategy[str] | None = None,
    names: Sequence[str] = (),
    *,
    max_steps: int = 8,
) -> SearchStrategy[Draft]:
    """A program and up to ``max_steps`` steps or sequences for it.

    :param programs: the programs; textbook programs of small extents unless given.
    :param names: of primitives and sequences, as for :func:`plans`.
    """
    chosen: SearchStrategy[tuple[Plan, ...]] = st.lists(plans(names), min_size=1, max_size=max_steps).map(tuple)
    return st.builds(Draft, seeds() if programs is None else programs, chosen)
