"""What a schedule raises: one family, so that ``except ScheduleError`` catches every refusal.

A refusal says which step, where in the program, which claim, and why: the claim is false (:class:`Refuted`, with a
counterexample that was replayed), it was not decided (:class:`Undecided`, with what to try), or the step does not apply
here at all (:class:`NotApplicable`).  The message of the exception is the whole report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.logic.verdict import Obligation
from verified_tir.schedule.claims import in_words
from verified_tir.schedule.codes import INEXPRESSIBLE

if TYPE_CHECKING:
    from verified_tir.schedule.replay import Programs, Replay


@dataclass(eq=False)
class ScheduleError(Exception):
    """A step that was refused.  Nothing has changed: the schedule can go on from where it was."""

    step: str
    reason: str
    program: PrimFunc
    place: Path = ()
    where: str = field(default="", kw_only=True)
    marks_all: bool = field(default=False, kw_only=True)
    """Whether an empty path is a place, too: all of the body."""
    code: str = field(default=INEXPRESSIBLE, kw_only=True)
    """What kind of thing was in the way; ``vtir help CODE`` explains it."""
    search: Callable[[], str | None] | None = field(default=None, kw_only=True, repr=False)
    by: object = field(default=None, init=False, repr=False)
    """The schedule that was asked; ``None`` for a program that is refused before there is one."""
    of_step: bool = field(default=False, init=False, repr=False)
    """Whether it was asked for a step, and not about the program, as by ``s.get_loops("B")``."""
    _remedy: str | None = field(default=None, init=False, repr=False)
    undecided: ClassVar[bool] = False
    """Whether the solver did not decide."""

    @property
    def remedy(self) -> str | None:
        """What makes the step succeed, as a sentence: it was tried, and the step was proved; ``None`` if nothing does.

        It is looked for when it is asked for first.
        """
        if self.search is not None:
            found, self.search = self.search(), None
            self._remedy = found
        return self._remedy

    @cached_property
    def advice(self) -> str:
        """What to try, in one sentence; it was not tried itself."""
        from verified_tir.schedule.advice import advice_on

        try:
            return advice_on(self)
        except RecursionError:  # a program that nests deeply is refused all the same
            return ""

    @property
    def has_place(self) -> bool:
        """Whether a statement of the program is to blame."""
        return bool(self.place) or self.marks_all

    def __str__(self) -> str:
        lines = [f"{self.step}: {self.summary()} [{self.code}]"]
        lines += ["", marked(self.program, self.place, self.has_place)]
        rest = [*self.evidence(), *self.to_try()]
        return "\n".join([*lines, "", *rest] if rest else lines)

    def evidence(self) -> list[str]:
        """Lines about an input on which the claim is false."""
        return []

    def to_try(self) -> list[str]:
        """What to try: a remedy that was proved to be one, or else advice."""
        return [self.remedy] if self.remedy is not None else [f"try: {self.advice}"] if self.advice else []

    @property
    def claim(self) -> str:
        """What has to be so and is not, or was not decided, in words; or why the step does not apply."""
        obligation = getattr(self, "obligation", None)
        return self.reason if obligation is None else in_words(obligation.name, self.reason)

    def summary(self) -> str:
        """One line: what is wrong."""
        return self.reason


@contextmanager
def refused_by(schedule: object, *, step: bool = False) -> Iterator[None]:
    """Around what a schedule is asked for: a refusal is then its own, also where another schedule was begun for it.

    :param step: whether it is asked for a step.
    """
    try:
        yield
    except ScheduleError as refused:
        refused.by, refused.of_step = schedule, step
        raise


def not_expected(refused: ScheduleError, schedule: object) -> str:
    """Why a refusal is not the one of a step of a schedule that was expected, in one sentence; nothing if it is."""
    if refused.by is not schedule:
        return "this refusal was not expected: it is that of a program, or of another schedule"
    if not refused.of_step:
        return "this refusal was not expected: a step was to be refused, and this is none"
    if refused.undecided:
        return "this refusal was not expected: the solver did not decide whether the step is right"
    return ""


@final
@dataclass(eq=False)
class NotApplicable(ScheduleError):
    """The step does not fit the program: no such loop, a rank that does not match, an access in the way."""


@final
@dataclass(eq=False)
class Refuted(ScheduleError):
    """An obligation of the step is false.

    ``replay.confirmed`` tells whether running the would-be program on a concrete input changed the result; ``programs``
    are the two programs that are run, with their padding.
    """

    obligation: Obligation | None = None
    counterexample: dict[str, int] = field(default_factory=dict)
    run: Callable[[], Replay] | None = field(default=None, repr=False)
    programs: Programs | None = field(default=None, repr=False)

    @cached_property
    def replay(self) -> Replay | None:
        """What running both programs shows.

        They are run when this is asked for first: it may take seconds, and who tries a step and goes on without it
        does not ask.
        """
        return None if self.run is None else self.run()

    @property
    def confirmed(self) -> bool:
        return self.replay is not None and self.replay.confirmed

    @property
    def has_place(self) -> bool:
        return True

    def summary(self) -> str:
        return f"refused, since this is false: {self.claim}"

    def evidence(self) -> list[str]:
        lines = []
        if self.counterexample:
            values = ", ".join(f"{k} = {v}" for k, v in self.counterexample.items())
            lines.append(f"counterexample: {values}")
        return lines if self.replay is None else [*lines, self.replay.describe()]


@final
@dataclass(eq=False)
class Undecided(ScheduleError):
    """The solver could not decide an obligation.  The step may be right; it is refused all the same."""

    undecided: ClassVar[bool] = True

    obligation: Obligation | None = None
    solver_reason: str = ""

    @property
    def has_place(self) -> bool:
        return True

    def summary(self) -> str:
        return f"refused, since the solver could not decide: {self.claim} ({self.solver_reason})"


def marked(program: PrimFunc, place: Path, always: bool = False) -> str:
    """The program's text with the place marked (an empty path means no place, unless ``always``)."""
    from verified_tir.ir.script import script

    try:
        return script(program, mark={with_line(program, place): "here"}) if place or always else script(program)
    except RecursionError:
        return "# the program nests too deeply to be shown"
    except Exception:  # a report must never hide the refusal it reports
        return script(program)


def with_line(program: PrimFunc, place: Path) -> Path:
    """The nearest statement at or around a place that has a line of its own in the text.

    The loops of a grid share a line; the body of a function has none.
    """
    from verified_tir.ir.script import script_lines

    places = script_lines(program)[1]
    while place not in places and place:
        place = place[:-1]
    return place
