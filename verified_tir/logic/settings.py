"""The settings in which Z3 is asked, one after the other, until it answers: they only decide what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from verified_tir.logic.formula import INT, subterms
from verified_tir.logic.names import has_floats
from verified_tir.logic.smtlib import Script

FLOATS_PER_INTEGERS: Final = 10
"""How many times as much a question about floats alone may take."""
SHARED_PART: Final = 30
"""Of the budget, one part is for the shared context; proofs about programs take a hundredth at most."""


def settings(script: Script, limit: int, afresh: bool) -> Iterator[tuple[str, int]]:
    """Settings with their budgets; ``limit`` is that of a query about integers.

    :param afresh: ask in contexts without a history only.
    """
    from verified_tir.logic.z3_query import SHARED

    if has_float(script) and script.roots and all(t.sort != INT for t in subterms(*script.roots)):
        yield "QF_FP", limit * FLOATS_PER_INTEGERS
    elif has_float(script):  # one that mixes them seldom ends when it does not end soon
        yield "Solver", limit  # bit-blasting floats incrementally is ten times slower
    else:
        if not afresh:
            yield SHARED, part(limit)
        yield "SimpleSolver", limit  # this one is fast
        yield "Solver", limit  # this one, which looks for a tactic, knows more


def has_float(script: Script) -> bool:
    """Whether a float occurs in a query; there may be one if of its text is not known what it says."""
    return not script.roots or any(has_floats(r) for r in script.roots)


def part(limit: int) -> int:
    """The budget of a first attempt."""
    return max(1, limit // SHARED_PART)
