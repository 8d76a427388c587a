"""Loops of 64 bits, as TVM makes them: indices and bounds are int64, elements and parameters keep their types."""

from __future__ import annotations

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32, INT64
from verified_tir.ir.expr import Binary, Broadcast, Cast, Expr, IntImm, Load, Ramp, Var, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import For, Stmt, Store
from verified_tir.ir.visit import free_vars, map_children, walk

_ARITHMETIC = ("add", "sub", "mul", "floordiv", "floormod", "min", "max")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def wide_loops(func: PrimFunc) -> PrimFunc:
    """The function with int64 for the int32 of its loops.

    What is computed with loop variables for indices, bounds and comparisons is computed in 64 bits, too; elsewhere a
    variable is converted back.  So the function computes the same, unless sums of indices overflow.
    """
    wide = {
        n.var: Var.fresh(n.var.name, INT64)
        for n in walk(func.body)
        if isinstance(n, For) and n.var.dtype is INT32 and n.kind != "thread_binding"
    }
    return PrimFunc(
        func.name, func.params, func.buffer_map, _Widening(wide).statement(func.body), func.attrs, func.ret_type
    )


class _Widening:
    """One function."""

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
            case _:
                return Cast(INT64.with_lanes(e.dtype.lanes), self.expr(e))
