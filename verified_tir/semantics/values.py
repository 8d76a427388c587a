"""Values: what an expression evaluates to.

A *scalar* is a Python ``bool``, ``int`` or ``float``, or :data:`UNDEF`, the value that nothing is known about.  Floats
of every width are Python floats: each float type is a subset of float64, and an operation rounds its result into its
type.  A value with lanes is a tuple of scalars.  There is one NaN; its sign and payload do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

from verified_tir.ir.dtype import DType


class Undefined(Enum):
    """The type of :data:`UNDEF`; an enumeration, so that ``is UNDEF`` narrows types."""

    UNDEF = "undef"

    def __repr__(self) -> str:
        return "undef"

    def __bool__(self) -> bool:
        raise TypeError("undef has no truth value; test with `is UNDEF` first")


UNDEF: Final = Undefined.UNDEF

Number: TypeAlias = bool | int | float
Scalar: TypeAlias = Number | Undefined
Value: TypeAlias = Scalar | tuple[Scalar, ...]

Operation: TypeAlias = Callable[..., Any]
"""A function of scalars of one type: its table, not Python's types, says which numbers it takes."""


def is_undef(value: Value) -> bool:
    """Whether the value is undefined, in any of its lanes."""
    return any(v is UNDEF for v in value) if isinstance(value, tuple) else value is UNDEF


def lanes_of(value: Value) -> tuple[Scalar, ...]:
    """The lanes of a value; a scalar has one."""
    return value if isinstance(value, tuple) else (value,)


def vector(lanes: Sequence[Scalar]) -> Value:
    """The value with these lanes: a tuple, but a single lane is a scalar."""
    return tuple(lanes) if len(lanes) != 1 else lanes[0]


def wrap(dtype: DType, value: int) -> int:
    """The integer of type ``dtype`` that is congruent to ``value`` modulo 2**bits (two's complement)."""
    low = dtype.min_value
    return ((value - low) & ((1 << dtype.bits) - 1)) + low


def fits(dtype: DType, value: int) -> bool:
    """Whether an integer is in the range of ``dtype``."""
    return dtype.min_value <= value <= dtype.max_value
