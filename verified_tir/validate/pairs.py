"""Judging a pair of programs at one size or several.

The word for a pair is the worst of its sizes and functions.  A size at which *before* has no meaning, or at which there
is nothing to compare, shows nothing: a pair is called equal at sizes only if one other size was settled.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Final, Literal, TypeAlias, final, get_args

from verified_tir.ir.func import PrimFunc
from verified_tir.validate.demand import MOST_ELEMENTS
from verified_tir.validate.doubts import doubt
from verified_tir.validate.excess import EXCESS, has_bfloat16, is_legalised, widened
from verified_tir.validate.interface import Correspondence
from verified_tir.validate.meaning import adds_marked_loops, closed, same_meaning
from verified_tir.validate.memory import Refused
from verified_tir.validate.races import judge_races
from verified_tir.validate.recorded import Record
from verified_tir.validate.runs import Runs
from verified_tir.validate.sizes import choices, divisors, extents, layout_symbols, scalars
from verified_tir.validate.validator import MOST_STEPS, validate
from verified_tir.validate.verdict import Different, Equal, EqualInPart, EqualOverReals, Report, Unknown, Verdict

Word: TypeAlias = Literal[
    "equal", "equal at sizes", "equal over the reals", "equal up to excess precision", "equal in part", "vacuous",
    "races unknown",
    "unsupported", "unreadable", "unknown", "failed", "different",
]  # fmt: skip
WORDS: Final[tuple[Word, ...]] = get_args(Word)
"""From best to worst: of several functions or sizes the worst counts."""
_LISTED: Final = 16  # sizes in a sentence
_TOO_LARGE: Final = re.compile(r"^more than|the most is|too large to be executed")
PATIENCE: Final = 5.0
"""Seconds of processor time after which no further sizes are tried, once one was settled."""
MOST_OPERATIONS: Final = 5_000_000
Maps: TypeAlias = Callable[[Mapping[str, int]], Mapping[str, Correspondence]]


@final
@dataclass(frozen=True, slots=True)
class Budget:
    """What a pair may cost: ``operations`` in each program at each size, and for all sizes after the first one that
    was settled; ``seconds`` of processor time for the pair, 0 for any."""

    operations: int = MOST_OPERATIONS
    seconds: float = 0.0


_RACES: Final = 500_000  # operations to look for races in a program that is the same but for the kinds of loops
_UNJUDGED: Final[tuple[Word, ...]] = ("unknown", "unsupported", "failed")
_SAME: Final = "the same program, but for names, claims, annotations and kinds of loops"


_CONSTRUCTS: Final = {
    "scalable vectors": r"scalable vectors",
    "leaving a loop or a function early": r"leaving a loop or a function early",
    "a text that loses a declaration": r"^unknown name |dimensions and \d+ strides",
    "a signature that changes": r"^before has \d+ parameters, after \d+|does not correspond to \w+ of before",
    "calls between functions": r"is a call of another function",
    "views moved in their block, with shapes that were not": r"beyond its declared shape, inside its block",
    "a NaN's bits": r"^a NaN is re-read",
}
"""Constructs that the validator does not support, whose pairs are counted apart, and what refusals say of them."""


def unsupported(reason: str) -> str | None:
    """The name of the construct that a refusal is about; ``None`` if it is about something else."""
    return next((name for name, pattern in _CONSTRUCTS.items() if re.search(pattern, reason)), None)


class TimeIsUp(Exception):
    """The time for a pair is over."""


@contextmanager
def bounded(seconds: float, timer: int = signal.ITIMER_PROF) -> Iterator[None]:
    """End the block after some seconds of processor time, or of a timer; 0 for never.

    Only where that is possible: in the main thread, if the timer does not run already.

    :raises TimeIsUp: then.
    """
    free = threading.current_thread() is threading.main_thread() and signal.getitimer(timer)[0] == 0
    if seconds <= 0 or not free:
        yield
        return

    def ring(_: int, __: FrameType | None) -> None:
        raise TimeIsUp

    rung = signal.SIGPROF if timer == signal.ITIMER_PROF else signal.SIGALRM
    previous = signal.signal(rung, ring)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(rung, previous)


@final
@dataclass(frozen=True, slots=True)
class Judgement:
    """What is said about a pair.

    ``text`` is a sentence, ``reason`` why a pair was not decided, ``reports`` one for each size and function;
    ``seconds`` of processor time.
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


def judge(
    name: str,
    before: PrimFunc,
    after: PrimFunc,
    given: Mapping[str, int],
    budget: Budget,
    maps: Maps | None = None,
    runs: Runs | None = None,
    *,
    excess_precision: bool = False,
    constants: Collection[float] = (),
) -> Judgement:
    """Judge one function, at the ``given`` sizes or, for symbols that are open, at several.

    :param maps: how parameters moved, at given sizes; without, none did.
    :param runs: runs of programs that were judged before, which are not repeated.
    :param excess_precision: whether bfloat16 may be computed in float32 (``excess.py``): then that is no difference.
    :param constants: those of bfloat16 that *before* has, as they are written; *after* may have them unrounded then.
    """
    if excess_precision and (has_bfloat16(before) or has_bfloat16(after)):
        legalised = is_legalised(before, after)
        exact = None if legalised else judge(name, before, after, given, budget, maps, runs)
        if exact is None or exact.word in ("different", *_UNJUDGED):
            found = _with_excess(name, (before, after), constants, given, budget, maps)
            if found is not None:
                return found
        if exact is not None:
            return exact
    start = time.process_time()
    before, after = closed(before, after)
    same = not (maps and maps(given)) and same_meaning(before, after)
    if same and not adds_marked_loops(before, after):
        return Judgement(name, "equal", f"equal: {_SAME}")
    numbers = {**scalars(after), **scalars(before)}
    names = [*extents(before), *extents(after)]
    numbers = {n: t for n, t in numbers.items() if n not in names}
    chosen = choices(names, numbers, given, divisors(before, after))
    if same:
        budget = replace(budget, operations=min(budget.operations, _RACES))
    try:
        reports = _reports(before, after, chosen, layout_symbols(before, after), budget, maps, same=same, runs=runs)
    except TimeIsUp:
        if not same:
            raise
        why = "they take too long to judge"
        return Judgement(name, "races unknown", _unjudged(why), why, seconds=time.process_time() - start)
    seconds = time.process_time() - start
    found = _summary(name, before, reports, open_=any(n not in given for n in (*names, *numbers)), seconds=seconds)
    if same and found.word in _UNJUDGED:
        return replace(found, word="races unknown", text=_unjudged(found.text))
    if same:
        sizes = found.text.partition(" at sizes ")[2].partition(", which")[0]
        judged = f"; races were looked for at sizes {sizes}" if sizes else ""
        return replace(found, word="equal", text=f"equal: {_SAME}{judged}")
    return found


def _with_excess(
    name: str,
    pair: tuple[PrimFunc, PrimFunc],
    constants: Collection[float],
    given: Mapping[str, int],
    budget: Budget,
    maps: Maps | None,
) -> Judgement | None:
    """What is said about two programs that both have excess precision; ``None`` if they are not equal."""
    try:
        before, after = widened(*pair, constants)
    except Refused:
        return None
    found = judge(name, before, after, given, budget, maps)
    if found.word in ("different", "vacuous", "races unknown", *_UNJUDGED):
        return None
    return replace(found, word="equal up to excess precision", text=f"{found.text}; {EXCESS}")


def _unjudged(why: str) -> str:
    return f"races unknown: {_SAME}; whether those of after race: {why}"


def _reports(
    before: PrimFunc,
    after: PrimFunc,
    chosen: Iterable[Mapping[str, int]],
    loose: Mapping[str, int],
    budget: Budget,
    maps: Maps | None,
    *,
    same: bool,
    runs: Runs | None = None,
) -> list[Report]:
    """One report for each size, to the first that is not equal; those too large are left out once one was settled.

    :param same: whether the programs have the same meaning, and only races are in question.
    """

    def at(sizes: Mapping[str, int], most: int, *, whole: bool) -> Report:
        sizes = {**loose, **sizes}
        if same:
            return judge_races(before, after, sizes, most)
        return _at(before, after, sizes, maps, most, whole=whole, runs=runs)

    start = time.process_time()
    reports: list[Report] = []
    empty: list[Report] = []
    spent = 0
    for sizes in chosen:
        settled = any(_shows(r, before) for r in reports)
        if settled and time.process_time() - start > PATIENCE:
            break
        left = budget.operations - spent if settled else budget.operations
        try:
            executed = any(_shows(r, before) and not isinstance(r.verdict, EqualInPart) for r in reports)
            report = at(sizes, max(left, 0), whole=executed)
        except TimeIsUp:
            if not settled:
                raise
            break
        if settled:
            spent += report.operations // 2
            if isinstance(report.verdict, Unknown) and _TOO_LARGE.search(report.verdict.reason):
                continue
            if isinstance(report.verdict, Unknown):  # perhaps for concrete runs that were too short
                report = at(sizes, budget.operations, whole=False)
        if isinstance(report.verdict, EqualInPart) and report.verdict.compared == 0:
            why = "the programs are too large to be executed as a whole, and write no parameter"
            empty.append(replace(report, verdict=Unknown(why)))
            continue
        reports.append(report)
        if isinstance(report.verdict, (Different, Unknown)):
            break
    return reports or empty


def _at(
    before: PrimFunc,
    after: PrimFunc,
    sizes: Mapping[str, int],
    maps: Maps | None,
    most: int,
    *,
    whole: bool,
    runs: Runs | None = None,
) -> Report:
    """The report at one size; what may be no difference of the programs is unknown.

    :param whole: whether programs beyond the budget are left alone, not evaluated on demand, and concrete runs short.
    """
    try:
        moved = maps(sizes) if maps is not None else {}
    except Refused as problem:
        return Report(Unknown(str(problem)), (), sizes)

    def run(other: PrimFunc, kept: Runs | None = None) -> Report:
        elements, steps = (0, MOST_STEPS // 10) if whole else (MOST_ELEMENTS, MOST_STEPS)
        return validate(
            before, other, sizes=sizes, maps=moved, most_operations=most, most_elements=elements, most_steps=steps,
            runs=kept,
        )  # fmt: skip

    def again(other: PrimFunc) -> Verdict:
        return run(other).verdict

    report = run(after, runs if not moved else None)
    if isinstance(report.verdict, Different):
        why = doubt(before, after, report.verdict, sizes, moved, again)
        if why is not None:
            return replace(report, verdict=Unknown(why))
    return report


def _shows(report: Report, before: PrimFunc) -> bool:
    """Whether *before* had a meaning, no extent was 0, and elements were compared, if there are any."""
    if any(report.sizes.get(name) == 0 for name in extents(before)):
        return False
    match report.verdict:
        case Equal(vacuous=False, how=how):
            return sum(how.values()) > 0 or not before.buffers
        case EqualOverReals(vacuous=False) | EqualInPart(vacuous=False):
            return True
        case _:
            return False


def _summary(name: str, before: PrimFunc, reports: Sequence[Report], *, open_: bool, seconds: float) -> Judgement:
    last = reports[-1]
    match last.verdict:
        case Different() | Unknown():
            at = ", ".join(f"{n} = {v}" for n, v in last.sizes.items())
            text = str(last.verdict) + (f" (at {at})" if at else "")
            if isinstance(last.verdict, Unknown):
                reason = last.verdict.reason
                kind: Word = "unsupported" if unsupported(reason) else "unknown"
                return Judgement(name, kind, text, reason, tuple(reports), seconds)
            return Judgement(name, "different", text, "", tuple(reports), seconds)
        case _:
            pass
    telling = [r for r in reports if _shows(r, before)]
    vacuous = [r for r in reports if not isinstance(r.verdict, (Different, Unknown)) and r.verdict.vacuous]
    word: Word
    if vacuous and not telling:
        word, text = "vacuous", str(vacuous[0].verdict)
    elif open_ and not telling:
        reason = "only sizes at which an extent is 0 were compared; give others"
        return Judgement(name, "unknown", f"unknown: {reason}", reason, tuple(reports), seconds)
    else:
        word, text = _best(telling or reports, open_=open_)
    if open_:
        shown = [r for r in reports if not isinstance(r.verdict, (Different, Unknown)) and not r.verdict.vacuous]
        text += f" at sizes {_list(shown or vacuous)}, which says nothing about others"
        if vacuous and shown:
            text += f"; vacuous at {_list(vacuous)}"
    return Judgement(name, word, text, "", tuple(reports), seconds)


def _best(reports: Sequence[Report], *, open_: bool) -> tuple[Word, str]:
    """The weakest way in which sizes are equal, and what it says."""
    for kind, word in ((EqualInPart, "equal in part"), (EqualOverReals, "equal over the reals")):
        for report in reports:
            if isinstance(report.verdict, kind):
                return word, str(report.verdict)  # type: ignore[return-value]
    return ("equal at sizes" if open_ else "equal"), str(reports[0].verdict)


def _list(reports: Sequence[Report]) -> str:
    """Sizes in short: one number where all symbols have it."""
    said = []
    for report in reports:
        values = list(report.sizes.values())
        said.append(str(values[0]) if len(set(values)) == 1 else "×".join(map(str, values)))
    different = list(dict.fromkeys(said))
    more = len(different) - _LISTED
    return ", ".join(different[:_LISTED]) + (f" and {more} others" if more > 0 else "")
