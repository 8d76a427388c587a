"""Programs that choose: minima and maxima in all their forms, of few values and one constant.

What decides is compared, negated, stored, made a number or an index; what is chosen is often what was compared, now and
then computed, copied or converted before.  LLVM finds minima and maxima in much of this, and NaN tells whether it was
right (``codegen.order``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT32, FLOAT64, INT32, DType, PointerType
from verified_tir.ir.expr import Binary, Call, Cast, CompareOp, Expr, IfThenElse, Load, Not, Select, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.stmt import Allocate, For, If, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import rewrite
from verified_tir.testing.drawing import Picker

_COUNT: Final = 8
_SLOTS: Final = 40
_CONSTANTS: Final = (1.0, 0.0, 2.0, -0.0, -1.0)
_TYPES: Final = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
_SPECIALS: Final = (float("nan"), 0.0, -0.0, float("inf"), float("-inf"), 0.5)


@st.composite
def choice_programs(draw: DrawFn) -> tuple[PrimFunc, tuple[dict[str, Any], ...]]:
    """A loop over eight elements with a few choices in it, and arguments with many NaN."""
    pick = Picker(draw)
    chooser = _Chooser(pick, DType.parse(pick.one(*_TYPES)))
    func = chooser.function()
    values = (*_SPECIALS, chooser.usual, -chooser.usual)
    kind = numpy_dtype(chooser.dtype)
    given = []
    for _ in range(2):
        a = [float("nan") if pick.rarely(3) else pick.among(values) for _ in range(_COUNT)]
        given.append({"A": np.array(a).astype(kind), "B": np.zeros(_COUNT, kind)})
    return func, tuple(given)


class _Chooser:
    """Draws choices, each of two values that are there, in statements and an expression."""

    def __init__(self, pick: Picker, dtype: DType) -> None:
        self.pick = pick
        self.dtype = dtype
        self.usual = pick.among(_CONSTANTS)
        self.i = Var.fresh("i")
        self.source = Buffer.declare("A", (_COUNT,), dtype)
        self.result = Buffer.declare("B", (_COUNT,), dtype)
        self.slots = Buffer.declare("t", (_SLOTS,), dtype)
        self.flags = Buffer.declare("p", (_SLOTS,), BOOL)
        self.numbers = Buffer.declare("q", (_SLOTS,), INT32)
        self.used = 0
        self.stmts: list[Stmt] = []
        self.values: list[Expr] = [Load(self.source, (self.i,)), Load(self.source, (const(_COUNT - 1) - self.i,))]

    def function(self) -> PrimFunc:
        """The program: a few choices, each mostly of the one before it and the constant; the last is the result."""
        for _ in range(self.pick.integer(2, 4)):
            made = self.choice()
            self.values.append(Binary("mul", made, const(-1.0, self.dtype)) if self.pick.rarely(8) else made)
        body: Stmt = For(
            self.i, const(0), const(_COUNT), seq(*self.stmts, Store(self.result, self.values[-1], (self.i,)))
        )
        for buffer in (self.slots, self.flags, self.numbers):
            body = Allocate(buffer, body)
        buffers = (self.source, self.result)
        params = [Var.fresh(b.name, PointerType(b.dtype)) for b in buffers]
        return PrimFunc("f", tuple(params), tuple(zip(params, buffers, strict=True)), body)

    def operands(self) -> tuple[Expr, Expr]:
        """A value and the constant, mostly; in any order."""
        p = self.pick
        a = p.among(self.values) if p.rarely(4) else self.values[-1]
        match p.one("usual", "usual", "usual", "any", "constant"):
            case "any":
                b = p.among(self.values)
            case "constant":
                b = const(p.among(_CONSTANTS), self.dtype)
            case _:
                b = const(-self.usual if p.rarely(6) else self.usual, self.dtype)
        return (b, a) if p.flip() else (a, b)

    def choice(self) -> Expr:
        """One of two values by a comparison of them, or nearly so."""
        p = self.pick
        a, b = self.operands()
        if p.rarely(4):
            return Binary("min" if p.flip() else "max", a, b)
        condition = self.condition(a, b)
        x, y = (a, b) if p.flip() else (b, a)
        if p.rarely(8):
            x, _ = self.operands()
        return self.chosen(condition, self.said(x), self.said(y))

    def chosen(self, condition: Expr, x: Expr, y: Expr) -> Expr:
        """The first value where the condition is true, else the second one."""
        number = Cast(INT32, condition)
        match self.pick.one("select", "branch", "lazy", "both", "index", "store", "loop", "sum", "product", "wide"):
            case "branch":
                return self.branched(y, lambda at: If(condition, Store(self.slots, x, at)))
            case "both":
                return self.branched(y, lambda at: If(condition, Store(self.slots, x, at), Store(self.slots, y, at)))
            case "loop":
                return self.branched(y, lambda at: For(Var.fresh("k"), const(0), number, Store(self.slots, x, at)))
            case "store":
                return self.branched(y, lambda at: Store(self.slots, x, (Select(condition, at[0], const(0)),)))
            case "index":
                first, second = self.slot(y), self.slot(x)
                return Load(self.slots, (Select(condition, second, first),))
            case "lazy":
                return IfThenElse(condition, x, y)
            case "sum":
                nothing = const(-0.0, self.dtype)
                return Select(condition, x, nothing) + Select(condition, nothing, y)
            case "product":
                half, two, one = (const(v, self.dtype) for v in (0.5, 2.0, 1.0))
                return Select(condition, Binary("mul", x, two), y) * Select(condition, half, one)
            case "wide":
                wide = self.wide()
                return Cast(self.dtype, Select(condition, Cast(wide, x), Cast(wide, y)))
        return Select(condition, x, y)

    def slot(self, value: Expr) -> Expr:
        """The index of a local element that holds a value; number 0 is written at will."""
        self.used += 1
        at = const(self.used)
        self.stmts.append(Store(self.slots, value, (at,)))
        return at

    def branched(self, value: Expr, then: Callable[[tuple[Expr, ...]], Stmt]) -> Expr:
        """A local element that holds a value at first, and then what a statement stores to it."""
        at = (self.slot(value),)
        self.stmts.append(then(at))
        return Load(self.slots, at)

    def wide(self) -> DType:
        """A type that holds all values."""
        return FLOAT64 if self.dtype is FLOAT32 else FLOAT32 if self.dtype.bits == 16 else self.dtype

    def said(self, value: Expr) -> Expr:
        """A value, sometimes in other words."""
        p = self.pick
        one, minus = const(1.0, self.dtype), const(-1.0, self.dtype)
        match p.one(*["itself"] * 6, "stored", "product", "negated twice", "cast", "bits", "half", "elsewhere"):
            case "stored":
                return Load(self.slots, (self.slot(value),))
            case "product":
                return Binary("mul", value, one)
            case "negated twice":
                return Binary("mul", Binary("mul", value, minus), minus)
            case "cast":
                return Cast(self.dtype, Cast(self.wide(), value))
            case "bits":
                bits = DType("int", self.dtype.bits)
                return Call(self.dtype, "reinterpret", (Call(bits, "reinterpret", (value,)),))
            case "elsewhere":
                again = Load(self.source, (Binary("floormod", self.i + _COUNT, const(_COUNT)),))
                return rewrite(value, lambda n: again if n is self.values[0] else None)
            case "half":
                return Binary("mul", value, const(0.5, self.dtype))
        return value

    def condition(self, a: Expr, b: Expr) -> Expr:
        """Two values compared, and perhaps stored."""
        compared = self.compared(self.said(a), self.said(b))
        at = (const(self.used),)
        match self.pick.one("itself", "itself", "itself", "flag", "number", "float", "both"):
            case "flag":
                self.stmts.append(Store(self.flags, compared, at))
                return Load(self.flags, at)
            case "number":
                self.stmts.append(Store(self.numbers, Cast(INT32, compared), at))
                return Binary("ne", Load(self.numbers, at), const(0))
            case "float":
                return Binary(
                    "gt", Select(compared, const(3.0, self.dtype), const(0.0, self.dtype)), const(2.0, self.dtype)
                )
            case "both":
                return Binary("and", compared, Binary("lt", self.i, const(_COUNT)))
        return compared

    def compared(self, a: Expr, b: Expr) -> Expr:
        """Two values compared, sometimes in other words."""
        p = self.pick
        zero, minus, wide = const(0.0, self.dtype), const(-1.0, self.dtype), self.wide()
        op: CompareOp = p.one("gt", "lt", "ge", "le")
        match p.one(*["itself"] * 6, "negated", "difference", "opposite", "wide"):
            case "negated":
                return Binary(op, Binary("mul", a, minus), Binary("mul", b, minus))
            case "difference":
                return Binary(op, Binary("sub", a, b), zero)
            case "opposite":
                return Not(Binary(op, a, b))
            case "wide":
                return Binary(op, Cast(wide, a), Cast(wide, b))
        return Binary(op, a, b)


__all__ = ["choice_programs"]
