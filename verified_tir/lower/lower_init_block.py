"""LowerInitBlock: labels go.

Blocks mean what they expand to, initialisation included, and are expanded when a theorem begins
(``docs/semantics.md``).  A label stays, so that primitives find "the block compute".  After lowering nobody looks for
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.stmt import Block
from verified_tir.ir.visit import walk
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule.rule_builders import unlabelled


@final
@dataclass(frozen=True, repr=False)
class LowerInitBlock(Pass):
    """Remove the labels of blocks."""

    def lower(self, work: Lowering) -> None:
        if any(isinstance(n, Block) for n in walk(work.session.func.body)):
            work.session.apply(unlabelled)
