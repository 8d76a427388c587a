"""Expressions for printer and parser; see ``syntax``."""

from __future__ import annotations

from typing import get_args

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BOOL, INT32, INT64, DType
from verified_tir.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    CompareOp,
    Expr,
    IfThenElse,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Undef,
    Var,
)
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.sugar import const
from verified_tir.testing.drawing import Picker

NAMES = (
    "i", "j", "i_1", "A", "x", "T", "for", "n", "a.b", "", "1st", "Module", "x_1", "I", "range", "None", "é", "a b",
    "self", "R", "main", "max",
)  # fmt: skip
STRINGS = ("two", 'a "quoted"\n', "", "\\", "é\u2028", "'", "a\tb\r", "{x}", "\x00\x7f", "\U0001f600")
INTEGERS = tuple(DType(code, bits) for code in ("int", "uint") for bits in (8, 16, 32, 64))
FLOATS = tuple(DType.parse(t) for t in ("float32", "float16", "bfloat16", "float64"))
TYPES = (*INTEGERS, *FLOATS, BOOL)
TVMTYPES = tuple(t for t in TYPES if str(t) not in ("int16", "uint16", "uint32", "uint64"))
FLOAT_CALLS = tuple(n for n, c in PURE_CALLS.items() if c.operands in ("float", "number") and c.result == "same")


class ExpressionSyntax:
    """Draws expressions; scalars and buffers in scope are kept in lists."""

    def __init__(self, p: Picker, for_tvm: bool) -> None:
        self.p = p
        self.for_tvm = for_tvm
        """Whether to leave out what TVM 0.27 has no form for."""
        self.types = TVMTYPES if for_tvm else TYPES
        self.vars: list[Var] = []
        self.buffers: list[Buffer] = []

    def name(self) -> str:
        return self.p.among(NAMES)

    # -- expressions

    def expr(self, t: DType, depth: int) -> Expr:
        return self.p.expression(lambda: self._expr(t, depth))

    def _expr(self, t: DType, depth: int) -> Expr:
        p = self.p
        if t.lanes > 1:
            return self.vector(t, depth)
        if depth <= 0 or p.rarely(7):
            return self.leaf(t)
        if t.is_bool and (self.for_tvm or not p.rarely(3)):
            return self.boolean(depth)
        choices = ["leaf", "select", "ite", "cast", "let", "load"]
        choices += [] if t.is_bool else ["binary", "binary", "binary", "call"]
        match p.among(choices):
            case "binary":
                ops: list[BinaryOp] = ["add", "sub", "mul", "min", "max"]
                ops += ["div"] if t.is_float else ["floordiv", "floormod", "truncdiv", "truncmod"]
                ops += [] if t.is_float else ["bitand", "bitor", "bitxor", "shl", "shr"]
                return Binary(p.among(ops), self.expr(t, depth - 1), self.expr(t, depth - 1))
            case "select":
                return Select(self.expr(BOOL, depth - 1), self.expr(t, depth - 1), self.expr(t, depth - 1))
            case "ite":
                return IfThenElse(self.expr(BOOL, depth - 1), self.expr(t, depth - 1), self.expr(t, depth - 1))
            case "cast":
                return Cast(t, self.expr(p.among(self.types), depth - 1))
            case "let":
                return self.bound(t, depth)
            case "call":
                return self.call(t, depth)
            case "load":
                return self.load(t, depth)
        return self.leaf(t)

    def head(self, t: DType, depth: int) -> Expr:
        """An expression in the head of a statement: what lets in it need stands before the statement."""
        return self.bound(t, depth) if not self.for_tvm and self.p.rarely(8) else self.expr(t, depth)

    def bound(self, t: DType, depth: int) -> Expr:
        """A let."""
        var = Var.fresh(self.name(), self.p.among(self.types))
        value = self.expr(var.dtype, depth - 1)
        self.vars.append(var)
        body = self.expr(t, depth - 1)
        self.vars.pop()
        return LetExpr(var, value, body)

    def leaf(self, t: DType) -> Expr:
        p = self.p
        known = [v for v in self.vars if v.type is t]
        if known and p.integer(0, 4) < 3:
            return p.among(known)
        if p.rarely(10) and not self.for_tvm:
            return Undef(t)
        if t.is_float:
            bits = np.array(p.integer(0, (1 << t.bits) - 1), f"u{t.nbytes}").view(numpy_dtype(t))
            special = [0.0, -0.0, 1.0, -1.5, 1e-8, 3.14159, float("inf"), float("-inf"), float("nan")]
            return const(p.among([*special, float(bits)]), t)
        if t.is_bool:
            return const(p.flip(), t)
        return const(p.among([0, 1, 2, 7, t.max_value, t.min_value, t.min_value + 1, t.max_value // 3]), t)

    def boolean(self, depth: int) -> Expr:
        p = self.p
        match p.among(["compare", "and", "or", "not", "isnan", "bit"]):
            case "compare":
                t = p.among(self.types)
                op = p.among(get_args(CompareOp))
                return Binary(op, self.expr(t, depth - 1), self.expr(t, depth - 1))
            case "not":
                return Not(self.expr(BOOL, depth - 1))
            case "isnan":
                return Call(BOOL, "isnan", (self.expr(p.among(FLOATS), depth - 1),))
            case "bit":
                return Binary("bitand", self.expr(BOOL, depth - 1), self.expr(BOOL, depth - 1))
            case "and":
                return Binary("and", self.expr(BOOL, depth - 1), self.expr(BOOL, depth - 1))
        return Binary("or", self.expr(BOOL, depth - 1), self.expr(BOOL, depth - 1))

    def call(self, t: DType, depth: int) -> Expr:
        p = self.p
        if t.is_float:
            name = p.among(FLOAT_CALLS)
            return Call(t, name, tuple([self.expr(t, depth - 1) for _ in range(PURE_CALLS[name].arity)]))
        known = ["extern", "reinterpret", "bitwise_not"]
        match p.among(known if self.for_tvm else [*known, "unknown", "clz", "packed"]):
            case "extern":
                return Call(t, "call_extern", (StringImm(p.among(STRINGS)), self.expr(p.among(self.types), depth - 1)))
            case "unknown":
                return Call(t, "mystery", (self.expr(p.among(self.types), depth - 1), StringImm("s")))
            case "clz":
                return Call(t, "clz", (self.expr(INT32, depth - 1),))
            case "bitwise_not":
                return Call(t, "bitwise_not", (self.expr(t, depth - 1),))
            case "packed":
                return Call(t, "call_packed", (self.expr(INT32, depth - 1),))
        return Call(t, "reinterpret", (self.expr(t, depth - 1),))

    def load(self, t: DType, depth: int) -> Expr:
        known = [b for b in self.buffers if b.dtype is t]
        if not known:
            return self.leaf(t)
        b = self.p.among(known)
        return Load(b, tuple([self.expr(self.p.among([INT32, INT64]), depth - 1) for _ in b.shape]))

    def vector(self, t: DType, depth: int) -> Expr:
        p = self.p
        element = t.scalar
        known = [b for b in self.buffers if b.dtype is element and b.shape]
        match p.among(["broadcast", "binary", "ramp", "load", "shuffle"]):
            case "ramp" if element.is_int:
                return Ramp(self.expr(element, depth - 1), const(p.among([1, 2]), element), t.lanes)
            case "load" if known:
                b = p.among(known)
                first = [self.expr(INT32, depth - 1) for _ in b.shape[:-1]]
                ramp = Ramp(self.expr(INT32, depth - 1), const(p.among([1, 3])), t.lanes)
                return Load(b, (*first, ramp), self.mask(t.lanes, depth))
            case "binary" if depth > 0 and not t.is_bool:
                return Binary("add", self.vector(t, depth - 1), self.vector(t, depth - 1))
            case "shuffle" if depth > 0:
                parts = (self.vector(t, depth - 1), self.expr(element, depth - 1))
                return Shuffle(parts, tuple(p.integer(0, t.lanes) for _ in range(t.lanes)))
        return Broadcast(self.expr(element, depth - 1), t.lanes)

    def mask(self, lanes: int, depth: int) -> Expr | None:
        if self.for_tvm or not self.p.rarely(5):
            return None
        return self.vector(BOOL.with_lanes(lanes), depth - 1)
