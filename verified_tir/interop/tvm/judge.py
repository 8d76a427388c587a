"""One change of one function: read before and after, compared at some sizes, reported.

Whatever goes wrong here becomes a report, never an exception: a build must not end because its validator failed.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import final

from verified_tir.interop.tvm.reading import Printed, same_program
from verified_tir.interop.tvm.report import StepReport
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.visit import walk
from verified_tir.validate import Correspondence
from verified_tir.validate.excess import written
from verified_tir.validate.pairs import Budget, TimeIsUp, bounded
from verified_tir.validate.pairs import judge as judge_pair
from verified_tir.validate.runs import Runs


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """How far the validator goes.

    ``sizes`` are values of integer parameters and shape symbols, by name; those that are not given take several, small
    ones and those around the numbers by which the program divides.  ``operations`` bounds the symbolic execution of
    each program (a million take a second where iterations are independent, a minute where they are not), ``seconds``
    each comparison; the latter is heeded in the main thread only, and not at all if it is 0.

    With ``excess_precision``, bfloat16 that is computed in float32 is no difference: the verdict is then *equal up to
    excess precision*.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    operations: int = 2_000_000
    seconds: float = 60.0
    excess_precision: bool = False


def judge(
    step: str,
    before: Printed,
    after: Printed,
    limits: Limits,
    *,
    maps: Mapping[str, Correspondence] | None = None,
    depth: int = 0,
    scheduled: bool = False,
    runs: Runs | None = None,
) -> StepReport:
    """Compare a function with what a step made of it.

    :param step: what made the change, for the report.
    :param maps: how parameters moved, by their names before.
    :param scheduled: whether these are programs of a schedule, in which thread-bound loops still are loops.
    :param runs: runs of programs that were judged before, which are not repeated.
    """
    start = time.perf_counter()
    moved = dict(maps or {})
    report = StepReport(step, before.name, "unchanged", "unchanged", before.text, after.text, depth=depth, maps=moved)
    if moved or not same_program(before, after):
        report = _compared(report, before, after, limits, scheduled, runs)
    return replace(report, seconds=time.perf_counter() - start)


def _compared(
    report: StepReport, before: Printed, after: Printed, limits: Limits, scheduled: bool, runs: Runs | None
) -> StepReport:
    if before.func is None or after.func is None:
        found = {"before": before.problem, "after": after.problem}
        problems = {which: problem for which, problem in found.items() if problem}
        if len(set(problems.values())) == 1 and len(problems) == 2:
            problems = {"before and after": before.problem}
        why = "; ".join(f"{which}: {problem}" for which, problem in problems.items())
        return replace(report, status="unknown", text=f"unknown: {why}")
    given = Budget(limits.operations, limits.seconds)
    try:
        with bounded(limits.seconds, signal.ITIMER_REAL):
            verdict = judge_pair(
                before.name, before.func, after.func, limits.sizes, given, lambda _: report.maps, runs,
                excess_precision=limits.excess_precision, constants=written(before.text),
            )  # fmt: skip
    except TimeIsUp:
        return replace(report, status="unknown", text=f"unknown: it takes more than {limits.seconds:g} seconds")
    except Exception as problem:
        text = f"unknown: the validator failed, by a fault of its own: {type(problem).__name__}: {problem}"
        return replace(report, status="unknown", text=text)
    result = replace(report, status=verdict.word, text=verdict.text, reports=verdict.reports)
    result = replace(result, text="; ".join([result.text, *_worth_saying(result)]))
    doubt = _doubt(result, after.func, scheduled)
    return result if doubt is None else replace(result, status="unknown", text=f"unknown: {doubt} ({result.text})")


def _worth_saying(report: StepReport) -> list[str]:
    """Races that a step made; or, of a difference, those that were wrong before it.

    Nothing is said of threads: until TVM has put barriers, none are there.
    """
    claims = [f.partition(": ") for f in report.findings if "between iterations" in f and "between threads" not in f]
    old = [claim for side, _, claim in claims if side == "before"]
    if report.status == "different":
        return [f"but before: {claim}" for claim in old]
    return [f"but after: {claim}" for side, _, claim in claims if side == "after" and claim not in old]


def _doubt(report: StepReport, after: PrimFunc, scheduled: bool) -> str | None:
    """Why a difference may be one between our semantics and TVM's, and not between the programs."""
    if report.witness is not None and not scheduled and _shares(after):
        return "threads share memory here, and where they wait for each other is guessed until TVM has put barriers"
    return None


def _shares(func: PrimFunc) -> bool:
    """Whether threads meet in memory.  TVM decides in its last passes only where they wait for each other."""
    nodes = list(walk(func.body))
    return any(isinstance(node, Buffer) and node.scope.startswith("shared") for node in nodes)
