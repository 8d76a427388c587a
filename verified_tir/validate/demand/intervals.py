"""Interval constraints on index arithmetic, over many boxes at once.

A *box* gives each loop variable of a statement an interval.  A tape holds the expressions that the statement's address,
guards and loop bounds are made of, each once.  ``forward`` finds the interval of every node in every box; ``contract``
goes back from what is required of some nodes to tighter boxes (the algorithm HC4 of Benhamou et al., "Revising hull and
box consistency", ICLP 1999).  Neither loses a solution.  Integers are mathematical ones: where index arithmetic
overflows the program has undefined behaviour; data, which wraps, goes through a node that knows it.

What is not understood (a load, a call, a shift by a variable) may be anything of its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, final

import numpy as np

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    IfThenElse,
    IntImm,
    LetExpr,
    Not,
    Ramp,
    Select,
    Var,
)
from verified_tir.ir.index_arith import is_index
from verified_tir.validate.demand.interval_rules import BACKWARD, FORWARD, HUGE, choice, choice_back
from verified_tir.validate.memory import Mask
from verified_tir.validate.terms import Ids

Intervals: TypeAlias = list[Ids]

_LINEAR: Final = ("add", "sub", "mul")
_MIRRORED: Final = {"gt": "lt", "ge": "le"}


@final
class Tape:
    """Expressions over the columns of a box.

    ``columns`` are the variables by position, ``values`` the numbers of sizes, ``lets`` what other variables stand for.
    The position ``lane`` stands for the lane of an expression with several.
    """

    def __init__(
        self, columns: Mapping[Var, int], values: Mapping[Var, int], lets: Mapping[Var, Expr], lane: int | None = None
    ) -> None:
        self.columns, self.values, self.lets, self.lane = columns, values, lets, lane
        self.code: list[tuple[str, int, int, int]] = []
        self._known: dict[tuple[str, int, int, int], int] = {}
        self._memo: dict[Expr, int] = {}
        self._ranges: list[tuple[int, int]] = []

    # ------------------------------------------------------------------------------------------------ building

    def add(self, op: str, a: int = 0, b: int = 0, c: int = 0) -> int:
        key = (op, a, b, c)
        if key not in self._known:
            self._known[key] = len(self.code)
            self.code.append(key)
        return self._known[key]

    def constant(self, value: int) -> int:
        return self.add("const", max(-HUGE, min(HUGE, value)))

    def column(self, position: int) -> int:
        return self.add("column", position)

    def linear(self, start: int, terms: Sequence[tuple[int, int]]) -> int:
        """``start`` plus factors times nodes."""
        total = self.constant(start)
        for factor, node in terms:
            if factor:
                scaled = node if factor == 1 else self.add("mul", node, self.constant(factor))
                total = self.add("add", total, scaled)
        return total

    def node(self, expr: Expr) -> int:
        """The node of an integer or bool expression; of one lane, if it has several."""
        if expr not in self._memo:
            self._memo[expr] = self._node(expr)
        return self._memo[expr]

    def _node(self, expr: Expr) -> int:
        match expr:
            case IntImm(value=v):
                return self.constant(v)
            case Var():
                return self._variable(expr)
            case Broadcast(value=v):
                return self.node(v)
            case Ramp(base=base, stride=stride) if self.lane is not None:
                return self._checked(
                    self.add("add", self.node(base), self.add("mul", self.column(self.lane), self.node(stride))), expr
                )
            case Binary(op="and" | "or" as op, a=a, b=b):
                return self.add(op, self.node(a), self.node(b))
            case Binary() if expr.a.dtype.is_int or expr.a.dtype.is_bool:
                return self._binary(expr)
            case Not(a=a):
                return self.add("not", self.node(a))
            case (
                Select(condition=c, true_value=a, false_value=b) | IfThenElse(condition=c, true_value=a, false_value=b)
            ):
                return self.add("select", self.node(c), self.node(a), self.node(b))
            case Cast(type=target, value=v) if (target.is_int or target.is_bool) and not v.dtype.is_float:
                if target.is_bool:
                    return self.add("not", self.add("eq", self.node(v), self.constant(0)))
                return self._wrapped(self.node(v), target)
            case LetExpr(var=var, value=v, body=body):
                self._memo[var] = self.node(v)
                return self.node(body)
            case Call(op="likely", args=(a,)):
                return self.node(a)
        return self._anything(expr.dtype.scalar)

    def _variable(self, var: Var) -> int:
        if var in self.columns:
            return self.column(self.columns[var])
        if var in self.values:
            return self.constant(self.values[var])
        if var in self.lets:
            return self.node(self.lets[var])
        return self._anything(var.dtype.scalar)

    def _binary(self, expr: Binary) -> int:
        a, b = self.node(expr.a), self.node(expr.b)
        op = expr.op
        if op in _MIRRORED:
            return self.add(_MIRRORED[op], b, a)
        if op == "ne":
            return self.add("not", self.add("eq", a, b))
        if op in ("eq", "lt", "le", "min", "max"):
            return self.add(op, a, b)
        if op in _LINEAR:
            return self._checked(self.add(op, a, b), expr)
        constant = self.code[b][1] if self.code[b][0] == "const" else None
        if op in ("floordiv", "floormod", "truncdiv", "truncmod"):
            return self.add(op, a, b)
        if op == "shr" and constant is not None and 0 <= constant < 61:
            return self.add("floordiv", a, self.constant(1 << constant))
        if op == "shl" and constant is not None and 0 <= constant < 61:
            return self._wrapped(self.add("mul", a, self.constant(1 << constant)), expr.dtype.scalar)
        if op == "bitand" and constant is not None and constant > 0 and constant & (constant + 1) == 0:
            return self.add("floormod", a, self.constant(constant + 1))
        return self._anything(expr.dtype.scalar)

    def _checked(self, node: int, expr: Expr) -> int:
        """Index arithmetic does not overflow; data wraps."""
        return node if is_index(expr) else self._wrapped(node, expr.dtype.scalar)

    def _wrapped(self, node: int, dtype: DType) -> int:
        return self.add("wrap", node, self._range(dtype))

    def _anything(self, dtype: DType) -> int:
        return self.add("any", self._range(dtype), len(self.code))

    def _range(self, dtype: DType) -> int:
        bounds = (-HUGE, HUGE)
        if dtype.is_bool:
            bounds = (0, 1)
        elif dtype.is_int:
            bounds = (max(dtype.min_value, -HUGE), min(dtype.max_value, HUGE))
        if bounds not in self._ranges:
            self._ranges.append(bounds)
        return self._ranges.index(bounds)

    # ------------------------------------------------------------------------------------------------- running

    def forward(
        self, low: Ids, high: Ids, kept: tuple[Intervals, Intervals] | None = None
    ) -> tuple[Intervals, Intervals]:
        """The interval of each node, within what is ``kept`` of it; boxes are rows of ``low`` and ``high``."""
        lows: Intervals = []
        highs: Intervals = []
        for op, a, b, c in self.code:
            match op:
                case "const":
                    lo = hi = np.array([a], dtype=np.int64)
                case "column":
                    lo, hi = low[:, a], high[:, a]
                case "any":
                    lo, hi = (np.array([k], dtype=np.int64) for k in self._ranges[a])
                case "wrap":
                    least, most = self._ranges[b]
                    fits = (lows[a] >= least) & (highs[a] <= most)
                    lo, hi = np.where(fits, lows[a], least), np.where(fits, highs[a], most)
                case "select":
                    lo, hi = choice(lows[a], highs[a], lows[b], highs[b], lows[c], highs[c])
                case "not":
                    lo, hi = 1 - highs[a], 1 - lows[a]
                case _:
                    lo, hi = FORWARD[op](lows[a], highs[a], lows[b], highs[b])
            if kept is not None and op not in ("const", "any"):
                lo, hi = np.maximum(lo, kept[0][len(lows)]), np.minimum(hi, kept[1][len(highs)])
            lows.append(lo)
            highs.append(hi)
        return lows, highs

    def contract(self, low: Ids, high: Ids, lows: Intervals, highs: Intervals, dead: Mask) -> None:
        """Tighten the boxes to what the intervals of the nodes (tightened by requirements) leave; mark empty ones."""
        for k in range(len(self.code) - 1, -1, -1):
            op, a, b, c = self.code[k]
            lo, hi = lows[k], highs[k]
            if op in ("const", "any"):
                continue
            if op == "column":
                np.maximum(low[:, a], lo, out=low[:, a])
                np.minimum(high[:, a], hi, out=high[:, a])
                continue
            if op == "wrap":
                least, most = self._ranges[b]
                fits = (lows[a] >= least) & (highs[a] <= most)
                parts = [(a, np.where(fits, lo, -HUGE), np.where(fits, hi, HUGE))]
            elif op == "not":
                parts = [(a, 1 - hi, 1 - lo)]
            elif op == "select":
                given = [side[node] for node in (a, b, c) for side in (lows, highs)]
                parts = [(n, *p) for n, p in zip((a, b, c), choice_back(lo, hi, *given), strict=True)]
            else:
                x, y = BACKWARD[op](lo, hi, lows[a], highs[a], lows[b], highs[b])
                parts = [(a, *x), (b, *y)]
            for node, least_, most_ in parts:
                lows[node] = np.maximum(lows[node], least_)
                highs[node] = np.minimum(highs[node], most_)
                if self.code[node][0] in ("const", "any"):
                    dead |= lows[node] > highs[node]
        dead |= (low > high).any(axis=1)
