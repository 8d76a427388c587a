"""Expressions: values computed without changing memory.

Each class states its fields and, as ``dtype``, the type of its value.  What an expression *means* is written in
``verified_tir.semantics``; nothing here evaluates anything.  Constructors check types and raise :class:`IRError`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final, get_args

from verified_tir.ir.calls import check_call, is_pure, result_type
from verified_tir.ir.dtype import BOOL, HANDLE, INT32, DType, PointerType
from verified_tir.ir.node import IRError, Node, lives

if TYPE_CHECKING:
    from verified_tir.ir.buffer import Buffer
    from verified_tir.ir.sugar import ExprSugar
else:
    ExprSugar = object

ArithmeticOp = Literal[
    "add", "sub", "mul", "div", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max",
    "bitand", "bitor", "bitxor", "shl", "shr",
]  # fmt: skip
CompareOp = Literal["eq", "ne", "lt", "le", "gt", "ge"]
LogicOp = Literal["and", "or"]
BinaryOp = ArithmeticOp | CompareOp | LogicOp

COMPARE_OPS: tuple[str, ...] = get_args(CompareOp)

_uids = itertools.count(1)


class Expr(Node, ExprSugar):
    """Base of all expressions.  ``dtype`` is the type of the value, which :meth:`typed` finds when one is made."""

    __slots__ = ("dtype",)
    dtype: DType

    def check(self) -> None:
        object.__setattr__(self, "dtype", self.typed())

    def typed(self) -> DType:
        """The typing rule: the type that follows from those of the parts.

        :raises IRError: for parts of other types.
        """
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise IRError("an expression has no truth value in Python; use T.And, T.Or, T.Not or T.if_then_else")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Var(Expr):
    """A variable: loop, let, parameter, shape or data pointer.  ``uid`` tells variables of one name apart."""

    name: str
    type: DType | PointerType
    uid: int

    @staticmethod
    def fresh(name: str, type: DType | PointerType = INT32) -> Var:
        """A variable equal to no other, also where somebody has given one a number that was still to come."""
        while lives(Var, name, type, uid := next(_uids)):
            pass
        return Var(name, type, uid)

    def typed(self) -> DType:
        return HANDLE if isinstance(self.type, PointerType) else self.type


@final
@dataclass(frozen=True, slots=True, eq=False)
class IntImm(Expr):
    """An integer or bool constant; ``value`` lies in the range of the type."""

    type: DType
    value: int

    def typed(self) -> DType:
        if not (self.type.is_int or self.type.is_bool) or self.type.lanes != 1:
            raise IRError(f"an integer constant cannot have type {self.type}")
        if not self.type.min_value <= self.value <= self.type.max_value:
            raise IRError(f"{self.value} does not fit {self.type}")
        return self.type


@final
@dataclass(frozen=True, slots=True, eq=False)
class FloatImm(Expr):
    """A float constant; a ``value`` that the type does not have stands for the nearest one.

    There is one NaN: neither its sign nor its payload exists.
    """

    type: DType
    value: float

    def typed(self) -> DType:
        if not self.type.is_float or self.type.lanes != 1:
            raise IRError(f"a float constant cannot have type {self.type}")
        return self.type


@final
@dataclass(frozen=True, slots=True, eq=False)
class StringImm(Expr):
    """A string argument of a call or annotation."""

    value: str

    def typed(self) -> DType:
        return HANDLE


@final
@dataclass(frozen=True, slots=True, eq=False)
class Undef(Expr):
    """A value that nothing is known about; each evaluation is a fresh one."""

    type: DType

    def typed(self) -> DType:
        return self.type


@final
@dataclass(frozen=True, slots=True, eq=False)
class Binary(Expr):
    """``a op b``: arithmetic, comparison, or lazy ``and``/``or``; both operands have one type."""

    op: BinaryOp
    a: Expr
    b: Expr

    def typed(self) -> DType:
        return result_type(self.op, self.a.dtype, self.b.dtype)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Not(Expr):
    """Logical negation."""

    a: Expr

    def typed(self) -> DType:
        return result_type("not", self.a.dtype)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cast(Expr):
    """Conversion of a value to another type of the same number of lanes."""

    type: DType
    value: Expr

    def typed(self) -> DType:
        if self.type.lanes != self.value.dtype.lanes:
            raise IRError(f"a cast keeps lanes: {self.value.dtype} to {self.type}")
        return self.type


@final
@dataclass(frozen=True, slots=True, eq=False)
class Broadcast(Expr):
    """``lanes`` copies of a scalar."""

    value: Expr
    lanes: int

    def typed(self) -> DType:
        if self.value.dtype.lanes != 1:
            raise IRError("broadcast takes a scalar")
        return self.value.dtype.with_lanes(self.lanes)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Select(Expr):
    """Evaluates both arms, takes one (lane by lane when the condition has lanes)."""

    condition: Expr
    true_value: Expr
    false_value: Expr

    def typed(self) -> DType:
        return _choice_type("select", self.condition, self.true_value, self.false_value)


@final
@dataclass(frozen=True, slots=True, eq=False)
class IfThenElse(Expr):
    """Evaluates the condition (a scalar), then only the chosen arm."""

    condition: Expr
    true_value: Expr
    false_value: Expr

    def typed(self) -> DType:
        if self.condition.dtype.lanes != 1:
            raise IRError("if_then_else takes a scalar condition; use select for lanes")
        return _choice_type("if_then_else", self.condition, self.true_value, self.false_value)


def _choice_type(what: str, condition: Expr, a: Expr, b: Expr) -> DType:
    if not condition.dtype.is_bool:
        raise IRError(f"the condition of {what} must be bool, not {condition.dtype}")
    if a.dtype is not b.dtype:
        raise IRError(f"the arms of {what} differ in type: {a.dtype} and {b.dtype}")
    if condition.dtype.lanes not in (1, a.dtype.lanes):
        raise IRError(f"the condition of {what} has {condition.dtype.lanes} lanes, its arms {a.dtype.lanes}")
    return a.dtype


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ramp(Expr):
    """The vector ``[base, base + stride, …]`` of ``lanes`` lanes."""

    base: Expr
    stride: Expr
    lanes: int

    def typed(self) -> DType:
        base, stride = self.base.dtype, self.stride.dtype
        if base is not stride or base.lanes != 1 or not base.is_int:
            raise IRError(f"a ramp has a scalar integer base and stride of one type, not {base} and {stride}")
        return base.with_lanes(self.lanes)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shuffle(Expr):
    """Concatenates ``vectors``, then takes the lanes named by the constants ``indices``."""

    vectors: tuple[Expr, ...]
    indices: tuple[int, ...]

    def typed(self) -> DType:
        if len({v.dtype.scalar for v in self.vectors}) != 1:
            raise IRError("a shuffle needs vectors, of one element type")
        total = sum(v.dtype.lanes for v in self.vectors)
        if not all(0 <= i < total for i in self.indices):
            raise IRError(f"a shuffle index is outside the {total} lanes")
        return self.vectors[0].dtype.with_lanes(len(self.indices))


@final
@dataclass(frozen=True, slots=True, eq=False)
class LetExpr(Expr):
    """``let var = value in body``."""

    var: Var
    value: Expr
    body: Expr

    def typed(self) -> DType:
        if self.var.type is not self.value.dtype:
            raise IRError(f"{self.var.name} has type {self.var.type}, its value {self.value.dtype}")
        return self.body.dtype


@final
@dataclass(frozen=True, slots=True, eq=False)
class Load(Expr):
    """``buffer[indices]``; element lanes × index lanes (only the last index may have lanes).

    Lanes of the index where ``predicate`` is false are not accessed; the load gives undef there.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    predicate: Expr | None = None

    def typed(self) -> DType:
        return access_dtype(self.buffer, self.indices, self.predicate)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Call(Expr):
    """A call by name.  ``verified_tir.ir.calls`` says which are pure; any other reads and writes all it can reach.

    ``op`` is ``"exp"``, ``"fma"``, …, ``"call_extern"``; a call of another PrimFunc is ``"@name"``.
    """

    type: DType
    op: str
    args: tuple[Expr, ...]

    def typed(self) -> DType:
        if is_pure(self.op):
            check_call(self.op, [a.dtype for a in self.args], self.type)
        return self.type


def access_dtype(buffer: Buffer, indices: tuple[Expr, ...], predicate: Expr | None) -> DType:
    """The type of ``buffer[indices]``, the element's lanes times the index's: the typing rule of an access (RFC 63;
    RFC 39, "what convention should be used for buffer indexing").

    :raises IRError: wrong rank, an index that is not an integer, or lanes anywhere but in the last index; a mask that
        has not a bool for each lane of the index, or one on an access of one element (that is what ``if`` is for).
    """
    if len(indices) != len(buffer.shape):
        raise IRError(f"{buffer.name} has {len(buffer.shape)} dimensions and is accessed with {len(indices)} indices")
    for k, index in enumerate(indices):
        if not index.dtype.is_int:
            raise IRError(f"index {k} of {buffer.name} has type {index.dtype}; an integer is needed")
        if index.dtype.lanes != 1 and k != len(indices) - 1:
            raise IRError(f"index {k} of {buffer.name} has lanes; only the last index may")
    lanes = indices[-1].dtype.lanes if indices else 1
    if predicate is not None and (lanes == 1 or predicate.dtype is not BOOL.with_lanes(lanes)):
        taken = f"only vector accesses take a predicate, of as many lanes of bool (here {lanes})"
        raise IRError(f"the predicate of {buffer.name}[…] has type {predicate.dtype}; {taken}")
    return buffer.dtype.with_lanes(buffer.dtype.lanes * lanes)


def const(value: int | float, dtype: DType = INT32) -> Expr:
    """A number that the scalar type ``dtype`` has, as a constant.

    :raises IRError: if an integer does not fit.
    """
    return FloatImm(dtype, float(value)) if dtype.is_float else IntImm(dtype, int(value))


TRUE = IntImm(BOOL, 1)
FALSE = IntImm(BOOL, 0)
