"""The comparisons of a build: each pair of texts once, within a budget, perhaps in other processes.

A module has many functions that differ in their names only, and passes run over each.  What is spent is counted over
the whole build; when the budget is gone, changes are listed as unknown, and the build goes on at its own speed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Final, TypeAlias, final

from verified_tir.interop.tvm.judge import Limits, judge
from verified_tir.interop.tvm.reading import Printed
from verified_tir.interop.tvm.report import StepReport
from verified_tir.interop.tvm.workers import Task, Workers
from verified_tir.validate.runs import Runs

Key: TypeAlias = tuple[str, str]
_NAME: Final = re.compile(r"^( *def )\w+(\()", re.MULTILINE)
_ATTRIBUTES: Final = re.compile(r"^ *T\.func_attr\(.*\)\n", re.MULTILINE)
_SHARE: Final = 4
"""One comparison takes at most this part of what is left of the budget."""
_LEAST: Final = 1.0
"""Seconds that a comparison may take while anything is left."""


@final
class Comparisons:
    """Compares functions before and after steps.

    :param total_seconds: what all comparisons may take together; ``None`` for any.
    :param jobs: how many processes compare; 0 for this one.
    """

    def __init__(self, limits: Limits, total_seconds: float | None, jobs: int) -> None:
        self._limits, self._total = limits, total_seconds
        self._jobs = jobs
        self._workers: Workers | None = None
        self._known: dict[Key, StepReport | Future[StepReport]] = {}
        self._runs = Runs()
        self.spent = 0.0

    def compare(
        self, step: str, before: Printed, after: Printed, depth: int, done: Callable[[StepReport], None]
    ) -> StepReport:
        """The report, or what stands for it until ``done`` is called with it (:meth:`wait`)."""

        def named(report: StepReport, seconds: float) -> StepReport:
            return replace(
                report, step=step, function=before.name, before=before.text, after=after.text, depth=depth,
                seconds=seconds,
            )  # fmt: skip

        key = _without_names(before.text), _without_names(after.text)
        known = self._known.get(key)
        if isinstance(known, StepReport):
            return named(known, 0.0)
        if known is None:
            limits = self._left()
            if limits is None:
                text = f"unknown: the {self._total:g} seconds for the build are spent"
                return StepReport(step, before.name, "unknown", text, before.text, after.text, depth=depth)
            if not self._jobs:
                return self._remember(key, judge(step, before, after, limits, depth=depth, runs=self._runs))
            self._workers = self._workers or Workers(self._jobs)
            known = self._workers.submit(Task.of(step, before, after, limits, depth))
            known.add_done_callback(lambda future: self._spend(future.result().seconds))
            self._known[key] = known
            known.add_done_callback(lambda future: done(future.result()))
        else:
            known.add_done_callback(lambda future: done(named(future.result(), 0.0)))
        return StepReport(step, before.name, "pending", "not compared yet", before.text, after.text, depth=depth)

    def wait(self) -> None:
        """Let all comparisons end, and the processes with them; new ones are started when they are needed."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None

    def _remember(self, key: Key, report: StepReport) -> StepReport:
        self._known[key] = report
        self._spend(report.seconds)
        return report

    def _spend(self, seconds: float) -> None:
        self.spent += seconds

    def _left(self) -> Limits | None:
        """The limits of the next comparison; ``None`` if nothing is left of the budget."""
        if self._total is None:
            return self._limits
        left = self._total - self.spent
        if left <= 0:
            return None
        most = max(left / _SHARE, _LEAST)
        seconds = min(self._limits.seconds, most) if self._limits.seconds > 0 else most
        return replace(self._limits, seconds=seconds)


def _without_names(text: str) -> str:
    """A function's text without its name and attributes, which mean nothing."""
    return _ATTRIBUTES.sub("", _NAME.sub(r"\1f\2", text, count=1), count=1)
