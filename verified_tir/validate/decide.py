"""Deciding about pairs of terms that are not the same: as normal forms modulo 2ʷ, by Z3, over the reals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, final

from verified_tir.logic.solver import Solver
from verified_tir.validate.compare import Gap
from verified_tir.validate.normal import Normaliser, TooLarge
from verified_tir.validate.session import Exit
from verified_tir.validate.solve import Inputs, Question
from verified_tir.validate.terms import Terms

_MOST_TRIED: Final = 4
_ORDERED: Final = "sums, products, minima or maxima in another order"
_DEPEND: Final = "are no floats, and may be any other numbers where they depend on"


@final
@dataclass(frozen=True, slots=True)
class Decision:
    """``how`` counts elements by what settled them, ``reals`` names the sums that were reassociated.

    ``left`` says what nobody could decide, empty if there is nothing; ``undecided`` are the pairs of terms it is about,
    ``reordered`` those of ``reals``.  ``too_large``: some that are undecided have no normal form over the reals, so
    they may be sums in another order too.
    """

    how: dict[str, int] = field(default_factory=dict)
    reals: tuple[str, ...] = ()
    left: str = ""
    undecided: tuple[tuple[int, int], ...] = ()
    reordered: tuple[tuple[int, int], ...] = ()
    too_large: bool = False


def decide(terms: Terms, gap: Gap, before: Exit, events: Sequence[tuple[int, int]], solver: Solver) -> Decision:
    """What can be shown of the pairs, and of the conditions under which *after* alone may have undefined behaviour."""
    how = {"same term": gap.same, "undef before": gap.undefined}
    question = Question(terms, solver, before.events)
    bits = Normaliser(terms, before.events, reals=False)
    open_pairs: list[tuple[int, int]] = []
    reassociated: dict[tuple[str, str], int] = {}
    reordered: list[tuple[int, int]] = []
    for pair, owners in gap.pairs.items():
        if same_summands(terms, *pair):  # not in the same order: that would be the same term
            reordered.append(pair)
            _add(reassociated, "are", owners)
        elif _same(bits, pair):
            how["integers"] = how.get("integers", 0) + sum(owners.values())
        else:
            open_pairs.append(pair)
    reals = Normaliser(terms, before.events, reals=True)
    left: list[tuple[int, int]] = []
    too_large = False
    for pair in open_pairs:
        count = sum(gap.pairs[pair].values())
        if question.chosen(pair) and question.equal(*pair):
            how["z3"] = how.get("z3", 0) + count
        elif _same(reals, pair):  # whether such sums have the same bits after all is too hard for Z3
            reordered.append(pair)
            _add(reassociated, "are" if terms.dtype_of(pair[0]).is_float else _DEPEND, gap.pairs[pair])
        elif question.small(pair) and question.equal(*pair):
            how["z3"] = how.get("z3", 0) + count
        else:
            left.append(pair)
            too_large |= reals.budget < 0
    sentences = tuple([f"{n} elements of {name} {verb} {_ORDERED}" for (name, verb), n in reassociated.items()])
    reason = ""
    if left:
        count = sum(sum(gap.pairs[pair].values()) for pair in left)
        names = ", ".join(dict.fromkeys(name for pair in left for name in gap.pairs[pair]))
        reason = f"{count} elements of {names} are other terms, and no input was found that shows a difference"
    doubtful = [e for e in events if not question.implied(*e)]
    if doubtful and not left:
        reason = "after may have undefined behaviour on a condition about data that before does not have"
    return Decision(how, sentences, reason, tuple(left), tuple(reordered), too_large)


def _add(counts: dict[tuple[str, str], int], how: str, owners: Mapping[str, int]) -> None:
    for name, number in owners.items():
        counts[name, how] = counts.get((name, how), 0) + number


def inputs_to_try(
    terms: Terms, decision: Decision, before: Exit, events: Sequence[tuple[int, int]], solver: Solver
) -> Iterator[Inputs]:
    """Inputs with which, as far as Z3 can say, something differs that is undecided."""
    question = Question(terms, solver, before.events)
    for pair in decision.undecided[:_MOST_TRIED]:
        found = question.different(*pair)
        if found is not None:
            yield found
    for event in events[:_MOST_TRIED]:
        found = question.both(*event)
        if found is not None:
            yield found


def inputs_with_a_meaning(terms: Terms, before: Exit, solver: Solver) -> Iterator[Inputs]:
    """Inputs with which *before* has a meaning, as far as Z3 can say."""
    found = Question(terms, solver, before.events).any()
    if found is not None:
        yield found


def _same(normal: Normaliser, pair: tuple[int, int]) -> bool:
    try:
        return normal.normal(pair[0]) == normal.normal(pair[1])
    except TooLarge:
        return False


# ----------------------------------------------------------------------------------------------------------- long sums


def same_summands(terms: Terms, a: int, b: int) -> bool:
    """Whether two terms are sums of floats of one type with the same summands, in whatever order and association.

    ``normal.py`` finds it too, with normal forms of everything beneath, at ten times the cost for long sums.
    As in a normal form over the reals, it counts that 0.0 is among the summands, and not how often.
    """
    dtype = terms.dtype_of(a)
    if terms.op_of(a) != "add" or terms.op_of(b) != "add" or not dtype.is_float or terms.dtype_of(b) is not dtype:
        return False
    return _summands(terms, a) == _summands(terms, b)


def _summands(terms: Terms, root: int) -> tuple[bool, dict[int, int]]:
    """Whether 0.0 is among the summands, and how often each of the others is.

    A sum that is a summand twice is taken apart once: ``x + x`` of ``y + y`` of … has twice as many with each step.
    """
    dtype = terms.dtype_of(root)
    add, zero = terms.code("add", dtype), terms.constant(dtype, 0.0)
    codes, first, second = (terms.columns[k].item for k in range(3))
    found: dict[int, int] = {}
    times = {root: 1}
    sums = [-root]  # the latest one first: what a term is made of was there before it
    while sums:
        term = -heappop(sums)
        often = times.pop(term)
        for operand in (first(term), second(term)):
            if codes(operand) != add:
                found[operand] = found.get(operand, 0) + often
            elif operand in times:
                times[operand] += often
            else:
                times[operand] = often
                heappush(sums, -operand)
    return found.pop(zero, 0) > 0, found
