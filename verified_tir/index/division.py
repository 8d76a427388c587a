"""Floor division of index polynomials, and its undoing.

:func:`divmod_poly` takes multiples of the divisor out of a sum, drops low terms that cannot carry
(``(4*io + ii)//16`` is ``io//4`` when ``0 ≤ ii < 4``) and joins nested divisions.  What cannot be divided stays an atom
``r // c``; every such pair satisfies ``a = b · quotient + remainder`` in the form in which :func:`merge_digits`
recognises it again.  A *digit* of ``x`` is ``(x // lower) % extent``, or ``x // lower``: the leading one.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from verified_tir.index.bounds import Bounds
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Expr, IntImm
from verified_tir.ir.poly import Poly, as_poly, render


def divmod_poly(a: Poly, b: Poly, dtype: DType, bounds: Bounds) -> tuple[Poly, Poly]:
    """``(a // b, a % b)`` in normal form.

    :raises IRError: if a constant does not fit ``dtype``.
    """
    divisor = b.constant
    if divisor is None:
        if bounds.positive(b):
            return _by_symbol(a, b, dtype, bounds)
    elif divisor > 0:
        return _by_constant(a, divisor, dtype, bounds)
    elif divisor < 0:
        quotient, remainder = _by_constant(a.scale(-1), -divisor, dtype, bounds)
        return quotient, remainder.scale(-1)
    x, y = render(a, dtype), render(b, dtype)
    return Poly.atom(Binary("floordiv", x, y)), Poly.atom(Binary("floormod", x, y))


def _by_constant(a: Poly, c: int, dtype: DType, bounds: Bounds) -> tuple[Poly, Poly]:
    whole = Poly({m: k // c for m, k in a.terms.items() if not m or k % c == 0})
    rest = Poly({m: k if m else k % c for m, k in a.terms.items() if not m or k % c})
    low, high = bounds.interval(rest)
    if low is not None and high is not None and low // c == high // c:
        carry = low // c
        return whole + carry, rest - carry * c
    for g in sorted({gcd(c, k) for m, k in rest.terms.items() if m} - {1}, reverse=True):
        above = Poly({m: k // g for m, k in rest.terms.items() if m and k % g == 0})
        below = Poly({m: k for m, k in rest.terms.items() if not m or k % g})
        least, most = bounds.interval(below)
        if least is not None and most is not None and least // g == most // g:
            quotient, remainder = _by_constant(above + least // g, c // g, dtype, bounds)
            return (
                merge_digits(whole + quotient, bounds),
                merge_digits(remainder.scale(g) + below - least // g * g, bounds),
            )
    unwound = _unwound(rest, Poly.of(c), bounds)
    quotient, remainder = unwound or _nested(rest, Poly.of(c), dtype, bounds)
    return merge_digits(whole + quotient, bounds), remainder


def _by_symbol(a: Poly, b: Poly, dtype: DType, bounds: Bounds) -> tuple[Poly, Poly]:
    whole, rest = a.divide(b)
    if bounds.nonneg(rest):
        if bounds.nonneg(b - 1 - rest):
            return whole, rest
    elif bounds.nonneg(rest + b) and bounds.nonneg(rest.scale(-1) - 1):
        return whole - 1, rest + b
    for factor in (Poly({m: k}) for m, k in rest.terms.items() if m and any(x in m for x in b.atoms())):
        g = Poly({tuple(x for x in m if any(x in n for n in b.terms)): k for m, k in factor.terms.items()})
        smaller = b.exact(g)
        if smaller is None or not bounds.positive(g):
            continue
        above, below = rest.divide(g)
        if bounds.nonneg(below) and bounds.nonneg(g - 1 - below):
            quotient, remainder = divmod_poly(above, smaller, dtype, bounds)
            return whole + quotient, merge_digits(remainder * g + below, bounds)
    unwound = _unwound(rest, b, bounds)
    quotient, remainder = unwound or _nested(rest, b, dtype, bounds)
    return merge_digits(whole + quotient, bounds), remainder


def _unwound(rest: Poly, c: Poly, bounds: Bounds) -> tuple[Poly, Poly] | None:
    """``(x % c + y) % c  =  x + y`` if that lies in ``[0, c)``: a rotation and the way back cancel."""
    for atom in rest.atoms():
        match atom:
            case Binary(op="floormod", a=x, b=d):
                split = rest.coefficient(atom)
                turns = None if split is None else (split[0] * as_poly(d)).exact(c)
                if split is not None and turns is not None:
                    unrolled = split[0] * as_poly(x) + split[1]
                    if bounds.nonneg(unrolled) and bounds.nonneg(c - 1 - unrolled):
                        return (turns * Poly.atom(x // d)).scale(-1), unrolled
    return None


def _nested(rest: Poly, c: Poly, dtype: DType, bounds: Bounds) -> tuple[Poly, Poly]:
    """Quotient and remainder of something that does not reduce: atoms, nested divisions joined."""
    if rest.is_zero:
        return rest, rest
    offset = rest.offset
    inner = rest.without_offset().single
    match inner:
        case Binary(op="floordiv", a=x, b=IntImm(value=d)) if d > 0 and c.constant is not None:
            # (x//d + k) // c  =  (x + k*d) // (d*c); the remainder is still a digit of x + k*d.  Quotients by
            # symbols stay nested: solvers prove flattening one axis at a time, and not in one go
            lower = Poly.of(d)
            quotient, _ = divmod_poly(as_poly(x) + lower.scale(offset), lower * c, dtype, bounds)
            return quotient, Poly.atom(Binary("floormod", render(rest, dtype), render(c, dtype)))
        case Binary(op="floormod", a=x, b=d) if offset == 0:
            # (x % (c*e)) // c  =  (x // c) % e    and    (x % (c*e)) % c  =  x % c
            extent = as_poly(d).exact(c)
            if extent is not None and bounds.positive(extent):
                upper, low_digit = divmod_poly(as_poly(x), c, dtype, bounds)
                return divmod_poly(upper, extent, dtype, bounds)[1], low_digit
    x, y = render(rest, dtype), render(c, dtype)
    return Poly.atom(Binary("floordiv", x, y)), Poly.atom(Binary("floormod", x, y))


class Digit(NamedTuple):
    """``(source // lower) % extent``; without ``extent`` the leading part ``source // lower``."""

    source: Expr
    lower: Poly
    extent: Poly | None


def digit_of(atom: Expr, bounds: Bounds) -> Digit | None:
    """The atom as a digit of some number, if it is a quotient or a remainder; nested quotients are unrolled."""
    match atom:
        case Binary(op="floordiv", a=x, b=b):
            inner = _quotient(x, bounds) if bounds.positive(as_poly(b)) else None
            return Digit(x, as_poly(b), None) if inner is None else Digit(inner[0], inner[1] * as_poly(b), None)
        case Binary(op="floormod", a=x, b=b):
            inner = _quotient(x, bounds)
            return Digit(x, Poly.of(1), as_poly(b)) if inner is None else Digit(*inner, as_poly(b))
        case _:
            return None


def _quotient(x: Expr, bounds: Bounds) -> tuple[Expr, Poly] | None:
    """``y//d + k`` as the quotient ``(y + k*d) // d``: its numerator and ``d``."""
    whole = as_poly(x)
    single = whole.without_offset().single
    if not isinstance(single, Binary) or single.op != "floordiv":
        return None
    digit = digit_of(single, bounds)
    if digit is None:
        return None
    source = digit.source
    if whole.offset:
        source = render(as_poly(source) + digit.lower.scale(whole.offset), x.dtype)
    return source, digit.lower


class _Term(NamedTuple):
    """A digit in a sum, its atom, and what it is multiplied with there."""

    digit: Digit
    atom: Expr
    weight: Poly

    @property
    def term(self) -> Poly:
        return self.weight * Poly.atom(self.atom)


def merge_digits(poly: Poly, bounds: Bounds) -> Poly:
    """Join neighbouring digits of one number until none are left to join."""
    while len(poly.terms) > 1:
        merged = _merge_once(poly, bounds)
        if merged is None:
            break
        poly = merged
    return poly


def _merge_once(poly: Poly, bounds: Bounds) -> Poly | None:
    terms: list[_Term] = []
    for atom in poly.atoms():
        digit = digit_of(atom, bounds)
        split = poly.coefficient(atom) if digit is not None else None
        if digit is not None and split is not None:
            terms.append(_Term(digit, atom, split[0]))
    for low in terms:
        source, lower, extent = low.digit
        if extent is None:
            continue
        for high in terms:
            upper = high.digit
            if upper.source is source and upper.lower.same(lower * extent) and high.weight.same(low.weight * extent):
                joined = Digit(source, lower, None if upper.extent is None else extent * upper.extent)
                return poly - low.term - high.term + low.weight * digit_poly(joined, bounds)
    return _difference_once(poly, terms, bounds)


def _difference_once(poly: Poly, terms: list[_Term], bounds: Bounds) -> Poly | None:
    """``x - c*(x//c)`` is ``x % c``, and ``x//a - c*(x//(a*c))`` is ``(x//a) % c``."""
    for high in terms:
        if high.digit.extent is not None:
            continue
        for low in terms:
            if low.digit.extent is None and low.digit.source is high.digit.source and low is not high:
                ratio = high.digit.lower.exact(low.digit.lower)
                if ratio is not None and high.weight.same((low.weight * ratio).scale(-1)):
                    joined = Digit(low.digit.source, low.digit.lower, ratio)
                    return poly - low.term - high.term + low.weight * digit_poly(joined, bounds)
        source, weight = as_poly(high.digit.source), high.weight.exact(high.digit.lower.scale(-1))
        if weight is not None:
            whole = weight * source
            if all(poly.terms.get(m) == k for m, k in whole.terms.items() if m):
                joined = Digit(high.digit.source, Poly.of(1), high.digit.lower)
                return poly - whole - high.term + weight * digit_poly(joined, bounds)
    return None


def digit_poly(digit: Digit, bounds: Bounds) -> Poly:
    """The digit in normal form."""
    dtype = digit.source.dtype
    quotient, _ = divmod_poly(as_poly(digit.source), digit.lower, dtype, bounds)
    return quotient if digit.extent is None else divmod_poly(quotient, digit.extent, dtype, bounds)[1]
