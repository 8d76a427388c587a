"""Data types of values, elements and pointers.

A :class:`DType` is a scalar kind, a width in bits and a number of lanes, written as TVM writes them (``"float32"``,
``"int8x4"``, ``"bool"``, ``"bfloat16"``).  A :class:`PointerType` says what a buffer's data variable points to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, final

from verified_tir.ir.node import IRError, Node

if TYPE_CHECKING:
    from verified_tir.ir.sugar import TypeSugar
else:
    TypeSugar = object

Code = Literal["int", "uint", "float", "bfloat", "bool", "handle", "void"]

_INTS = (8, 16, 32, 64)
BITS: Final[dict[str, tuple[int, ...]]] = {
    "int": _INTS, "uint": _INTS, "float": (16, 32, 64), "bfloat": (16,), "bool": (1,), "handle": (64,), "void": (0,),
}  # fmt: skip
"""The widths of each kind of type."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class DType(Node, TypeSugar):
    """A value type: scalar kind, bits, lanes (1 for a scalar)."""

    code: Code
    bits: int
    lanes: int = 1

    def check(self) -> None:
        if self.bits not in BITS[self.code]:
            raise IRError(f"there is no {self.code} of {self.bits} bits")
        if self.lanes < 1:
            raise IRError(f"a type has at least one lane, not {self.lanes}")

    @property
    def is_int(self) -> bool:
        """Signed or unsigned integer (bool is neither)."""
        return self.code in ("int", "uint")

    @property
    def is_float(self) -> bool:
        return self.code in ("float", "bfloat")

    @property
    def is_bool(self) -> bool:
        return self.code == "bool"

    @property
    def scalar(self) -> DType:
        """The type of one lane."""
        return self.with_lanes(1)

    def with_lanes(self, lanes: int) -> DType:
        return self if lanes == self.lanes else DType(self.code, self.bits, lanes)

    @property
    def min_value(self) -> int:
        """Least value of an integer or bool."""
        return -(1 << (self.bits - 1)) if self.code == "int" else 0

    @property
    def max_value(self) -> int:
        """Greatest value of an integer or bool."""
        return (1 << (self.bits - 1)) - 1 if self.code == "int" else (1 << self.bits) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of one element, lanes included (bool takes one byte a lane)."""
        return max(1, self.bits // 8) * self.lanes


@final
@dataclass(frozen=True, slots=True, eq=False)
class PointerType(Node):
    """The type of a buffer's data variable: element type and storage scope."""

    element: DType
    scope: str = "global"


BOOL = DType("bool", 1)
INT8 = DType("int", 8)
INT32 = DType("int", 32)
INT64 = DType("int", 64)
FLOAT16 = DType("float", 16)
FLOAT32 = DType("float", 32)
FLOAT64 = DType("float", 64)
BFLOAT16 = DType("bfloat", 16)
HANDLE = DType("handle", 64)
VOID = DType("void", 0)


@final
@dataclass(frozen=True, slots=True)
class FloatFormat:
    """How a float type is laid out, and what the sort of its values is called in formulas."""

    exponent: int  # bits of the exponent field
    sort: str


FLOATS: Final[dict[DType, FloatFormat]] = {
    FLOAT16: FloatFormat(5, "F16"), BFLOAT16: FloatFormat(8, "BF16"),
    FLOAT32: FloatFormat(8, "F32"), FLOAT64: FloatFormat(11, "F64"),
}  # fmt: skip
"""All float types, as scalars."""
