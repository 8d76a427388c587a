"""RemoveNoOp: stores without effect go (RFC 77).

for i in range(16):
    A[i] = 0                           for i in range(16):
for i in range(16):           ⟶            A[i] = 1
    A[i] = 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule.tactics.no_op import remove_no_op
from verified_tir.schedule.tactics.tidy import remove_empty


@final
@dataclass(frozen=True, repr=False)
class RemoveNoOp(Pass):
    """Erase what is overwritten before it is read, never read, written back, or there already."""

    def lower(self, work: Lowering) -> None:
        while remove_no_op(work.session):
            remove_empty(work.session)  # labels around nothing; a schedule keeps them
