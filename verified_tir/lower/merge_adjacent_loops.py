"""MergeAdjacentLoops: loops over the same range, one after the other, become one (RFC 77).

for i in range(14):                  for i in range(14):
    A[i] = 0                             A[i] = 0
for j in range(14):           ⟶          B[i] = A[i]
    B[j] = A[j]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.lower.passes import Lowering, Pass, reason
from verified_tir.schedule.session import TacticFailed
from verified_tir.schedule.tactics.merge import merge_adjacent_loops


@final
@dataclass(frozen=True, repr=False)
class MergeAdjacentLoops(Pass):
    """Merge all adjacent loops that may be, with the loops inside them; why none may is noted."""

    def lower(self, work: Lowering) -> None:
        try:
            merge_adjacent_loops(work.session, ())
        except TacticFailed as failed:
            work.note(f"no loops were merged: {reason(failed.refusal)}")
