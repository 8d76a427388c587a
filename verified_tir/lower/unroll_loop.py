"""UnrollLoop: loops marked ``unrolled``, and short ones, become their iterations.

    for i in T.unroll(3):              A[0] = 0
        A[i] = i             ⟶        A[1] = 1
                                       A[2] = 2

The kernel's rule gives each copy its own variables, those of local buffers included (what TVM's ConvertSSA does), so
that each stays bound once.  Inner loops are unrolled first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import IntImm
from verified_tir.ir.paths import Path
from verified_tir.ir.script import script
from verified_tir.ir.stmt import For
from verified_tir.kernel.rules.erase import Erase
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule import moves
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.loops import pair_at
from verified_tir.schedule.tactics.tidy import fold_bounds, run_once


@final
@dataclass(frozen=True, repr=False)
class UnrollLoop(Pass):
    """Unroll loops that are marked, and serial ones of at most ``max_extent`` iterations.

    A marked loop without a constant extent is refused.
    """

    max_extent: int = 0

    def lower(self, work: Lowering) -> None:
        work.each(For, lambda path, _: unroll(work.session, path), self._wanted)

    def _wanted(self, loop: For) -> bool:
        short = isinstance(loop.extent, IntImm) and loop.extent.value <= self.max_extent
        return loop.kind == "unrolled" or (loop.kind == "serial" and short)


def unroll(session: Session, path: Path) -> None:
    """Replace the loop at ``path`` by its iterations.

    With a constant start this is one rule; else iterations are cut off one by one.

    :raises TacticFailed: if the extent is not a constant.
    """
    loop = session.at(path, For)
    if not isinstance(loop.extent, IntImm):
        raise fail(
            f"the loop over {loop.var.name} is to be unrolled, but its extent {script(loop.extent)} is not a constant; "
            "split it by a constant factor and unroll the inner loop",
            path,
        )
    if loop.extent.value <= 0:
        session.apply(Erase(path))
        return
    if isinstance(loop.min, IntImm):
        session.apply(moves.unroll(path))
        return
    for left in range(loop.extent.value - 1, 0, -1):  # the last iteration first: the loop stays in front
        session.apply(moves.split_index_set(path, loop.min + left))
        path, last = pair_at(session, path)
        fold_bounds(session, path)
        fold_bounds(session, last)
        run_once(session, last)
    run_once(session, path)
