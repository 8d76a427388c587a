"""Strategies for index expressions in nests of loops: what splitting and fusing leave behind, and what does not."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from verified_tir.ir.dtype import INT32, INT64, DType
from verified_tir.ir.expr import Binary, BinaryOp, CompareOp, Expr, IfThenElse, Not, Select, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import Evaluate, For, Stmt
from verified_tir.ir.sugar import binary, const
from verified_tir.testing.drawing import Picker

_COMPARISONS: tuple[CompareOp, ...] = ("lt", "le", "eq", "ne", "gt", "ge")
_SUMS: tuple[BinaryOp, ...] = ("add", "sub", "min", "max")
_DIVISIONS: tuple[BinaryOp, ...] = ("floordiv", "floormod", "floordiv", "floormod", "truncdiv", "truncmod")


@st.composite
def index_programs(draw: DrawFn) -> PrimFunc:
    """A nest of loops around ``T.evaluate(e)``, over symbols ``n`` and ``m`` that may stand in bounds."""
    pick = Picker(draw)
    dtype = pick.one(INT32, INT32, INT32, INT64, DType("int", 8))
    symbols = tuple(Var.fresh(name, dtype) for name in "nm"[: pick.integer(0, 2)])
    loops: list[tuple[Var, Expr, Expr]] = []
    for name in "ijk"[: pick.integer(1, 3)]:
        made = _Indices(pick, dtype, (*symbols, *(v for v, _, _ in loops)))
        low = made.bound(const(0, dtype)) if pick.rarely(4) else const(0, dtype)
        extent = made.bound(const(pick.one(4, 8, 3, 16, 5, 1, 100), dtype))
        loops.append((Var.fresh(name, dtype), low, extent))
    made = _Indices(pick, dtype, (*symbols, *(v for v, _, _ in loops)))
    value = made.truth(pick.integer(1, 3)) if pick.rarely(3) else made.number(pick.integer(1, 4))
    body: Stmt = Evaluate(value)
    for var, low, extent in reversed(loops):
        body = For(var, low, extent, body)
    return PrimFunc("main", symbols, (), body)


class _Indices:
    """Draws index expressions."""

    def __init__(self, pick: Picker, dtype: DType, variables: tuple[Var, ...]) -> None:
        self.pick = pick
        self.dtype = dtype
        self.variables = variables

    def bound(self, usual: Expr) -> Expr:
        """A bound of a loop: mostly a constant or a symbol."""
        p = self.pick
        if not self.variables or not p.rarely(3):
            return usual
        v = p.among(self.variables)
        try:
            return p.one(v, binary("add", v, 1), binary("floordiv", binary("add", v, 3), 4), binary("mul", v, 2))
        except IRError:
            return v

    def constant(self) -> Expr:
        """A small number, now and then an end of the type."""
        p = self.pick
        if p.rarely(12):
            low, high = self.dtype.min_value, self.dtype.max_value
            return const(p.one(high, low, high - 1, high // 2, low + 1), self.dtype)
        return const(p.one(0, 1, 2, 3, 4, -1, 5, 7, 8, 12, 16, -2, -3, -7, 17), self.dtype)

    def number(self, depth: int) -> Expr:
        """An integer."""
        return self.pick.expression(lambda: self._number(depth))

    def _number(self, depth: int) -> Expr:
        p = self.pick
        kind = p.integer(0, 10 if depth > 0 else 2)
        if kind <= 1 and self.variables:
            return p.among(self.variables)
        if kind <= 2:
            return self.constant()
        try:
            return self._compound(kind, depth)
        except IRError:  # constants that fold to one that does not fit
            return self.constant()

    def _compound(self, kind: int, depth: int) -> Expr:
        p = self.pick
        a = self.number(depth - 1)
        if kind <= 4:
            return binary(p.among(_SUMS), a, self.number(depth - 1))
        if kind <= 6:
            divisor = self.number(0) if p.rarely(6) else const(p.one(4, 2, 3, 8, 1, 6, -2, -3, 16), self.dtype)
            return Binary(p.among(_DIVISIONS), a, divisor)
        if kind == 7:
            return binary("mul", a, self.number(0) if p.rarely(4) else const(p.one(4, 2, 3, -1, -2, 8), self.dtype))
        if kind == 8:
            arms = (self.number(depth - 1), self.number(depth - 1))
            return p.one(Select, IfThenElse)(self.truth(depth - 1), *arms)
        return self._leftover(a, depth)

    def _leftover(self, x: Expr, depth: int) -> Expr:
        """What splitting and fusing leave behind, and its near misses."""
        p = self.pick
        c = const(p.one(4, 2, 3, 8), self.dtype)
        d = c if not p.rarely(4) else const(p.one(2, 5, 16), self.dtype)
        y = self.number(0)
        match p.integer(0, 5):
            case 0:
                return c * (x // c) + (y if p.rarely(4) else x) % d
            case 1:
                return (c * x + y) // d
            case 2:
                return (c * x + y) % d
            case 3:
                return (x + c - 1) // c * d
            case 4:
                return x - c * (x // d)
        return x % (c * 4) // d

    def truth(self, depth: int) -> Expr:
        """A condition."""
        return self.pick.expression(lambda: self._truth(depth))

    def _truth(self, depth: int) -> Expr:
        p = self.pick
        kind = p.integer(0, 6 if depth > 0 else 1)
        if kind == 6:
            return self._usual(depth)
        if kind <= 2:
            below = max(0, depth - 1)
            return Binary(p.among(_COMPARISONS), self.number(below), self.number(max(0, below - 1)))
        if kind == 3:
            return Not(self.truth(depth - 1))
        return Binary(p.one("and", "or"), self.truth(depth - 1), self.truth(depth - 1))

    def _usual(self, depth: int) -> Expr:
        """Conditions that guards of tiled loops, and neighbours of points, lead to."""
        p = self.pick
        x, y = self.number(depth - 1), self.number(0)
        c, k = const(p.one(4, 2, 3, 8), self.dtype), const(p.one(0, 1, 2, 3, 5, 14), self.dtype)
        op = p.among(_COMPARISONS)
        match p.integer(0, 3):
            case 0:
                return Binary(op, (x + k) % c, const(p.one(0, 1, 2, 3), self.dtype))
            case 1:
                return Binary(op, c * x + y, k)
            case 2:
                return Binary(op, x // c, k)
        return Binary(op, c * x, c * y + k)
