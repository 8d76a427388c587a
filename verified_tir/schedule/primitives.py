"""What the parts of the schedule have in common: each is a class of primitives on one topic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.intrinsic import Intrinsic
from verified_tir.schedule.recording import Call
from verified_tir.schedule.session import Session
from verified_tir.schedule.trace_recording import Tracer

T = TypeVar("T")


class Primitives(ABC):
    """A part of :class:`~verified_tir.schedule.schedule.Schedule`."""

    _session: Session
    _call: Call | None
    _tracer: Tracer

    @abstractmethod
    def _do(self, name: str, arguments: Sequence[object], tactic: Callable[[Session], T]) -> T:
        """Run a tactic as a primitive, all of it or nothing, and note it."""

    @abstractmethod
    def _lemma(self, intrinsic: Intrinsic) -> Refines:
        """The theorem that the steps of an intrinsic prove of its description, about arguments of any kind.

        :raises ScheduleError: if the description has no meaning, or a step is refused.
        """

    @abstractmethod
    def _look(self, what: str, question: Callable[[Session], T]) -> T:
        """An answer about the program, or a :class:`ScheduleError` that says what there is instead."""
