"""``validate``: the questions, in the order in which they are asked.

1. Has *before* undefined behaviour on every input?  Then anything will do, and the verdict says that it is vacuous.
2. Has *after* undefined behaviour where *before* has none?
3. Do all elements agree, as terms; if not, as normal forms modulo 2ʷ, for Z3, over the reals?
4. If not: does an input, replayed by the interpreter, show a difference?

Programs too large for that are evaluated on demand for some elements (``demand/``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

from verified_tir.ir.func import PrimFunc
from verified_tir.logic.solver import Solver
from verified_tir.validate.barriers import spelled_out, with_identities
from verified_tir.validate.calls import declares_calls
from verified_tir.validate.compare import compare, extra_events, holding
from verified_tir.validate.concrete import Search, search
from verified_tir.validate.decide import Decision, decide, inputs_to_try, inputs_with_a_meaning
from verified_tir.validate.demand import MOST_ELEMENTS, compare_on_demand, replayed_in_part, too_long
from verified_tir.validate.exchanges import all_unordered, has_reduction, unordered
from verified_tir.validate.interface import Correspondence, Side, Sides, both_sides, listed
from verified_tir.validate.memory import Oversize, Refused
from verified_tir.validate.operators import Builder
from verified_tir.validate.runs import Run, Runs, builder
from verified_tir.validate.session import Exit, asserted, execute
from verified_tir.validate.solve import Inputs
from verified_tir.validate.terms import Terms, TooManyTerms
from verified_tir.validate.verdict import (
    Different,
    Equal,
    EqualInPart,
    EqualOverReals,
    Report,
    Unknown,
    Verdict,
    said_of,
)

MOST_OPERATIONS: Final = 20_000_000
MOST_STEPS: Final = 100_000
LONGER: Final = 20
_KINDS: Final = 3  # of undefined behaviour, in a sentence
BUDGET: Final = 300_000  # of Z3, for each question: there may be many


def validate(  # noqa: PLR0913 (all but two by name)
    before: PrimFunc,
    after: PrimFunc,
    *,
    sizes: Mapping[str, int] | None = None,
    maps: Mapping[str, Correspondence] | None = None,
    fast: bool = True,
    most_operations: int = MOST_OPERATIONS,
    most_steps: int = MOST_STEPS,
    most_elements: int = MOST_ELEMENTS,
    solver: Solver | None = None,
    reordered: bool = True,
    runs: Runs | None = None,
) -> Report:
    """Whether ``after`` refines ``before`` at some sizes.

    Contents of buffers are taken to be defined at entry, and written parameters to overlap nothing.

    :param sizes: the values of integer parameters and shape symbols, by name.
    :param maps: how parameters moved, by their names in ``before``; the others did not.
    :param fast: whether independent iterations run at once; if not, everything runs serially (the reference).
    :param most_operations: operations to execute symbolically in each program at most.
    :param most_steps: stores and loop iterations of each concrete run at most.
    :param most_elements: beyond that many operations, how many elements to compare on demand; 0 for none.
    :param reordered: whether sums in another order may have other bits; if not, inputs are sought on which they do.
    :param runs: runs of earlier comparisons, in which ``before`` may have been the later program.
    :returns: a report; what the validator cannot follow is the verdict :class:`Unknown`, never an exception.
    """
    start = time.perf_counter()
    sizes = dict(sizes or {})
    known = None if runs is None else runs.find(before, sizes)
    build = builder(known)
    done = build.operations
    findings: list[str] = []
    solver = solver or Solver(budget=BUDGET)
    limits = used = _Limits(fast, most_operations, most_steps, most_elements, reordered)
    earlier = known if known is not None and known.build is build and fast else None
    try:
        sides = both_sides(spelled_out(before), spelled_out(after), sizes, maps or {})
        if most_elements and too_long(sides, most_operations):
            raise Oversize(f"more than {most_operations} operations")
        verdict, second = _judge(sides, build, solver, findings, limits, earlier)
        if second is not None and runs is not None:
            runs.keep(after, sizes, second)
        if isinstance(verdict, Unknown) and declares_calls(before) and declares_calls(after):
            used = replace(limits, declared=True)
            verdict = _believed(verdict, sides, build, solver, findings, used)
        verdict = _over_threads(verdict, (before, after), sides, solver, used)
    except (Oversize, TooManyTerms) as problem:  # races that were found until then are races
        verdict = Unknown(str(problem))
        if most_elements:
            build, done = Builder(Terms()), 0
            verdict = compare_on_demand(sides, build, solver, budget=most_operations, elements=most_elements)
            verdict = _in_some_order(verdict, unordered(before, after) or all_unordered(after))
    except Refused as problem:
        verdict = Unknown(str(problem))
    if isinstance(verdict, (Unknown, Different)) and has_reduction(after) and not has_reduction(before):
        verdict = _with_identities(before, after, sizes, maps or {}, solver, limits) or verdict
    return Report(verdict, tuple(findings), sizes, build.operations - done, time.perf_counter() - start)


def validate_sizes(
    before: PrimFunc,
    after: PrimFunc,
    sizes: Sequence[Mapping[str, int]],
    *,
    maps: Mapping[str, Correspondence] | None = None,
    most_operations: int = MOST_OPERATIONS,
) -> tuple[Report, ...]:
    """One report for each of several sizes; they say nothing about others."""
    solver = Solver(budget=BUDGET)
    return tuple(
        [validate(before, after, sizes=s, maps=maps, most_operations=most_operations, solver=solver) for s in sizes]
    )


def _with_identities(
    before: PrimFunc, after: PrimFunc, sizes: Mapping[str, int], maps: Mapping[str, Correspondence], solver: Solver,
    limits: _Limits,
) -> Verdict | None:  # fmt: skip
    """The verdict if reductions over threads, which only *after* has, begin with the identity; only if it is equal."""
    build = Builder(Terms())
    try:
        sides = both_sides(spelled_out(before), with_identities(after), sizes, maps)
        if limits.elements and too_long(sides, limits.operations):
            verdict = compare_on_demand(sides, build, solver, budget=limits.operations, elements=limits.elements)
        else:
            verdict, _ = _judge(sides, build, solver, [], limits)
    except (Refused, TooManyTerms):
        return None
    return None if isinstance(verdict, (Unknown, Different)) else _in_some_order(verdict, unordered(before, after))


_Tried: TypeAlias = Callable[..., Search]


@final
@dataclass(frozen=True, slots=True)
class _Limits:
    fast: bool
    operations: int
    steps: int
    elements: int
    reordered: bool = True
    declared: bool = False
    marked: bool = False


def _judge(
    sides: Sides, build: Builder, solver: Solver, findings: list[str], limits: _Limits, earlier: Run | None = None
) -> tuple[Verdict, Run | None]:
    """The verdict, and the run of the later program if it was executed to its end."""
    for side in sides:
        listed(side)

    def tried(
        passed_over: Mapping[int, npt.NDArray[np.bool_]] | None, proposed: Iterable[Inputs] | None = None
    ) -> Search:
        """Concrete runs: on inputs of all kinds, or on those that are proposed."""
        if proposed is None:
            return search(*sides, steps=limits.steps, passed_over=passed_over)
        return search(*sides, steps=limits.steps, passed_over=passed_over, proposed=proposed, most=0)

    try:
        if earlier is not None and earlier.fits(sides[0], limits.operations):
            first = earlier.exit
            _note(first, "before", findings)
        else:
            first = _run(sides[0], "before", build, limits, findings)
        if first.undefined is not None:
            findings.append(f"before: ends on every input by {first.undefined}")
            return Equal(vacuous=True, undefined=f"{first.undefined}, on every input"), None
        start = build.operations
        second = _run(sides[1], "after", build, limits, findings)
        kept = Run(sides[1], build, second, build.operations - start)
    except (Refused, TooManyTerms) as problem:
        found = tried(None).witness
        if found is None and isinstance(problem, (Oversize, TooManyTerms)):
            raise
        return found or Unknown(str(problem)), None
    if first.asserted is not None:
        findings.append(f"before: ends on every input by {first.asserted}")
        return asserted(first, second), kept
    stopped = second.undefined or second.asserted
    if stopped is not None:
        longer = search(*sides, steps=LONGER * limits.steps, most=1)  # it is all but certain: worth some time
        seen = longer.witness or tried(None).witness
        return seen or Unknown(f"after ends by {stopped}; no input was found on which before does not"), kept
    return _memories(build, first, second, sides, solver, tried, limits.reordered), kept


def _run(side: Side, which: str, build: Builder, limits: _Limits, findings: list[str]) -> Exit:
    """Execute one program.  Of *before*, findings count if they are all there are: others would seem to be new."""
    noted: dict[str, None] = {}
    try:
        left = execute(
            side, build, fast=limits.fast, budget=limits.operations, declared=limits.declared, marked=limits.marked,
            noted=noted,
        )  # fmt: skip
    except (Refused, TooManyTerms):
        if which == "after":
            findings.extend(said_of(which, f) for f in noted)
        raise
    _note(left, which, findings)
    return left


def _note(left: Exit, which: str, findings: list[str]) -> None:
    findings.extend(said_of(which, f) for f in left.findings)
    if left.races:
        findings.append(f"{which}: read as if there were a barrier wherever threads meet in shared memory")


def _memories(
    build: Builder,
    first: Exit,
    second: Exit,
    sides: Sides,
    solver: Solver,
    tried: _Tried,
    may_reorder: bool,
) -> Verdict:
    gap = compare(build.terms, first, second, sides[0].params, sides[1].params)
    events = extra_events(build.terms, first, second)
    decision = decide(build.terms, gap, first, events, solver)
    vacuous, seen = False, None
    reordered = holding(decision.reordered, first, second, sides[0].params, sides[1].params)
    passed_over = None if decision.too_large else reordered
    if not may_reorder:
        passed_over = {}
    if first.events or (decision.reals and not may_reorder):
        seen = tried(passed_over)
        if seen.witness is not None:
            return seen.witness
        vacuous = seen.tried > 0 and seen.tried == seen.undefined
        if vacuous and not decision.left:
            found = tried(passed_over, inputs_with_a_meaning(build.terms, first, solver))
            if found.witness is not None:
                return found.witness
            vacuous = found.tried == found.undefined
    if second.world != first.world:
        return Unknown("opaque calls differ, in their order, arguments or what they can reach")
    if decision.left:
        found = seen or tried(passed_over)
        if found.witness is None and not found.why:
            found = tried(passed_over, inputs_to_try(build.terms, decision, first, events, solver))
        if found.witness is None and found.why:
            in_part = replayed_in_part(sides, build.terms, first, second, decision.undecided, MOST_OPERATIONS)
            return in_part or Unknown(f"{decision.left} (the programs could not be run)", bool(decision.undecided))
        return found.witness or Unknown(decision.left, bool(decision.undecided))
    settled = _settled(decision, vacuous)
    if not vacuous or not isinstance(settled, (Equal, EqualOverReals)):
        return settled
    kinds = list(dict.fromkeys(first.events.values()))
    more = f" and {len(kinds) - _KINDS} other kinds" if len(kinds) > _KINDS else ""
    return replace(settled, undefined=", or ".join(kinds[:_KINDS]) + f"{more}, on every input that was tried")


def _believed(
    verdict: Verdict, sides: Sides, build: Builder, solver: Solver, findings: list[str], limits: _Limits
) -> Verdict:
    """The verdict if opaque calls touch what their blocks declare, unless it is no better."""
    said: list[str] = []
    believed, _ = _judge(sides, build, solver, said, limits)
    if isinstance(believed, Unknown):
        return verdict
    findings[:] = [*said, "opaque calls are believed to touch what their blocks declare"]
    return believed


def _over_threads(
    verdict: Verdict, pair: tuple[PrimFunc, PrimFunc], sides: Sides, solver: Solver, limits: _Limits
) -> Verdict:
    """The verdict, if only one program combines floats over threads, or both with results in other places."""
    only, every = unordered(*pair), all_unordered(pair[1])
    if only or not every or not isinstance(verdict, Equal):
        return _in_some_order(verdict, only)
    try:
        marked, _ = _judge(sides, Builder(Terms()), solver, [], replace(limits, marked=True, steps=1))
    except (Oversize, TooManyTerms):
        return _in_some_order(verdict, every)
    return verdict if isinstance(marked, Equal) else _in_some_order(verdict, every)


def _in_some_order(verdict: Verdict, sentences: tuple[str, ...]) -> Verdict:
    """The verdict where *after* takes sums of floats in an order that nothing fixes: they are not the same bits."""
    if not sentences:
        return verdict
    match verdict:
        case Equal(vacuous=False):
            return EqualOverReals(sentences)
        case EqualOverReals() | EqualInPart():
            return replace(verdict, which=(*verdict.which, *sentences))
    return verdict


def _settled(decision: Decision, vacuous: bool) -> Verdict:
    if decision.reals:
        return EqualOverReals(decision.reals, vacuous)
    return Equal(vacuous, decision.how)
