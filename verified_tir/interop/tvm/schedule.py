"""``ValidatedSchedule``: a TVM schedule in which every primitive is validated.

    sch = ValidatedSchedule(module)
    i, j, k = sch.get_loops(sch.get_sblock("C"))
    sch.reorder(k, i, j)

It has every method of ``tvm.s_tir.Schedule``.  After each call that changed the module, the functions are compared with
what they were, as TVM prints them.  Where ``transform_layout`` moves a parameter, its index map says how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

import tvm

from verified_tir.interop.tvm.judge import Limits, judge
from verified_tir.interop.tvm.layouts import Beyond, Layout, layout
from verified_tir.interop.tvm.primitives import describe
from verified_tir.interop.tvm.reading import read
from verified_tir.interop.tvm.report import OnDifferent, StepReport, check_choice, table, tell, to_json

_COPIES: Final = frozenset({"copy"})


class ValidatedSchedule:
    """A ``tvm.s_tir.Schedule`` that validates its steps.

    :param source: an ``IRModule``, a ``PrimFunc``, or a schedule, whose steps so far are not looked at.
    :param on_different: what to do when a step changed what a function computes, or marked loops that race: ``"raise"``
        (the default), ``"warn"``, or ``"collect"`` to do nothing but remember.  The step has been made in each case.
    :param limits: sizes for symbolic shapes, and how much is executed.
    :param options: passed on to ``tvm.s_tir.Schedule``.
    :ivar schedule: the schedule itself, for functions of TVM that ask for one; only ``validate`` sees what these do.
    :ivar reports: what was said of the steps that changed something.
    """

    def __init__(
        self, source: Any, *, on_different: OnDifferent = "raise", limits: Limits | None = None, **options: Any
    ) -> None:
        check_choice(on_different)
        wrapped = isinstance(source, tvm.s_tir.Schedule)
        if wrapped and options:
            raise TypeError(f"a schedule has its options already: {', '.join(options)}")
        self.schedule = source if wrapped else tvm.s_tir.Schedule(source, **options)
        self.reports: list[StepReport] = []
        self._on_different: OnDifferent = on_different
        self._limits = limits or Limits()
        self._first = _functions(self.schedule)
        self._moved: dict[str, dict[int, Layout | str]] = {}

    def __getattr__(self, name: str) -> Any:
        if name == "schedule":  # asked of a copy that is being made, say, before there is any
            raise AttributeError(name)
        found = getattr(self.schedule, name)
        if name in _COPIES:
            return self._copied
        return self._validated(name, found) if callable(found) else found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.schedule)})

    def _copied(self) -> ValidatedSchedule:
        other = ValidatedSchedule(self.schedule.copy(), on_different=self._on_different, limits=self._limits)
        other.reports = list(self.reports)
        other._first = self._first
        other._moved = {name: dict(layouts) for name, layouts in self._moved.items()}
        return other

    def _validated(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*arguments: Any, **keywords: Any) -> Any:
            before = _functions(self.schedule)
            step = describe(self.schedule, name, arguments, keywords)
            result = method(*arguments, **keywords)
            self._look(step, name, before)
            return result

        return call

    # -- reports -------------------------------------------------------------------------------------------------------

    def validate(self) -> tuple[StepReport, ...]:
        """Compare every function as it was at the beginning with what it is now.

        :raises DifferenceFound: if they differ, and that was asked for.
        """
        now, found = _functions(self.schedule), []
        for name, first in self._first.items():
            found.append(self._compare("the whole schedule", name, first, now.get(name), self._moved.get(name, {})))
        for report in found:
            tell(report, self._on_different)
        return tuple(found)

    @property
    def different(self) -> tuple[StepReport, ...]:
        """The steps that were wrong."""
        return tuple(r for r in self.reports if r.wrong)

    def table(self, *, width: int | None = None) -> str:
        """The reports as a table."""
        return table(self.reports, every=True, width=width)

    def to_json(self) -> str:
        """The reports for programs."""
        return to_json(self.reports)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _look(self, step: str, name: str, before: Mapping[str, Any]) -> None:
        after = _functions(self.schedule)
        changed = [n for n in {**before, **after} if not _same(before.get(n), after.get(n))]
        found = []
        for function in changed:
            moved = self._layouts(name, before.get(function), after.get(function))
            earlier = self._moved.setdefault(function, {})
            for position, new in moved.items():
                earlier[position] = _then(earlier.get(position), new)
            found.append(self._compare(step, function, before.get(function), after.get(function), moved))
        self.reports.extend(found)
        for report in found:
            tell(report, self._on_different, stacklevel=4)

    def _layouts(self, name: str, before: Any, after: Any) -> dict[int, Layout | str]:
        """How the step moved parameters, by their position; or why that cannot be said."""
        if before is None or after is None or name != "transform_layout":
            return {}
        pairs = enumerate(zip(before.params, after.params, strict=False))
        return {position: _last_layout(self.schedule) for position, (old, new) in pairs if not old.same_as(new)}

    def _compare(self, step: str, name: str, before: Any, after: Any, moved: Mapping[int, Layout | str]) -> StepReport:
        if before is None or after is None:
            which = "new" if before is None else "gone"
            return StepReport(step, name, "not validated", f"not validated: the function is {which}")
        old, new = read(before, name), read(after, name)
        maps = {}
        for position, how in moved.items():
            if isinstance(how, str):
                return StepReport(step, name, "not validated", f"not validated: {how}", old.text, new.text)
            if old.func is not None:
                buffer = old.func.buffer_of(old.func.params[position])
                maps[buffer.name if buffer is not None else ""] = how.correspondence()
        return judge(step, old, new, self._limits, maps=maps, scheduled=True)


def _functions(schedule: Any) -> dict[str, Any]:
    return {str(var.name_hint): function for var, function in schedule.mod.functions.items()}


def _same(one: Any, two: Any) -> bool:
    return one is not None and two is not None and bool(one.same_as(two))


def _then(first: Layout | str | None, second: Layout | str) -> Layout | str:
    if first is None or isinstance(second, str):
        return second if first is None or isinstance(first, Layout) else first
    if isinstance(first, str):
        return first
    try:
        return first.then(second)
    except Beyond as problem:
        return str(problem)


def _last_layout(schedule: Any) -> Layout | str:
    """The layout that the last step gave a buffer, from the schedule's trace."""
    if schedule.trace is None or not len(schedule.trace.insts):
        return "the schedule has no trace, which would say how the parameter moved"
    last = schedule.trace.insts[-1]
    if last.kind.name != "TransformLayout":
        return "the trace does not say how the parameter moved"
    _, _, padding, injective = last.attrs
    try:
        return layout(last.inputs[1], padding, bool(injective))
    except Beyond as problem:
        return str(problem)
