"""What expressions begin with: variables, constants, operators and conversions; and functions that build them.

Import these names from ``verified_tir.ir.expr``, which has all expressions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, final, get_args

from verified_tir.ir.dtype import BOOL, HANDLE, INT32, DType, PointerType
from verified_tir.ir.node import IRError, Node

ArithmeticOp = Literal[
    "add", "sub", "mul", "div", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max",
    "bitand", "bitor", "bitxor", "shl", "shr",
]  # fmt: skip
CompareOp = Literal["eq", "ne", "lt", "le", "gt", "ge"]
LogicOp = Literal["and", "or"]
BinaryOp = ArithmeticOp | CompareOp | LogicOp

ARITHMETIC_OPS: tuple[str, ...] = get_args(ArithmeticOp)
COMPARE_OPS: tuple[str, ...] = get_args(CompareOp)
LOGIC_OPS: tuple[str, ...] = get_args(LogicOp)
INTEGER_ONLY_OPS = frozenset(
    {"floordiv", "floormod", "truncdiv", "truncmod", "bitand", "bitor", "bitxor", "shl", "shr"}
)

_uids = itertools.count(1)


class Expr(Node):
    """Base of all expressions.  Operators build :class:`Binary` nodes, folding integer constants."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        raise NotImplementedError  # every subclass overrides this; mypy checks the uses

    def __add__(self, other: ExprLike) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return binary("div", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return binary("floordiv", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary("floormod", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return binary("floormod", other, self)

    def __neg__(self) -> Expr:
        if self.dtype.is_float:
            return Binary("mul", const(-1.0, self.dtype), self)
        return binary("sub", const(0, self.dtype), self)

    def __lt__(self, other: ExprLike) -> Expr:
        return binary("lt", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return binary("le", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return binary("gt", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return binary("ge", self, other)

    def equal(self, other: ExprLike) -> Expr:
        """The expression ``self == other`` (Python's ``==`` on nodes is identity)."""
        return binary("eq", self, other)

    def __bool__(self) -> bool:
        raise IRError("an expression has no truth value in Python; use T.And, T.Or, T.Not or T.if_then_else")


ExprLike: TypeAlias = Expr | int | float | bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class Var(Expr):
    """A variable: loop, let, parameter, shape or data pointer.  ``uid`` tells variables of one name apart."""

    name: str
    type: DType | PointerType
    uid: int

    @staticmethod
    def fresh(name: str, type: DType | PointerType | str = INT32) -> Var:
        """A variable equal to no other."""
        return Var(name, DType.parse(type) if isinstance(type, str) else type, next(_uids))

    @property
    def dtype(self) -> DType:
        return HANDLE if isinstance(self.type, PointerType) else self.type

    def __repr__(self) -> str:
        return f"{self.name}#{self.uid}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class IntImm(Expr):
    """An integer or bool constant; ``value`` lies in the range of the type."""

    type: DType
    value: int

    def __post_init__(self) -> None:
        if not (self.type.is_int or self.type.is_bool) or self.type.lanes != 1:
            raise IRError(f"an integer constant cannot have type {self.type}")
        if not self.type.min_value <= self.value <= self.type.max_value:
            raise IRError(f"{self.value} does not fit {self.type}")

    @property
    def dtype(self) -> DType:
        return self.type


@final
@dataclass(frozen=True, slots=True, eq=False)
class FloatImm(Expr):
    """A float constant; ``value`` is exact in the type (constructors round with :func:`const`)."""

    type: DType
    value: float

    def __post_init__(self) -> None:
        if not self.type.is_float or self.type.lanes != 1:
            raise IRError(f"a float constant cannot have type {self.type}")
        if math.isnan(self.value):  # there is one NaN: neither its sign nor its payload exists
            object.__setattr__(self, "value", math.nan)

    @property
    def dtype(self) -> DType:
        return self.type


@final
@dataclass(frozen=True, slots=True, eq=False)
class StringImm(Expr):
    """A string argument of a call or annotation."""

    value: str

    @property
    def dtype(self) -> DType:
        return HANDLE


@final
@dataclass(frozen=True, slots=True, eq=False)
class Undef(Expr):
    """A value that nothing is known about; each evaluation is a fresh one."""

    type: DType

    @property
    def dtype(self) -> DType:
        return self.type


@final
@dataclass(frozen=True, slots=True, eq=False)
class Binary(Expr):
    """``a op b``: arithmetic, comparison, or lazy ``and``/``or``; both operands have one type."""

    op: BinaryOp
    a: Expr
    b: Expr

    def __post_init__(self) -> None:
        ta, tb = self.a.dtype, self.b.dtype
        if ta is not tb:
            raise IRError(f"operands of {self.op} differ in type: {ta} and {tb}")
        if self.op in LOGIC_OPS and not ta.is_bool:
            raise IRError(f"{self.op} takes bool operands, not {ta}")
        if self.op in INTEGER_ONLY_OPS and not (ta.is_int or (ta.is_bool and self.op.startswith("bit"))):
            raise IRError(f"{self.op} takes integer operands, not {ta}")
        if self.op == "div" and not ta.is_float:
            raise IRError(f"div is for floats (use floordiv or truncdiv), not {ta}")
        if self.op in ("add", "sub", "mul", "min", "max") and not (ta.is_int or ta.is_float):
            raise IRError(f"{self.op} takes numbers, not {ta}")

    @property
    def dtype(self) -> DType:
        if self.op in COMPARE_OPS:
            return BOOL.with_lanes(self.a.dtype.lanes)
        return self.a.dtype


@final
@dataclass(frozen=True, slots=True, eq=False)
class Not(Expr):
    """Logical negation."""

    a: Expr

    def __post_init__(self) -> None:
        if not self.a.dtype.is_bool:
            raise IRError(f"not takes a bool, not {self.a.dtype}")

    @property
    def dtype(self) -> DType:
        return self.a.dtype


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cast(Expr):
    """Conversion of a value to another type of the same number of lanes."""

    type: DType
    value: Expr

    def __post_init__(self) -> None:
        if self.type.lanes != self.value.dtype.lanes:
            raise IRError(f"a cast keeps lanes: {self.value.dtype} to {self.type}")

    @property
    def dtype(self) -> DType:
        return self.type


@final
@dataclass(frozen=True, slots=True, eq=False)
class Broadcast(Expr):
    """``lanes`` copies of a scalar."""

    value: Expr
    lanes: int

    def __post_init__(self) -> None:
        if self.value.dtype.lanes != 1:
            raise IRError("broadcast takes a scalar")

    @property
    def dtype(self) -> DType:
        return self.value.dtype.with_lanes(self.lanes)


def const(value: ExprLike, dtype: DType | str = INT32) -> Expr:
    """``value`` as a constant of ``dtype`` (broadcast if it has lanes); floats are rounded to the type.

    :raises IRError: if an integer does not fit.
    """
    dtype = DType.parse(dtype)
    if isinstance(value, Expr):
        return value
    if dtype.lanes > 1:
        return Broadcast(const(value, dtype.scalar), dtype.lanes)
    if dtype.is_float:
        from verified_tir.ir.floats import round_to

        return FloatImm(dtype, round_to(dtype, float(value)))
    if isinstance(value, float) and not value.is_integer():
        raise IRError(f"{value} is no {dtype}")
    return IntImm(dtype, int(value))


def as_expr(value: ExprLike, like: DType | None = None) -> Expr:
    """A Python number as a constant (int32, bool or float32 unless ``like`` says otherwise)."""
    if isinstance(value, Expr):
        return value
    if like is not None:
        return const(value, like)
    if isinstance(value, bool):
        return IntImm(BOOL, int(value))
    return const(value, "float32") if isinstance(value, float) else const(value, INT32)


def binary(op: BinaryOp, a: ExprLike, b: ExprLike) -> Expr:
    """``a op b``; Python numbers take the other operand's type, scalars broadcast, integer constants fold.

    Folding happens only where it is an identity of index arithmetic (constants that fit, ``x+0``, ``x*1``).
    """
    if isinstance(a, Expr):
        b = as_expr(b, a.dtype)
    else:
        b = as_expr(b)
        a = as_expr(a, b.dtype)
    if a.dtype.lanes != b.dtype.lanes:
        if a.dtype.lanes == 1:
            a = Broadcast(a, b.dtype.lanes)
        elif b.dtype.lanes == 1:
            b = Broadcast(b, a.dtype.lanes)
    folded = _fold(op, a, b)
    return Binary(op, a, b) if folded is None else folded


def _fold(op: BinaryOp, a: Expr, b: Expr) -> Expr | None:
    if a.dtype is not b.dtype or not a.dtype.is_int:
        return None
    match a, b:
        case IntImm(type=t, value=x), IntImm(value=y):
            if op in ("floordiv", "floormod") and y == 0:
                return None
            table = {
                "add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "floordiv": lambda: x // y,
                "floormod": lambda: x % y, "min": lambda: min(x, y), "max": lambda: max(x, y),
            }  # fmt: skip
            if op not in table:
                return None
            value = table[op]()
            return IntImm(t, value) if t.min_value <= value <= t.max_value else None
        case _, IntImm(value=0) if op in ("add", "sub"):
            return a
        case IntImm(value=0), _ if op == "add":
            return b
        case _, IntImm(value=1) if op in ("mul", "floordiv"):
            return a
        case IntImm(value=1), _ if op == "mul":
            return b
    return None


def all_of(conditions: Sequence[Expr]) -> Expr:
    """The lazy conjunction of the conditions, left to right (true if there is none)."""
    if not conditions:
        return IntImm(BOOL, 1)
    result = conditions[0]
    for c in conditions[1:]:
        result = Binary("and", result, c)
    return result


def any_of(conditions: Sequence[Expr]) -> Expr:
    """The lazy disjunction of the conditions, left to right (false if there is none)."""
    if not conditions:
        return IntImm(BOOL, 0)
    result = conditions[0]
    for c in conditions[1:]:
        result = Binary("or", result, c)
    return result


TRUE = IntImm(BOOL, 1)
FALSE = IntImm(BOOL, 0)
