"""An arithmetic simplifier for index expressions under ranges.

Input: an expression and, for index variables, their (min, extent).  Output: an expression equal to it wherever every
variable lies in its range: sums in one order, ``(4*jo + ji)//4`` and ``4*(x//4) + x % 4`` cancelled, comparisons,
``min`` and ``max`` decided by interval, logic folded.  It is *never trusted*: the kernel proves each rewrite.

A subexpression with a load, call or cast beneath is data (it wraps), so only its index parts are simplified.  An empty
range makes every claim about its variable vacuous, so ``j`` in ``[0, n)`` lets ``n ≥ 1`` be used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from verified_tir.index.bounds import Bounds
from verified_tir.index.conditions import choose, junction, negate
from verified_tir.index.division import divmod_poly, merge_digits
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import (
    COMPARE_OPS,
    FALSE,
    TRUE,
    Binary,
    Expr,
    IfThenElse,
    IntImm,
    Not,
    Select,
    Var,
)
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.poly import Poly, as_poly, render
from verified_tir.ir.visit import map_children


def simplify(expr: Expr, ranges: Mapping[Var, tuple[Expr, Expr]]) -> Expr:
    """An expression equal to ``expr`` while each variable is within its (min, extent); ``expr`` itself at worst."""
    return Simplifier(Bounds(ranges)).expr(expr)


@final
class Simplifier:
    """Simplification under fixed bounds; results are remembered, so one instance serves a whole statement."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._memo: dict[Expr, Expr] = {}
        self._polys: dict[Expr, Poly] = {}

    def expr(self, expr: Expr) -> Expr:
        """The simplified expression."""
        found = self._memo.get(expr)
        if found is None:
            try:
                found = self._expr(expr)
            except IRError:  # a constant outgrew its type on the way
                found = expr
            self._memo[expr] = found
        return found

    def _expr(self, expr: Expr) -> Expr:
        if isinstance(expr, (Var, IntImm)) and expr.dtype.is_bool:
            return expr
        if expr.dtype.lanes != 1 or not (expr.dtype.is_int or expr.dtype.is_bool) or not is_index(expr):
            return self._children(expr)
        if expr.dtype.is_int:
            return render(self.poly(expr), expr.dtype)
        match expr:
            case Binary(op=op, a=a, b=b) if op in COMPARE_OPS and a.dtype.is_int:
                return self.compare(op, self.poly(a), self.poly(b), a.dtype)
            case Binary(op="and" | "or" as op, a=a, b=b):
                return junction(op, [self.expr(a), self.expr(b)])
            case Not(a=a):
                inner = negate(a)
                return negate(self.expr(inner.a)) if isinstance(inner, Not) else self.expr(inner)
            case (
                Select(condition=c, true_value=a, false_value=b) | IfThenElse(condition=c, true_value=a, false_value=b)
            ):
                return choose(type(expr), self.expr(c), self.expr(a), self.expr(b))
            case _:
                return self._children(expr)

    def _children(self, expr: Expr) -> Expr:
        def visit(child: Node) -> Node:
            return self.expr(child) if isinstance(child, Expr) and not isinstance(child, Var) else child

        new = map_children(expr, visit)
        if isinstance(new, (Select, IfThenElse)):  # of data
            return choose(type(new), new.condition, new.true_value, new.false_value)
        return new

    # ------------------------------------------------------------------ integers

    def poly(self, expr: Expr) -> Poly:
        """The normal form of an integer index expression."""
        found = self._polys.get(expr)
        if found is None:
            found = self._polys[expr] = self._poly(expr)
        return found

    def _poly(self, expr: Expr) -> Poly:
        match expr:
            case IntImm(value=value):
                return Poly.of(value)
            case Var():
                only = self.bounds.only_value(expr)
                return Poly.atom(expr) if only is None else Poly.of(only)
            case Binary(op="add", a=a, b=b):
                return self.normal(self.poly(a) + self.poly(b))
            case Binary(op="sub", a=a, b=b):
                return self.normal(self.poly(a) - self.poly(b))
            case Binary(op="mul", a=a, b=b):
                return self.normal(self.poly(a) * self.poly(b))
            case Binary(op="floordiv", a=a, b=b):
                return self.divmod(self.poly(a), self.poly(b), expr.dtype)[0]
            case Binary(op="floormod", a=a, b=b):
                return self.divmod(self.poly(a), self.poly(b), expr.dtype)[1]
            case Binary(op="truncdiv" | "truncmod" as op, a=a, b=b):
                x, y = self.poly(a), self.poly(b)
                if self.bounds.nonneg(x) and self.bounds.positive(y):
                    return self.divmod(x, y, expr.dtype)[0 if op == "truncdiv" else 1]
                return Poly.atom(Binary(op, render(x, expr.dtype), render(y, expr.dtype)))
            case Binary(op="min" | "max" as op, a=a, b=b):
                return self._extreme(op == "min", self.poly(a), self.poly(b), expr.dtype)
            case (
                Select(condition=c, true_value=a, false_value=b) | IfThenElse(condition=c, true_value=a, false_value=b)
            ):
                return self._atom(choose(type(expr), self.expr(c), self.expr(a), self.expr(b)))
            case _:
                return self._atom(self._children(expr))

    def _atom(self, expr: Expr) -> Poly:
        """``expr``, simplified already, as an atom, or as its polynomial if it is a sum after all."""
        poly = as_poly(expr)
        low, high = self.bounds.interval(poly)
        return Poly.of(low) if low is not None and low == high else poly

    def normal(self, poly: Poly) -> Poly:
        """The sum with digits of one number put together: ``4*(x//4) + x % 4`` is ``x``."""
        return merge_digits(poly, self.bounds)

    def divmod(self, a: Poly, b: Poly, dtype: DType) -> tuple[Poly, Poly]:
        """Floor quotient and remainder in normal form, with ``a = b · quotient + remainder``."""
        return divmod_poly(a, b, dtype, self.bounds)

    def _extreme(self, least: bool, a: Poly, b: Poly, dtype: DType) -> Poly:
        if self.bounds.nonneg(b - a):
            return a if least else b
        if self.bounds.nonneg(a - b):
            return b if least else a
        return Poly.atom(Binary("min" if least else "max", render(a, dtype), render(b, dtype)))

    # ------------------------------------------------------------------ comparisons

    def compare(self, op: str, a: Poly, b: Poly, dtype: DType) -> Expr:
        """``a op b``: decided by interval if possible, else with common factors and idle low terms removed."""
        difference = self.normal(a - b)
        match op:
            case "lt":
                return self._at_least(difference.scale(-1) - 1, dtype)
            case "le":
                return self._at_least(difference.scale(-1), dtype)
            case "gt":
                return self._at_least(difference - 1, dtype)
            case "ge":
                return self._at_least(difference, dtype)
            case _:
                return self._equal(difference, op == "eq", dtype)

    def _at_least(self, poly: Poly, dtype: DType) -> Expr:
        """``poly ≥ 0`` as a comparison."""
        if self.bounds.nonneg(poly):
            return TRUE
        if self.bounds.nonneg(poly.scale(-1) - 1):
            return FALSE
        poly = self._coarsest(poly)
        undivided = self._undivided(poly)
        if undivided is not None:
            return self._at_least(undivided, dtype)
        positive = Poly({m: k for m, k in poly.terms.items() if m and k > 0})
        negative = Poly({m: -k for m, k in poly.terms.items() if m and k < 0})
        offset = poly.offset
        if not positive.terms:
            return Binary("lt", render(negative, dtype), IntImm(dtype, offset + 1))
        if offset > 0 and negative.terms:
            return Binary("lt", render(negative, dtype), render(positive + offset + 1, dtype))
        if offset == -1 and negative.terms:
            return Binary("lt", render(negative, dtype), render(positive, dtype))
        return Binary("ge", render(positive, dtype), render(negative - offset, dtype))

    def _undivided(self, poly: Poly) -> Poly | None:
        """``x // c >= k`` is ``x >= k*c``, and ``x // c <= k`` is ``x < (k+1)*c``, if that is all there is."""
        for m, factor in poly.terms.items():
            match m:
                case (Binary(op="floordiv", a=x, b=c),) if abs(factor) == 1:
                    divisor = as_poly(c)
                    rest = poly - Poly({m: factor})
                    symbols = all(isinstance(a, Var) and not self.bounds.depends(a) for a in rest.atoms())
                    if not symbols or not self.bounds.positive(divisor):
                        return None
                    if factor > 0:
                        return self.normal(as_poly(x) + rest * divisor)
                    return self.normal((rest + 1) * divisor - 1 - as_poly(x))
        return None

    def _coarsest(self, poly: Poly) -> Poly:
        """An equivalent of ``poly ≥ 0`` with fewer, smaller terms: ``4*io + ii - 16 ≥ 0`` is ``io - 4 ≥ 0``."""
        for size in sorted({abs(k) for m, k in poly.terms.items() if m and abs(k) > 1}, reverse=True):
            high = Poly({m: k // size for m, k in poly.terms.items() if m and k % size == 0})
            low = Poly({m: k for m, k in poly.terms.items() if not m or k % size})
            least, most = self.bounds.interval(low)
            if least is not None and most is not None and least // size == most // size:
                return self._coarsest(high + least // size)
        return poly

    def _equal(self, poly: Poly, wanted: bool, dtype: DType) -> Expr:
        """``poly = 0`` (or ``≠ 0``) as a comparison."""
        yes, no = (TRUE, FALSE) if wanted else (FALSE, TRUE)
        low, high = self.bounds.interval(poly)
        if poly.is_zero or (low == 0 and high == 0):
            return yes
        if self.bounds.positive(poly) or self.bounds.positive(poly.scale(-1)):
            return no
        for size in {abs(k) for m, k in poly.terms.items() if m}:
            rest = Poly({m: k for m, k in poly.terms.items() if not m or k % size})
            least, most = self.bounds.interval(rest)
            if least is not None and most is not None and -(-least // size) > most // size:
                return no  # no multiple of size lies in [least, most]
            if size > 1 and rest.constant is not None:
                scaled = {m: k // size for m, k in poly.terms.items() if m}
                return self._equal(Poly({**scaled, (): poly.offset // size}), wanted, dtype)
        unshifted = self._unshifted(poly, dtype)
        if unshifted is not None:
            return self._equal(unshifted, wanted, dtype)
        positive = Poly({m: k for m, k in poly.terms.items() if k > 0})
        negative = Poly({m: -k for m, k in poly.terms.items() if k < 0})
        a, b = render(positive, dtype), render(negative, dtype)
        if isinstance(a, IntImm):
            a, b = b, a
        return Binary("eq" if wanted else "ne", a, b)

    def _unshifted(self, poly: Poly, dtype: DType) -> Poly | None:
        """``(x + 1) % c - r = 0`` is ``x % c - (r - 1) % c = 0``."""
        for signed in (poly, poly.scale(-1)):
            match signed.without_offset().single:
                case Binary(op="floormod", a=a, b=IntImm(value=c)) if c > 0 and as_poly(a).offset:
                    x, shift = as_poly(a).without_offset(), as_poly(a).offset
                    return self.divmod(x, Poly.of(c), dtype)[1] - (-signed.offset - shift) % c
        return None
