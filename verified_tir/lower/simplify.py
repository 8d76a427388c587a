"""Simplify: shorter index arithmetic, decided branches, loops that run once or never.

The simplifier of the schedule layer, run until nothing changes any more (at most :data:`ROUNDS` times: each round
leaves a program that is shorter or has fewer branches).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.lower.batch import simplify_everywhere
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.lower.tidy import remove_empty

ROUNDS = 4


@final
@dataclass(frozen=True, repr=False)
class Simplify(Pass):
    """Simplify the program."""

    def lower(self, work: Lowering) -> None:
        for _ in range(ROUNDS):
            before = work.session.func
            simplify_everywhere(work.session)
            remove_empty(work)
            if work.session.func is before:
                return
