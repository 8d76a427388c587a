"""A structural inverse: solve ``outputs = y`` for the inputs by taking digits apart and putting them together.

The equations are sums of input atoms on the left, expressions in ``y`` on the right.  These steps suffice for splits,
fusions, permutations, rotations, strides, swizzles and most of their nestings:

* *radix*: in ``g·A + B = y`` with ``B`` in a window of width ``g``, ``A = (y - lo) // g``, ``B = (y - lo) % g + lo``;
* *window*: in ``(K + U) % c = y`` with ``K`` known, ``U`` in a window of width ``c``, ``U = (y - K - lo) % c + lo``;
* *congruence*: ``k·x ≡ y`` modulo ``c`` is divided by ``k``, which has an inverse once common factors are gone;
* *digits*: ``x // 4`` and ``x % 4`` known give ``x``;
* *choice*: ``select(c(x), a(x), b(x)) = y`` is solved arm by arm;
* *elimination*: equations that share unknowns are subtracted from each other.

The answer reads as a person would write it (``4*jo + ji``).  It is a proposal: the caller checks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import final

from verified_tir.index.box import Box
from verified_tir.index.division import Digit, digit_of, digit_poly
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.expr import COMPARE_OPS, Binary, Expr, IfThenElse, IntImm, Select, Var
from verified_tir.ir.poly import Monomial, Poly, as_poly, render
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
        self.box, self.inner, self.outer = box, inner, outer
        self.inputs = frozenset(box.vars)
        self.dtype = box.vars[0].dtype
        self.known: dict[Var, Poly] = {}
        self.atoms: dict[Expr, Poly] = {}
        self.equations: list[tuple[Poly, Poly]] = []
        self.digits: dict[Expr, list[tuple[Digit, Poly]]] = {}
        self.moved = False
        self._used: set[tuple[frozenset[tuple[Monomial, int]], int]] = set()
        self._inside: dict[Expr, frozenset[Var]] = {}
        for x in box.vars:
            least, most = inner.bounds.atom_interval(x)
            if least is not None and least == most:
                self.known[x] = Poly.of(least)

    def run(self) -> None:
        """Take steps until everything is known or nothing moves."""
        eliminated = 0
        for _ in range(_ROUNDS):
            if self.inputs <= self.known.keys():
                return
            waiting, self.equations = self.equations, []
            self.moved = False
            for left, right in waiting:
                if self.step(left, right):
                    self.moved = True
                else:
                    self.equations.append((left, right))
            if not self.moved:
                self.revisit()
            if not self.moved:
                eliminated += 1
                if eliminated > 2 or not self.eliminate():
                    return

    def revisit(self) -> None:
        """Try remainders again: more is known of them now."""
        for facts in list(self.digits.values()):
            for digit, value in list(facts):
                if digit.extent is not None and self.unknowns(digit.source) and self.learn_window(digit, value):
                    self.moved = True

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
        """Split ``g·A + B`` where ``B`` has no room to carry into ``A``, or look at ``B`` modulo ``g``."""
        for g in self.strides(left):
            high, low = left.divide(g)
            if high.is_zero or low.is_zero:
                continue
            window = self.window(low, g)
            if window is not None:
                quotient, remainder = self.outer.divmod(right - window, g, self.dtype)
                self.equations += [(high, quotient), (low, remainder + window)]
                return True
            if g.constant is not None and self.congruent(low, right, g.constant):
                self.equations.append((left, right))
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

    def congruent(self, left: Poly, right: Poly, modulus: int) -> bool:
        """Solve ``left ≡ right`` modulo a constant, if that says something new."""
        key = frozenset(left.terms.items()), modulus
        if modulus < 2 or left.is_zero or key in self._used:
            return False
        low = self.window(left, Poly.of(modulus))
        if low is not None:
            _, remainder = self.outer.divmod(right - low, Poly.of(modulus), self.dtype)
            self.equations.append((left, self.outer.normal(remainder + low)))
            self._used.add(key)
            return True
        for g in sorted({gcd(k, modulus) for k in left.terms.values()} - {1, modulus}, reverse=True):
            rest = Poly({m: k for m, k in left.terms.items() if k % g})
            if len(rest.terms) < len(left.terms) and self.congruent(rest, right, g):
                return True
        if len(left.terms) == 1:
            ((m, k),) = left.terms.items()
            common = gcd(k, modulus)
            if len(m) == 1 and k not in (1, modulus) and modulus > common:
                inverse = pow(k // common, -1, modulus // common)
                part = self.outer.divmod(right, Poly.of(common), self.dtype)[0].scale(inverse)
                return self.congruent(Poly.atom(m[0]), part, modulus // common)
        return False

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
        match atom:
            case Binary(op="bitxor", a=a, b=b):
                return self.learn_xor(a, b, value) or self.learn_xor(b, a, value)
            case (
                Select(condition=c, true_value=a, false_value=b) | IfThenElse(condition=c, true_value=a, false_value=b)
            ):
                return self.learn_choice(atom, c, (as_poly(a), as_poly(b)), value)
        digit = digit_of(atom, self.inner.bounds)
        if digit is None or not self.free_of_inputs(digit.lower):
            return False
        if digit.extent is not None and not self.free_of_inputs(digit.extent):
            return False
        if digit.extent is None or not self.learn_window(digit, value):
            self.learn_digit(digit, value)
        return True

    def learn_choice(self, atom: Expr, condition: Expr, arms: tuple[Poly, Poly], value: Poly) -> bool:
        """A choice between arms in one unknown, or between ``P + a`` and ``P + b`` by comparing ``P``."""
        unknown = self.inside(atom) - self.known.keys()
        if len(unknown) == 1:
            (x,) = unknown
            solutions = [self.alone(arm, value, x) for arm in arms]
            if solutions[0] is None or solutions[1] is None:
                return False
            known = {v: render(self.known[v], v.dtype) for v in self.inside(condition) & self.known.keys()}
            known[x] = render(solutions[0], self.dtype)
            self.known[x] = self.choose(substitute(condition, known), solutions[0], solutions[1])
            return True
        common = arms[0].without_offset()
        if common.same(arms[1].without_offset()):
            match condition:
                case Binary(op=op, a=a, b=b) if op in COMPARE_OPS:
                    difference = as_poly(a) - as_poly(b)
                    sign = next((k for k in (1, -1) if difference.without_offset().same(common.scale(k))), 0)
                    if sign:
                        first, second = value - arms[0].offset, value - arms[1].offset
                        test = self.outer.compare(op, first.scale(sign) + difference.offset, Poly.of(0), self.dtype)
                        self.equations.append((common, self.choose(test, first, second)))
                        return True
        return False

    def choose(self, condition: Expr, a: Poly, b: Poly) -> Poly:
        """A select as a polynomial."""
        return self.outer.poly(Select(condition, render(a, self.dtype), render(b, self.dtype)))

    def alone(self, left: Poly, right: Poly, x: Var) -> Poly | None:
        """The value of ``x`` that one equation gives."""
        search = _Search(self.box, self.inner, self.outer)
        search.known |= self.known
        search.atoms |= self.atoms
        search.equations.append((left, right))
        search.run()
        return search.known.get(x)

    def learn_xor(self, a: Expr, b: Expr, value: Poly) -> bool:
        """``a ^ b`` with ``a`` known gives ``b``."""
        if self.unknowns(a):
            return False
        mask = render(self.value(a), self.dtype)
        self.equations.append((as_poly(b), Poly.atom(Binary("bitxor", render(value, self.dtype), mask))))
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
            return digit.extent.constant is not None and self.congruent(left, right, digit.extent.constant)
        extent = self.outer.normal(digit.extent)
        _, remainder = self.outer.divmod(right - low, extent, self.dtype)
        self.equations.append((left, self.outer.normal(remainder + low)))
        return True

    def learn_digit(self, digit: Digit, value: Poly) -> None:
        """Keep a digit; put the number together once its digits reach from the leading one down to the units."""
        facts = self.digits.setdefault(digit.source, [])
        if any(d.lower.same(digit.lower) and _same(d.extent, digit.extent) for d, _ in facts):
            return
        facts.append((digit, value))
        self.moved = True
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
