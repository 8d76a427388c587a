"""RemoveOvercomputeThroughBranching: statements no longer run on padding where that changes nothing (RFC 77).

for io, ii in T.grid(4, 4):                    for io, ii in T.grid(4, 4):
    T.assume(io < 3 or ii < 2                      T.assume(…)
             or A[io, ii] == 0)                for io, ii in T.grid(4, 4):
for io, ii in T.grid(4, 4):           ⟶            if io < 3 or ii < 2:
    S[0] = S[0] + A[io, ii]                            S[0] = S[0] + A[io, ii]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.lower.passes import Lowering, Pass, reason
from verified_tir.schedule.session import TacticFailed
from verified_tir.schedule.tactics.undercompute import remove_overcompute_through_branching


@final
@dataclass(frozen=True, repr=False)
class RemoveOvercomputeThroughBranching(Pass):
    """Introduce branches around what runs on known padding; why there are none is noted."""

    def lower(self, work: Lowering) -> None:
        try:
            remove_overcompute_through_branching(work.session)
        except TacticFailed as failed:
            work.note(f"no branch was introduced: {reason(failed.refusal)}")
