"""Index arithmetic of 32 bits in 64 bits."""

from __future__ import annotations

from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32, INT64
from verified_tir.ir.expr import Binary, Broadcast, Cast, Expr, IfThenElse, IntImm, Load, Ramp, Select, Var
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import For, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, map_children

_ARITHMETIC = ("add", "sub", "mul", "floordiv", "floormod", "min", "max")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


@final
class Widening:
    """Replaces variables of int32 by ones of int64.

    Indices, bounds and comparisons that mention such a variable are computed in 64 bits; anywhere else it is converted
    back.  The result means the same wherever nothing overflows in 32 bits (TVM's ``ForceNarrowIndexToInt32`` goes the
    other way).
    """

    def __init__(self, wide: dict[Var, Var]) -> None:
        self.wide = wide
        self.memo: dict[Node, Node] = {}

    def statement(self, stmt: Stmt) -> Stmt:
        made = self.go(stmt)
        assert isinstance(made, Stmt)
        return made

    def go(self, n: Node) -> Node:
        if n not in self.memo:
            self.memo[n] = self._go(n)
        return self.memo[n]

    def _go(self, n: Node) -> Node:
        match n:
            case Var():
                return Cast(INT32, self.wide[n]) if n in self.wide else n
            case For() if n.var in self.wide:
                bounds = self.widened(n.min), self.widened(n.extent)
                return For(self.wide[n.var], *bounds, self.statement(n.body), n.kind, n.thread, n.annotations)
            case Load():
                return Load(self.buffer(n.buffer), self.indices(n.indices), self.mask(n.predicate))
            case Store():
                mask = self.mask(n.predicate)
                return Store(self.buffer(n.buffer), self.expr(n.value), self.indices(n.indices), mask)
            case Binary() if n.op in _COMPARISONS and n.a.dtype is INT32 and self.mentions(n):
                return Binary(n.op, self.widened(n.a), self.widened(n.b))
            case _:
                return map_children(n, self.go)

    def buffer(self, b: Buffer) -> Buffer:
        made = self.go(b)
        assert isinstance(made, Buffer)
        return made

    def mask(self, e: Expr | None) -> Expr | None:
        return None if e is None else self.expr(e)

    def mentions(self, e: Expr) -> bool:
        """Whether a variable that became wide is in it."""
        return any(v in self.wide for v in free_vars(e))

    def indices(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(self.widened(e) if self.mentions(e) else self.expr(e) for e in indices)

    def expr(self, e: Expr) -> Expr:
        made = self.go(e)
        assert isinstance(made, Expr)
        return made

    def widened(self, e: Expr) -> Expr:
        """An int32 expression (or a vector of them) in 64 bits."""
        match e:
            case Var() if e in self.wide:
                return self.wide[e]
            case IntImm():
                return const(e.value, INT64)
            case Binary() if e.op in _ARITHMETIC:
                return Binary(e.op, self.widened(e.a), self.widened(e.b))
            case Ramp():
                return Ramp(self.widened(e.base), self.widened(e.stride), e.lanes)
            case Broadcast():
                return Broadcast(self.widened(e.value), e.lanes)
            case Select():
                return Select(self.expr(e.condition), self.widened(e.true_value), self.widened(e.false_value))
            case IfThenElse():
                return IfThenElse(self.expr(e.condition), self.widened(e.true_value), self.widened(e.false_value))
            case _ if e.dtype.bits == 64:
                return self.expr(e)
            case _:
                return Cast(INT64.with_lanes(e.dtype.lanes), self.expr(e))
