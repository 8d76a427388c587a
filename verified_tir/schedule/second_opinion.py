"""A second opinion: what the independent validator says of a schedule that was proved.

The kernel proved that the program as scheduled refines the program as written.  The validator is given the two programs
and how the parameters' layouts changed, nothing else, and executes both at some sizes.  If it finds a difference, then
kernel or validator is wrong, and that is a bug in this tool: :class:`BugInThisTool`.

Programs are always compared with the one that was written, also after a step in the middle: only there is it known what
the arguments hold.  So the first step whose program is found to differ is the one to look at.

How much is executed is bounded by counting operations and not by time, so that a report does not depend on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, final

from verified_tir.elaborate.own_memory import crossing, waits
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import seq
from verified_tir.ir.visit import free_vars
from verified_tir.kernel.rules.call import Implement
from verified_tir.kernel.theorem import Refines
from verified_tir.logic.solver import Solver
from verified_tir.schedule.correspondence import NotExpressible, interface, with_parameters
from verified_tir.schedule.disagreement import BugInThisTool, Evidence
from verified_tir.schedule.operations import operations
from verified_tir.schedule.other_order import may_reach, names_of, reordered, reordered_programs
from verified_tir.validate import (
    Correspondence,
    Different,
    Equal,
    EqualInPart,
    EqualOverReals,
    Report,
    Unknown,
    validate,
)  # fmt: skip
from verified_tir.validate.sizes import MIXED, SIZES, divisors, symbols

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import StepRecord

QUICK: Final = 250_000
"""Operations for one comparison, all its sizes together, unless more is wanted: a fraction of a second."""
_STEPS: Final = 4_000
_LONGER: Final = 100_000
_BUDGET: Final = 40_000  # of Z3, for each question; less than the validator takes by itself
"""Stores and iterations of a concrete run: in search of a difference that nothing points at; and of one that terms
point at."""
NEGATIVE: Final = (-1, -7)
"""What integers that are not extents are besides."""

_ELEMENTS: Final = 32
"""Elements to compare of programs that are too large to be executed as a whole."""

Word = Literal["agrees", "undecided", "disagrees"]


@final
@dataclass(frozen=True, slots=True)
class Opinion:
    """What the validator says of the program after one step.

    ``step`` is the step's number in ``Schedule.steps`` and ``name`` its text.  ``word`` is the outcome in one word and
    ``sentence`` in one sentence.  ``reports`` are the validator's, one for each size; ``left_out`` are the sizes that
    would have taken too many operations.  ``bug`` is what to report where the two disagree.
    """

    step: int
    name: str
    word: Word
    sentence: str
    reports: tuple[Report, ...] = ()
    left_out: tuple[Mapping[str, int], ...] = ()
    seconds: float = 0.0
    bug: BugInThisTool | None = None

    def __str__(self) -> str:
        return self.sentence


@final
@dataclass(frozen=True, slots=True)
class Validation:
    """Opinions on the steps that were asked about, in their order; the last one is about the whole schedule."""

    opinions: tuple[Opinion, ...]

    @property
    def word(self) -> Word:
        """``"undecided"`` if any step is."""
        words = {o.word for o in self.opinions}
        return "disagrees" if "disagrees" in words else "undecided" if "undecided" in words else "agrees"

    @property
    def bug(self) -> BugInThisTool | None:
        """The disagreement about the first step that there is one about."""
        return next((o.bug for o in self.opinions if o.bug is not None), None)

    @property
    def sentence(self) -> str:
        """What is said of the last step; or of the first that is not agreed with."""
        if not self.opinions:
            return "nothing was asked: the schedule changed nothing"
        odd = next((o for o in self.opinions if o.word == self.word and self.word != "agrees"), None)
        if odd is None:
            every = f" after each of {len(self.opinions)} steps" if len(self.opinions) > 1 else ""
            return f"{self.opinions[-1].sentence}{every}"
        alone = len(self.opinions) == 1 and odd.word != "disagrees"
        return odd.sentence if alone else f"{odd.sentence} (after {odd.name})"

    def __str__(self) -> str:
        return self.sentence


@final
@dataclass(frozen=True, slots=True)
class Stage:
    """A program on the way: the number of the step that led to it, the texts of all steps so far, and the program."""

    number: int
    trace: tuple[str, ...]
    program: PrimFunc


def stages_of(steps: Sequence[StepRecord]) -> tuple[Stage, ...]:
    """The programs on the way that differ from the one that was written, up to the first that rests on an axiom."""
    written = steps[0].before
    believed = (k for k, s in enumerate(steps) if any(isinstance(step.rule, Implement) for step in s.rules))
    steps = steps[: next(believed, len(steps))]
    texts = tuple(map(str, steps))
    return tuple(Stage(k, texts[: k + 1], s.after) for k, s in enumerate(steps) if s.after is not written)


def second_opinion(
    written: PrimFunc,
    theorem: Refines,
    stages: Sequence[Stage],
    *,
    every_step: bool = False,
    sizes: Sequence[Mapping[str, int]] | None = None,
    most_operations: int = QUICK,
) -> Validation:
    """The validator's word on the programs of a schedule.

    :param written: the program as it was written, its blocks not expanded.
    :param stages: the programs on the way (:func:`stages_of`).
    :param every_step: ask about all of them, and not only about the last.  The first disagreement ends it; if there is
        one about the last program, all are asked about in any case, to find the step.
    :param sizes: values of the symbols to ask about; by default small ones, in ascending order, as far as
        ``most_operations`` lasts.
    :param most_operations: to execute symbolically for one program, both sides and all sizes together.
    """
    first = written.with_body(seq(*theorem.assumed, written.body))
    done: list[Opinion] = []
    for stage in stages if every_step else stages[-1:]:
        done.append(_of_what_is_claimed(_opinion(first, theorem, stage, sizes, most_operations), stage.program))
        if done[-1].bug is not None:
            break
    last = Validation(tuple(done))
    if last.bug is None or every_step:
        return last
    each = second_opinion(written, theorem, stages, every_step=True, sizes=sizes, most_operations=most_operations)
    return last if each.bug is None else Validation(each.opinions[-1:])


def _of_what_is_claimed(opinion: Opinion, program: PrimFunc) -> Opinion:
    """An opinion that no objection is if the kernel does not claim yet that threads may run the program."""
    waiting = [s.buffer.name for s in crossing(program) if waits(s)] if opinion.bug is not None else []
    if not waiting:
        return opinion
    why = f"{', '.join(waiting)} waits for a later step, which moves all its uses into the loops of threads"
    return replace(opinion, word="undecided", sentence=f"nothing is claimed of threads yet: {why}", bug=None)


def _opinion(
    written: PrimFunc, theorem: Refines, stage: Stage, sizes: Sequence[Mapping[str, int]] | None, most: int
) -> Opinion:
    start = time.perf_counter()

    def said(word: Word, sentence: str, bug: BugInThisTool | None = None) -> Opinion:
        seconds = time.perf_counter() - start
        return Opinion(stage.number, stage.trace[-1], word, sentence, tuple(reports), tuple(left_out), seconds, bug)

    reports: list[Report] = []
    left_out: list[Mapping[str, int]] = []
    before = with_parameters(written, stage.program)
    allowed = reordered(theorem)
    try:
        for asked in sizes if sizes is not None else _sizes(before, stage.program):
            maps = interface(theorem, before, stage.program, asked)
            rest = most - sum(r.operations for r in reports)
            if reports and operations(before, asked) > rest:
                left_out.append(asked)
                continue
            reports.append(_ask(before, stage.program, asked, maps, rest, allowed))
            contradiction = _contradiction(reports[-1], theorem, before, stage.program)
            if contradiction:
                evidence = Evidence(before, stage.program, theorem, stage.trace, reports[-1], maps, contradiction)
                return said("disagrees", f"THE VALIDATOR DISAGREES: {contradiction}", BugInThisTool(evidence))
    except NotExpressible as why:
        return said("undecided", f"the validator was not asked: {why}")
    return said(*_summary(reports, left_out, allowed))


def _sizes(before: PrimFunc, after: PrimFunc) -> Iterator[Mapping[str, int]]:
    """Small values for the symbols of both; one choice without names if there are none."""
    names = list(dict.fromkeys([*symbols(before), *symbols(after)]))
    if not names:
        yield {}
        return
    factors = {v for m in divisors(before, after) for v in (m, m + 1, 2 * m)}
    for value in (*SIZES, *sorted(factors - set(SIZES))):
        yield dict.fromkeys(names, value)
    if len(names) > 1:  # what was exchanged shows only where values differ
        for turn in range(len(MIXED)):
            yield {name: MIXED[(turn + k) % len(MIXED)] for k, name in enumerate(names)}
    in_shapes = {v.name for f in (before, after) for b in f.buffers for e in b.shape for v in free_vars(e)}
    numbers = [p.name for p in before.params if p.name in names and p.name not in in_shapes and p.dtype.code == "int"]
    for value in NEGATIVE if numbers else ():
        yield {**dict.fromkeys(names, 7), **dict.fromkeys(numbers, value)}


def _ask(
    before: PrimFunc,
    after: PrimFunc,
    sizes: Mapping[str, int],
    maps: Mapping[str, Correspondence],
    most: int,
    allowed: bool,
) -> Report:
    """One question.  Where terms differ and nothing more is known, a longer search for an input is worth its time."""
    solver = Solver(_BUDGET)  # remembers what it was asked, also what it did not decide
    first = validate(
        before, after, sizes=sizes, maps=maps, most_operations=most, most_steps=_STEPS, most_elements=_ELEMENTS,
        solver=solver, reordered=allowed,
    )  # fmt: skip
    if isinstance(first.verdict, Unknown) and first.verdict.other_terms:
        return validate(
            before, after, sizes=sizes, maps=maps, most_operations=most, most_steps=_LONGER,
            solver=solver, reordered=allowed,
        )  # fmt: skip
    return first


def _contradiction(report: Report, theorem: Refines, before: PrimFunc, after: PrimFunc) -> str:
    """What the validator says that cannot be, if what the kernel proved is true.

    Where the user allowed sums in another order, what was computed from them may have other bits; undefined behaviour
    may not come of it.
    """
    match report.verdict:
        case Different(element=element) as verdict:
            programs = (before, after, *reordered_programs(theorem))
            if not (element and may_reach(element, names_of(theorem), *programs)):
                return str(verdict)
        case EqualInPart() as verdict if verdict.which and not reordered(theorem):
            return f"{verdict}, although no reordering was allowed"
    conflict = next((f for f in report.findings if f.startswith("after: ")), "")
    return conflict.removeprefix("after: ")


def _summary(reports: list[Report], left_out: list[Mapping[str, int]], allowed: bool) -> tuple[Word, str]:
    for r in reports:
        if isinstance(r.verdict, EqualOverReals) and not allowed:
            why = "no input was found on which their bits differ"
            return "undecided", f"the validator did not decide{_at([r.sizes])}: {r.verdict}; {why}"
        if isinstance(r.verdict, Different):
            why = "different bits, as the reordering of sums that was allowed may cause"
            return "undecided", f"the validator found {why}{_at([r.sizes])}: {r.verdict}"
        if not isinstance(r.verdict, (Equal, EqualOverReals, EqualInPart)):
            return "undecided", f"the validator did not decide{_at([r.sizes])}: {r.verdict}"
    agreeing = [(r, r.verdict) for r in reports if isinstance(r.verdict, (Equal, EqualOverReals, EqualInPart))]
    telling = [(r, verdict) for r, verdict in agreeing if not verdict.vacuous]
    if not telling:
        return (
            "undecided",
            f"no input that the validator tried satisfies the assumptions{_at([r.sizes for r in reports])}",
        )
    verdict = next((v for _, v in telling if not isinstance(v, Equal)), telling[0][1])
    more = f" ({len(left_out)} more would have taken too long)" if left_out else ""
    return "agrees", f"the validator agrees: {verdict}{_at([r.sizes for r, _ in telling])}{more}"


def _at(sizes: Sequence[Mapping[str, int]]) -> str:
    """`` at n = 0, 1, 2``; with several symbols the first and the last are enough to say what was asked."""
    names = list(sizes[0]) if sizes else []
    if not names:
        return ""
    if len(names) == 1:
        return f" at {names[0]} = {', '.join(str(s[names[0]]) for s in sizes)}"
    values = [f"({', '.join(str(s[n]) for n in names)})" for s in sizes]
    shown = values if len(values) <= 4 else [*values[:2], "…", *values[-2:]]
    return f" at ({', '.join(names)}) = {', '.join(shown)}"
