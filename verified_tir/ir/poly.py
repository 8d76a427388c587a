"""Integer polynomials over index atoms: the normal form in which index arithmetic is compared.

A :class:`Poly` is a finite sum ``Σ k · a₁ · … · aₘ`` with integer coefficients; an *atom* is any expression that is not
itself a sum, a product or a constant (a variable, ``x // 4``, ``min(a, b)``, …).  Atoms are interned, so two
polynomials are equal when their dictionaries are.  Nothing here knows about ranges.

:func:`as_poly` reads an expression, :func:`render` writes one back with its terms in a fixed order: higher degree
first, then larger coefficient, then older variable; negative terms after positive ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias, final

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Cast, Expr, IntImm, Var
from verified_tir.ir.visit import fields

Monomial: TypeAlias = tuple[Expr, ...]
"""A product of atoms, sorted by identity so that a product has one spelling; ``()`` is 1."""


@final
class Poly:
    """A sum of integer multiples of monomials; immutable by convention, compared with :meth:`same`."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {m: k for m, k in terms.items() if k}

    @staticmethod
    def of(value: int) -> Poly:
        """The constant ``value``."""
        return Poly({(): value})

    @staticmethod
    def atom(expr: Expr) -> Poly:
        """The polynomial that is one atom."""
        return Poly({(expr,): 1})

    def __add__(self, other: Poly | int) -> Poly:
        terms = dict(self.terms)
        for m, k in other.terms.items() if isinstance(other, Poly) else (((), other),):
            terms[m] = terms.get(m, 0) + k
        return Poly(terms)

    def __sub__(self, other: Poly | int) -> Poly:
        return self + (other.scale(-1) if isinstance(other, Poly) else -other)

    def __mul__(self, other: Poly) -> Poly:
        terms: dict[Monomial, int] = {}
        for m, k in self.terms.items():
            for n, j in other.terms.items():
                product = times(m, n)
                terms[product] = terms.get(product, 0) + k * j
        return Poly(terms)

    def scale(self, factor: int) -> Poly:
        return Poly({m: k * factor for m, k in self.terms.items()})

    def same(self, other: Poly) -> bool:
        """Whether both are the same sum."""
        return self.terms == other.terms

    @property
    def is_zero(self) -> bool:
        return not self.terms

    @property
    def constant(self) -> int | None:
        """The value if there are no atoms."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def offset(self) -> int:
        """The constant term."""
        return self.terms.get((), 0)

    @property
    def single(self) -> Expr | None:
        """The atom, if this is one atom with coefficient 1."""
        if len(self.terms) == 1:
            ((m, k),) = self.terms.items()
            if k == 1 and len(m) == 1:
                return m[0]
        return None

    def without_offset(self) -> Poly:
        return Poly({m: k for m, k in self.terms.items() if m})

    def atoms(self) -> Iterator[Expr]:
        """Every atom once, in the order of the terms."""
        yield from dict.fromkeys(a for m in self.terms for a in m)

    def coefficient(self, atom: Expr) -> tuple[Poly, Poly] | None:
        """``(c, rest)`` with ``self = c · atom + rest`` and no ``atom`` in either; None if a power of it occurs."""
        inside: dict[Monomial, int] = {}
        outside: dict[Monomial, int] = {}
        for m, k in self.terms.items():
            others = tuple(a for a in m if a is not atom)
            if len(m) - len(others) > 1:
                return None
            (inside if len(others) < len(m) else outside)[others] = k
        return Poly(inside), Poly(outside)

    def replace(self, atom: Expr, by: Poly) -> Poly | None:
        """``self`` with ``atom`` replaced; None if a power of it occurs."""
        split = self.coefficient(atom)
        return None if split is None else split[0] * by + split[1]

    def divide(self, divisor: Poly) -> tuple[Poly, Poly]:
        """``(q, r)`` with ``self = q · divisor + r``: terms that the divisor's leading term divides go to ``q``.

        A constant or one-term divisor takes exactly its multiples.  ``r`` is not reduced further, so this is not yet
        floor division.
        """
        if not divisor.terms:
            return Poly({}), self
        lead, factor = max(divisor.terms.items(), key=lambda t: (len(t[0]), atom_keys(t[0])))
        rest, quotient = self, Poly({})
        for _ in range(8):  # each round lowers the degree in the leading monomial; eight is more than any index needs
            found = {
                left: k // factor
                for m, k in rest.terms.items()
                if k % factor == 0 and (left := _over(m, lead)) is not None
            }
            if not found:
                break
            part = Poly(found)
            quotient, rest = quotient + part, rest - part * divisor
        return quotient, rest

    def exact(self, divisor: Poly) -> Poly | None:
        """``self / divisor`` if it is a polynomial."""
        quotient, rest = self.divide(divisor)
        return quotient if rest.is_zero else None

    def __repr__(self) -> str:
        return " + ".join(f"{k}{''.join('·' + atom_key(a) for a in m)}" for m, k in self.terms.items()) or "0"


def times(m: Monomial, n: Monomial) -> Monomial:
    """The product of two monomials."""
    if not m or not n:
        return m or n
    return tuple(sorted((*m, *n), key=id))


def _over(m: Monomial, divisor: Monomial) -> Monomial | None:
    left = list(m)
    for a in divisor:
        for k, b in enumerate(left):
            if a is b:
                del left[k]
                break
        else:
            return None
    return tuple(left)


@lru_cache(maxsize=1 << 12)
def atom_key(expr: Expr) -> str:
    """A text by which atoms are ordered: variables by age, before anything composed."""
    if isinstance(expr, Var):
        return f"{expr.uid:09d}"
    if isinstance(expr, IntImm):
        return f"i{expr.value}"
    inner = ",".join(atom_key(v) if isinstance(v, Expr) else str(v) for v in fields(expr))
    return f"{type(expr).__name__}({inner})"


def atom_keys(m: Monomial) -> str:
    """The key of a product."""
    return "·".join(sorted(atom_key(a) for a in m))


@lru_cache(maxsize=1 << 12)
def as_poly(expr: Expr) -> Poly:
    """The expression as a sum of products, by distributivity alone; divisions and the like stay atoms."""
    match expr:
        case IntImm(value=value):
            return Poly.of(value)
        case Binary(op="add", a=a, b=b):
            return as_poly(a) + as_poly(b)
        case Binary(op="sub", a=a, b=b):
            return as_poly(a) - as_poly(b)
        case Binary(op="mul", a=a, b=b):
            return as_poly(a) * as_poly(b)
        case _:
            return Poly.atom(expr)


def render(poly: Poly, dtype: DType) -> Expr:
    """The polynomial as an expression of type ``dtype``.

    :raises IRError: if a constant does not fit the type.
    """
    terms = list(poly.terms.items())
    if len(terms) > 1:
        terms.sort(key=lambda t: (t[1] < 0, -len(t[0]), -abs(t[1]), atom_keys(t[0])))
        offset = poly.offset
        if offset and not (offset > 0 and all(k < 0 for m, k in terms if m)):  # 14 - i, but i - 14 and i + 14
            terms.remove(((), offset))
            terms.append(((), offset))
    result: Expr | None = None
    for m, k in terms:
        size = k if result is None else abs(k)
        term = _product(m, size, dtype)
        if result is None:
            result = term
        else:
            result = result + term if k > 0 else result - term
    return IntImm(dtype, 0) if result is None else result


def _product(m: Monomial, factor: int, dtype: DType) -> Expr:
    if not m:
        return IntImm(dtype, factor)
    result: Expr | None = None if factor == 1 else IntImm(dtype, factor)
    for a in m if len(m) == 1 else sorted(m, key=atom_key):
        x = counted_in(a, dtype) if a.dtype.is_int else a
        result = x if result is None else result * x
    assert result is not None
    return result


def counted_in(e: Expr, dtype: DType) -> Expr:
    """An index in another integer type, that of the loops which count it."""
    if e.dtype is dtype:
        return e
    return IntImm(dtype, e.value) if isinstance(e, IntImm) else Cast(dtype, e)
