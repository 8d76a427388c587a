"""Races of the marked loops that *after* adds to a program which else is *before*.

The serial meaning of both is one and the same, so nothing is compared.  *After* is executed to look for races alone,
and *before* only if it has marked loops itself.  What was found until the budget was used up stays found.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For
from verified_tir.ir.visit import walk
from verified_tir.validate.barriers import spelled_out
from verified_tir.validate.interface import Side, listed
from verified_tir.validate.loops import MARKED
from verified_tir.validate.memory import Refused
from verified_tir.validate.operators import Builder
from verified_tir.validate.session import execute
from verified_tir.validate.terms import Terms, TooManyTerms
from verified_tir.validate.verdict import Equal, Report, Unknown, Verdict, new_races, said_of

_ITERATION: Final = 100
"""Operations that an iteration counts as that runs alone."""


def has_marked_loops(func: PrimFunc) -> bool:
    """Whether a program has loops that may run otherwise than serially."""
    return any(isinstance(node, For) and node.kind in MARKED for node in walk(func.body))


def judge_races(before: PrimFunc, after: PrimFunc, sizes: Mapping[str, int], most_operations: int) -> Report:
    """Whether the marked loops of *after* race at some sizes, for two programs of the same meaning.

    The verdict is ``Equal`` if all were judged (``Report.new_races`` says which race), or if one races for certain;
    else ``Unknown``.
    """
    start = time.perf_counter()
    build = Builder(Terms())
    findings: list[str] = []
    reason, vacuous, elements = "", False, 0
    for which, func in (("before", before), ("after", after)):
        if which == "before" and not has_marked_loops(func):
            continue
        noted: dict[str, None] = {}
        try:
            side = listed(Side.of(spelled_out(func), sizes))
            elements = sum(p.count for p in side.params if p.buffer is not None)
            left = execute(side, build, fast=True, budget=most_operations, noted=noted, alone=_ITERATION)
            vacuous = left.undefined is not None or left.asserted is not None
        except (Refused, TooManyTerms) as problem:
            reason = str(problem)
            if which == "before":
                break  # nothing that is found in after is known to be new
        findings += [said_of(which, found) for found in noted]
    verdict: Verdict = Equal(vacuous, {"same term": elements})
    if reason and not new_races(findings):
        verdict = Unknown(reason)
    return Report(verdict, tuple(findings), sizes, build.operations, time.perf_counter() - start)
