"""How much a call has to do, guessed: whether the interpreter's lock is worth releasing.

Taking the lock back costs some 50 ns when nobody waits for it, and a switch of threads when somebody does.
"""

from __future__ import annotations

from verified_tir.ir.expr import Expr, IntImm, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For, LetStmt, Stmt, While
from verified_tir.ir.visit import sub_statements, walk

SMALL_WORK = 10_000
"""Executed statements (some microseconds) up to which the lock is kept."""

NEVER = None
ALWAYS = -1


def release_above(func: PrimFunc) -> int | None:
    """How many bytes of arrays are too many to keep the lock; ``ALWAYS`` or ``NEVER`` if that does not matter.

    A loop whose extent follows from the arrays' counts once here, and then once for each element.
    """
    if any(isinstance(n, For) and n.kind == "parallel" for n in walk(func.body)):
        return ALWAYS
    shown = {v for b in func.buffers for e in b.shape for v in walk(e) if isinstance(v, Var)}
    estimate = _Estimate(shown)
    work = estimate.of(func.body)
    if work is None or work > SMALL_WORK:
        return ALWAYS
    return SMALL_WORK // max(1, work) if estimate.symbolic else NEVER


class _Estimate:
    """Counts statements; ``bounded`` are the variables that the arrays bound."""

    def __init__(self, bounded: set[Var]) -> None:
        self.bounded = bounded
        self.symbolic = False

    def of(self, stmt: Stmt) -> int | None:
        """About how often something is executed; ``None`` if nothing bounds it."""
        times = 1
        match stmt:
            case While():
                return None
            case LetStmt(var=v, value=value) if self._known(value):
                self.bounded.add(v)
            case For(var=v, min=low, extent=IntImm(value=extent)):
                times = max(0, extent)
                if self._known(low):
                    self.bounded.add(v)
            case For(var=v, min=low, extent=extent):
                if not self._known(extent):
                    return None
                self.symbolic = True
                if self._known(low):
                    self.bounded.add(v)
        inner = 1
        for s in sub_statements(stmt):
            work = self.of(s)
            if work is None:
                return None
            inner += work
        return times * inner

    def _known(self, expr: Expr) -> bool:
        return not any(isinstance(n, Load) or (isinstance(n, Var) and n not in self.bounded) for n in walk(expr))


__all__ = ["ALWAYS", "NEVER", "SMALL_WORK", "release_above"]
