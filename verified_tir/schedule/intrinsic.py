"""Tensor intrinsics as values: a description, and what is said to do the same.

They are made by :class:`~verified_tir.schedule.intrinsics.TensorIntrin`, which needs schedules; what schedules are made
of, and calls of primitives as they are noted, need no more than this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func, script
from verified_tir.schedule.codes import INTRINSIC_DOES_NOT_FIT
from verified_tir.schedule.errors import NotApplicable

Steps = tuple[Mapping[str, Any], ...]
"""Noted calls of primitives: ``primitive``, ``arguments`` and ``named``, as JSON values."""


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """What an intrinsic does, and an opaque implementation or steps that lead to a better program, if there are any."""

    name: str
    description: PrimFunc
    implementation: PrimFunc | None = None
    steps: Steps = ()

    registered: ClassVar[dict[str, Intrinsic]] = {}

    @staticmethod
    def get(name: str) -> Intrinsic:
        """The intrinsic of a name.

        :raises ValueError: if there is none.
        """
        if name not in Intrinsic.registered:
            known = ", ".join(Intrinsic.registered) or "none"
            raise ValueError(f"there is no intrinsic {name!r}; registered are {known}")
        return Intrinsic.registered[name]

    @staticmethod
    def of_schedule(schedule: Any) -> Intrinsic:
        """What a schedule made of a function: its program as written, and the steps.

        :raises ScheduleError: if a step cannot be noted.
        """
        program: PrimFunc = schedule.steps[0].before
        return Intrinsic(program.name, program, None, noted(schedule))

    def as_json(self) -> dict[str, Any]:
        """The intrinsic as JSON values."""
        made = None if self.implementation is None else script(self.implementation)
        return {"name": self.name, "desc": script(self.description), "impl": made, "steps": list(self.steps)}

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Intrinsic:
        """The intrinsic that was noted.

        :raises KeyError: or another error, if it is none.
        """
        impl = None if values["impl"] is None else parse_func(values["impl"])
        return Intrinsic(values["name"], parse_func(values["desc"]), impl, tuple(values["steps"]))


def noted(schedule: Any) -> Steps:
    """The steps of a schedule as JSON values.

    :raises ScheduleError: if one of them cannot be noted.
    """
    found: list[Mapping[str, Any]] = []
    for record in schedule.steps[1:]:
        call = record.call
        if call is None or call.problem:
            problem = call.problem if call else "it was not noted"
            raise NotApplicable(
                str(record), f"the step cannot be made again: {problem}", record.before, code=INTRINSIC_DOES_NOT_FIT
            )
        found.append({"primitive": call.primitive, "arguments": call.arguments, "named": call.named})
    return tuple(found)
