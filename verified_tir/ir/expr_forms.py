"""What expressions are made into: choices, vectors, bound values, loads and calls.

Import these names from ``verified_tir.ir.expr``, which has all expressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BOOL, DType
from verified_tir.ir.expr_core import Expr, Var
from verified_tir.ir.node import IRError

if TYPE_CHECKING:
    from verified_tir.ir.buffer import Buffer


@final
@dataclass(frozen=True, slots=True, eq=False)
class Select(Expr):
    """Evaluates both arms, takes one (lane by lane when the condition has lanes)."""

    condition: Expr
    true_value: Expr
    false_value: Expr

    def __post_init__(self) -> None:
        _check_choice("select", self.condition, self.true_value, self.false_value)

    @property
    def dtype(self) -> DType:
        return self.true_value.dtype


@final
@dataclass(frozen=True, slots=True, eq=False)
class IfThenElse(Expr):
    """Evaluates the condition (a scalar), then only the chosen arm."""

    condition: Expr
    true_value: Expr
    false_value: Expr

    def __post_init__(self) -> None:
        _check_choice("if_then_else", self.condition, self.true_value, self.false_value)
        if self.condition.dtype.lanes != 1:
            raise IRError("if_then_else takes a scalar condition; use select for lanes")

    @property
    def dtype(self) -> DType:
        return self.true_value.dtype


def _check_choice(what: str, condition: Expr, a: Expr, b: Expr) -> None:
    if not condition.dtype.is_bool:
        raise IRError(f"the condition of {what} must be bool, not {condition.dtype}")
    if a.dtype is not b.dtype:
        raise IRError(f"the arms of {what} differ in type: {a.dtype} and {b.dtype}")
    if condition.dtype.lanes not in (1, a.dtype.lanes):
        raise IRError(f"the condition of {what} has {condition.dtype.lanes} lanes, its arms {a.dtype.lanes}")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ramp(Expr):
    """The vector ``[base, base + stride, …]`` of ``lanes`` lanes."""

    base: Expr
    stride: Expr
    lanes: int

    def __post_init__(self) -> None:
        if self.base.dtype is not self.stride.dtype or self.base.dtype.lanes != 1 or not self.base.dtype.is_int:
            types = f"{self.base.dtype} and {self.stride.dtype}"
            raise IRError(f"a ramp has a scalar integer base and stride of one type, not {types}")
        if self.lanes < 1:
            raise IRError("a ramp has at least one lane")

    @property
    def dtype(self) -> DType:
        return self.base.dtype.with_lanes(self.lanes)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shuffle(Expr):
    """Concatenates ``vectors``, then takes the lanes named by the constants ``indices``."""

    vectors: tuple[Expr, ...]
    indices: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.vectors or not self.indices:
            raise IRError("a shuffle needs vectors and indices")
        if len({v.dtype.scalar for v in self.vectors}) != 1:
            raise IRError("the vectors of a shuffle differ in element type")
        total = sum(v.dtype.lanes for v in self.vectors)
        if not all(0 <= i < total for i in self.indices):
            raise IRError(f"a shuffle index is outside the {total} lanes")

    @property
    def dtype(self) -> DType:
        return self.vectors[0].dtype.with_lanes(len(self.indices))


@final
@dataclass(frozen=True, slots=True, eq=False)
class LetExpr(Expr):
    """``let var = value in body``."""

    var: Var
    value: Expr
    body: Expr

    def __post_init__(self) -> None:
        if self.var.type is not self.value.dtype:
            raise IRError(f"{self.var.name} has type {self.var.type}, its value {self.value.dtype}")

    @property
    def dtype(self) -> DType:
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

    def __post_init__(self) -> None:
        check_indices(self.buffer, self.indices)
        check_predicate(self.buffer, self.indices, self.predicate)

    @property
    def dtype(self) -> DType:
        return access_dtype(self.buffer, self.indices)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Call(Expr):
    """A call by name.  ``verified_tir.ir.calls`` says which are pure; any other reads and writes all it can reach.

    ``op`` is ``"exp"``, ``"fma"``, …, ``"call_extern"``; a call of another PrimFunc is ``"@name"``.
    """

    type: DType
    op: str
    args: tuple[Expr, ...]

    def __post_init__(self) -> None:
        if self.op == "reinterpret":
            _check_reinterpret(self.type, self.args)
        elif self.op in PURE_CALLS:
            _check_pure(self.type, self.op, self.args)

    @property
    def dtype(self) -> DType:
        return self.type


def _check_reinterpret(target: DType, args: tuple[Expr, ...]) -> None:
    if len(args) != 1:
        raise IRError(f"reinterpret takes 1 argument, not {len(args)}")
    source = args[0].dtype
    if source is target:
        return
    if source.is_bool or target.is_bool:  # a bool has one bit in a type and one byte in memory
        raise IRError(f"reinterpret knows no bits of a bool: {source} to {target}; use a cast")
    if source.bits * source.lanes != target.bits * target.lanes:
        raise IRError(f"reinterpret keeps the number of bits: {source} to {target}")


def _check_pure(target: DType, op: str, args: tuple[Expr, ...]) -> None:
    """What ``PURE_CALLS`` says of the types of a call."""
    info = PURE_CALLS[op]
    if len(args) != info.arity:
        raise IRError(f"{op} takes {info.arity} arguments, not {len(args)}")
    operand = args[0].dtype
    if not info.takes(operand) or any(a.dtype is not operand for a in args):
        raise IRError(f"{op} does not take {', '.join(str(a.dtype) for a in args)}")
    right = {
        "same": target is operand,
        "bool": target is BOOL.with_lanes(operand.lanes),
        "given": target.is_int and target.lanes == operand.lanes,
    }
    if not right[info.result]:
        raise IRError(f"{op} of {operand} does not give {target}")


def check_indices(buffer: Buffer, indices: tuple[Expr, ...]) -> None:
    """The typing rule of an access (RFC 63; RFC 39, "what convention should be used for buffer indexing").

    :raises IRError: wrong rank, an index that is no integer, or lanes anywhere but in the last index.
    """
    if len(indices) != len(buffer.shape):
        raise IRError(f"{buffer.name} has {len(buffer.shape)} dimensions and is accessed with {len(indices)} indices")
    for k, index in enumerate(indices):
        if not index.dtype.is_int:
            raise IRError(f"index {k} of {buffer.name} has type {index.dtype}; an integer is needed")
        if index.dtype.lanes != 1 and k != len(indices) - 1:
            raise IRError(f"index {k} of {buffer.name} has lanes; only the last index may")


def check_predicate(buffer: Buffer, indices: tuple[Expr, ...], predicate: Expr | None) -> None:
    """A mask has a bool for each lane of the index.

    :raises IRError: for a mask of another type, or on an access of one element (that is what ``if`` is for).
    """
    if predicate is None:
        return
    lanes = indices[-1].dtype.lanes if indices else 1
    if lanes == 1:
        raise IRError(f"{buffer.name} is accessed at a single index; only vector accesses take a predicate")
    if not predicate.dtype.is_bool or predicate.dtype.lanes != lanes:
        raise IRError(f"the predicate of {buffer.name}[…] has type {predicate.dtype}; it needs {lanes} lanes of bool")


def access_dtype(buffer: Buffer, indices: tuple[Expr, ...]) -> DType:
    """Type of ``buffer[indices]``: the element's lanes times the index's."""
    lanes = indices[-1].dtype.lanes if indices else 1
    return buffer.dtype.with_lanes(buffer.dtype.lanes * lanes)
