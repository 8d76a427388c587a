"""What occurs in a term, found once for each: the search asks it of the same givens again and again."""

from __future__ import annotations

from functools import lru_cache

from verified_tir.logic.formula import BITWISE, FLOAT_SORTS, Payload, Term, subterms

Names = frozenset[tuple[Payload, str]]

KEPT = 1 << 15
"""So many terms, lately asked about, are kept."""


def names_in(t: Term) -> Names:
    """The variables and functions that occur in a term, each with its sort."""
    return _found(t)[0]


def has_bits(t: Term) -> bool:
    """Whether a term combines integers bit by bit."""
    return _found(t)[1]


def has_floats(t: Term) -> bool:
    """Whether a float occurs in a term."""
    return _found(t)[2]


@lru_cache(KEPT)
def _found(t: Term) -> tuple[Names, bool, bool]:
    inside = list(subterms(t))
    names = frozenset([(s.payload, s.sort) for s in inside if s.op in ("var", "app")])
    return names, any(s.op in BITWISE for s in inside), any(s.sort in FLOAT_SORTS for s in inside)
