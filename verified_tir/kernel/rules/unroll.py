"""A loop with constant bounds is its iterations, one after the other.

    for i in [a, a + n): S        ⟷        S[i := a]; S[i := a + 1]; … S[i := a + n - 1]

Theorem.  The range holds exactly these values, in this order.

Partitioned and reindexed n times, the loop would give the same.  As one rule a long body is looked at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Binary, Expr, IntImm, Var, binary, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import For, Stmt, seq
from verified_tir.ir.visit import refresh_binders, rewrite, walk
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.step import Rewrite


@final
@dataclass(frozen=True, slots=True)
class Unroll:
    """Replace the loop at ``path``, whose start and extent are constants, by its iterations.

    Each gets binders of its own.  Integer constants are folded by the constructor
    :func:`~verified_tir.ir.expr.binary`, which does so only where the value fits: what overflowed still does.
    """

    path: Path

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        match at(before.body, self.path):
            case For(var=v, min=IntImm(value=low), extent=IntImm(value=n), body=body) if n > 0:
                if low + n - 1 > v.dtype.max_value:
                    return NoMatch(self.path, f"the loop's last value does not fit {v.dtype}")
                copies = [body, *(refresh_binders(body)[0] for _ in range(n - 1))]
                unrolled = seq(*[_at_value(copy, v, const(low + k, v.dtype)) for k, copy in enumerate(copies)])
                return Rewrite(before.with_body(put(before.body, self.path, unrolled)), ())
        return NoMatch(self.path, "not a loop with a constant start and a positive constant extent")


def _at_value(body: Stmt, var: Var, value: Expr) -> Stmt:
    """``body`` with the constant for the variable, integer constants folded."""

    def visit(n: Node) -> Node | None:
        if n is var:
            return value
        if isinstance(n, Binary) and n.dtype.lanes == 1 and n.a.dtype.is_int:
            return binary(n.op, n.a, n.b)
        return None

    return rewrite(body, visit) if any(n is var for n in walk(body)) else body
