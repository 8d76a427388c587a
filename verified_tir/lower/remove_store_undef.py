"""RemoveStoreUndef: stores of undefined values go.

    A[i] = T.undef()                   ⟶
    A[i] = A[i] + T.undef()            ⟶

"Anything may be here" is what a store of ``T.undef()`` says (it declares padding dead, and lets a branch be removed),
and leaving the element as it was is one way to satisfy it.  The kernel's rule is ``erase``.  A store that is sometimes
undefined, ``A[i] = T.Select(c, x, T.undef())``, stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Undef
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Stmt, Store
from verified_tir.ir.visit import walk
from verified_tir.kernel.rules.erase import Erase
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.lower.tidy import remove_empty


@final
@dataclass(frozen=True, repr=False)
class RemoveStoreUndef(Pass):
    """Remove every store whose value is undefined, and loops and branches that held nothing else."""

    def lower(self, work: Lowering) -> None:
        def remove(path: Path, stmt: Stmt) -> None:
            del stmt
            work.session.attempt(Erase(path))

        work.each(_stores_undef, remove)
        remove_empty(work)


def _stores_undef(stmt: Stmt) -> bool:
    return isinstance(stmt, Store) and any(isinstance(n, Undef) for n in walk(stmt.value))
