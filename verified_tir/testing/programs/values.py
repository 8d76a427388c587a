"""Values and conditions in programs: expressions whose leaves are elements of growing buffers."""

from __future__ import annotations

from typing import TypeVar

from verified_tir.ir.dtype import BOOL, INT32, DType
from verified_tir.ir.expr import Binary, Broadcast, Cast, CompareOp, Expr, IfThenElse, IntImm, Select, Undef, Var
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.sugar import const
from verified_tir.testing.dtypes import numbers
from verified_tir.testing.expressions import (
    BIT_OPS,
    COMPARISONS,
    INTERPRETED_CALLS,
    UNINTERPRETED_CALLS,
    Grammar,
    Production,
    Scope,
)
from verified_tir.testing.programs.again import again, remember
from verified_tir.testing.programs.indices import indices, visible
from verified_tir.testing.programs.sketch import BUFFERS_AT_MOST, Cells, Place, Sketch

T = TypeVar("T")
_CALLS = tuple(op for op in INTERPRETED_CALLS if op not in ("reinterpret", "likely"))
_SMALL_INTS = (0, 1, 2, -1, 3, -2)
_SMALL_FLOATS = (0.0, 1.0, 2.0, -1.0, 0.5, -0.0)


class Values(Grammar):
    """Expressions of a program at one place."""

    def __init__(self, s: Sketch, place: Place, *, deciding: bool = False) -> None:
        calls = (*_CALLS, *UNINTERPRETED_CALLS) if s.has("intrinsics") else ()
        super().__init__(s.pick, Scope(place.values, (), calls))
        self.s = s
        self.place = place
        self.deciding = deciding
        """Whether the value decides something, and so should not be undefined."""

    def productions(self, dtype: DType) -> list[Production]:
        s = self.s
        if dtype.is_bool:
            found: list[Production] = [*[self._comparison] * 4, self._logic, self._negation]
            return found + ([self._as_leaf, self._bits] if s.has("choices") else [])
        found = [*[self._as_leaf] * 6, *[self._arithmetic] * 12]
        found += [self._choice] * 2 if s.has("choices") else []
        found += [self._cast] * 2 if s.has("casts") else []
        found += [self._call] * 2 if s.has("intrinsics") else []
        found += [self._let] if s.has("lets") else []
        return found

    def leaf(self, dtype: DType) -> Expr:
        """A constant, an element, a variable."""
        s, pick = self.s, self.pick
        if dtype.is_bool and not any(c.dtype is BOOL for c in s.shown()):
            return self._comparison(dtype, 1)
        same = [v for v in self.scope.variables if v.dtype is dtype]
        if dtype.is_bool:
            if same and pick.flip():
                return pick.among(same)
            return self.constant(dtype) if pick.flip() else load(s, self.place, dtype, defined=self.deciding)
        kind = pick.integer(0, 47)  # one choice, so that a constant is not only the simplest but also the shortest
        if same and kind >= 24:
            return pick.among(same)
        if kind < len(_SMALL_INTS):
            return small(dtype, kind)
        if kind < 9:
            return self.constant(dtype)
        known = dtype in s.palette or readable(s, dtype, defined=self.deciding)
        return (
            load(s, self.place, dtype, defined=self.deciding) if kind >= 16 and known else self._variable(dtype, same)
        )

    def _variable(self, dtype: DType, same: list[Var]) -> Expr:
        known = visible(self.s, self.place)
        if self.s.has("scalars") and self.pick.rarely(4):
            var = self.s.scalar(dtype.scalar)
            return var if dtype.lanes == 1 else Broadcast(var, dtype.lanes)  # no argument is a vector
        if not known or dtype.lanes != 1 or (dtype is not INT32 and not self.s.has("casts")):
            return small(dtype, 0)
        index = self.pick.among(known[::-1]).expr
        return index if dtype is INT32 else Cast(dtype, index)

    def constant(self, dtype: DType) -> Expr:
        if dtype.is_bool:
            return const(self.pick.flip(), dtype)
        if self.s.has("undef") and not self.deciding and self.pick.rarely(3):
            return Undef(dtype)
        return const(self.pick.draw(numbers(dtype.scalar)), dtype)

    def operand_types(self) -> tuple[DType, ...]:
        present = [c.dtype for c in self.s.shown() if c.dtype is not BOOL and c.dtype.lanes == 1]
        return tuple(dict.fromkeys((*present, INT32)))

    def _arithmetic(self, dtype: DType, depth: int) -> Expr:
        made = super()._arithmetic(dtype, depth) if self.pick.rarely(3) else self._usual(dtype, depth)
        if dtype.is_int and is_index(made) and not fits(made, self._ranges()):
            assert isinstance(made, Binary)
            return made.a
        return made

    def _choice(self, dtype: DType, depth: int) -> Expr:
        lazy = self.pick.flip()
        before, self.deciding = self.deciding, True
        condition = self.expression(BOOL, depth - 1)
        self.deciding = before
        a, b = self.expression(dtype, depth - 1), self.expression(dtype, depth - 1)
        return IfThenElse(condition, a, b) if lazy else Select(condition, a, b)

    def _divisor(self, dtype: DType, depth: int) -> Expr:
        before, self.deciding = self.deciding, True
        found = super()._divisor(dtype, depth)
        self.deciding = before
        return found

    def _amount(self, dtype: DType, depth: int) -> Expr:
        before, self.deciding = self.deciding, True
        found = super()._amount(dtype, depth)
        self.deciding = before
        return found

    def _usual(self, dtype: DType, depth: int) -> Expr:
        """A sum, product, difference, minimum or maximum: what most programs are made of."""
        op = self.pick.one("add", "mul", "sub", "add", "max", "min")
        return Binary(op, self.expression(dtype, depth - 1), self.expression(dtype, depth - 1))  # type: ignore[arg-type]

    def _ranges(self) -> dict[Var, tuple[int, int]]:
        return ranges(self.s, self.place)


def small(dtype: DType, which: int) -> Expr:
    """One of the constants that programs have."""
    if dtype.is_float:
        return const(_SMALL_FLOATS[which], dtype)
    value = _SMALL_INTS[which]
    return const(abs(value) if dtype.code == "uint" else value, dtype)


def ranges(s: Sketch, place: Place) -> dict[Var, tuple[int, int]]:
    """The variables of index arithmetic that have numbers as bounds."""
    return {r.expr: (r.low, r.high.offset) for r in place.indices if isinstance(r.expr, Var) and r.high.symbol is None}


def interval(expr: Expr, known: dict[Var, tuple[int, int]]) -> tuple[int, int] | None:
    """Bounds of index arithmetic; ``None`` if they are not known, or a part may overflow."""
    match expr:
        case IntImm(value=value):
            return value, value
        case Var():
            return known.get(expr)
        case Binary(op=op, a=a, b=b):
            x, y = interval(a, known), interval(b, known)
            if x is None or y is None:
                return None
            match op:
                case "add":
                    found = (x[0] + y[0], x[1] + y[1])
                case "sub":
                    found = (x[0] - y[1], x[1] - y[0])
                case "mul":
                    products = [p * q for p in x for q in y]
                    found = (min(products), max(products))
                case "min" | "max":
                    found = (min(x[0], y[0]), max(x[1], y[1]))
                case _:
                    return None
            return found if expr.dtype.min_value <= found[0] and found[1] <= expr.dtype.max_value else None
    return None


def fits(expr: Expr, known: dict[Var, tuple[int, int]]) -> bool:
    """Whether index arithmetic certainly does not overflow."""
    return interval(expr, known) is not None


def readable(s: Sketch, dtype: DType, *, defined: bool = False) -> list[Cells]:
    """The buffers of a type that it makes sense to read; with ``defined`` none that may be undefined in part."""
    found = [c for c in s.shown()[::-1] if c.dtype is dtype and c not in s.settling and not c.indices]
    return [c for c in found if not c.local or (c.written and not defined)]


def load(s: Sketch, place: Place, dtype: DType, *, defined: bool = False) -> Expr:
    """An element of a buffer, of one that there is or of another; now and then one that was used before."""
    known = readable(s, dtype, defined=defined)
    before = again(s, place, known, dtype)
    if before and s.pick.rarely(6):
        found = s.pick.among(before)
        found.cells[0].read = True
        return found.load
    if known and (len(s.cells) >= BUFFERS_AT_MOST or not s.pick.rarely(3)):
        cells = s.pick.among(known)
    else:
        cells = s.new(rank(s, place), dtype)
    cells.read = True
    return remember(s, cells, indices(s, place, cells, may_grow=not cells.local))


def rank(s: Sketch, place: Place) -> int:
    """How many dimensions a new buffer should have at a place: mostly one for each loop around."""
    usual = min(3, max(1, len(place.indices)))
    chosen = s.pick.one(usual, usual, usual, usual, 1, 2, 0 if s.has("bounds") else 1)
    if chosen == 0:
        s.pick.flip()  # an element without indices is to be no shorter to draw than one with an index
    return chosen


def value(s: Sketch, place: Place, dtype: DType) -> Expr:
    """A value to be stored."""
    return Values(s, place).expression(dtype, s.pick.one(1, 1, 2, 0, 3))


def condition(s: Sketch, place: Place) -> Expr:
    """A condition, of indices or of elements."""
    pick = s.pick
    data = s.has("data_guards") and pick.rarely(3)
    if not data and not place.indices:
        return _compare_symbol(s)
    if not data:
        chosen = pick.among(place.indices[::-1])
        op: CompareOp = pick.one("lt", "ge", "lt", "eq", "ne", "le", "gt")
        left = chosen.expr
        if pick.rarely(4):
            left = Binary("floormod", left, const(2))
            return Binary("eq", left, const(pick.integer(0, 1)))
        if len(place.indices) > 1 and pick.rarely(3):
            return Binary(op, left, pick.among(place.indices).expr)
        most = chosen.high.offset if chosen.high.symbol is None else 3
        return Binary(op, left, const(pick.integer(max(0, chosen.low), max(0, chosen.low, most))))
    inner = Values(s, place, deciding=True)
    types = [t for t in inner.operand_types() if t in s.palette or readable(s, t, defined=True)]
    dtype = pick.among(types) if types else s.palette[0]
    op = pick.among(COMPARISONS)
    return Binary(op, load(s, place, dtype, defined=True), inner.expression(dtype, pick.one(0, 0, 1)))


def _compare_symbol(s: Sketch) -> Expr:
    """A condition where there is no loop around: on a symbol or a scalar."""
    pick = s.pick
    var = s.symbol() if s.has("symbols") and pick.flip() else s.scalar(INT32)
    op: CompareOp = pick.one("lt", "ge", "eq", "ne")
    return Binary(op, var, const(pick.integer(0, 4)))


__all__ = ["BIT_OPS", "Values", "condition", "interval", "load", "ranges", "rank", "readable", "value"]
