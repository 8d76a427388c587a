"""What a name or an expression of the text may stand for while it is parsed.

Python numbers stay *plain* (without a type) until they meet a typed operand or a place that wants a type: in
``2 * A[i]`` the 2 takes the type of a float32, int32 or int64 ``A[i]``, in ``B[i] = 0`` it takes that of ``B``.  The
same holds for ``T.undef()``.  Operands of two types are converted to one, as TVM does it (:func:`operands_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT32, INT32, INT64, DType
from verified_tir.ir.expr import BinaryOp, Broadcast, Cast, Expr, IntImm, Undef
from verified_tir.ir.node import IRError
from verified_tir.ir.script.metadata import Metadata
from verified_tir.ir.sugar import as_expr, const

LARGEST_LITERAL = 1 << 64
"""Plain integers stay below this magnitude, so that folding literals cannot run away."""


@final
class PlainUndef:
    """``T.undef()`` without a type."""


@final
@dataclass(frozen=True, slots=True)
class EnvThread:
    """``T.env_thread(tag)``: a thread that ``T.launch_thread`` may bind."""

    tag: str
    dtype: DType | None = None


@final
@dataclass(frozen=True, slots=True)
class Slice:
    """``start : stop : step`` inside brackets; ``None`` where nothing is written."""

    start: Expr | None
    stop: Expr | None
    step: int


@final
@dataclass(frozen=True, slots=True)
class Selection:
    """``buffer[indices]`` before it is known whether a load or a region is meant."""

    buffer: Buffer
    indices: tuple[Expr | Slice, ...]


PLAIN_UNDEF = PlainUndef()

Plain: TypeAlias = int | float | bool | PlainUndef
Value: TypeAlias = "Expr | Plain | Buffer | Selection | str | DType | EnvThread | Metadata | tuple[Value, ...] | None"


def is_plain(value: object) -> bool:
    """Whether the value has yet to take a type."""
    return isinstance(value, (int, float, PlainUndef))


def is_number(dtype: DType) -> bool:
    """Whether values of the type can be converted to other numbers (a bool is 0 or 1)."""
    return dtype.is_int or dtype.is_float or dtype.is_bool


def typed(value: Expr | Plain, want: DType | None) -> Expr:
    """The value as an expression; a plain one takes the wanted type (int32, bool or float32 if none is wanted).

    :raises IRError: if the literal does not fit the type.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, PlainUndef):
        return Undef(want or FLOAT32)
    if want is None:
        return as_expr(value)
    if isinstance(value, bool) is not want.is_bool:
        raise IRError(f"{value} is not a value of type {want}")
    if isinstance(value, float) and not want.is_float:
        raise IRError(f"the float {value} is used where a value of type {want} is needed")
    if want.is_float or want.is_int or want.is_bool:
        return const(value, want)
    raise IRError(f"{value} is not a value of type {want}")


def unified(a: Expr | Plain, b: Expr | Plain, want: DType | None) -> tuple[Expr, Expr]:
    """Two operands of one operation: plain ones take the other's type, scalars broadcast to the other's lanes."""
    if isinstance(a, Expr):
        b = typed(b, a.dtype.scalar if isinstance(b, (int, float)) else a.dtype)
    elif isinstance(b, Expr):
        a = typed(a, b.dtype.scalar if isinstance(a, (int, float)) else b.dtype)
    else:
        if want is None:
            numbers = [v for v in (a, b) if isinstance(v, (int, float))]
            if any(isinstance(v, float) for v in numbers):
                want = FLOAT32
            elif numbers:
                want = as_expr(numbers[0]).dtype
        a, b = typed(a, want), typed(b, want)
    return broadcast_to(a, b.dtype.lanes), broadcast_to(b, a.dtype.lanes)


_BITS = frozenset({"shl", "shr", "bitand", "bitor", "bitxor"})


def operands_of(op: BinaryOp, a: Expr | Plain, b: Expr | Plain, want: DType | None) -> tuple[Expr, Expr]:
    """The operands of ``a op b`` in one type, as TVM brings them to it.

    An integer literal takes the type of what it is compared with for equality, or whose bits it meets: ``A[i] << 1`` of
    uint8 is a uint8.

    :raises IRError: if a literal does not fit.
    """
    if op in ("eq", "ne"):
        return unified(a, b, want)
    if op in _BITS:
        if isinstance(a, Expr) and type(b) is int:
            b = _bits(b, a.dtype.scalar)
        elif isinstance(b, Expr) and type(a) is int:
            a = _bits(a, b.dtype.scalar)
    return matched(a, b, want)


def _bits(literal: int, dtype: DType) -> Expr:
    """An integer literal that is combined with the bits of a value of a type."""
    if dtype.is_bool and literal in (0, 1):
        return typed(bool(literal), dtype)
    if dtype.bits == 64 and not INT32.min_value <= literal <= INT32.max_value:
        raise IRError(f"TVM takes the last 32 bits of {literal} here; write T.{dtype}({literal})")
    return typed(literal, dtype)


def matched(a: Expr | Plain, b: Expr | Plain, want: DType | None) -> tuple[Expr, Expr]:
    """Two operands of one operation, of different types too: TVM's ``BinaryOpMatchTypes``.

    The wider type of two integers, or of two floats, counts; a float before an integer, an unsigned integer before a
    signed one of the same width, an integer before a bool.  An integer literal counts as an int32 (an int64 if it needs
    that), a float literal as a float32: ``A[i] * 2`` of int8 is computed in int32, and ``A[i] * 0.5`` of float16 in
    float32.

    :raises IRError: if a literal does not fit.
    """
    if isinstance(a, Expr) and not isinstance(b, Expr):
        b, a = _beside(b, a)
    elif isinstance(b, Expr) and not isinstance(a, Expr):
        a, b = _beside(a, b)
    a, b = unified(a, b, want)
    x, y = a.dtype, b.dtype
    if x is y or x.lanes != y.lanes:
        return a, b
    common = promoted(x.scalar, y.scalar)
    return (a, b) if common is None else (cast_to(common, a), cast_to(common, b))


def _beside(literal: Plain, other: Expr) -> tuple[Expr | Plain, Expr]:
    """A literal and the operand that it meets, converted where the literal's own type is the wider one."""
    if isinstance(literal, PlainUndef):
        return literal, other
    own = INT64 if isinstance(literal, int) and not INT32.min_value <= literal <= INT32.max_value else None
    have = other.dtype.scalar
    common = promoted(have, own or as_expr(literal).dtype)
    if common is None:
        return literal, other
    if common.is_int and isinstance(literal, bool):
        literal = int(literal)
    return typed(literal, common), cast_to(common, other)


def promoted(a: DType, b: DType) -> DType | None:
    """The type that operands of two scalar types are converted to; ``None`` if there is none."""
    if a is b:
        return a
    match (a.is_float, b.is_float):
        case (True, True):  # TVM counts bfloat16 behind all others
            ranks = [(d.code != "bfloat", d.bits) for d in (a, b)]
            return b if ranks[0] < ranks[1] else a
        case (True, False):
            return a if b.is_int or b.is_bool else None
        case (False, True):
            return b if a.is_int or a.is_bool else None
    if a.is_int and b.is_int:
        if a.bits != b.bits:
            return a if a.bits > b.bits else b
        return a if a.code == "uint" else b
    return a if a.is_int and b.is_bool else b if a.is_bool and b.is_int else None


def cast_to(dtype: DType, value: Expr) -> Expr:
    """``value`` converted to the scalar ``dtype`` (its lanes stay); a constant is converted here and now.

    :raises IRError: if an integer constant does not fit.
    """
    match value:
        case IntImm(value=v) if not dtype.is_bool:
            return value if value.dtype is dtype else const(v, dtype)
        case Broadcast(value=inner, lanes=lanes):
            return Broadcast(cast_to(dtype, inner), lanes)
    return converted(dtype, value)


def broadcast_to(value: Expr, lanes: int) -> Expr:
    """A scalar repeated to ``lanes`` lanes; anything else unchanged."""
    return Broadcast(value, lanes) if value.dtype.lanes == 1 and lanes > 1 else value


def converted(dtype: DType, value: Expr) -> Expr:
    """``value`` converted to ``dtype``; a scalar dtype keeps the lanes of the value.

    :raises IRError: if the lanes differ.
    """
    if dtype.lanes == 1 and value.dtype.lanes > 1:
        dtype = dtype.with_lanes(value.dtype.lanes)
    return value if value.dtype is dtype else Cast(dtype, broadcast_to(value, dtype.lanes))


def checked_literal(value: int | float | bool) -> int | float | bool:
    """The literal itself.

    :raises IRError: if it is an integer beyond every integer type.
    """
    if isinstance(value, int) and abs(value) >= LARGEST_LITERAL:
        raise IRError("the integer literal is too large for every integer type")
    return value


def condition(value: Expr | Plain) -> Expr:
    """The value as a bool expression.

    :raises IRError: if it has another type.
    """
    made = typed(value, BOOL)
    if not made.dtype.is_bool:
        raise IRError(f"a condition must be bool, not {made.dtype}")
    return made
