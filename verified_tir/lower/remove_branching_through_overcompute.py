"""RemoveBranchingThroughOvercompute: branches go whose body may as well run always (RFC 77).

for i in range(16):                            for i in range(16):
    if i < 14:                                     A[i] = 1
        A[i] = 1                  ⟶            for i in range(16):
for i in range(16):                                if i >= 14:
    if i >= 14:                                        A[i] = 2
        A[i] = 2

Where the condition is false, the body writes what is there already (known padding, a neutral element), what a later
statement overwrites before it is read, or where nothing is defined.  TVM 0.20 called the pass
``ReduceBranchingThroughOvercompute``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.lower.passes import Lowering, Pass, reason
from verified_tir.schedule.session import TacticFailed
from verified_tir.schedule.tactics.overcompute import remove_branching_through_overcompute


@final
@dataclass(frozen=True, repr=False)
class RemoveBranchingThroughOvercompute(Pass):
    """Remove every branch that can be done without; why none can is noted.

    :ivar wrap_indices: an index that would leave its range where the condition is false is taken modulo the extent.
    """

    wrap_indices: bool = False

    def lower(self, work: Lowering) -> None:
        try:
            remove_branching_through_overcompute(work.session, wrap_indices=self.wrap_indices)
        except TacticFailed as failed:
            work.note(f"no branch was removed: {reason(failed.refusal)}")
