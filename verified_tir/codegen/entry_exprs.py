"""Extents as LLVM IR: index arithmetic in 64 bits, with every intermediate value kept small.

Each value that is computed carries a condition, an ``i1``, under which it is right: every subexpression fits its type
and lies within 32 signed bits.  So no instruction ever overflows, nothing divides by zero, and an extent that is too
large for this is left to the check in Python, as is one with an operator that is not written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Cast, Expr, IntImm, Var

LIMIT = 2**31


class Inexpressible(Exception):
    """The extent has an operator that is evaluated in Python only."""


@final
class ExtentWriter:
    """Appends instructions that compute extents.

    :param values: the symbols, as names of ``i64`` registers that hold values of their types.
    """

    def __init__(self, lines: list[str], values: Mapping[Var, str]) -> None:
        self.lines = lines
        self.values = values
        self.known: dict[Expr, str] = {}
        self.conditions: list[str] = []
        self.count = 0

    def let(self, text: str) -> str:
        """A new register with a value."""
        self.count += 1
        name = f"%x{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def require(self, condition: str) -> None:
        """A condition that must hold for what was computed so far to mean anything."""
        self.conditions.append(condition)

    def all_required(self) -> str:
        """The conjunction of all conditions since the last call of this, as an ``i1``."""
        found = "true"
        for c in self.conditions:
            found = c if found == "true" else self.let(f"and i1 {found}, {c}")
        self.conditions.clear()
        return found

    def within(self, value: str, low: int, high: int) -> None:
        """Require ``low <= value <= high``."""
        shifted = self.let(f"sub i64 {value}, {low}") if low else value
        self.require(self.let(f"icmp ule i64 {shifted}, {high - low}"))

    def value(self, expr: Expr) -> str:
        """The value of an extent, as the name of an ``i64`` or a number.

        :raises Inexpressible: if it has an operator that is not written here.
        """
        found = self.known.get(expr)
        if found is None:
            found = self.known[expr] = self._value(expr)
        return found

    def _value(self, expr: Expr) -> str:
        match expr:
            case IntImm(value=v) if -LIMIT <= v < LIMIT:
                return str(v)
            case Var() if expr in self.values:
                self._small(self.values[expr], expr.dtype)
                return self.values[expr]
            case Cast(type=t, value=v) if t.is_int and v.dtype.is_int:
                inner = self.value(v)
                self._small(inner, t)  # a cast that wraps is left to Python
                return inner
            case Binary(op=op, a=a, b=b) if expr.dtype.is_int:
                found = self._binary(op, self.value(a), self.value(b), b)
                self._small(found, expr.dtype)
                return found
        raise Inexpressible

    def _small(self, value: str, dtype: DType) -> None:
        self.within(value, max(dtype.min_value, -LIMIT), min(dtype.max_value, LIMIT - 1))

    def _binary(self, op: str, a: str, b: str, divisor: Expr) -> str:
        match op:
            case "add" | "sub" | "mul":
                return self.let(f"{op} i64 {a}, {b}")
            case "min" | "max":
                less = self.let(f"icmp {'slt' if op == 'min' else 'sgt'} i64 {a}, {b}")
                return self.let(f"select i1 {less}, i64 {a}, i64 {b}")
            case "floordiv" | "floormod" | "truncdiv" | "truncmod" if isinstance(divisor, IntImm) and divisor.value > 0:
                kind = "sdiv" if op.endswith("div") else "srem"
                if op.startswith("trunc"):
                    return self.let(f"{kind} i64 {a}, {b}")
                remainder = self.let(f"srem i64 {a}, {b}")
                negative = self.let(f"icmp slt i64 {remainder}, 0")
                if op == "floormod":
                    moved = self.let(f"add i64 {remainder}, {b}")
                    return self.let(f"select i1 {negative}, i64 {moved}, i64 {remainder}")
                quotient = self.let(f"sdiv i64 {a}, {b}")
                borrow = self.let(f"sext i1 {negative} to i64")
                return self.let(f"add i64 {quotient}, {borrow}")
        raise Inexpressible
