"""Claims of obligations in words that say what has to be so, where the kernel's own do not.

The kernel names what it asks: "A[i] equals t[0]", "B[x]: an index that is undef".  Who reads that this is false
wants to know what was expected of what.  The kernel's own text stays in the obligation, and in ``reason``.
"""

from __future__ import annotations

import re
from typing import Final

_SAFETY: Final = {
    "a branch on undef": "the condition {} depends on nothing undefined",
    "an index that is undef": "no index of {} is undefined",
    "an extent that is undef": "the extent {} is not undefined",
    "a loop bound that is undef": "the loop bound {} is not undefined",
    "a divisor that is undef": "the divisor of {} is not undefined",
    "a shift amount that is undef": "the amount of the shift in {} is not undefined",
}
"""What a safety condition says of an expression, by its kind."""

_HINT: Final = r"(?P<hint> \(.*\))?"
_OTHERS: Final = {
    rf"every new iteration is an old one of \((.*?)\){_HINT}": r"each iteration after the step was one of loop \1",
    rf"every old iteration of \((.*?)\) is run{_HINT}": r"each iteration of loop \1 is still made after the step",
    r"(.+?) equals (.+?)(?P<hint> \((?:\w+ must hold|the solver).*\))?": (
        r"\1 has the same bits as \2, which it replaces"
    ),
}
"""What other claims say, by their form; behind some of them stands a hint of the tactic."""


def in_words(name: str, claim: str) -> str:
    """What has to be so, as a sentence; a hint that a tactic added stays behind it.

    :param name: the name of the obligation.
    """
    if name == "safety":
        found = re.fullmatch(rf"(.*): ({'|'.join(map(re.escape, _SAFETY))}){_HINT}", claim)
        return claim if found is None else _SAFETY[found[2]].format(found[1]) + (found["hint"] or "")
    for pattern, words in _OTHERS.items():
        found = re.fullmatch(pattern, claim)
        if found is not None:
            return found.expand(words) + (found["hint"] or "")
    return claim
