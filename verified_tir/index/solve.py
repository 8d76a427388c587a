"""A structural inverse: solve ``outputs = y`` for the inputs by taking digits apart and putting them together.

For what isl has no words for, division by symbols and ``^``, and because the answer reads as a person would write it
(``4*jo + ji``).  The equations are sums of input atoms on the left, expressions in ``y`` on the right:

* *radix*: in ``g·A + B = y`` with ``B`` in a window of width ``g``, ``A = (y - lo) // g``, ``B = (y - lo) % g + lo``;
* *window*: in ``(K + U) % c = y`` with ``K`` known, ``U`` in a window of width ``c``, ``U = (y - K - lo) % c + lo``;
* *congruence*: ``k·x % c = y`` with ``k`` prime to ``c`` and ``x`` in a window of width ``c`` gives ``x``;
* *digits*: ``x // 4`` and ``x % 4`` known give ``x``;
* *exclusive or*: ``a ^ b`` and ``a`` known give ``b``;
* *elimination*: equations that share unknowns are subtracted from each other.

It is a proposal: the caller checks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import final

from verified_tir.index.box import Box
from verified_tir.index.division import Digit, digit_of, digit_poly
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.expr import Binary, Expr, IntImm, Var
from verified_tir.ir.poly import Poly, as_poly, render
from verified_tir.ir.visit import free_vars, substitute

_ROUNDS = 64


def solve(
    box: Box, outputs: Sequence[Poly], inner: Simplifier, hits: Sequence[Var], outer: Simplifier
) -> list[Expr] | None:
    """Expressions in the variables ``hits`` for the inputs ``box.vars``, or None if these steps do not find them.

    :param outputs: normal forms of the map's outputs under ``inner``, whose bounds are those of ``box``.
    :param outer: bounds of the variables ``hits``.
    """
    search = _Search(box, inner, outer)
    for output, y in zip(outputs, hits, strict=True):
        search.equations.append((output, outer.poly(y)))
    search.run()
    if not all(x in search.known for x in box.vars):
        return None
    return [render(search.known[x], x.dtype) for x in box.vars]


@final
class _Search:
    """Equations, and what has been solved so far."""

    def __init__(self, box: Box, inner: Simplifier, outer: Simplifier) -> None:
        self.inner, self.outer = inner, outer
        self.inputs = frozenset(box.vars)
        self.dtype = box.vars[0].dtype
        self.known: dict[Var, Poly] = {}
        self.atoms: dict[Expr, Poly] = {}
        self.equations: list[tuple[Poly, Poly]] = []
        self.digits: dict[Expr, list[tuple[Digit, Poly]]] = {}
        self.eliminated = 0
        self._inside: dict[Expr, frozenset[Var]] = {}
        for x in box.vars:
            least, most = inner.bounds.atom_interval(x)
            if least is not None and least == most:
                self.known[x] = Poly.of(least)

    def run(self) -> None:
        """Take steps until nothing moves, in equations with few unknowns first."""
        for _ in range(_ROUNDS):
            waiting, self.equations = sorted(self.equations, key=self.count), []
            stuck = [e for e in waiting if not self.step(*e)]
            self.equations += stuck
            if len(stuck) == len(waiting) and not (self.eliminated < 2 and self.eliminate()):
                return

    def count(self, equation: tuple[Poly, Poly]) -> int:
        """How many unknowns an equation has."""
        return len({x for a in equation[0].atoms() for x in self.unknowns(a)})

    # ------------------------------------------------------------------ one equation

    def step(self, left: Poly, right: Poly) -> bool:
        """Use one equation; whether it has nothing more to say (its consequences are queued)."""
        left, right = self.reduce(left, right)
        if left.is_zero:
            return True
        content = gcd(*left.terms.values())
        if content > 1:
            left = Poly({m: k // content for m, k in left.terms.items()})
            right = self.outer.divmod(right, Poly.of(content), self.dtype)[0]
        if len(left.terms) == 1:
            ((m, k),) = left.terms.items()
            unknown = [a for a in m if self.unknowns(a)]
            if len(unknown) != 1:
                return False
            factor = Poly({tuple(a for a in m if a is not unknown[0]): k})
            if not self.free_of_inputs(factor):
                return False
            return self.learn(unknown[0], self.outer.divmod(right, factor, self.dtype)[0])
        return self.radix(left, right)

    def reduce(self, left: Poly, right: Poly) -> tuple[Poly, Poly]:
        """Move to the right what is known of the left."""
        kept: dict[tuple[Expr, ...], int] = {}
        for m, k in left.terms.items():
            if any(self.unknowns(a) for a in m):
                kept[m] = k
            else:
                value = Poly.of(k)
                for a in m:
                    value = value * self.value(a)
                right = right - value
        return Poly(kept), self.outer.normal(right)

    def inside(self, atom: Expr) -> frozenset[Var]:
        """The inputs in the atom."""
        found = self._inside.get(atom)
        if found is None:
            found = self._inside[atom] = self.inputs.intersection(free_vars(atom))
        return found

    def unknowns(self, atom: Expr) -> frozenset[Var]:
        """The inputs in the atom that are not solved yet; none if the atom's value is known as it stands."""
        return frozenset() if atom in self.atoms else self.inside(atom) - self.known.keys()

    def free_of_inputs(self, poly: Poly) -> bool:
        """Whether only shape symbols occur, so that the value is the same on both sides of an equation."""
        return not any(self.inside(a) for a in poly.atoms())

    def value(self, atom: Expr) -> Poly:
        """An atom whose inputs are all solved, in terms of the outputs."""
        if isinstance(atom, Var) and atom in self.known:
            return self.known[atom]
        if atom in self.atoms:
            return self.atoms[atom]
        known = {v: render(self.known[v], v.dtype) for v in self.inside(atom)}
        return self.outer.poly(substitute(atom, known))

    def radix(self, left: Poly, right: Poly) -> bool:
        """Split ``g·A + B`` where ``B`` has no room to carry into ``A``."""
        for g in self.strides(left):
            high, low = left.divide(g)
            if high.is_zero or low.is_zero:
                continue
            window = self.window(low, g)
            if window is not None:
                quotient, remainder = self.outer.divmod(right - window, g, self.dtype)
                self.equations += [(high, quotient), (low, remainder + window)]
                return True
        return self.undivide(left, right)

    def undivide(self, left: Poly, right: Poly) -> bool:
        """Where ``x % c`` is known, ``c·(x // c)`` is ``x - x % c``."""
        for atom in left.atoms():
            match atom:
                case Binary(op="floordiv", a=x, b=IntImm(value=c)) if (x % c) in self.atoms:
                    split = left.coefficient(atom)
                    if split is not None and (weight := split[0].constant) is not None:
                        self.equations.append(
                            (
                                split[1].scale(c) + as_poly(x).scale(weight),
                                right.scale(c) + self.atoms[x % c].scale(weight),
                            )
                        )
                        return True
        return False

    def strides(self, left: Poly) -> list[Poly]:
        """What the unknown atoms are multiplied with, low degrees first: axes are split off one at a time."""
        found: list[Poly] = []
        for atom in left.atoms():
            split = left.coefficient(atom) if self.unknowns(atom) else None
            if split is not None and self.free_of_inputs(split[0]):
                g = split[0]
                if all(k < 0 for k in g.terms.values()):
                    g = g.scale(-1)
                if not any(g.same(h) for h in found):
                    found.append(g)
        return sorted(found, key=lambda g: max((len(m), abs(k)) for m, k in g.terms.items()))

    def window(self, poly: Poly, width: Poly) -> Poly | None:
        """The least value of ``poly`` if its values lie in a window of ``width``."""
        bounds = self.inner.bounds
        low, high = bounds.interval(poly)
        least = bounds.lower(poly) if low is None else Poly.of(low)
        most = bounds.upper(poly) if high is None else Poly.of(high)
        if least is None or most is None or not bounds.nonneg(width - 1 - most + least):
            return None
        return self.inner.normal(least)

    # ------------------------------------------------------------------ one atom

    def learn(self, atom: Expr, value: Poly) -> bool:
        """Note the value of an atom; whether that used it up."""
        if isinstance(atom, Var):
            self.known[atom] = value
            return True
        self.atoms[atom] = value
        digit = digit_of(atom, self.inner.bounds)
        if digit is None or not self.free_of_inputs(digit.lower):
            return False
        if digit.extent is not None and not self.free_of_inputs(digit.extent):
            return False
        if digit.extent is None or not self.learn_window(digit, value):
            self.learn_digit(digit, value)
        return True

    def learn_window(self, digit: Digit, value: Poly) -> bool:
        """``(K + U) % c`` with ``K`` known and ``U`` no wider than ``c``."""
        assert digit.extent is not None
        whole = digit_poly(Digit(digit.source, digit.lower, None), self.inner.bounds)
        left, right = self.reduce(whole, value)
        if left.is_zero:
            return False
        low = self.window(left, digit.extent)
        if low is None:
            return self.learn_multiple(left, right, digit.extent.constant)
        extent = self.outer.normal(digit.extent)
        _, remainder = self.outer.divmod(right - low, extent, self.dtype)
        self.equations.append((left, self.outer.normal(remainder + low)))
        return True

    def learn_multiple(self, left: Poly, right: Poly, modulus: int | None) -> bool:
        """``k·x ≡ y`` modulo a number that has no factor in common with ``k``, and is no less than ``x``."""
        factor = gcd(*left.terms.values())
        if modulus is None or factor == 1 or gcd(factor, modulus) > 1:
            return False
        left = Poly({m: k // factor for m, k in left.terms.items()})
        low = self.window(left, Poly.of(modulus))
        if low is None:
            return False
        turned = right.scale(pow(factor, -1, modulus)) - low
        self.equations.append((left, self.outer.divmod(turned, Poly.of(modulus), self.dtype)[1] + low))
        return True

    def learn_digit(self, digit: Digit, value: Poly) -> None:
        """Keep a digit; put the number together once its digits reach from the leading one down to the units."""
        facts = self.digits.setdefault(digit.source, [])
        if any(d.lower.same(digit.lower) and _same(d.extent, digit.extent) for d, _ in facts):
            return
        facts.append((digit, value))
        top = next(((d.lower, v) for d, v in facts if d.extent is None), None)
        while top is not None and top[0].constant != 1:
            top = self.descend(facts, *top)
        if top is not None:
            self.equations.append((as_poly(digit.source), self.outer.normal(top[1])))

    def descend(self, facts: list[tuple[Digit, Poly]], lower: Poly, value: Poly) -> tuple[Poly, Poly] | None:
        """From ``x // lower = value`` and a digit just below, ``x // (less than lower)``."""
        for d, v in facts:
            if d.extent is None or (ratio := lower.exact(d.lower)) is None or ratio.constant == 1:
                continue
            if d.extent.exact(ratio) is not None:
                part = v if d.extent.same(ratio) else self.outer.divmod(v, ratio, self.dtype)[1]
                return d.lower, value * ratio + part
        return None

    # ------------------------------------------------------------------ several equations

    def eliminate(self) -> bool:
        """Subtract equations with integer coefficients from each other until each leading unknown stands once."""
        self.eliminated += 1
        rows = [self.reduce(*e) for e in self.equations]
        rows = [r for r in rows if not r[0].is_zero and all(len(m) == 1 for m in r[0].terms)]
        changed = False
        for p in range(len(rows)):
            atoms = [(abs(k), n, m) for n, (m, k) in enumerate(rows[p][0].terms.items())]
            if not atoms:
                continue
            _, _, pivot = min(atoms, key=lambda t: t[:2])
            for r in range(len(rows)):
                factor = rows[r][0].terms.get(pivot, 0)
                if r != p and factor:
                    rows[r] = _combine(rows[r], rows[p], factor, rows[p][0].terms[pivot])
                    changed = True
        self.equations += [(left, self.outer.normal(right)) for left, right in rows if not left.is_zero]
        return changed


def _same(a: Poly | None, b: Poly | None) -> bool:
    return a is b or (a is not None and b is not None and a.same(b))


def _combine(row: tuple[Poly, Poly], pivot: tuple[Poly, Poly], a: int, b: int) -> tuple[Poly, Poly]:
    """A multiple of ``row`` less one of ``pivot``, so that an atom with factors ``a`` and ``b`` drops out."""
    if b < 0:
        a, b = -a, -b
    common = gcd(a, b)
    a, b = a // common, b // common
    return row[0].scale(b) - pivot[0].scale(a), row[1].scale(b) - pivot[1].scale(a)
