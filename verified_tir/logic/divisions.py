"""Quotients and remainders of sums, worked out: which digits a number has that was put together from digits.

Index maps take numbers apart and put them together again: tiles, fused loops, Morton orders, swizzles.  That nothing is
lost is a question about quotients of sums of remainders of quotients, which Z3 answers quickly for one or two levels
and hardly for more.  So each quotient by a number is worked out by itself, from the inside: in ``(2*a + b) div 2`` the
part that 2 divides goes out, and b is gone if it lies in [0, 2).  What remains are digits ``x div p mod k``, and
neighbouring ones of the same x are one digit.

Each step is a lemma in which everything but its own operation is hidden, so that Z3 answers it at once, and mostly
answered it before.  Nothing here is trusted: a wrong guess is a lemma that is not proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, TypeAlias, final

from verified_tir.logic import formula as f
from verified_tir.logic.deduction import Deduction
from verified_tir.logic.formula import ONE, ZERO, Term, integer, subterms, value_of
from verified_tir.logic.generalise import Hidden
from verified_tir.logic.verdict import Proved

Sum: TypeAlias = dict[Term, int]
"""A linear form: terms that are no sums, with their factors; the constant is the factor of 1."""
Guess: TypeAlias = "tuple[Term, Iterable[Term]]"
"""What a term may be, and what both are made of."""
Digit: TypeAlias = tuple[Term, int, int | None]
"""``x div p mod k``: of x, p, and k, which is ``None`` where nothing is cut off."""

FEW: Final = 8
"""Z3 is asked first about goals with so many quotients and remainders."""
MANY: Final = 400
"""More are not looked at."""


def has_many_divisions(goal: Term) -> bool:
    """Whether a goal is better taken to pieces first."""
    return FEW < sum(is_division(t) for t in subterms(goal)) <= MANY


def work_out(d: Deduction, given: tuple[Term, ...]) -> Term:
    """The goal of a question with its quotients and remainders worked out, as far as that is proved."""
    return _Divisions(d, given).goal()


def is_division(t: Term) -> bool:
    return t.op in ("div", "mod") and t.args[1].op == "const" and value_of(t.args[1]) > 0


@final
class _Divisions:
    """The work on one question."""

    def __init__(self, d: Deduction, given: tuple[Term, ...]) -> None:
        self.d, self.given = d, given
        self.low: dict[Term, int] = {}
        self.high: dict[Term, int] = {}
        self.about: dict[Term, list[Term]] = {}
        self.facts: dict[Term, Term | None] = {}
        self.tried: set[Term] = set()
        for g in given:
            for part in g.args if g.op == "and" else (g,):
                self._note(g, part)

    def _note(self, given: Term, fact: Term) -> None:
        """Note a bound of a term, if a part of a given is one."""
        if fact.op in ("<=", "<"):
            a, b = fact.args
            strict = fact.op == "<"
            for t in (a, b):
                self.about.setdefault(t, []).append(given)
            if a.op == "const" and b.op != "const":
                self.low[b] = max(self.low.get(b, value_of(a)), value_of(a) + strict)
            elif b.op == "const":
                self.high[a] = min(self.high.get(a, value_of(b)), value_of(b) - strict)

    def goal(self) -> Term:
        """The goal, worked out."""
        goal = self.d.goal
        while (found := self._division(goal)) is not None:
            goal = self.d.substitute({found[0]: found[1]}, [goal])[0]
        for side in dict.fromkeys(_sides(goal)):
            tried, whole = set[tuple[Term, Term]](), side
            while (pair := _neighbours(sum_of(whole), tried)) is not None:
                tried.add(pair)
                joined = self._joined(whole, *pair)
                goal, whole = self.d.substitute({whole: joined}, [goal])[0], joined
        return goal

    def _division(self, goal: Term) -> tuple[Term, Term] | None:
        """The next quotient or remainder, from the inside, and what it was proved to be."""
        for t in reversed(list(subterms(goal))):
            if is_division(t) and t not in self.tried:
                self.tried.add(t)
                for guess, leaves in chain(_digit_of_digit(t), self._parted(t)):
                    if guess is not t and self._equal(t, guess, leaves):
                        return t, guess
        return None

    def _parted(self, t: Term) -> Iterator[Guess]:
        """A quotient or remainder of a sum of which a part is divisible, and the rest too small to count, or known."""
        parts, m = sum_of(t.args[0]), value_of(t.args[1])
        for terms in (parts, _without_remainders(parts, m)) if t.op == "mod" else (parts,):
            rest = {a: c % m if a is ONE else c for a, c in terms.items() if c % m}
            low, high = self._range(rest)
            if low is None or high is None or low // m != high // m:
                continue
            k = low // m  # what is left of the rest in the quotient
            if t.op == "mod":
                yield term_of({**rest, ONE: rest.get(ONE, 0) - k * m}), terms
            else:
                quotient = {a: c // m for a, c in terms.items() if a is ONE or c % m == 0}
                yield term_of({**quotient, ONE: quotient.get(ONE, 0) + k}), terms

    def _equal(self, a: Term, b: Term, leaves: Iterable[Term]) -> bool:
        """Whether two terms are equal, whatever the values of ``leaves`` are within their bounds."""
        hidden = [t for t in leaves if t.op != "const"]
        facts = [*filter(None, map(self._bound, hidden))]
        return isinstance(self.d.ask(facts, f.eq(a, b), Hidden(values=hidden)), Proved)

    # -- bounds ----------------------------------------------------------------------------------------------------

    def _range(self, parts: Sum) -> tuple[int | None, int | None]:
        """Least and greatest value of a sum, as far as known."""
        low: int | None = 0
        high: int | None = 0
        for a, c in parts.items():
            least, most = self._bounds(a) if c > 0 else self._bounds(a)[::-1]
            low = None if low is None or least is None else low + c * least
            high = None if high is None or most is None else high + c * most
        return low, high

    def _bounds(self, a: Term) -> tuple[int | None, int | None]:
        """Least and greatest value of a term, as far as known."""
        if a.op == "const":
            return value_of(a), value_of(a)
        if not is_division(a):
            return self.low.get(a), self.high.get(a)
        m = value_of(a.args[1])
        if a.op == "mod":
            return 0, m - 1
        low, high = self._range(sum_of(a.args[0]))
        return None if low is None else low // m, None if high is None else high // m

    def _bound(self, a: Term) -> Term | None:
        """A formula that bounds a term, which is known afterwards; ``None`` if there is none."""
        if a not in self.facts:
            low, high = self._bounds(a)
            least = f.TRUE if low is None else f.le(integer(low), a)
            claim = f.and_(least, f.TRUE if high is None else f.le(a, integer(high)))
            if is_division(a):
                inside = [t for t in sum_of(a.args[0]) if t.op != "const"]
                below = filter(None, map(self._bound, inside)) if a.op == "div" else ()
                self.d.ask([*below], claim, Hidden(values=inside))
            else:
                self.d.ask(self.about.get(a, ()), claim)
            self.facts[a] = claim if claim is not f.TRUE and self.d.knows(claim) else None
        return self.facts[a]

    # -- digits ----------------------------------------------------------------------------------------------------

    def _joined(self, t: Term, low: Term, high: Term) -> Term:
        """A sum in which two neighbouring digits of one number are one, if that is proved."""
        parts = sum_of(t)
        (x, p, end), (_, _, cut), factor = _digit(low), _digit(high), parts[high] // parts[low]
        one = self._number(x, p, None if cut is None or end is None else end * cut)
        two = f.add(low, f.mul(integer(factor), high))
        c = parts.pop(low)
        del parts[high]
        for a, k in sum_of(one).items():
            parts[a] = parts.get(a, 0) + c * k
        new, known = term_of(parts), f.eq(two, one)
        leaves = {*sum_of(t), *parts} - {ONE}
        proved = self._equal(two, one, [x]) and self.d.ask([known], f.eq(t, new), Hidden(values=leaves))
        return new if isinstance(proved, Proved) else t

    def _number(self, x: Term, p: int, k: int | None) -> Term:
        """``x div p mod k``, without what its bounds make superfluous."""
        made = x if p == 1 else f.euclid_div(x, integer(p))
        low, high = self._range(sum_of(made))
        inside = k is None or (low is not None and high is not None and low >= 0 and high < k)
        return made if inside or k is None else f.euclid_mod(made, integer(k))


def _digit_of_digit(t: Term) -> Iterator[Guess]:
    """A quotient or remainder of one is a digit of the number itself."""
    x, m = t.args[0], value_of(t.args[1])
    if is_division(x):
        y, n = x.args[0], value_of(x.args[1])
        if (t.op, x.op) == ("div", "div"):
            yield f.euclid_div(y, integer(n * m)), [y]
        elif x.op == "mod" and n % m == 0:
            shorter = f.euclid_mod(y, integer(m))
            yield shorter if t.op == "mod" else f.euclid_mod(f.euclid_div(y, integer(m)), integer(n // m)), [y]


def _without_remainders(parts: Sum, m: int) -> Sum:
    """A sum with the same remainder by ``m``, without the remainders in it that make no difference."""
    found: Sum = {}
    for a, c in parts.items():
        whole = a.op == "mod" and is_division(a) and c * value_of(a.args[1]) % m == 0
        for b, k in (sum_of(a.args[0]) if whole else {a: 1}).items():
            found[b] = found.get(b, 0) + c * k
    return {a: c for a, c in found.items() if c}


def _digit(t: Term) -> Digit:
    """A term as a digit."""
    cut = None
    if t.op == "mod" and is_division(t):
        t, cut = t.args[0], value_of(t.args[1])
    return (t.args[0], value_of(t.args[1]), cut) if t.op == "div" and is_division(t) else (t, 1, cut)


def _neighbours(parts: Sum, tried: set[tuple[Term, Term]]) -> tuple[Term, Term] | None:
    """Two digits of one number in a sum, the higher of which begins where the lower ends."""
    begins = {(x, p, c): t for t, c in parts.items() for x, p, _ in [_digit(t)]}
    for low, c in parts.items():
        x, p, cut = _digit(low)
        high = begins.get((x, p * cut, c * cut)) if cut is not None else None
        if high is not None and high is not low and (low, high) not in tried:
            return low, high
    return None


def sum_of(t: Term) -> Sum:
    """A term as a linear form."""
    found: Sum = {}
    stack = [(t, 1)]
    while stack:
        u, c = stack.pop()
        if u.op == "const":
            u, c = ONE, c * value_of(u)
        elif u.op in ("+", "-"):
            a, b = u.args
            stack += [(b, c if u.op == "+" else -c), (a, c)]
            continue
        elif u.op == "*" and u.args[0].op == "const":
            stack.append((u.args[1], c * value_of(u.args[0])))
            continue
        found[u] = found.get(u, 0) + c
    return {a: c for a, c in found.items() if c}


def term_of(parts: Mapping[Term, int]) -> Term:
    """A linear form as a term."""
    total = ZERO
    for a, c in parts.items():
        if a is not ONE and c:
            total = f.mul(integer(c), a) if total is ZERO else f.add(total, f.mul(integer(c), a))
    return f.add(total, integer(parts.get(ONE, 0)))


def _sides(goal: Term) -> Iterator[Term]:
    """The sums that a goal compares."""
    for t in subterms(goal):
        if t.op in ("=", "<=", "<") and t.args[0].sort == f.INT:
            yield from t.args
