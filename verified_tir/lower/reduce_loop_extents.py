"""ReduceLoopExtents: iterations in which a loop's body does nothing are cut off (RFC 77).

for i in range(16):
    if i < 14:                ⟶        for i in range(14):
        A[i] = 0                           A[i] = 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule.tactics.extents import reduce_loop_extents


@final
@dataclass(frozen=True, repr=False)
class ReduceLoopExtents(Pass):
    """Shorten serial and parallel loops that hold one branch without ``else``."""

    def lower(self, work: Lowering) -> None:
        reduce_loop_extents(work.session)
