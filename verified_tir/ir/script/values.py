"""What a name or an expression of the text may stand for while it is parsed.

Python numbers stay *plain* (without a type) until they meet a typed operand or a place that wants a type: in
``2 * A[i]`` the 2 takes the type of ``A[i]``, in ``B[i] = 0`` the 0 takes that of ``B``.  The same holds for
``T.undef()``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT32, DType
from verified_tir.ir.expr import Broadcast, Cast, Expr, Undef
from verified_tir.ir.node import IRError
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
Value: TypeAlias = "Expr | Plain | Buffer | Selection | str | DType | EnvThread | tuple[Value, ...] | None"


def is_plain(value: object) -> bool:
    """Whether the value has yet to take a type."""
    return isinstance(value, (int, float, PlainUndef))


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
