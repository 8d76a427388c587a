"""``ValidatingInstrument``: every pass of a TVM build under the validator, as Alive2 watches ``opt``.

    with tvm.transform.PassContext(instruments=[ValidatingInstrument()]):
        tvm.compile(module, target="llvm")

Passes nest: a ``Sequential`` is a pass itself.  A pass in which others ran is not compared again if these account for
all that it did (``composed``); otherwise it is compared as a whole.  What cannot be compared is listed, and why.
Where some programs in between cannot be read, the last one before is compared with the first one after.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, final

import tvm_ffi
from tvm.ir.instrument import pass_instrument

from verified_tir.interop.tvm.comparisons import Comparisons
from verified_tir.interop.tvm.fused import NotComposed, composed
from verified_tir.interop.tvm.judge import Limits
from verified_tir.interop.tvm.reading import Printed, is_tir, read, read_text, text_of
from verified_tir.interop.tvm.report import (
    DifferenceFound,
    OnDifferent,
    Status,
    StepReport,
    check_choice,
    show,
    summary,
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


@final
@dataclass(slots=True)
class _Gap:
    """A stretch of unreadable programs of a function: the last one before, the pass that ended it, what it is now."""

    before: Printed
    step: str
    current: Any
    reports: list[int]


@pass_instrument  # a subclass of PassInstrument could have no attributes
class ValidatingInstrument:
    """Compares every function before and after every pass.

    :param on_different: what to do when a pass changed what a function computes, or marked loops that race: ``"warn"``
        (the default), ``"raise"``, or ``"collect"`` to do nothing but remember.
    :param limits: sizes for symbolic shapes, and how much is executed.
    :param skip: further passes not to validate, each with the reason that is reported; those of
        :data:`NOT_VALIDATED` are known.
    :param only: which passes to validate, by name; all unless given.  The others are listed as not validated.
    :param show_table: print a table of all changes to the standard error when the context is left.  Unless given, a
        summary of one screen is printed there if that is a terminal; nothing if it is false.
    :param total_seconds: what all comparisons may take together; later changes are listed as unknown.
    :param jobs: how many other processes compare while the build goes on.  Then differences are told when the context
        is left, and until then reports may be ``pending``; :meth:`wait` ends that earlier.
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
        total_seconds: float | None = None,
        jobs: int = 0,
    ) -> None:
        check_choice(on_different)
        if jobs < 0 or (total_seconds is not None and total_seconds < 0):
            raise ValueError("jobs and total_seconds are not negative")
        self.reports: list[StepReport] = []
        self._on_different = on_different
        self._comparisons = Comparisons(limits or Limits(), total_seconds, jobs)
        self._gaps: dict[str, _Gap] = {}
        self._told = 0
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
        """Wait for what other processes compare, and print what was found."""
        self._running.clear()
        self._gaps.clear()
        self.wait()
        found = self.reports[self._shown :]
        self._shown = len(self.reports)
        if self._show_table:
            show(found, sys.stderr)
        elif self._show_table is None and sys.stderr.isatty() and found:
            print(summary(found), file=sys.stderr)

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
        for name in dict.fromkeys((*frame.functions, *after)):
            self._compare(frame, name, after, depth)
        self._tell()

    # -- what people ask -----------------------------------------------------------------------------------------------

    @property
    def different(self) -> tuple[StepReport, ...]:
        """The changes that were wrong."""
        return tuple(r for r in self.reports if r.wrong)

    def wait(self) -> None:
        """Let other processes end what they compare.

        :raises DifferenceFound: if a step was wrong and ``on_different`` is ``"raise"``.
        """
        self._comparisons.wait()
        self._tell()

    def summary(self) -> str:
        """What was found, on one screen."""
        return summary(self.reports)

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

    def _compare(self, frame: _Frame, name: str, after: Mapping[str, Any], depth: int) -> None:
        """Report on what a pass did to one function."""
        start = time.perf_counter()
        old, new = frame.functions.get(name), after.get(name)

        def report(status: Status, text: str, one: Printed | None = None, two: Printed | None = None) -> None:
            seconds = time.perf_counter() - start
            texts = one.text if one else "", two.text if two else ""
            self.reports.append(StepReport(frame.name, name, status, text, *texts, seconds=seconds, depth=depth))

        if old is not None and new is not None and old.same_as(new):
            return report("unchanged", "unchanged")
        if frame.children and _accounted(name, old, new, frame.children):
            return report("composed", f"composed of {len(frame.children)} passes")
        reason = self._reason(frame.name)
        if old is None or new is None:
            reason = reason or "the function " + ("is new" if old is None else "is gone")
            return report("not validated", f"not validated: {reason}")
        texts = text_of(old), text_of(new)
        if texts[0] == texts[1] != "":
            return report("unchanged", "unchanged")
        calls = None
        if reason is None and not is_tir(old) and is_tir(new):
            calls, reason = _composed(old, frame.functions, name)
            if calls is not None:
                return self._judge(frame.name, calls, read(new, name), depth)
        reason = reason or _kind(old, new) or _interface(old, new)
        if reason is not None:  # they are not parsed, which takes longer than all else
            unread = [Printed(name, text, None) for text in texts]
            return report("not validated", f"not validated: {reason}", *unread)
        one, two = [read_text(t, name) if t else read(f, name) for t, f in zip(texts, (old, new), strict=True)]
        self._judge(frame.name, one, two, depth)
        return self._bridge(frame.name, one, two, (old, new), depth)

    def _judge(self, step: str, one: Printed, two: Printed, depth: int) -> None:
        place = len(self.reports)

        def done(report: StepReport) -> None:
            self.reports[place] = report

        self.reports.append(self._comparisons.compare(step, one, two, depth, done))

    def _bridge(self, step: str, one: Printed, two: Printed, functions: tuple[Any, Any], depth: int) -> None:
        """Remember where a stretch of unreadable programs begins; where it ends, compare what is on its two sides."""
        old, new = functions
        last = len(self.reports) - 1
        gap = self._gaps.pop(one.name, None)
        if gap is not None and not _same(gap.current, old):
            gap = None  # something happened in between that nobody saw
        if one.func is None and two.func is not None and gap is not None:
            self._judge(f"{gap.step} to {step}", gap.before, two, depth)
            for k in (*gap.reports, last):
                why = self.reports[k].text.removeprefix("unknown: ")
                text = f"bridged: {gap.step} to {step} is compared as a whole ({why})"
                self.reports[k] = replace(self.reports[k], status="bridged", text=text)
        elif two.func is None and one.func is not None:
            self._gaps[one.name] = _Gap(one, step, new, [last])
        elif two.func is None and gap is not None:
            self._gaps[one.name] = _Gap(gap.before, gap.step, new, [*gap.reports, last])

    def _tell(self) -> None:
        """Raise or warn of what is new and decided."""
        while self._told < len(self.reports) and self.reports[self._told].status != "pending":
            self._told += 1
            tell(self.reports[self._told - 1], self._on_different)

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
    return text_of(one) == text_of(two) != ""


def _composed(function: Any, module: Mapping[str, Any], name: str) -> tuple[Printed | None, str | None]:
    """A function of Relax as one of TIR, or else why it is not compared with the one that took its place."""
    try:
        return composed(function, module, name), None
    except NotComposed as problem:
        return None, f"it was a function of Relax, and the calls in it cannot be put together: {problem}"
    except Exception as problem:  # a fault of ours must not end somebody's build
        return None, f"it was a function of Relax, which is not read, by a fault: {type(problem).__name__}: {problem}"


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
