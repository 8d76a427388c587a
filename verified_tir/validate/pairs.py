"""Judging pairs of programs: at one size or several, one pair or a file of recorded ones, on one core or more.

The word for a pair is the worst of its sizes and functions.  A size at which *before* has no meaning, or at which there
is nothing to compare, shows nothing: a pair is called equal at sizes only if one other size was settled.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from types import FrameType
from typing import Final, Literal, TypeAlias, final, get_args

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import ScriptError
from verified_tir.validate.interface import Correspondence
from verified_tir.validate.memory import Refused
from verified_tir.validate.recorded import Record, correspondences, functions
from verified_tir.validate.sizes import choices, divisors, symbols
from verified_tir.validate.validator import validate
from verified_tir.validate.verdict import Different, Equal, EqualOverReals, Report, Unknown

Word: TypeAlias = Literal[
    "equal", "equal at sizes", "equal over the reals", "vacuous",
    "unsupported", "unreadable", "unknown", "failed", "different",
]  # fmt: skip
WORDS: Final[tuple[Word, ...]] = get_args(Word)
"""From best to worst: of several functions or sizes the worst counts."""
MOST_OPERATIONS: Final = 5_000_000
Maps: TypeAlias = Callable[[Mapping[str, int]], Mapping[str, Correspondence]]


@final
@dataclass(frozen=True, slots=True)
class Budget:
    """What a pair may cost: ``operations`` in each program at each size, and for all sizes after the first one that
    was settled; ``seconds`` for the pair, 0 for any time."""

    operations: int = MOST_OPERATIONS
    seconds: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Judgement:
    """What is said about a pair.

    ``text`` is a sentence, ``reason`` why a pair was not decided, ``reports`` one for each size and function.
    """

    name: str
    word: Word
    text: str
    reason: str = ""
    reports: tuple[Report, ...] = ()
    seconds: float = 0.0
    record: Record | None = field(default=None, repr=False)

    @property
    def findings(self) -> list[str]:
        return list(dict.fromkeys(f for r in self.reports for f in r.findings))


class _TimeIsUp(Exception):
    pass


def judge_file(
    records: Iterable[Record], given: Mapping[str, int], budget: Budget, *, jobs: int = 1
) -> Iterator[Judgement]:
    """Judgements of recorded pairs that have both programs, in their order.

    :param given: sizes of symbols, by name; the others take several.
    :param jobs: how many processes to use.
    """
    wanted = [record for record in records if record.after is not None]
    if jobs <= 1:
        for record in wanted:
            yield judge_record(record, given, budget)
        return
    with ProcessPoolExecutor(min(jobs, os.cpu_count() or 1)) as pool:
        waiting = [pool.submit(judge_record, record, given, budget) for record in wanted]
        for one in waiting:
            yield one.result()


def judge_record(record: Record, given: Mapping[str, int], budget: Budget) -> Judgement:
    """Judge a recorded pair; what goes wrong is said, never raised."""
    start = time.perf_counter()
    found: list[Judgement] = []
    try:
        with _Alarm(budget.seconds):
            for name, before, after in functions(record):

                def maps(
                    sizes: Mapping[str, int], before: PrimFunc = before, after: PrimFunc = after
                ) -> Mapping[str, Correspondence]:
                    return correspondences(record, before, after, sizes)

                found.append(judge(name, before, after, given, budget, maps))
    except ScriptError as problem:
        line = str(problem).split("\n", maxsplit=1)[0]
        found.append(Judgement(record.name, "unreadable", f"unreadable: {line}", line.rpartition("error: ")[2]))
    except Refused as problem:
        found.append(Judgement(record.name, "unknown", f"unknown: {problem}", str(problem)))
    except _TimeIsUp:
        reason = f"it takes more than {budget.seconds:g} seconds"
        found.append(Judgement(record.name, "unknown", f"unknown: {reason}", reason))
    except Exception as problem:  # one pair must not end the others; it is counted apart
        reason = f"{type(problem).__name__}: {problem}"
        found.append(Judgement(record.name, "failed", f"failed, a bug in the validator: {reason}", reason))
    worst = max(found, key=lambda j: WORDS.index(j.word))
    reports = tuple(r for j in found for r in j.reports)
    seconds = time.perf_counter() - start
    return Judgement(record.name, worst.word, worst.text, worst.reason, reports, seconds, record)


def judge(
    name: str,
    before: PrimFunc,
    after: PrimFunc,
    given: Mapping[str, int],
    budget: Budget,
    maps: Maps | None = None,
) -> Judgement:
    """Judge one function, at the ``given`` sizes or, for symbols that are open, at several.

    :param maps: how parameters moved, at given sizes; without, none did.
    """
    start = time.perf_counter()
    names = list(dict.fromkeys([*symbols(before), *symbols(after)]))
    reports: list[Report] = []
    skipped: list[Mapping[str, int]] = []
    spent = 0
    for sizes in choices(names, given, divisors(before, after)):
        settled = any(_shows(r) for r in reports)
        left = budget.operations - spent if settled else budget.operations
        report = _at(before, after, sizes, maps, max(left, 0))
        if settled:
            spent += report.operations // 2
        if settled and isinstance(report.verdict, Unknown) and report.verdict.reason.startswith("more than"):
            skipped.append(sizes)
            continue
        reports.append(report)
        if isinstance(report.verdict, (Different, Unknown)):
            break
    seconds = time.perf_counter() - start
    return _summary(name, reports, open_=any(n not in given for n in names), seconds=seconds)


def _at(before: PrimFunc, after: PrimFunc, sizes: Mapping[str, int], maps: Maps | None, most: int) -> Report:
    try:
        moved = maps(sizes) if maps is not None else None
    except Refused as problem:
        return Report(Unknown(str(problem)), (), sizes)
    return validate(before, after, sizes=sizes, maps=moved, most_operations=most)


def _shows(report: Report) -> bool:
    """Whether elements were compared, and *before* had a meaning."""
    match report.verdict:
        case Equal(vacuous=False, how=how):
            return sum(how.values()) > 0
        case EqualOverReals(vacuous=False):
            return True
        case _:
            return False


def _summary(name: str, reports: Sequence[Report], *, open_: bool, seconds: float) -> Judgement:
    last = reports[-1]
    match last.verdict:
        case Different() | Unknown():
            at = ", ".join(f"{n} = {v}" for n, v in last.sizes.items())
            text = str(last.verdict) + (f" (at {at})" if at else "")
            if isinstance(last.verdict, Unknown):
                return Judgement(name, "unknown", text, last.verdict.reason, tuple(reports), seconds)
            return Judgement(name, "different", text, "", tuple(reports), seconds)
        case _:
            pass
    telling = [r for r in reports if _shows(r)]
    vacuous = [r for r in reports if not isinstance(r.verdict, (Different, Unknown)) and r.verdict.vacuous]
    word: Word = "equal"
    if vacuous and not telling:
        word, text = "vacuous", str(vacuous[0].verdict)
    else:
        reals = [r for r in telling if isinstance(r.verdict, EqualOverReals)]
        word = "equal over the reals" if reals else "equal at sizes" if open_ and telling else "equal"
        text = str((reals or telling or reports)[0].verdict)
    if open_:
        shown = [r for r in reports if not isinstance(r.verdict, (Different, Unknown)) and not r.verdict.vacuous]
        text += f" at sizes {_list(shown or vacuous)}, which says nothing about others"
        if vacuous and shown:
            text += f"; vacuous at {_list(vacuous)}"
    return Judgement(name, word, text, "", tuple(reports), seconds)


def _list(reports: Sequence[Report]) -> str:
    """Sizes in short: one number where all symbols have it."""
    said = []
    for report in reports:
        values = list(report.sizes.values())
        said.append(str(values[0]) if len(set(values)) == 1 else "×".join(map(str, values)))
    return ", ".join(said)


class _Alarm:
    """Ends the block after some seconds; 0 for never.  Works in the main thread of a process."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._before: signal._HANDLER = None

    def __enter__(self) -> None:
        if self.seconds > 0:
            self._before = signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        if self.seconds > 0:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    @staticmethod
    def _ring(_: int, __: FrameType | None) -> None:
        raise _TimeIsUp
