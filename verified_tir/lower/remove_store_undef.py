"""RemoveStoreUndef: stores of undefined values go.

    A[i] = T.undef()                          ⟶
    A[i] = A[i] + T.undef()                   ⟶
    A[i] = T.Select(c, x, T.undef())          ⟶     if c: A[i] = x

"Anything may be here" is what a store of ``T.undef()`` says (it declares padding dead, and lets a branch be removed),
and leaving the element as it was is one way to satisfy it.  The kernel's rule is ``erase``.  Of a choice between a
value and undef the branch is made a statement first (``branch``), and only its undefined part goes.  Any other store
that is sometimes undefined stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.index.conditions import negate
from verified_tir.ir.expr import Expr, IfThenElse, Select, Undef, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import LetStmt, Stmt, Store
from verified_tir.ir.visit import mentions, nodes_of, walk
from verified_tir.kernel.rules.bind import Inline
from verified_tir.kernel.rules.erase import Erase
from verified_tir.lower.passes import Lowering, Pass
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.tactics.tidy import remove_empty


@final
@dataclass(frozen=True, repr=False)
class RemoveStoreUndef(Pass):
    """Remove every store whose value is undefined, and loops and branches that held nothing else."""

    def lower(self, work: Lowering) -> None:
        undefined = _names_of_undef(work.session.func.body)

        def remove(path: Path, stmt: Store) -> None:
            if not work.session.attempt(Erase(path)):
                _remove_part(work, path, stmt.value)

        work.each(Store, remove, lambda s: _is_undefined(s.value, undefined))
        work.each(LetStmt, lambda path, _: work.session.attempt(Inline(path)), _unused)
        remove_empty(work.session)


def _remove_part(work: Lowering, path: Path, value: Expr) -> None:
    """Of ``A[i] = T.Select(c, x, undef)`` the store of undef."""
    match value:
        case Select(condition=c, true_value=a, false_value=b) | IfThenElse(condition=c, true_value=a, false_value=b):
            if c.dtype.lanes == 1 and isinstance(a, Undef) is not isinstance(b, Undef):
                c, kept = (c, a) if isinstance(b, Undef) else (negate(c), b)
                only = rewritten((*path, 0), (0,), kept)
                work.session.attempt(moves.introduce(path, c), only, Erase((*path, 1)), moves.reshape(path, "trim"))


def _names_of_undef(body: Stmt) -> set[Var]:
    """Variables whose values are computed from undef."""
    found: set[Var] = set()
    for n in walk(body):  # parents first, so that a name comes before its uses
        if isinstance(n, LetStmt) and _is_undefined(n.value, found):
            found.add(n.var)
    return found


def _is_undefined(value: Expr, names: set[Var]) -> bool:
    return any(isinstance(n, Undef) or n in names for n in walk(value))


def _unused(let: LetStmt) -> bool:
    """Whether a let gives undef a name that nobody uses."""
    return bool(nodes_of(let.value, Undef)) and not mentions(let.body, frozenset({let.var}))
