"""Expressions of every type and operator, over the variables and buffers of a scope.

``expressions(dtype, scope)`` draws well-typed expressions.  Most of them mean something: divisors are mostly not zero,
shift amounts are mostly in range, indices mostly inside the buffer.  With ``meaningful=False`` in the scope nothing is
done for that, and half of all larger expressions divide by zero somewhere: right for a test of what is undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final, get_args

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BOOL, DType
from verified_tir.ir.expr import (
    ArithmeticOp,
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    CompareOp,
    Expr,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    LogicOp,
    Not,
    Ramp,
    Select,
    Shuffle,
    Undef,
    Var,
)
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk
from verified_tir.testing.drawing import Picker
from verified_tir.testing.dtypes import FLOATS, INTEGERS, SCALARS, numbers

INTERPRETED_CALLS = (
    "fma", "sqrt", "abs", "floor", "ceil", "trunc", "nearbyint", "round", "isnan", "isinf", "isfinite", "bitwise_not",
    "reinterpret", "popcount", "clz", "likely",
)  # fmt: skip
"""Pure calls whose meaning proofs know."""
UNINTERPRETED_CALLS = tuple(op for op in PURE_CALLS if op not in INTERPRETED_CALLS)
"""Pure calls of which proofs know only that equal arguments give equal results."""

INTEGER_OPS: tuple[ArithmeticOp, ...] = tuple(op for op in get_args(ArithmeticOp) if op != "div")
FLOAT_OPS: tuple[ArithmeticOp, ...] = ("add", "sub", "mul", "div", "min", "max")
BIT_OPS: tuple[BinaryOp, ...] = ("bitand", "bitor", "bitxor")
COMPARISONS: tuple[CompareOp, ...] = get_args(CompareOp)
DIVISIONS = frozenset({"floordiv", "floormod", "truncdiv", "truncmod"})
SHIFTS = frozenset({"shl", "shr"})


@final
@dataclass(frozen=True, slots=True)
class Scope:
    """What expressions are made of.

    :param variables: scalar or vector variables.
    :param buffers: what may be loaded; symbolic extents are taken to be at least 4.
    :param calls: names of the pure calls that may occur.
    :param undef: whether ``T.undef()`` may occur.
    :param meaningful: whether divisors, shift amounts and indices are mostly such that the expression has a value.
    """

    variables: tuple[Var, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    calls: tuple[str, ...] = INTERPRETED_CALLS
    undef: bool = False
    meaningful: bool = True


def expressions(dtype: DType | str, scope: Scope | None = None, *, depth: int = 3) -> SearchStrategy[Expr]:
    """Well-typed expressions of a type (which may have lanes), at most ``depth`` operators deep.

    The simplest is a constant.
    """
    return _expressions(DType.parse(dtype), scope or Scope(), depth)


@st.composite
def _expressions(draw: DrawFn, dtype: DType, scope: Scope, depth: int) -> Expr:
    return Grammar(Picker(draw), scope).expression(dtype, depth)


Production = Callable[[DType, int], Expr]


class Grammar:
    """Draws expressions; what draws whole programs overrides how leaves and loads are found."""

    def __init__(self, pick: Picker, scope: Scope) -> None:
        self.pick = pick
        self.scope = scope

    def expression(self, dtype: DType, depth: int) -> Expr:
        """An expression at most ``depth`` operators deep."""
        return self.pick.expression(lambda: self._expression(dtype, depth))

    def _expression(self, dtype: DType, depth: int) -> Expr:
        if depth <= 0:
            return self.leaf(dtype)
        return self.pick.among(self.productions(dtype))(dtype, depth)

    def productions(self, dtype: DType) -> list[Production]:
        """The kinds of expression that there are of a type, simplest first, frequent ones several times."""
        found: list[Production]
        if dtype.is_bool:
            found = [
                self._as_leaf, self._comparison, self._comparison, self._logic, self._logic, self._negation, self._bits,
            ]  # fmt: skip
        else:
            found = [self._as_leaf, self._arithmetic, self._arithmetic, self._arithmetic]
        found += [self._choice, self._cast, self._indexed, self._call, self._let]
        found += [self._vector, self._vector] if dtype.lanes > 1 else [self._shuffle]
        return found

    # -- leaves -------------------------------------------------------------------------------------------------------

    def _as_leaf(self, dtype: DType, depth: int) -> Expr:
        return self.leaf(dtype)

    def leaf(self, dtype: DType) -> Expr:
        """A constant, a variable, an element, or ``undef``."""
        made: list[Callable[[], Expr]] = [lambda: self.constant(dtype)]
        same = [v for v in self.scope.variables if v.dtype is dtype]
        if same:
            made += [lambda: self.pick.among(same)] * 3
        stored = [b for b in self.scope.buffers if b.dtype is dtype]
        if stored:
            made += [lambda: self._load(self.pick.among(stored), ())] * 3
        if dtype.lanes > 1:
            made[0] = lambda: self._vector(dtype, 0)
        if self.scope.undef and self.pick.rarely(12):
            return Undef(dtype)
        return self.pick.among(made)()

    def constant(self, dtype: DType) -> Expr:
        """A constant, broadcast if the type has lanes."""
        return const(self.pick.draw(numbers(dtype.scalar)), dtype)

    def operand_types(self) -> Sequence[DType]:
        """The scalar types that variables and buffers have: a comparison of anything else would be one of constants."""
        present = [v.dtype.scalar for v in self.scope.variables] + [b.dtype.scalar for b in self.scope.buffers]
        return [t for t in dict.fromkeys(present) if t in SCALARS] or SCALARS

    # -- loads --------------------------------------------------------------------------------------------------------

    def _wild(self) -> bool:
        """Whether nothing is done for the meaning of what is drawn next."""
        return not self.scope.meaningful or self.pick.rarely(16)

    def _load(self, buffer: Buffer, last: tuple[Expr, ...]) -> Expr:
        """An element at constant indices, mostly in bounds."""
        indices: list[Expr] = []
        for extent in buffer.shape[: len(buffer.shape) - len(last)]:
            size = extent.value if isinstance(extent, IntImm) else 4
            beyond = 1 if self.pick.rarely(16) else 0
            indices.append(const(self.pick.integer(0, max(0, size - 1 + beyond)), extent.dtype))
        return Load(buffer, (*indices, *last))

    def _indexed(self, dtype: DType, depth: int) -> Expr:
        """An element at a computed index, which is mostly in bounds if it is defined."""
        stored = [b for b in self.scope.buffers if b.dtype is dtype and len(b.shape) == 1]
        if not stored:
            return self.leaf(dtype)
        buffer = self.pick.among(stored)
        index = self.expression(buffer.shape[0].dtype, depth - 1)
        if not self.pick.rarely(8):
            index = Binary("floormod", index, buffer.shape[0])
        return Load(buffer, (index,))

    # -- operators ----------------------------------------------------------------------------------------------------

    def _arithmetic(self, dtype: DType, depth: int) -> Expr:
        op = self.pick.among(INTEGER_OPS if dtype.is_int else FLOAT_OPS)
        a = self.expression(dtype, depth - 1)
        if op in DIVISIONS:
            return Binary(op, a, self._divisor(dtype, depth - 1))
        if op in SHIFTS:
            return Binary(op, a, self._amount(dtype, depth - 1))
        return Binary(op, a, self.expression(dtype, depth - 1))

    def _divisor(self, dtype: DType, depth: int) -> Expr:
        """An integer that is mostly not zero, nor −1 (by which the least integer cannot be divided)."""
        if self._wild():
            return self.expression(dtype, depth)
        if self.pick.flip():
            return Binary("bitor", self.expression(dtype, depth), const(2, dtype))
        choices = (2, 3, 4, 8, 7, 1) if dtype.code == "uint" else (2, 3, 4, 8, 7, 1, -2, -3)
        return const(self.pick.one(*choices), dtype)

    def _amount(self, dtype: DType, depth: int) -> Expr:
        """A shift amount, mostly between 0 and the width."""
        if self._wild():
            return self.expression(dtype, depth)
        if self.pick.flip():
            return Binary("bitand", self.expression(dtype, depth), const(dtype.bits - 1, dtype))
        return const(self.pick.integer(0, dtype.bits - 1), dtype)

    def _bits(self, dtype: DType, depth: int) -> Expr:
        op = self.pick.among(BIT_OPS)
        return Binary(op, self.expression(dtype, depth - 1), self.expression(dtype, depth - 1))

    def _comparison(self, dtype: DType, depth: int) -> Expr:
        op, operand = self.pick.among(COMPARISONS), self.pick.among(self.operand_types()).with_lanes(dtype.lanes)
        return Binary(op, self.expression(operand, depth - 1), self.expression(operand, depth - 1))

    def _logic(self, dtype: DType, depth: int) -> Expr:
        op: LogicOp = self.pick.one("and", "or")
        return Binary(op, self.expression(dtype, depth - 1), self.expression(dtype, depth - 1))

    def _negation(self, dtype: DType, depth: int) -> Expr:
        return Not(self.expression(dtype, depth - 1))

    def _choice(self, dtype: DType, depth: int) -> Expr:
        lazy = self.pick.flip()
        lanes = 1 if lazy or dtype.lanes == 1 or self.pick.flip() else dtype.lanes
        condition = self.expression(BOOL.with_lanes(lanes), depth - 1)
        a, b = self.expression(dtype, depth - 1), self.expression(dtype, depth - 1)
        return IfThenElse(condition, a, b) if lazy else Select(condition, a, b)

    def _cast(self, dtype: DType, depth: int) -> Expr:
        source = self.pick.among(self.operand_types()).with_lanes(dtype.lanes)
        return Cast(dtype, self.expression(source, depth - 1))

    def _let(self, dtype: DType, depth: int) -> Expr:
        lanes = self.pick.one(1, dtype.lanes)
        bound = self.expression(self.pick.among(self.operand_types()).with_lanes(lanes), depth - 1)
        var = Var.fresh("t", bound.dtype)
        around, self.scope = self.scope, self._with(var)
        body = self.expression(dtype, depth - 1)
        self.scope = around
        if var not in walk(body) and not self.pick.rarely(8):
            return body
        return LetExpr(var, bound, body)

    def _with(self, var: Var) -> Scope:
        s = self.scope
        return Scope((*s.variables, var), s.buffers, s.calls, s.undef, s.meaningful)

    def _call(self, dtype: DType, depth: int) -> Expr:
        made = [(op, operand) for op in self.scope.calls for operand in call_operands(op, dtype)]
        if not made:
            return self.leaf(dtype)
        op, operand = self.pick.among(made)
        return Call(dtype, op, tuple([self.expression(operand, depth - 1) for _ in range(PURE_CALLS[op].arity)]))

    # -- vectors ------------------------------------------------------------------------------------------------------

    def _vector(self, dtype: DType, depth: int) -> Expr:
        """A broadcast, a ramp, a shuffle, or a load of several elements."""
        made: list[Callable[[], Expr]] = [
            lambda: Broadcast(self.expression(dtype.scalar, depth - 1), dtype.lanes),
        ]
        if dtype.is_int:
            made += [lambda: self._ramp(dtype, depth)] * 2
        if depth > 0:
            made.append(lambda: self._shuffle(dtype, depth))
        stored = [b for b in self.scope.buffers if b.shape and dtype is b.dtype.with_lanes(dtype.lanes)]
        stored = [b for b in stored if dtype.lanes % b.dtype.lanes == 0 and dtype.lanes > b.dtype.lanes]
        if stored:
            made += [lambda: self._vector_load(dtype, self.pick.among(stored))] * 2
        return self.pick.among(made)()

    def _ramp(self, dtype: DType, depth: int) -> Expr:
        stride = self.constant(dtype.scalar) if self._wild() else const(self.pick.one(1, 2, 3, 0), dtype.scalar)
        return Ramp(self.expression(dtype.scalar, depth - 1), stride, dtype.lanes)

    def _vector_load(self, dtype: DType, buffer: Buffer) -> Expr:
        index = buffer.shape[-1].dtype
        ramp = Ramp(
            const(self.pick.integer(0, 1), index),
            const(self.pick.one(1, 1, 2), index),
            dtype.lanes // buffer.dtype.lanes,
        )
        return self._load(buffer, (ramp,))

    def _shuffle(self, dtype: DType, depth: int) -> Expr:
        """Some lanes of one or two vectors (of one lane, if ``dtype`` is a scalar)."""
        widths = [self.pick.integer(1, 3) for _ in range(self.pick.integer(1, 2))]
        vectors = tuple([self.expression(dtype.with_lanes(n), depth - 1) for n in widths])
        return Shuffle(vectors, tuple([self.pick.integer(0, sum(widths) - 1) for _ in range(dtype.lanes)]))


def call_operands(op: str, result: DType) -> list[DType]:
    """The operand types with which a pure call gives ``result``, lane by lane."""
    info = PURE_CALLS[op]
    if info.result == "same":
        candidates: tuple[DType, ...] = (result.scalar,)
    elif info.result == "bool":
        candidates = SCALARS if result.is_bool else ()
    elif op == "reinterpret":
        candidates = tuple(t for t in SCALARS if t.bits == result.bits)
    else:
        candidates = SCALARS if result.is_int else ()
    fits = {"float": FLOATS, "int": INTEGERS, "number": (*INTEGERS, *FLOATS), "any": SCALARS}[info.operands]
    return [t.with_lanes(result.lanes) for t in candidates if t in fits]


__all__ = ["INTERPRETED_CALLS", "SCALARS", "UNINTERPRETED_CALLS", "Grammar", "Scope", "call_operands", "expressions"]
