"""RemoveAssume: what the program assumes is taken out, as nothing checks it when the program runs.

    T.assume(A[io, ii] == 0.0)         ⟶

The kernel's rule is ``erase``: an assumption stores nothing.  But race freedom of a parallel loop may rest on one (that
``P`` holds different indices, say), and licences are proved for every program on the way.  Such an assumption stays,
and the pass says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.paths import Path
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Assume
from verified_tir.kernel.rules.erase import Erase
from verified_tir.lower.passes import Lowering, Pass, reason
from verified_tir.schedule.session import TacticFailed
from verified_tir.schedule.tactics.tidy import remove_empty


@final
@dataclass(frozen=True, repr=False)
class RemoveAssume(Pass):
    """Remove every ``T.assume``, and loops and branches that held nothing else."""

    def lower(self, work: Lowering) -> None:
        def remove(path: Path, stmt: Assume) -> None:
            try:
                work.session.apply(Erase(path))
            except TacticFailed as kept:
                work.note(f"kept {script(stmt).strip()}: {reason(kept.refusal)}")

        work.each(Assume, remove)
        remove_empty(work.session)
