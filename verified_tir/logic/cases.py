"""Cases of the integers that a goal converts to floats: where resized images are read, say.

``floor(float32(i * 2) + 0.5)`` lies in the image for each of the few i that there are.  For no i in particular a solver
hardly decides that; for one, all is constant.  So the goal is asked for each i, which are lemmas, and follows from them
all by what is known of i.  Nothing here is trusted.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import prod
from typing import Final

from verified_tir.logic import formula as f
from verified_tir.logic.deduction import Deduction
from verified_tir.logic.formula import Term, integer, subterms, value_of
from verified_tir.logic.verdict import Proved, Refuted, Verdict

MANY: Final = 256
"""So many cases are asked at most."""


def in_cases(d: Deduction, given: tuple[Term, ...]) -> tuple[Term, ...] | Refuted:
    """For each case of the integers that the goal converts, that the goal holds there; or where it does not.

    Nothing, if they have no bounds or too many values, or a case is not decided.
    """
    converted = [t.args[0] for t in subterms(d.goal) if t.op == "fp.from_int" and t.args[0].op != "const"]
    unknowns = [t for t in dict.fromkeys(subterms(*converted)) if t.op == "var" and t.sort == f.INT]
    bounds = [_bounds(t, given) for t in unknowns]
    ranges = [range(b[0], b[1] + 1) for b in bounds if b is not None]
    if not unknowns or len(ranges) < len(unknowns) or prod(map(len, ranges)) > MANY:
        return ()
    lemmas: list[Term] = []
    for values in product(*ranges):
        case = f.and_(*[f.eq(t, integer(x)) for t, x in zip(unknowns, values, strict=True)])
        lemma = f.implies(case, d.goal)
        verdict = d.ask(given, lemma, search=_case)
        if not d.knows(lemma):
            return verdict if isinstance(verdict, Refuted) else ()
        lemmas.append(lemma)
    return tuple(lemmas)


def _case(d: Deduction) -> Verdict:
    """The question of one case: of what it says first, all else left out."""
    case = d.given[-1]
    parts = case.args if case.op == "and" else (case,)
    values = {t.args[0]: t.args[1] for t in parts if t.op == "=" and t.args[1].op == "const"}
    d.substitute(values, [d.goal])
    verdict = d.ask((case,), d.goal)
    return verdict if isinstance(verdict, Proved) or len(d.given) == 1 else d.ask(d.given, d.goal)


def _bounds(t: Term, given: Iterable[Term]) -> tuple[int, int] | None:
    """The least and the greatest value of a term, if constants bound it."""
    low: int | None = None
    high: int | None = None
    for g in given:
        for fact in g.args if g.op == "and" else (g,):
            if fact.op not in ("<=", "<"):
                continue
            a, b = fact.args
            strict = fact.op == "<"
            if b is t and a.op == "const":
                low = value_of(a) + strict if low is None else max(low, value_of(a) + strict)
            elif a is t and b.op == "const":
                high = value_of(b) - strict if high is None else min(high, value_of(b) - strict)
    return None if low is None or high is None else (low, high)
