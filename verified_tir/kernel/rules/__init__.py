"""The rules of the kernel: a closed set."""

from __future__ import annotations

from typing import Final

from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.bind import Bind, Inline
from verified_tir.kernel.rules.branch import Decide, Hoist, Introduce, Merge, Reshape, Sink
from verified_tir.kernel.rules.call import Implement, Refine
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.lanes import Lanes
from verified_tir.kernel.rules.order import Distribute, Fuse, Join, Partition, Swap
from verified_tir.kernel.rules.padding import PadValue
from verified_tir.kernel.rules.reassociate import Reassociate, Reordered
from verified_tir.kernel.rules.reindex import Reindex
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.repeat import Repeat
from verified_tir.kernel.rules.rewrite import Rewrite
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.rules.scope import Declare, Drop, Move
from verified_tir.kernel.rules.share import Share
from verified_tir.kernel.rules.stage import Stage
from verified_tir.kernel.rules.unroll import Unroll
from verified_tir.kernel.rules.view import View

RULES: Final = frozenset({
    Axiom, Bind, Couple, Decide, Declare, Distribute, Drop, Erase, Fuse, Hoist, Implement, Inline, Insert, Introduce,
    Join, Lanes, Merge, Move, PadValue, Partition, Reassociate, Refine, Reindex, Relayout, Reordered, Repeat, Reshape,
    Rewrite, Same, Share, Sink, Stage, Swap, Unroll, View,
})  # fmt: skip
"""The types of rules that ``apply`` takes; an object of any other is refused."""
