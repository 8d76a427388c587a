"""Tensor intrinsics: what a piece of hardware, or a small kernel, does, and how it is asked to.

A :class:`TensorIntrin` has a description, a function whose body says what is computed, and one of

* a schedule of the description: steps that lead to a better program, each of them proved;
* an implementation that makes an opaque call: that it does what is described is an axiom;
* nothing: the block only gets its name.

After ``tvm.tir.TensorIntrin``, whose description and implementation nobody compares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.kernel.effects import opaque_calls
from verified_tir.schedule import registrations
from verified_tir.schedule.codes import INTRINSIC_DOES_NOT_FIT
from verified_tir.schedule.errors import NotApplicable
from verified_tir.schedule.intrinsic import Intrinsic, noted
from verified_tir.schedule.schedule import Schedule


@final
@dataclass(frozen=True, slots=True)
class TensorIntrin(Intrinsic):
    """An intrinsic; made by :meth:`register` or :meth:`of`."""

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
                    code=INTRINSIC_DOES_NOT_FIT,
                )
            return TensorIntrin(name, described, made)
        s = Schedule._of_any_arguments(described)
        impl(s)
        return TensorIntrin(name, described, None, noted(s))

    @staticmethod
    def register(
        name: str,
        desc: PrimFunc | str,
        impl: PrimFunc | str | Callable[[Schedule], object] | None = None,
        override: bool = False,
    ) -> TensorIntrin:
        """The same (see :meth:`of`), known by its name from then on: in a file that ``vtir`` executes, until its end.

        :raises ValueError: if there is another one of that name already, unless ``override``.
        """
        made = TensorIntrin.of(name, desc, impl)
        there = Intrinsic.registered.get(name)
        if there is not None and not override and there.as_json() != made.as_json():
            raise ValueError(f"there is another intrinsic {name!r} already; override=True replaces it")
        registrations.register(Intrinsic.registered, name, made)
        return made


def _func(given: PrimFunc | IRModule | str) -> PrimFunc:
    return (
        parse_func(given) if isinstance(given, str) else given if isinstance(given, PrimFunc) else given.functions[0][1]
    )
