"""Bounds of index expressions: constant intervals, symbolic bounds, and ``p ≥ 0``.

:class:`Bounds` holds what is known where an expression stands: an inclusive symbolic interval for each index variable,
and polynomials known to be nonnegative (so ``j`` in ``[0, n)`` also says ``n ≥ 1``, for otherwise there is no ``j``).
All answers are one-sided: an interval may be too wide, and ``nonneg`` may say no of something true.

The symbolic method is elimination: each variable is replaced by whichever of its bounds makes the polynomial smallest,
until only shape symbols remain; then each symbol is written as its least value plus something nonnegative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, final

from verified_tir.ir.expr import Binary, Expr, IfThenElse, IntImm, Select, Var
from verified_tir.ir.poly import Poly, as_poly, render
from verified_tir.ir.visit import walk

Interval: TypeAlias = tuple[int | None, int | None]
"""Least and greatest value; None where no constant bound is known."""
Ranges: TypeAlias = dict[Var, tuple[Expr, Expr]]
"""Index variables, such as those of loops, with their start and extent."""

_DEPTH = 6
_STEPS = 24


@final
class Bounds:
    """What is known about the variables.

    ``ranges`` gives (min, extent) of index variables; ``facts`` are polynomials known to be ≥ 0.
    """

    def __init__(self, ranges: Mapping[Var, tuple[Expr, Expr]], facts: Iterable[Poly] = ()) -> None:
        self._span: dict[Expr, tuple[Poly, Poly]] = {}
        self._memo: dict[Expr, Interval] = {}
        self._facts: list[Poly] = []
        self._sums: list[Poly] = []
        """Given facts about several terms."""
        self._inner: dict[Expr, bool] = {}
        self._within: dict[Expr, Interval] = {}
        """What facts say of variables that have ranges, besides these."""
        for var, (low, extent) in ranges.items():
            first, count = as_poly(low), as_poly(extent)
            self._span[var] = (first, first + count - 1)
            self._learn(count - 1)
        self._given = (dict(ranges), tuple(facts))
        for fact in self._given[1]:
            self._learn(fact)
            if len(fact.without_offset().terms) > 1:
                self._sums.append(fact)
        for fact in tuple(self._facts):
            self._learn_factors(fact)

    def given(self, facts: Iterable[Poly]) -> Bounds:
        """These bounds, where more polynomials are ≥ 0."""
        ranges, known = self._given
        return Bounds(ranges, (*known, *facts))

    def _learn(self, fact: Poly) -> None:
        """Note ``fact ≥ 0``; one that bounds a single symbol becomes its interval."""
        if fact.constant is not None:
            return
        linear = fact.without_offset().terms
        if len(linear) == 1:
            ((m, k),) = linear.items()
            if len(m) == 1 and isinstance(m[0], Var):
                known = (-(fact.offset // k), None) if k > 0 else (None, fact.offset // -k)
                if m[0] not in self._span:
                    return self._narrow(m[0], *known)
                least, most = self._within.get(m[0], (None, None))
                self._within[m[0]] = _known_greatest(least, known[0]), _known_least(most, known[1])
            match m:
                case (Binary(op="floordiv", a=a, b=IntImm(value=c)),) if k == 1 and c > 0:
                    return self._learn(as_poly(a) + fact.offset * c)  # a // c ≥ t  iff  a ≥ t * c
        self._facts.append(fact)

    def _learn_factors(self, fact: Poly) -> None:
        """A positive product of symbols that are not negative: each of them is positive."""
        linear = fact.without_offset().terms
        if len(linear) == 1 and fact.offset < 0:
            ((m, k),) = linear.items()
            if k > 0 and all(self.nonneg(Poly.atom(a)) for a in m):
                for a in m:
                    self._narrow(a, 1, None)

    def _narrow(self, atom: Expr, low: int | None, high: int | None) -> None:
        """Intersect the interval of an atom."""
        known = self._memo.get(atom, (None, None))
        self._memo[atom] = (_known_greatest(known[0], low), _known_least(known[1], high))

    # ------------------------------------------------------------------ constant intervals

    def interval(self, poly: Poly, with_facts: bool = True) -> Interval:
        """Constant bounds of the polynomial, by interval arithmetic and from sums of which bounds are known."""
        low: int | None = 0
        high: int | None = 0
        for m, k in poly.terms.items():
            a, b = (1, 1) if not m else self.atom_interval(m[0])
            for atom in m[1:]:
                a, b = _product((a, b), self.atom_interval(atom))
            if k < 0:
                a, b = b, a
            low = None if low is None or a is None else low + k * a
            high = None if high is None or b is None else high + k * b
        if self._sums and with_facts and len(poly.terms) > 1:
            return self._narrower(poly, low, high)
        return low, high

    def _narrower(self, poly: Poly, low: int | None, high: int | None) -> Interval:
        """Bounds that follow from a known sum that is in ``poly`` several times."""
        for fact in self._sums:
            lead = next(m for m in fact.terms if m)
            times, left = divmod(poly.terms.get(lead, 0), fact.terms[lead])
            if times and not left:
                rest = poly - fact.scale(times)
                if len(rest.terms) < len(poly.terms):
                    least, most = self.interval(rest, with_facts=False)
                    low, high = (_known_greatest(low, least), high) if times > 0 else (low, _known_least(high, most))
        return low, high

    def only_value(self, var: Var) -> int | None:
        """The value of a variable that its range, or what is known of a symbol, leaves only one.

        A condition on a loop's variable does not count: arms of a branch that say the same should read the same.
        """
        if var in self._within:
            first, last = self._span[var]
            low, high = self.interval(first)[0], self.interval(last)[1]
        else:
            low, high = self.atom_interval(var)
        return low if low == high else None

    def atom_interval(self, atom: Expr) -> Interval:
        """Constant bounds of an atom."""
        found = self._memo.get(atom)
        if found is None:
            self._memo[atom] = (None, None)  # cuts a cycle of ranges that mention each other
            found = self._memo[atom] = self._atom_interval(atom)
        return found

    def _atom_interval(self, atom: Expr) -> Interval:
        match atom:
            case Var():
                if atom in self._span:
                    first, last = self._span[atom]
                    low, high = self._within.get(atom, (None, None))
                    return _known_greatest(self.interval(first)[0], low), _known_least(self.interval(last)[1], high)
                return None, None
            case Binary(op="floordiv", a=a, b=b):
                return _quotient(self.interval(as_poly(a)), self.interval(as_poly(b)))
            case Binary(op="floormod", a=a, b=b):
                x, y = self.interval(as_poly(a)), self.interval(as_poly(b))
                if y[0] is None or y[0] <= 0:
                    return None, None
                most = None if y[1] is None else y[1] - 1
                if x[0] is not None and x[0] >= 0 and x[1] is not None:
                    most = x[1] if most is None else min(most, x[1])
                return 0, most
            case Binary(op="min" | "max" as op, a=a, b=b):
                (al, ah), (bl, bh) = self.interval(as_poly(a)), self.interval(as_poly(b))
                if op == "min":
                    return _least(al, bl), _known_least(ah, bh)
                return _known_greatest(al, bl), _greatest(ah, bh)
            case Select(true_value=a, false_value=b) | IfThenElse(true_value=a, false_value=b):
                (al, ah), (bl, bh) = self.interval(as_poly(a)), self.interval(as_poly(b))
                return _least(al, bl), _greatest(ah, bh)
            case _:
                return None, None

    def fits(self, expr: Expr) -> bool:
        """Whether no integer operation in the expression leaves its type, as far as constant bounds are known."""
        for node in walk(expr):
            if isinstance(node, Binary) and node.dtype.is_int:
                low, high = self.interval(as_poly(node))
                if (low is not None and low < node.dtype.min_value) or (
                    high is not None and high > node.dtype.max_value
                ):
                    return False
        return True

    # ------------------------------------------------------------------ symbolic bounds

    def nonneg(self, poly: Poly, depth: int = _DEPTH) -> bool:
        """Whether the polynomial is shown to be ≥ 0 wherever the variables are in their ranges."""
        low, high = self.interval(poly)
        if low is not None and low >= 0:
            return True
        if depth == 0 or (high is not None and high < 0):
            return False
        if low is not None and high is not None and not self._facts:
            return False
        least = self.lower(poly, depth)
        return least is not None and self._symbols_nonneg(least, depth)

    def positive(self, poly: Poly) -> bool:
        """Whether the polynomial is shown to be ≥ 1."""
        return self.nonneg(poly - 1)

    def lower(self, poly: Poly, depth: int = _DEPTH) -> Poly | None:
        """A lower bound that mentions no index variable."""
        for _ in range(_STEPS):
            atom = next((a for a in poly.atoms() if self.depends(a)), None)
            if atom is None:
                return poly
            split = poly.coefficient(atom)
            if split is None or depth == 0:
                return None
            factor, rest = split
            if self.nonneg(factor, depth - 1):
                bound = self._atom_bound(atom, True, depth - 1)
            elif self.nonneg(factor.scale(-1), depth - 1):
                bound = self._atom_bound(atom, False, depth - 1)
            else:
                return None
            if bound is None:
                return None
            poly = factor * bound + rest
        return None

    def upper(self, poly: Poly, depth: int = _DEPTH) -> Poly | None:
        """An upper bound that mentions no index variable."""
        negated = self.lower(poly.scale(-1), depth)
        return None if negated is None else negated.scale(-1)

    def depends(self, atom: Expr) -> bool:
        """Whether a variable with a range occurs in the atom."""
        found = self._inner.get(atom)
        if found is None:
            found = self._inner[atom] = any(n in self._span for n in walk(atom) if isinstance(n, Var))
        return found

    def _atom_bound(self, atom: Expr, low: bool, depth: int) -> Poly | None:
        least, most = self.atom_interval(atom)
        known = least if low else most
        if known is not None:
            return Poly.of(known)
        bound = self.lower if low else self.upper
        match atom:
            case Var():
                return self._span[atom][0 if low else 1]
            case Binary(op="floordiv", a=a, b=b) if not self.depends(b) and self.nonneg(as_poly(b) - 1, depth):
                inner = bound(as_poly(a), depth)
                return None if inner is None else Poly.atom(render(inner, a.dtype) // b)
            case Binary(op="floormod", a=a, b=b) if not self.depends(b) and self.nonneg(as_poly(b) - 1, depth):
                return Poly.of(0) if low else as_poly(b) - 1
            case Binary(op="min", a=a, b=b) if not low:
                return bound(as_poly(a), depth) or bound(as_poly(b), depth)
            case Binary(op="max", a=a, b=b) if low:
                return bound(as_poly(a), depth) or bound(as_poly(b), depth)
            case _:
                return None

    def _symbols_nonneg(self, poly: Poly, depth: int) -> bool:
        """``poly ≥ 0`` for a polynomial in symbols and in quotients of symbols."""
        low, _ = self.interval(poly)
        if (low is not None and low >= 0) or self._nonneg_shifted(poly):
            return True
        if depth == 0:
            return False
        for atom in poly.atoms():
            relaxed = _relax(poly, atom)
            if relaxed is not None:
                return self._symbols_nonneg(relaxed, depth - 1)
        for fact in self._facts:
            shifted = poly - fact
            if len(shifted.terms) <= len(poly.terms) and self._symbols_nonneg(shifted, 0):
                return True
        return False

    def _nonneg_shifted(self, poly: Poly) -> bool:
        """Write each atom as its least value plus something ≥ 0; are all coefficients ≥ 0 then?"""
        for atom in poly.atoms():
            low, _ = self.atom_interval(atom)
            if low is None:
                return False
            if low:
                shifted = poly.replace(atom, Poly.atom(atom) + low)
                if shifted is None:
                    return False
                poly = shifted
        return all(k >= 0 for k in poly.terms.values())


def _relax(poly: Poly, atom: Expr) -> Poly | None:
    """A polynomial whose being ≥ 0 implies it of ``poly``, with the quotient or remainder ``atom`` gone.

    For ``q = y // c`` with an integer factor: ``poly ≥ 0`` iff ``c · poly > -c``, and ``c · q`` is in ``[y-c+1, y]``.
    """
    match atom:
        case Binary(op="floordiv", a=y, b=b):
            c, split = as_poly(b).constant, poly.coefficient(atom)
            if c is None or c <= 0 or split is None or (a := split[0].constant) is None:
                return None
            bound = as_poly(y) if a < 0 else as_poly(y) - (c - 1)
            return bound.scale(a) + split[1].scale(c) + (c - 1)
        case Binary(op="floormod", a=_, b=b):
            c, split = as_poly(b).constant, poly.coefficient(atom)
            if c is None or c <= 0 or split is None or (a := split[0].constant) is None:
                return None
            return split[1] + (a * (c - 1) if a < 0 else 0)
        case _:
            return None


def _product(x: Interval, y: Interval) -> Interval:
    if x[0] == 0 and x[1] == 0:
        return 0, 0
    if None not in (*x, *y):
        corners = [a * b for a in x for b in y if a is not None and b is not None]
        return min(corners), max(corners)
    if x[0] is not None and y[0] is not None and x[0] >= 0 and y[0] >= 0:
        return x[0] * y[0], None
    return None, None


def _quotient(x: Interval, y: Interval) -> Interval:
    low, high = y
    if low is None or low <= 0 or (high is not None and high < low):  # in a loop without iterations nothing is known
        return None, None
    least = most = None
    if x[0] is not None:
        least = min(x[0] // low, x[0] // high) if high is not None else min(x[0] // low, 0 if x[0] >= 0 else -1)
    if x[1] is not None:
        most = max(x[1] // low, x[1] // high) if high is not None else max(x[1] // low, 0 if x[1] >= 0 else -1)
    return least, most


def _least(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


def _greatest(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else max(a, b)


def _known_least(a: int | None, b: int | None) -> int | None:
    return min((v for v in (a, b) if v is not None), default=None)


def _known_greatest(a: int | None, b: int | None) -> int | None:
    return max((v for v in (a, b) if v is not None), default=None)
