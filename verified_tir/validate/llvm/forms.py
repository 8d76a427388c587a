"""Terms up to what machine code does not see: the sign of an integer type where it does not matter.

LLVM's integers have no sign, so the type of a sum of data is guessed, and may differ from the program's.  Here every
term gets a *representative*: terms with one representative have the same bits and are defined in the same places.

    x of int32, cast to uint32 = x                         also beneath every operator
    a + b of int32 = a + b of uint32                       so for - * & | ^ ~, shifts to the left, ==, choices
    a + b = b + a, fma(a, b, c) = fma(b, a, c)
    x << k = x * 2**k
    shifts, divisions, comparisons, casts of x of int32 = those of uint32         if the highest bit of x is zero
    a - c = a + -c, a / 2**k = a * 2**-k, a * 2.0 = a + a                  of floats, for constants
    a * -1.0 = -0.0 - a, fma(a, b, -0.0) = a * b
    isnan(x) = not (x == x),  choices between swapped arms accordingly
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, final

from verified_tir.ir.dtype import DType
from verified_tir.validate.terms import Terms, beneath

_SIGNLESS: Final = frozenset(
    {"add", "sub", "mul", "bitand", "bitor", "bitxor", "bitwise_not", "shl", "eq", "popcount", "clz"}
)
_SIGNED: Final = frozenset({"shr", "lt", "le", "min", "max", "floordiv", "floormod", "truncdiv", "truncmod"})
_UNSIGNED_NAMES: Final = {"truncdiv": "floordiv", "truncmod": "floormod"}
_COMMUTATIVE: Final = frozenset({"add", "mul", "eq", "bitand", "bitor", "bitxor", "min", "max"})


@final
class Forms:
    """Representatives, made when they are asked for."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._representative: dict[int, int] = {}
        self._known: dict[object, int] = {}
        self._known_zeros: dict[int, int] = {}

    def of(self, root: int) -> int:
        found = self._representative.get(root)
        if found is not None:
            return found
        for term in beneath([root], lambda t: [k for k in self.terms.below(t) if k not in self._representative]):
            self._representative[term] = self._made(term)
        return self._representative[root]

    def merge(self, term: int, other: int) -> None:
        """From now on ``other`` represents ``term``; nothing above ``term`` may have a representative yet."""
        self._representative[term] = other

    def forget(self, terms: Iterable[int]) -> None:
        """Make the representatives of some terms again when they are asked for."""
        for term in terms:
            self._representative.pop(term, None)

    def operands(self, term: int) -> tuple[int, ...]:
        """The representatives of what a term is computed from."""
        return tuple([self.of(k) for k in self.terms.below(term)])

    def _made(self, term: int) -> int:
        key = self._key(term)
        if isinstance(key, int):
            return key
        found = self._known.setdefault(key, term)
        return self._representative.get(found, found)

    def _key(self, term: int) -> object:
        """What determines the term's bits; a number if that is another term's representative."""
        terms = self.terms
        op, dtype = terms.op_of(term), terms.dtype_of(term)
        parts = [self._representative[k] for k in terms.below(term)]
        if op == "const":
            width = ("int", dtype.bits) if dtype.is_int else str(dtype)
            return "const", width, int(terms.columns[1, term]) & ((1 << dtype.bits) - 1)
        if not parts:
            return "term", term
        if op in (f"cast:int{dtype.bits}", f"cast:uint{dtype.bits}") and dtype.is_int:
            return parts[0]
        if op == "reinterpret":
            return op, dtype.is_float and str(dtype), dtype.bits, parts[0]
        if op == "isnan":
            return "isnan", parts[0]
        if op == "not":
            unordered = self._ordered(parts[0])
            return ("isnan", unordered) if unordered is not None else (op, parts[0])
        if op == "ite":
            return self._choice((dtype.is_int and dtype.bits) or str(dtype), parts)
        if dtype.is_float:
            op, parts = self._exact(op, dtype, parts)
        if op in _COMMUTATIVE:
            parts.sort()
        elif op == "fma":
            parts[:2] = sorted(parts[:2])
        if op.startswith(("cast:int", "cast:uint")):
            return self._converted(DType.parse(op[5:]), dtype, parts[0])
        name, _, source = op.partition(":")
        if name in _SIGNLESS and source in (f"int{dtype.bits}", f"uint{dtype.bits}"):
            op = name
        if not dtype.is_int:
            return op, str(dtype), *parts
        if op == "shl":
            return self._product(dtype.bits, *parts)
        if op in _SIGNLESS:
            return op, dtype.bits, *parts
        code = dtype.code
        if code == "int" and op in _SIGNED and all(self._zeros(k) for k in parts):
            code = "uint"
        return _UNSIGNED_NAMES.get(op, op) if code == "uint" else op, code, dtype.bits, *parts

    def _converted(self, source: DType, target: DType, x: int) -> object:
        if target.is_int and target.bits <= source.bits:
            return "truncated", target.bits, x
        code = "uint" if self._zeros(x) else source.code
        return "cast", code, source.bits, ("int", target.bits) if target.is_int else str(target), x

    def _zeros(self, term: int) -> int:
        """How many of the highest bits of an integer are certainly zero."""
        found = self._known_zeros.get(term)
        if found is None:
            found = self._known_zeros[term] = self._count_zeros(term)
        return found

    def _count_zeros(self, term: int) -> int:
        terms = self.terms
        op, dtype = terms.op_of(term), terms.result_dtype(term)
        if not dtype.is_int:
            return 0
        width = dtype.bits
        if op == "const":
            return width - (int(terms.value(term)) & ((1 << width) - 1)).bit_length()
        below = self.operands(term)
        if op == "cast:bool":
            return width - 1
        if op.startswith(("cast:int", "cast:uint")):
            source = DType.parse(op[5:])
            inner = self._zeros(below[0])
            if source.bits >= width:
                return max(0, inner - (source.bits - width))
            return inner + width - source.bits if source.code == "uint" or inner else 0
        match op:
            case "bitand":
                return max(map(self._zeros, below))
            case "bitor" | "bitxor":
                return min(map(self._zeros, below))
            case "ite":
                return min(map(self._zeros, below[1:]))
            case "add":
                return max(0, min(map(self._zeros, below)) - 1)
            case "mul":
                return max(0, sum(map(self._zeros, below)) - width)
            case "shr" if terms.op_of(below[1]) == "const":
                inner = self._zeros(below[0])
                return min(width, inner + int(terms.value(below[1]))) if inner or dtype.code == "uint" else 0
        return 0

    def _product(self, bits: int, x: int, amount: int) -> object:
        if self.terms.op_of(amount) != "const" or not 0 <= int(self.terms.value(amount)) < bits:
            return "shl", bits, x, amount
        factor = self.of(self.terms.constant(DType("uint", bits), 1 << int(self.terms.value(amount))))
        return "mul", bits, *sorted((x, factor))

    def _exact(self, op: str, dtype: DType, parts: list[int]) -> tuple[str, list[int]]:
        """Float operators with constants, where another one has the same bits for every operand."""
        if op == "mul":
            for x, y in (parts, parts[::-1]):
                factor = self._number(y)
                if factor in (-1.0, 2.0):
                    return ("negated", [x]) if factor == -1 else ("add", [x, x])
        value = self._number(parts[-1])
        match op:
            case "sub" if _is_minus_zero(self._number(parts[0])):
                return "negated", parts[1:]
            case "sub" if value is not None:
                return "add", [parts[0], self.of(self.terms.constant(dtype, -value))]
            case "fma" if _is_minus_zero(value):
                return "mul", parts[:2]
            case "div" if value is not None and abs(math.frexp(value)[0]) == 0.5 and 2**-14 <= abs(value) <= 2**14:
                return "mul", [parts[0], self.of(self.terms.constant(dtype, 1 / value))]
        return op, parts

    def _number(self, term: int) -> float | None:
        return float(self.terms.value(term)) if self.terms.op_of(term) == "const" else None

    def _ordered(self, condition: int) -> int | None:
        """x, if the condition is x == x."""
        terms = self.terms
        if terms.op_of(condition) != "eq" or not terms.dtype_of(condition).is_float:
            return None
        a, b = self.operands(condition)
        return a if a == b else None

    def _choice(self, kind: object, parts: list[int]) -> object:
        condition, a, b = parts
        ordered = self._ordered(condition)
        if ordered is not None:
            return "ite", kind, ("isnan", ordered), b, a
        if self.terms.op_of(condition) == "isnan":
            return "ite", kind, ("isnan", self.operands(condition)[0]), a, b
        return "ite", kind, condition, a, b


def _is_minus_zero(value: float | None) -> bool:
    return value == 0 and math.copysign(1, value) < 0
