"""Steps of schedules as values: a call of a primitive as a user would write it, and plans for such calls.

A :class:`Step` is the text of a call, ``s.split("i", [None, 4])``: what a test prints and what a person may paste.  A
:class:`Plan` is a step whose arguments are not known yet, since they depend on the program; :meth:`Plan.steps` writes
them for a schedule as it stands.  So drawing never runs a schedule, and shrinking is that of a few bytes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, final

from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.fitting import fitting
from verified_tir.testing.scheduling.inventory import Inventory

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import Schedule


@final
@dataclass(frozen=True, slots=True)
class Step:
    """A call of a primitive, as text: Python in which ``s`` is the schedule.

    ``text`` may use ``T``, ``Schedule``, ``TensorIntrin``, ``IndexMap``, ``HoistConditional`` and ``HoistLetBinding``.
    """

    primitive: str
    text: str

    def apply(self, schedule: Schedule) -> None:
        """Take the step.

        :raises ScheduleError: if it is refused; the schedule is then as it was.
        """
        # The text comes from the writers of this package, never from outside.
        exec(_code(self.text), {**_words(), "s": schedule})

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


@cache
def _words() -> dict[str, Any]:
    from verified_tir import HoistConditional, HoistLetBinding, IndexMap, Schedule, TensorIntrin
    from verified_tir.script import tir

    given = (HoistConditional, HoistLetBinding, IndexMap, Schedule, TensorIntrin)
    return {"T": tir, **{c.__name__: c for c in given}}


@cache
def _code(text: str) -> Any:
    return compile(text, "<step>", "exec")


Writer = Callable[[Inventory, Choices], str]
"""Writes one call for a program, by choices."""
RuleBuilder = Callable[["Schedule", Choices], Iterator["Step"]]
"""Gives steps one by one; each is taken (or refused) before the next one is asked for."""

WRITERS: Final[dict[str, Writer]] = {}
"""How arguments are written, for each primitive."""
FITTING: Final = "fitting"
"""The name of a plan for any primitive that has something to do when its turn comes."""
SEQUENCES: Final[dict[str, RuleBuilder]] = {}
"""Realistic sequences, by name."""


def writes(primitive: str) -> Callable[[Writer], Writer]:
    """Decorator: the function below writes calls of a primitive."""

    def note(writer: Writer) -> Writer:
        WRITERS[primitive] = writer
        return writer

    return note


def sequence(function: RuleBuilder) -> RuleBuilder:
    """Decorator: the function below is a sequence."""
    SEQUENCES[function.__name__] = function
    return function


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """A primitive, a sequence or ``fitting``, and the decisions from which its arguments are written."""

    name: str
    choices: bytes = b""

    def steps(self, schedule: Schedule) -> Iterator[Step]:
        """The steps for a schedule as it stands.  Take each one before asking for the next."""
        pick = Choices(self.choices)
        if self.name == FITTING:
            inventory = Inventory(schedule)
            name = pick.one(fitting(inventory))
            yield Step(name, WRITERS[name](inventory, pick))
        elif self.name in SEQUENCES:
            yield from SEQUENCES[self.name](schedule, pick)
        else:
            yield Step(self.name, WRITERS[self.name](Inventory(schedule), pick))

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.choices.rstrip(bytes(1))))})"


def primitives() -> list[str]:
    """The public primitives of ``Schedule``: all that certificates can replay."""
    from verified_tir.schedule.recording import PRIMITIVES
    from verified_tir.schedule.schedule import Schedule

    return [name for name, _ in inspect.getmembers(Schedule, inspect.isfunction) if name in PRIMITIVES]
