"""How far indices go: bounds that may mention one symbolic extent.

A generator that knows the least and the greatest value of every index can make its buffers just large enough, so that
what it draws is in bounds without any rejection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from verified_tir.ir.dtype import INT32, DType
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const


def _either(a: Var | None, b: Var | None) -> Var | None:
    return b if a is None else a


@final
@dataclass(frozen=True, slots=True)
class Reach:
    """The value ``scale * symbol + offset``, for a symbol that is not negative; or the number ``offset``."""

    offset: int
    symbol: Var | None = None
    scale: int = 0

    def plus(self, other: Reach | int) -> Reach | None:
        """The sum; ``None`` if it would mention two symbols."""
        if isinstance(other, int):
            return Reach(self.offset + other, self.symbol, self.scale)
        if self.symbol is not None and other.symbol is not None and self.symbol is not other.symbol:
            return None
        return Reach(self.offset + other.offset, _either(self.symbol, other.symbol), self.scale + other.scale)

    def times(self, factor: int) -> Reach:
        """``factor`` times as much (``factor`` is positive)."""
        return Reach(self.offset * factor, self.symbol, self.scale * factor)

    def join(self, other: Reach) -> Reach | None:
        """Something that is at least as much as both; ``None`` if it would mention two symbols."""
        if self.symbol is not None and other.symbol is not None and self.symbol is not other.symbol:
            return None
        return Reach(max(self.offset, other.offset), _either(self.symbol, other.symbol), max(self.scale, other.scale))

    def at_most(self, other: Reach) -> bool:
        """Whether this is certainly not more than ``other``."""
        if self.symbol is not None and self.symbol is not other.symbol:
            return False
        return self.offset <= other.offset and self.scale <= other.scale

    def expr(self, dtype: DType = INT32) -> Expr:
        """The value as an expression."""
        if self.symbol is None or not self.scale:
            return const(self.offset, dtype)
        return self.symbol * self.scale + self.offset


@final
@dataclass(frozen=True, slots=True)
class Ranged:
    """An index: an expression, its least value and its greatest.  If ``high`` is less than ``low`` it has no value."""

    expr: Expr
    low: int
    high: Reach

    def plus(self, c: int) -> Ranged:
        """Moved by a constant."""
        high = Reach(self.high.offset + c, self.high.symbol, self.high.scale)
        return Ranged(self.expr + c if c >= 0 else self.expr - (-c), self.low + c, high)

    def times(self, factor: int) -> Ranged:
        """``factor`` times as much (``factor`` is positive)."""
        return Ranged(self.expr * factor, self.low * factor, self.high.times(factor))

    def turned(self) -> Ranged:
        """From the other end: ``low + high - x``."""
        total = self.high.plus(self.low)
        assert total is not None
        return Ranged(total.expr(self.expr.dtype) - self.expr, self.low, self.high)
