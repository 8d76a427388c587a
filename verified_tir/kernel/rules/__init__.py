"""The rules of the kernel: a closed set."""

from __future__ import annotations

from typing import Final

from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.bind import Bind, Inline
from verified_tir.kernel.rules.call import Implement, Refine
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.padding import PadValue
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.rules.recompute import Eliminate, Recompute
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.reorder import Reorder
from verified_tir.kernel.rules.rewrite import Rewrite
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.rules.scope import Declare, Drop, Move
from verified_tir.kernel.rules.stage import Stage
from verified_tir.kernel.rules.vectorize import Vectorize

RULES: Final = frozenset({
    Axiom, Bind, Couple, Declare, Drop, Eliminate, Erase, Implement, Inline, Insert, MergeAllocations, Move, PadValue,
    Reassociate, Recompute, Refine, Relayout, Reorder, Rewrite, Same, Stage, Vectorize,
})  # fmt: skip
"""The types of rules that ``apply`` takes; an object of any other is refused."""
