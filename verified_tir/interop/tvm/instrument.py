"""``ValidatingInstrument``: every pass of a TVM build under the validator, as Alive2 watches ``opt``.

    with tvm.transform.PassContext(instruments=[ValidatingInstrument()]):
        tvm.compile(module, target="llvm")

Passes nest: a ``Sequential`` is a pass itself.  A pass in which others ran is not compared again if these account for
all that it did (``composed``); otherwise it is compared as a whole.  What cannot be compared is listed, and why.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, final

import tvm_ffi
from tvm.ir.instrument import pass_instrument

from verified_tir.interop.tvm.judge import Limits, judge
from verified_tir.interop.tvm.reading import Printed, is_tir, read
from verified_tir.interop.tvm.report import (
    DifferenceFound,
    OnDifferent,
    Status,
    StepReport,
    check_choice,
    show,
    table,
    tell,
    to_json,
)

tvm_ffi.register_error(DifferenceFound)  # otherwise it would leave a pass as a RuntimeError

_PACKED = "the function takes packed arguments now, which is another interface"
NOT_VALIDATED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "tirx.MakePackedAPI": _PACKED,
        "tirx.SplitHostDevice": "it makes two functions of one, which call each other",
        "tirx.LowerDeviceKernelLaunch": "kernels are launched by calls of the runtime now",
        "tirx.LowerTVMBuiltin": "arguments of calls go through the runtime's stack now",
        "tirx.Filter": "it drops functions and changes none",
        "tirx.BF16StorageLegalize": "parameters of type bfloat16 become uint16",
        "tirx.FP8StorageLegalize": "parameters of 8-bit floats become uint8",
    }
)
"""Passes after which a function has another interface, and why that cannot be compared."""


@final
@dataclass(slots=True)
class _Frame:
    """A pass that is running: its functions as they were, and what ran inside."""

    name: str
    functions: dict[str, Any]
    children: list[_Done] = field(default_factory=list)
    first_report: int = 0


@final
@dataclass(frozen=True, slots=True)
class _Done:
    """A pass that ran inside another one: the module before and after it."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]


@pass_instrument  # a subclass of PassInstrument could have no attributes
class ValidatingInstrument:
    """Compares every function before and after every pass.

    :param on_different: what to do when a pass changed what a function computes, or marked loops that race: ``"warn"``
        (the default), ``"raise"``, or ``"collect"`` to do nothing but remember.
    :param limits: sizes for symbolic shapes, and how much is executed.
    :param skip: further passes not to validate, each with the reason that is reported; those of
        :data:`NOT_VALIDATED` are known.
    :param only: which passes to validate, by name; all unless given.  The others are listed as not validated.
    :param show_table: print a table to the standard error when the context is left; if that is a terminal, unless
        given.
    :raises DifferenceFound: out of the pass, if ``on_different`` is ``"raise"``.
    """

    def __init__(
        self,
        *,
        on_different: OnDifferent = "warn",
        limits: Limits | None = None,
        skip: Mapping[str, str] | None = None,
        only: Callable[[str], bool] | None = None,
        show_table: bool | None = None,
    ) -> None:
        check_choice(on_different)
        self.reports: list[StepReport] = []
        self._on_different = on_different
        self._limits = limits or Limits()
        self._skip = {**NOT_VALIDATED, **(skip or {})}
        self._only = only
        self._show_table = show_table
        self._running: list[_Frame] = []
        self._shown = 0

    # -- what TVM calls ------------------------------------------------------------------------------------------------

    def enter_pass_ctx(self) -> None:
        """Forget passes that an error ended."""
        self._running.clear()

    def exit_pass_ctx(self) -> None:
        """Print the table."""
        self._running.clear()
        wanted = sys.stderr.isatty() if self._show_table is None else self._show_table
        if wanted:
            show(self.reports[self._shown :], sys.stderr)
        self._shown = len(self.reports)

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Remember the functions as they are."""
        self._running.append(_Frame(str(info.name), _functions(mod), first_report=len(self.reports)))

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Compare the functions with what they were."""
        frame = self._finished(str(info.name))
        if frame is None:
            return
        depth = len(self._running)
        after = _functions(mod)
        if self._running:
            self._running[-1].children.append(_Done(frame.functions, after))
        found = [self._compare(frame, name, after, depth) for name in dict.fromkeys((*frame.functions, *after))]
        self.reports.extend(found)
        for report in found:
            tell(report, self._on_different)

    # -- what people ask -----------------------------------------------------------------------------------------------

    @property
    def different(self) -> tuple[StepReport, ...]:
        """The changes that were wrong."""
        return tuple(r for r in self.reports if r.wrong)

    def table(self, *, every: bool = False, width: int | None = None) -> str:
        """All reports as a table; with ``every``, also those in which nothing changed."""
        return table(self.reports, every=every, width=width)

    def to_json(self) -> str:
        """All reports for programs."""
        return to_json(self.reports)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _finished(self, name: str) -> _Frame | None:
        """The frame of a pass that ends; those above it were ended by errors."""
        while self._running:
            frame = self._running.pop()
            if frame.name == name:
                return frame
        return None

    def _compare(self, frame: _Frame, name: str, after: Mapping[str, Any], depth: int) -> StepReport:
        start = time.perf_counter()
        old, new = frame.functions.get(name), after.get(name)

        def report(status: Status, text: str, one: Printed | None = None, two: Printed | None = None) -> StepReport:
            seconds = time.perf_counter() - start
            texts = one.text if one else "", two.text if two else ""
            return StepReport(frame.name, name, status, text, *texts, seconds=seconds, depth=depth)

        if old is not None and new is not None and old.same_as(new):
            return report("unchanged", "unchanged")
        if frame.children and _accounted(name, old, new, frame.children):
            return report("composed", f"composed of {len(frame.children)} passes")
        reason = self._reason(frame.name)
        if old is None or new is None:
            reason = reason or "the function " + ("is new" if old is None else "is gone")
            return report("not validated", f"not validated: {reason}")
        one, two = read(old, name), read(new, name)
        if one.text == two.text and one.text:
            return report("unchanged", "unchanged")
        reason = reason or _kind(old, new) or _interface(old, new)
        if reason is not None:
            return report("not validated", f"not validated: {reason}", one, two)
        return judge(frame.name, one, two, self._limits, depth=depth)

    def _reason(self, name: str) -> str | None:
        if name in self._skip:
            return self._skip[name]
        if self._only is not None and not self._only(name):
            return "not asked for"
        return None


def _functions(mod: Any) -> dict[str, Any]:
    return {str(var.name_hint): function for var, function in mod.functions.items()}


def _accounted(name: str, old: Any, new: Any, children: Iterable[_Done]) -> bool:
    """Whether the passes inside lead from the function as it was to what it is, with nothing between them."""
    current = old
    for child in children:
        if not _same(current, child.before.get(name)):
            return False
        current = child.after.get(name)
    return _same(current, new)


def _same(one: Any, two: Any) -> bool:
    if one is None or two is None:
        return one is two
    if one.same_as(two):
        return True
    first, second = read(one, ""), read(two, "")
    return bool(first.text) and first.text == second.text


def _kind(old: Any, new: Any) -> str | None:
    """Why two functions cannot be compared that are not both of TIR."""
    kinds = [is_tir(f) for f in (old, new)]
    if all(kinds):
        return None
    return "it is no function of TIR" if not any(kinds) else "it is a function of TIR on one side only"


def _interface(old: Any, new: Any) -> str | None:
    """Why two forms of a function cannot be compared, if the earlier one took packed arguments already."""
    attributes = [getattr(f, "attrs", None) for f in (old, new)]
    packed = [a is not None and "calling_conv" in a and int(a["calling_conv"]) != 0 for a in attributes]
    return "its arguments are packed already" if any(packed) else None
