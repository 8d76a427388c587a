"""Normal forms of terms: sums and products of integers modulo 2ʷ, and of floats up to order and association.

A sum of integers is a polynomial: a dictionary from monomials (sorted tuples of atoms) to coefficients.  Anything that
is no sum, difference, product or constant is an atom, keyed by its operator, its type and the normal forms of its
operands.  Equal normal forms mean equal values in two's complement.  A monomial that cancels disappears, unless
something in it may be undef: ``x - x`` is not 0 for an undefined x.  What can be said with powers of two is said in one
way: ``x << 3`` is ``x * 8``, ``x >> 3`` is ``x // 8``, ``x & 7`` is ``x % 8``; of floats, ``x + x`` is ``x * 2`` and
``x / 8`` is ``x * 0.125``, to the bit.

A minimum, maximum, ``and``, ``or`` or ``exclusive or`` of integers is the set of what is combined, with one constant at
the most: that of the others' values, and none if it changes nothing.

With ``reals``, a sum of floats is the multiset of its summands, a product that of its factors, and a maximum (by
``select(a > b, a, b)``) the set of its operands, -inf left out.  Nothing is distributed and nothing cancels: ``x - x``
is not 0.0 for an infinite x, and ``x + 0.0`` not x for -0.0.  That 0.0 is among the summands is kept, how often is not:
however the sum is associated, a second 0.0 changes nothing.

Conditions under which *before* has undefined behaviour whatever the path are false wherever they occur.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final, TypeAlias, final

from verified_tir.ir.dtype import DType
from verified_tir.validate.terms import MAY_UNDEF, UNDEF_ID, Terms, arity, is_leaf

Monomial: TypeAlias = tuple[int, ...]
Polynomial: TypeAlias = dict[Monomial, int]

_LARGEST_PRODUCT: Final = 64
_LARGEST_DEGREE: Final = 64  # repeated squaring doubles it each time
_SUMS: Final = frozenset({"add", "sub", "mul", "const"})
_RING: Final = frozenset({"add", "sub", "mul"})
_FOLD: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "min": min, "max": max, "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor,
}  # fmt: skip
"""Operators of integers that are commutative and associative (besides + and *)."""
_UNSIGNED: Final = {"truncdiv": "floordiv", "truncmod": "floormod"}


class TooLarge(Exception):
    """The normal form is too large to be made."""


@final
class Normaliser:
    """Makes normal forms, as numbers that are equal just if the forms are.  ``budget`` counts visits of terms."""

    def __init__(
        self, terms: Terms, undefined: Mapping[tuple[int, int], str], *, reals: bool, budget: int = 2_000_000
    ) -> None:
        self.terms, self.reals, self.budget = terms, reals, budget
        self._memo: dict[int, int] = {}
        self._keys: dict[object, int] = {}
        self._doubtful: list[bool] = []  # by normal form: may it be undef
        self._polynomials: dict[int, Polynomial] = {}
        self._floats: dict[int, float] = {}  # constants, by normal form
        self._members: dict[tuple[str, int], dict[int, int]] = {}  # what is combined, by operator and normal form
        for guard, condition in undefined:
            if guard == terms.true:
                self._assume(condition)

    def _assume(self, condition: int) -> None:
        """A term that is false, else *before* has no meaning."""
        terms = self.terms
        if terms.op_of(condition) == "is_undef" or terms.is_const(condition):  # type: ignore[arg-type]
            return
        self._memo[condition] = self._intern(("term", terms.false), False)
        if terms.op_of(condition) == "not":
            holds = terms.operands(condition)[0]
            self._memo[holds] = self._intern(("term", terms.true), False)
            self._equate(holds)

    def _equate(self, condition: int) -> None:
        """Where an integer is known to be a constant it is that constant, to the bit (floats are not: -0.0 == 0.0)."""
        terms = self.terms
        if terms.op_of(condition) != "eq" or not terms.dtype_of(condition).is_int:
            return
        a, b, _ = terms.operands(condition)
        for one, other in ((a, b), (b, a)):
            if terms.op_of(one) == "const" and terms.op_of(other) != "const":
                self._memo[other] = self._normal(one)

    def normal(self, term: int) -> int:
        """The number of the term's normal form.

        :raises TooLarge: if the budget is used up, or the terms are nested too deeply.
        """
        try:
            return self._normal(term)
        except RecursionError:
            raise TooLarge from None

    def _intern(self, key: object, doubtful: bool) -> int:
        found = self._keys.get(key)
        if found is None:
            found = self._keys[key] = len(self._doubtful)
            self._doubtful.append(doubtful)
        return found

    def _visit(self) -> None:
        self.budget -= 1
        if self.budget < 0:
            raise TooLarge

    def _normal(self, term: int) -> int:
        found = self._memo.get(term)
        if found is not None:
            return found
        self._visit()
        terms = self.terms
        op, dtype = terms.op_of(term), terms.dtype_of(term)
        doubtful = bool(terms.flags[term] & MAY_UNDEF)
        if dtype.is_int and (op in _SUMS or (op == "shl" and self._amount(term) is not None)):
            polynomial = self._polynomial(term, dtype)
            key = (str(dtype), tuple(sorted(polynomial.items())))
            if len(polynomial) == 1 and next(iter(polynomial.items()))[1] == 1 and len(next(iter(polynomial))) == 1:
                found = next(iter(polynomial))[0]  # a sum of one atom is that atom
            else:
                found = self._intern(("sum", key), doubtful)
                self._polynomials[found] = polynomial
        else:
            found = self._atom(term, op, dtype, doubtful)
        self._memo[term] = found
        return found

    def _atom(self, term: int, op: str, dtype: DType, doubtful: bool) -> int:
        terms = self.terms
        if is_leaf(op):
            found = self._intern(("term", term), doubtful)
            if op == "const" and dtype.is_float:
                self._floats[found] = float(terms.value(term))
            return found
        a, b, c = terms.operands(term)
        if self.reals and dtype.is_float and (op in _RING or (op == "div" and self._factors(dtype, a, b))):
            return self._intern(self._multiset("add" if op in ("add", "sub") else "mul", term, dtype), doubtful)
        combined = self._combination(op, dtype, (a, b, c))
        if combined is not None:
            return combined
        op, operands = self._by_power(op, dtype, (a, b, c)[: arity(op)])
        parts = [self._normal(x) if x != UNDEF_ID or op == "ite" else -1 for x in operands]
        if op == "add" and dtype.is_float and parts[0] == parts[1]:
            op, parts = "mul", [parts[0], self._normal(terms.constant(dtype, 2.0))]
        if op == "ite":
            if parts[0] == self._intern(("term", terms.true), False):
                return parts[1]
            if parts[0] == self._intern(("term", terms.false), False):
                return parts[2]
            if parts[1] == parts[2] and not self._doubtful[parts[0]]:
                return parts[1]
        if op in ("eq", "add", "mul"):
            parts[:2] = sorted(parts[:2])
        return self._intern((op, str(dtype), *parts), doubtful)

    def _amount(self, term: int) -> int | None:
        """By how many bits a shift is, if that is known."""
        amount = self.terms.operands(term)[1]
        if self.terms.op_of(amount) != "const":
            return None
        bits = int(self.terms.value(amount))
        return bits if 0 <= bits < self.terms.dtype_of(term).bits else None

    def _by_power(self, op: str, dtype: DType, operands: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        """An operator with a power of two as the one that other texts say the same with."""
        terms = self.terms
        if op == "div":
            factors = self._factors(dtype, *operands)
            return (op, operands) if factors is None else ("mul", factors)
        if dtype.code == "uint":
            op = _UNSIGNED.get(op, op)
        if op != "shr" or not dtype.is_int or terms.op_of(operands[1]) != "const":
            return op, operands
        number = int(terms.value(operands[1]))
        power = 1 << number if 0 <= number < dtype.bits else 0
        if 1 < power <= dtype.max_value:
            return "floordiv", (operands[0], terms.constant(dtype, power))
        return op, operands

    def _factors(self, dtype: DType, a: int, b: int) -> tuple[int, int] | None:
        """Two terms whose product a quotient of floats is, to the bit: that by most powers of two."""
        terms = self.terms
        if terms.op_of(b) != "const" or not dtype.is_float:
            return None
        number = float(terms.value(b))
        if not 2.0**-1022 <= abs(number) < math.inf or abs(math.frexp(number)[0]) != 0.5:
            return None
        inverse = terms.constant(dtype, 1 / number)
        return (a, inverse) if terms.value(inverse) == 1 / number else None

    def _multiset(self, kind: str, term: int, dtype: DType) -> object:
        """The summands of a sum of floats (those subtracted are marked), or the factors of a product."""
        terms = self.terms
        zero, one = terms.constant(dtype, 0.0), terms.constant(dtype, 1.0)
        members: list[tuple[str, int]] = []
        zeros = False
        stack = [term]
        while stack:
            here = stack.pop()
            self._visit()
            op = terms.op_of(here) if terms.dtype_of(here) is dtype else ""
            a, b, _ = terms.operands(here)
            factors = self._factors(dtype, a, b) if op == "div" and kind == "mul" else None
            if op == kind or factors is not None:
                stack += factors or [a, b]
            elif op == "sub" and kind == "add":  # a - b is a + (-b), to the bit
                stack.append(a)
                members.append(("minus", self._normal(b)))
            elif here == zero and kind == "add":
                zeros = True
            elif not (here == one and kind == "mul"):
                members.append(("", self._normal(here)))
        return (kind, str(dtype), zeros, tuple(sorted(members)))

    # -------------------------------------------------------------------- minima, maxima, and, or, exclusive or

    def _combination(self, op: str, dtype: DType, operands: tuple[int, ...]) -> int | None:
        """The normal form of an operator that is commutative and associative: by what is combined, in any order.

        Over the reals this includes minima and maxima of floats, which are choices.
        """
        kind = self._kind(op, dtype, *operands)
        if kind is None:
            return None
        members: dict[int, int] = {}
        stack = list(operands[:2] if op == kind else operands[1:])
        while stack:
            term = stack.pop()
            self._visit()
            below = self.terms.operands(term)
            if self._kind(self.terms.op_of(term), self.terms.dtype_of(term), *below) == kind and (
                self.terms.dtype_of(term) is dtype and term not in self._memo
            ):
                stack.extend(below[:2] if self.terms.op_of(term) == kind else below[1:])
                continue
            normal = self._normal(term)
            for member, often in self._members.get((kind, normal), {normal: 1}).items():
                members[member] = members.get(member, 0) + often
        return self._combined(kind, dtype, members)

    def _combined(self, kind: str, dtype: DType, members: dict[int, int]) -> int:
        """What is combined once: constants made one, those left out that change nothing; what alone is left, itself.

        ``x ^ x`` is 0 unless x may be undef.
        """
        doubtful = any(self._doubtful[m] for m in members)
        if kind == "bitxor":
            members = {m: n % 2 for m, n in members.items() if n % 2 or self._doubtful[m]}
        else:
            members = dict.fromkeys(members, 1)
        known = {m: v for m in members if (v := self._number(m, dtype)) is not None}
        neutral, absorbing = _ends(kind, dtype)
        zeros = dtype.is_float and len({math.copysign(1.0, v) for v in known.values() if v == 0}) > 1
        if known and not zeros:
            total = reduce(_FOLD[kind], known.values())
            if total == absorbing and not doubtful:
                return self._normal(self.terms.constant(dtype, total))
            members = {m: n for m, n in members.items() if m not in known}
            if total != neutral or not members:
                members[self._normal(self.terms.constant(dtype, total))] = 1
        if not members:
            return self._normal(self.terms.constant(dtype, 0))
        if list(members.values()) == [1]:
            return next(iter(members))
        mask = next((v for m in members if (v := self._number(m, dtype)) is not None), 0)
        if kind == "bitand" and mask > 0 and int(mask) & (int(mask) + 1) == 0 and mask < dtype.max_value:
            rest = self._combined(kind, dtype, {m: n for m, n in members.items() if self._number(m, dtype) is None})
            power = self._normal(self.terms.constant(dtype, mask + 1))
            return self._intern(("floormod", str(dtype), rest, power), doubtful)
        found = self._intern((kind, str(dtype), tuple(sorted(members.items()))), doubtful)
        self._members[kind, found] = members
        return found

    def _number(self, normal: int, dtype: DType) -> float | None:
        """The constant that a normal form is (not NaN), if it is one."""
        if dtype.is_float:
            value = self._floats.get(normal)
            return None if value is None or math.isnan(value) else value
        polynomial = self._polynomials.get(normal)
        if polynomial is None or not polynomial.keys() <= {()}:
            return None
        value = polynomial.get((), 0)
        return value if value <= dtype.max_value else value - (1 << dtype.bits)

    def _kind(self, op: str, dtype: DType, a: int, b: int, c: int) -> str | None:
        if op in _FOLD and dtype.is_int:
            return op
        if op != "ite" or not dtype.is_float or not self.reals or self.terms.op_of(a) not in ("lt", "le"):
            return None
        x, y, _ = self.terms.operands(a)
        if (x, y) == (b, c):
            return "min"
        return "max" if (x, y) == (c, b) else None

    # ------------------------------------------------------------------------------------------- polynomials

    def _polynomial(self, term: int, dtype: DType) -> Polynomial:
        """The sum beneath a term, flattened; zero coefficients stay only where something may be undef."""
        terms = self.terms
        modulus = 1 << dtype.bits
        total: Polynomial = {}
        stack: list[tuple[int, int]] = [(term, 1)]
        while stack:
            here, factor = stack.pop()
            self._visit()
            op = terms.op_of(here) if here not in self._memo or here == term else ""
            amount = self._amount(here) if op == "shl" and terms.dtype_of(here) is dtype else None
            if amount is not None:
                stack.append((terms.operands(here)[0], factor << amount))
            elif op in _SUMS and terms.dtype_of(here) is dtype:
                a, b, _ = terms.operands(here)
                if op == "add":
                    stack += [(a, factor), (b, factor)]
                    continue
                if op == "sub":
                    stack += [(a, factor), (b, -factor)]
                    continue
                for monomial, coefficient in self._product(here, op, dtype).items():
                    _add(total, monomial, coefficient * factor, modulus)
            else:
                for monomial, coefficient in self._of(self._normal(here)).items():
                    _add(total, monomial, coefficient * factor, modulus)
        return {m: k for m, k in total.items() if k != 0 or any(self._doubtful[atom] for atom in m)}

    def _of(self, normal: int) -> Polynomial:
        found = self._polynomials.get(normal)
        return {(normal,): 1} if found is None else found

    def _product(self, term: int, op: str, dtype: DType) -> Polynomial:
        """A constant or a product, multiplied out while it is small."""
        terms = self.terms
        if op == "const":
            return {(): int(terms.value(term))}
        a, b, _ = terms.operands(term)
        p, q = self._of(self._normal(a)), self._of(self._normal(b))
        if not p or not q:  # a product with zero: zero, and undef where the other factor is
            return dict.fromkeys((*p, *q), 0)
        degree = max(map(len, p)) + max(map(len, q))
        if len(p) * len(q) > _LARGEST_PRODUCT or degree > _LARGEST_DEGREE:
            left, right = sorted((self._normal(a), self._normal(b)))
            return {(self._intern(("mul", str(dtype), left, right), bool(terms.flags[term] & MAY_UNDEF)),): 1}
        product: Polynomial = {}
        modulus = 1 << dtype.bits
        for m, k in p.items():
            for n, j in q.items():
                _add(product, tuple(sorted(m + n)), k * j, modulus)
        return product


def _ends(kind: str, dtype: DType) -> tuple[float | None, float | None]:
    """Of an operator in :data:`_FOLD`, the constant that changes nothing, and the one to which all else gives way."""
    if dtype.is_float:  # NaN gives way to nothing
        return (math.inf if kind == "min" else -math.inf), None
    ones = -1 if dtype.code == "int" else dtype.max_value
    least, most = dtype.min_value, dtype.max_value
    ends: dict[str, tuple[float | None, float | None]] = {
        "min": (most, least), "max": (least, most), "bitand": (ones, 0), "bitor": (0, ones), "bitxor": (0, None),
    }  # fmt: skip
    return ends[kind]


def _add(total: Polynomial, monomial: Monomial, coefficient: int, modulus: int) -> None:
    total[monomial] = (total.get(monomial, 0) + coefficient) % modulus
