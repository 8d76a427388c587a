"""HoistExpression: conditions and let bindings leave the loops that they do not depend on (RFC 77).

for i in range(4):                            if n > 0:
    if n > 0:                 ⟶                   for i in range(4):
        A[i] = 0                                      A[i] = 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule.tactics.hoist import HoistConditional, HoistLetBinding, hoist_expression


@final
@dataclass(frozen=True, repr=False)
class HoistExpression(Pass):
    """Hoist what the flags say.

    :ivar conditionals: a sum of 1 (conditions of ``if``), 2 (of ``T.if_then_else``), 4 (any boolean expression); see
        :class:`~verified_tir.HoistConditional`.
    :ivar let_bindings: a sum of 1 (what a condition needs), 2 (let statements), 4 (lets in expressions); see
        :class:`~verified_tir.HoistLetBinding`.
    """

    conditionals: int = 1
    let_bindings: int = 1

    def lower(self, work: Lowering) -> None:
        hoist_expression(work.session, HoistConditional(self.conditionals), HoistLetBinding(self.let_bindings))
