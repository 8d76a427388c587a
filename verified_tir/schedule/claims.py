"""Claims of obligations in plain words, for people; the kernel's own text stays in obligations and certificates.

The kernel names what it asks: "A[i]: in bounds", "the inserted store to B writes the bits that are there already".  Who
reads that this is false wants a sentence that says what was expected of what, in the names of the program.  A claim
that is such a sentence already is left as it is.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from verified_tir.logic.verdict import Obligation

_OVERLAPS: Final = {
    "iterations change their order": (
        "no two iterations that change their order write the same element of {0}",
        "no iteration that changes its order writes an element of {0} that another one reads",
    ),
    "the two statements may change places": (
        "the two statements that change places do not write the same element of {0}",
        "neither of the two statements that change places writes an element of {0} that the other one reads",
    ),
}
"""What two instances must not do that change their order: both write, and one writes while the other one reads."""

_WORDS: Final = {
    "safety": {
        r"(\w+)(\[.*\]): in bounds": r"\1\2 lies within the bounds of \1",
        r"(.*): in bounds": r"\1 lies within the bounds of its buffer",
        r"(.*): accessible": r"\1 is not declared inaccessible",
        r"(.*): no overflow": r"\1 does not overflow",
        r"(.*): no division by zero": r"the divisor of \1 is not zero",
        r"(.*): a shift amount in range": r"the shift in \1 is by at least 0 and by less than all bits",
        r"(.*): an extent that is not negative": r"the extent \1 is not negative",
        r"(.*): the assumption holds": r"the assumption \1 holds",
        r"(.*): a branch on undef": r"the condition \1 depends on nothing undefined",
        r"(.*): an index that is undef": r"no index of \1 is undefined",
        r"(.*): an extent that is undef": r"the extent \1 is not undefined",
        r"(.*): a loop bound that is undef": r"the loop bound \1 is not undefined",
        r"(.*): a divisor that is undef": r"the divisor of \1 is not undefined",
        r"(.*): a shift amount that is undef": r"the amount of the shift in \1 is not undefined",
        r"(.*) is defined": r"\1 depends on nothing undefined",
    },
    "bijection": {
        r"every new iteration is an old one of \((.*?)\)": r"each iteration after the step was one of loop \1",
        r"every old iteration of \((.*?)\) is run": r"each iteration of loop \1 is still made after the step",
        r"no old iteration is run twice": r"no iteration is made twice after the step",
        r"each old iteration is run as itself": r"each iteration computes after the step what it computed before",
        r"the branch is always taken here": r"the condition of the branch is always true here",
        r"the statement is still run": r"the statement still runs after the step",
    },
    "view": {
        r"the load of (\S+) reads where the one of (\S+) did": (
            r"the load of \1 reads the element that the load of \2, which it replaces, read"
        ),
        r"the store to (\S+) goes where the one to (\S+) went": (
            r"the store to \1 writes the element that the store to \2, which it replaces, wrote"
        ),
        r"the block of (\S+) is large enough for (\S+)": r"the memory of \1 is large enough for \2",
    },
    "no-op": {
        r"the inserted store to (\S+) writes the bits that are there already": (
            r"the store to \1 that this step adds changes nothing: it writes the bits that are there already"
        ),
        r"the erased store to (\S+) wrote the bits that were there already": (
            r"the store to \1 that this step removes changed nothing: it wrote the bits that were there already"
        ),
    },
    "padding": {
        r"the padding of (\S+) holds its value at the end": r"the padding of \1 holds its declared value at the end",
    },
    "race": {
        r"the loop over (\S+) is (\w+): no opaque call, assertion or while loop stands in its body": (
            r"no opaque call, assertion or while loop stands in the \2 loop over \1"
        ),
        r"the loop over (\S+) is (\w+): no two of its iterations write and write the same element of (\S+)": (
            r"no two iterations of the \2 loop over \1 write the same element of \3"
        ),
        r"the loop over (\S+) is (\w+): no two of its iterations (?:read and write|write and read) the .* of (\S+)": (
            r"no iteration of the \2 loop over \1 reads an element of \3 that another one writes"
        ),
        r"the loop over (\S+) is bound to (\S+): none of its iterations uses (\S+) of scope (\S+) from .*": (
            r"no iteration of the loop over \1, bound to \2, uses \3 of scope \4 from outside: each has its own"
        ),
    },
    "recompute": {
        r"the recomputed instance has run before": r"what is computed again was computed before",
        r"what is recomputed was not overwritten since: no dependence .* of (\S+)": (
            r"no element of \1 that is read or written again was overwritten since"
        ),
        r"the recomputed statement writes each element of (\S+) before it reads it": (
            r"the statement that is run again writes each element of \1 before it reads it"
        ),
    },
    "stage": {
        r"what reads (\S+) lies in the region": r"each element of \1 that is read lies in the copied region",
        r"what writes (\S+) lies in the region": r"each element of \1 that is written lies in the copied region",
        r"what writes (\S+) without going through (\S+) comes after its last read": (
            r"each store to \1 that does not go through \2 comes after the last read of the copy of its element"
        ),
        r"each element of the region has one place in (\S+)": r"no element of the copied region has two places in \1",
    },
    "dependence": {
        r"each access without going through (\S+) misses the region: no dependence .* of (\S+)": (
            r"no access to \2 that does not go through \1 touches an element of the copied region"
        ),
        r"no iteration of the loop over (\S+) reads what an earlier one wrote: no dependence .* of (\S+)": (
            r"no iteration of the loop over \1 reads an element of \2 that an earlier one wrote"
        ),
    }
    | {
        rf"{why}: no dependence between the {verbs} of (\S+)": words.format(r"\1")
        for why, (both, one) in _OVERLAPS.items()
        for verbs, words in ((r"write and the write", both), (r"(?:read and the write|write and the read)", one))
    },
    "call": {
        r"(\S+), passed for (\S+) of (\S+): dimension (\d+) is the parameter's": (
            r"dimension \4 of \1 is that of \2 of \3, for which it is passed"
        ),
        r"(\S+), passed for (\S+) of (\S+): it is no larger than an array": (
            r"\1, which is passed for \2 of \3, is no larger than an array may be"
        ),
        r"(\S+), passed for (\S+) of (\S+): it starts where the parameter does": (
            r"\1 starts at the offset of \2 of \3, for which it is passed"
        ),
        r"(\S+), passed for (\S+) of (\S+): its strides are the parameter's": (
            r"\1 has the strides of \2 of \3, for which it is passed"
        ),
        r"every element of (\S+), passed for (\S+) of (\S+), may be accessed": (
            r"no element of \1, which is passed for \2 of \3, is declared inaccessible"
        ),
        r"(\S+) and (\S+), for (\S+) and (\S+) of (\S+), do not overlap": (
            r"\1 and \2, which are passed for \3 and \4 of \5, do not overlap"
        ),
    },
    "lemma": {
        r"the store to (\S+) at \([\d, ]*\) keeps the invariant: it (.+)": r"\1 \2, and the store to it keeps that so",
    },
}
"""For each name of an obligation the forms of its claims, and what they say."""


_EQUAL: Final = re.compile(r"(.+?) equals (.+?)(?P<hint> \((?:\w+ must hold|the solver).*\))?")
"""Two expressions, which may themselves end in parentheses: not everything there is a hint."""


@cache
def _forms(name: str) -> list[tuple[re.Pattern[str], str]]:
    if name == "equal":
        return [(_EQUAL, r"\1 has the same bits as \2, which it replaces")]
    return [(re.compile(rf"{form}(?P<hint> \(.*\))?"), words) for form, words in _WORDS.get(name, {}).items()]


def claim_of(obligation: Obligation) -> str:
    """What an obligation claims, in words."""
    return in_words(obligation.name, obligation.claim)


def in_words(name: str, claim: str) -> str:
    """What has to be so, as a sentence; a hint that a tactic added stays behind it.

    :param name: the name of the obligation; that of a lemma is its claim.
    """
    for form, words in _forms("lemma" if name == claim else name):
        found = form.fullmatch(claim)
        if found is not None:
            return found.expand(words).replace("thread_binding loop", "bound loop") + (found["hint"] or "")
    return claim
