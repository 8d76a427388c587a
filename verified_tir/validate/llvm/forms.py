"""Terms up to what machine code does not see: the sign of an integer type where it does not matter.

LLVM's integers have no sign, so the type of a sum of data is guessed, and may differ from the program's.  Here every
term gets a *representative*: terms with one representative have the same bits and are defined in the same places.

    x of int32, cast to uint32 = x                         also beneath every operator
    a + b of int32 = a + b of uint32                       so for - * & | ^ ~, shifts to the left, ==, choices
    x << k = x * 2**k
    isnan(x) = not (x == x),  choices between swapped arms accordingly
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

from verified_tir.validate.llvm.bits import operands
from verified_tir.validate.terms import Terms

_SIGNLESS: Final = frozenset(
    {"add", "sub", "mul", "bitand", "bitor", "bitxor", "bitwise_not", "shl", "eq", "popcount", "clz"}
)
_COMMUTATIVE: Final = frozenset({"add", "mul", "eq", "bitand", "bitor", "bitxor", "min", "max"})


@final
class Forms:
    """Representatives, made when they are asked for."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self._representative: dict[int, int] = {}
        self._known: dict[object, int] = {}

    def of(self, root: int) -> int:
        """The representative of a term."""
        found = self._representative.get(root)
        if found is not None:
            return found
        stack = [root]
        while stack:
            term = stack[-1]
            missing = [k for k in operands(self.terms, term) if k not in self._representative]
            if missing:
                stack += missing
                continue
            stack.pop()
            if term not in self._representative:
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
        return tuple([self.of(k) for k in operands(self.terms, term)])

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
        parts = [self._representative[k] for k in operands(terms, term)]
        if op == "const":
            width = ("int", dtype.bits) if dtype.is_int else str(dtype)
            return "const", width, int(terms.columns[1, term]) & ((1 << dtype.bits) - 1)
        if not parts:
            return "term", term
        if op.startswith("cast:") and dtype.is_int and op[5:] in (f"int{dtype.bits}", f"uint{dtype.bits}"):
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
        if op in _COMMUTATIVE:
            parts.sort()
        if op.startswith("cast:") and dtype.is_int and not op.startswith(("cast:float", "cast:bfloat")):
            return op, dtype.bits, parts[0]
        if dtype.is_int and op in _SIGNLESS:
            if op == "shl":
                return self._product(dtype.bits, *parts)
            return op, dtype.bits, *parts
        if op == "truncdiv" and dtype.code == "uint":
            op = "floordiv"
        if op == "truncmod" and dtype.code == "uint":
            op = "floormod"
        return op, str(dtype), *parts

    def _product(self, bits: int, x: int, amount: int) -> object:
        if self.terms.op_of(amount) != "const" or not 0 <= int(self.terms.value(amount)) < bits:
            return "shl", bits, x, amount
        factor = ("const", ("int", bits), (1 << int(self.terms.value(amount))) & ((1 << bits) - 1))
        known = self._known.get(factor)
        return ("mul", bits, *sorted((x, known))) if known is not None else ("shl", bits, x, amount)

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
