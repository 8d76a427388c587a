"""Simplify: shorter index arithmetic, decided branches, loops that run once or never.

The simplifier of the schedule layer, run until nothing changes any more (at most :data:`ROUNDS` times: each round
leaves a program that is shorter or has fewer branches).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.lower.passes import Lowering, Pass
from verified_tir.lower.tidy import remove_empty
from verified_tir.schedule.tactics.simplify import simplify

ROUNDS = 4


@final
@dataclass(frozen=True, repr=False)
class Simplify(Pass):
    """Simplify the program."""

    def lower(self, work: Lowering) -> None:
        for _ in range(ROUNDS):
            before = work.session.func
            simplify(work.session)
            remove_empty(work)
            if work.session.func is before:
                return
