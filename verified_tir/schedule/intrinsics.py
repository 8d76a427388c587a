"""Tensor intrinsics: what a piece of hardware, or a small kernel, does, and how it is asked to.

A :class:`TensorIntrin` has a description, a function whose body says what is computed, and one of

* a schedule of the description: steps that lead to a better program, each of them proved;
* an implementation that makes an opaque call: that it does what is described is an axiom;
* nothing: the block only gets its name.

After ``tvm.tir.TensorIntrin``, whose description and implementation nobody compares.  :func:`lemma` makes the theorem:
about all arguments, not only those of definite values, since what a statement leaves undefined is passed too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.script import parse_func, script
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.theorem import Refines, reflexive
from verified_tir.schedule.errors import NotApplicable
from verified_tir.schedule.session import Session

if TYPE_CHECKING:
    from verified_tir.logic.solver import Solver
    from verified_tir.schedule.recording import Call
    from verified_tir.schedule.schedule import Schedule

Steps = tuple[Mapping[str, Any], ...]
"""Noted calls of primitives: ``primitive``, ``arguments`` and ``named``, as JSON values."""


@final
@dataclass(frozen=True, slots=True)
class TensorIntrin:
    """An intrinsic; made by :meth:`register` or :meth:`of`."""

    name: str
    description: PrimFunc
    implementation: PrimFunc | None = None
    steps: Steps = ()

    registered: ClassVar[dict[str, TensorIntrin]] = {}

    @staticmethod
    def of(
        name: str, desc: PrimFunc | str, impl: PrimFunc | str | Callable[[Schedule], object] | None = None
    ) -> TensorIntrin:
        """An intrinsic.

        :param desc: what it does.  ``T.assume`` in front of the rest, and strides that a parameter declares, are what
            it needs; that is proved wherever it is used.
        :param impl: a function that makes an opaque call; or steps, a function of a schedule of ``desc``.
        :raises ScheduleError: if the description has no meaning, or a step is refused; for an implementation without
            an opaque call, since what can be proved is not assumed.
        """
        described = _func(desc)
        if impl is None or isinstance(impl, (PrimFunc, str)):
            made = None if impl is None else _func(impl)
            if made is not None and not opaque_calls(made.body):
                raise NotApplicable(
                    f"intrinsic {name}",
                    f"{made.name} makes no opaque call, so that it does what {described.name} does is to be proved: "
                    "give the steps that lead to it, a function of a Schedule",
                    made,
                )
            return TensorIntrin(name, described, made)
        from verified_tir.schedule.schedule import Schedule

        s = _about_everything(Schedule(described))
        impl(s)
        return TensorIntrin(name, described, None, noted(s))

    @staticmethod
    def register(
        name: str,
        desc: PrimFunc | str,
        impl: PrimFunc | str | Callable[[Schedule], object] | None = None,
        override: bool = False,
    ) -> TensorIntrin:
        """The same (see :meth:`of`), known by its name from then on.

        :raises ValueError: if there is another one of that name already, unless ``override``.
        """
        made = TensorIntrin.of(name, desc, impl)
        there = TensorIntrin.registered.get(name)
        if there is not None and not override and there.as_json() != made.as_json():
            raise ValueError(f"there is another intrinsic {name!r} already; override=True replaces it")
        TensorIntrin.registered[name] = made
        return made

    @staticmethod
    def get(name: str) -> TensorIntrin:
        """The intrinsic of a name.

        :raises ValueError: if there is none.
        """
        if name not in TensorIntrin.registered:
            known = ", ".join(TensorIntrin.registered) or "none"
            raise ValueError(f"there is no intrinsic {name!r}; registered are {known}")
        return TensorIntrin.registered[name]

    @staticmethod
    def of_schedule(schedule: Any) -> TensorIntrin:
        """What a schedule made of a function: its program as written, and the steps.

        :raises ScheduleError: if a step cannot be noted.
        """
        program: PrimFunc = schedule.steps[0].before
        return TensorIntrin(program.name, program, None, noted(schedule))

    def as_json(self) -> dict[str, Any]:
        """The intrinsic as JSON values."""
        made = None if self.implementation is None else script(self.implementation)
        return {"name": self.name, "desc": script(self.description), "impl": made, "steps": list(self.steps)}

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> TensorIntrin:
        """The intrinsic that was noted.

        :raises KeyError: or another error, if it is none.
        """
        impl = None if values["impl"] is None else parse_func(values["impl"])
        return TensorIntrin(values["name"], parse_func(values["desc"]), impl, tuple(values["steps"]))


def _func(given: PrimFunc | IRModule | str) -> PrimFunc:
    return (
        parse_func(given) if isinstance(given, str) else given if isinstance(given, PrimFunc) else given.functions[0][1]
    )


def noted(schedule: Schedule) -> Steps:
    """The steps of a schedule as JSON values.

    :raises ScheduleError: if one of them cannot be noted.
    """
    found: list[Mapping[str, Any]] = []
    for record in schedule.steps[1:]:
        call: Call | None = record.call
        if call is None or call.problem:
            problem = call.problem if call else "it was not noted"
            raise NotApplicable(str(record), f"the step cannot be made again: {problem}", record.before)
        found.append({"primitive": call.primitive, "arguments": call.arguments, "named": call.named})
    return tuple(found)


def lemma(description: PrimFunc, steps: Steps, solver: Solver | None = None) -> Refines:
    """The theorem that the steps prove of the description, about arguments of any kind.

    :raises ScheduleError: if the description has no meaning, or a step is refused.
    """
    from verified_tir.schedule.recorded_text import Unrecordable
    from verified_tir.schedule.recording import PRIMITIVES, Call, revived
    from verified_tir.schedule.schedule import Schedule

    s = _about_everything(Schedule(description, solver=solver))
    for step in steps:
        call = Call(step["primitive"], step["arguments"], step["named"])
        if call.primitive not in PRIMITIVES:
            raise Unrecordable(f"there is no primitive {call.primitive!r}")
        arguments, named = revived(s, call)
        PRIMITIVES[call.primitive](s, *arguments, **named)
    return s.theorem


def _about_everything(schedule: Schedule) -> Schedule:
    """The schedule, its theorem being about arguments of any kind, not only those of definite values."""
    session = schedule._session
    schedule._session = Session(reflexive(session.func), session.prover)
    return schedule
