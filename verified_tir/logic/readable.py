"""Terms as text for people, with our own names."""

from __future__ import annotations

from verified_tir.logic.formula import Term
from verified_tir.logic.smtlib import apply_text

LONGEST_SHOWN = 4000
"""Characters of a part of a term that :func:`readable` writes."""


def readable(t: Term) -> str:
    """A term as text with our own names, for people.

    Parts that would be longer than ``LONGEST_SHOWN`` are left out: terms share what occurs several times, and written
    out in full that may be more text than there is memory.
    """
    memo: dict[Term, str] = {}

    def go(u: Term) -> str:
        if u not in memo:
            text = str(u.payload) if u.op == "var" else _one(u, [go(a) for a in u.args])
            memo[u] = text if len(text) <= LONGEST_SHOWN else f"({u.op} …)"
        return memo[u]

    return go(t)


def _one(u: Term, args: list[str]) -> str:
    if u.op in ("app", "fp.to_bits"):
        return f"({u.payload if u.op == 'app' else u.op} {' '.join(args)})"
    return apply_text(u, args, {})
