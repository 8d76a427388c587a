"""Strategies for questions of the logic, as sentences (see ``formulas``)."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.parts.formulas import FLOATS, HALVES, INTEGERS, TRUTHS, Sentence
from verified_tir.testing.drawing import Picker

_ORDERS = ("<=", "<", "=", "ne")
_ARITHMETIC = ("+", "-", "*")
_DIVISIONS = ("floordiv", "floormod", "div", "mod", "truncdiv", "truncmod")
_BITS = ("bvand", "bvor", "bvxor")
_TESTS = ("fp.isNaN", "fp.isInfinite", "fp.isZero", "fp.isNegative")


@st.composite
def questions(draw: DrawFn) -> tuple[tuple[Sentence, ...], Sentence]:
    """Givens and a goal over a few integers and truths, or over floats; about half of the goals follow."""
    pick = Picker(draw)
    made = _Sentences(pick)
    if pick.rarely(4):
        given = tuple(made.of_floats(1) for _ in range(pick.integer(0, 2)))
        return given, _goal(pick, given, made.of_floats(pick.integer(1, 2)))
    given = tuple(made.truth(pick.integer(1, 2)) for _ in range(pick.integer(0, 3)))
    return given, _goal(pick, given, made.truth(pick.integer(1, 3)))


def _goal(pick: Picker, given: tuple[Sentence, ...], goal: Sentence) -> Sentence:
    """The goal, or one that has more to do with the givens."""
    match pick.integer(0, 3 if given else 0):
        case 1:
            return ("or", goal, pick.among(given))
        case 2:
            return ("and", pick.among(given), ("=>", goal, pick.among(given)))
    return goal


class _Sentences:
    """Draws sentences."""

    def __init__(self, pick: Picker) -> None:
        self.pick = pick

    def number(self, depth: int) -> Sentence:
        """An integer."""
        return self.pick.expression(lambda: self._number(depth))

    def _number(self, depth: int) -> Sentence:
        p = self.pick
        kind = p.integer(0, 11 if depth > 0 else 2)
        if kind <= 1:
            return p.among(INTEGERS)
        if kind == 2:
            return p.one(0, 1, -1, 2, -2, 3, -3, 7, 2**31 - 1, -(2**31))
        a = self.number(depth - 1)
        if kind <= 5:
            b = a if p.rarely(6) else self.number(depth - 1)
            return (p.among(_ARITHMETIC), *((b, a) if p.flip() else (a, b)))
        if kind <= 8:
            return (p.among(_DIVISIONS), a, p.one(2, 3, -2, -3, 1, -1, "i", "j"))
        if kind == 9:
            return (p.among(_BITS), a, self.number(depth - 1))
        if kind == 10:
            return (p.one("neg", "wrap8", "wrapu8"), a)
        return ("ite", self.truth(depth - 1), a, self.number(depth - 1))

    def truth(self, depth: int) -> Sentence:
        """A condition about integers and truths."""
        return self.pick.expression(lambda: self._truth(depth))

    def _truth(self, depth: int) -> Sentence:
        p = self.pick
        kind = p.integer(0, 9 if depth > 0 else 1)
        if kind == 0:
            return p.among(TRUTHS)
        if kind == 1:
            return p.flip()
        if kind <= 4:
            return (p.among(_ORDERS), self.number(depth - 1), self.number(depth - 1))
        if kind == 5:
            return ("between", self.number(0), self.number(depth - 1), self.number(0))
        if kind == 6:
            return ("not", self.truth(depth - 1))
        if kind == 7:
            return ("=>", self.truth(depth - 1), self.truth(depth - 1))
        if kind == 8 and p.rarely(2):
            return (p.one("=", "ne"), self.truth(depth - 1), self.truth(depth - 1))
        return (p.one("and", "or"), *(self.truth(depth - 1) for _ in range(p.one(2, 2, 3))))

    def floating(self, depth: int) -> Sentence:
        """A float of 16 bits."""
        p = self.pick
        kind = p.integer(0, 5 if depth > 0 else 1)
        if kind == 0:
            return p.among(FLOATS)
        if kind == 1:
            return ("f16", p.among(HALVES))
        a = self.floating(depth - 1)
        if kind == 2:
            return ("ite", self.of_floats(depth - 1), a, self.floating(depth - 1))
        if kind == 3:
            return ("fp.abs", a)
        return (p.one("fp.add", "fp.sub", "fp.mul"), a, self.floating(depth - 1))

    def of_floats(self, depth: int) -> Sentence:
        """A condition about floats."""
        return self.pick.expression(lambda: self._of_floats(depth))

    def _of_floats(self, depth: int) -> Sentence:
        p = self.pick
        kind = p.integer(0, 6 if depth > 0 else 1)
        if kind == 0:
            return p.among(TRUTHS)
        if kind <= 3:
            below = max(0, depth - 1)
            return (p.one("=", "fp.eq", "fp.lt", "fp.leq", "ne"), self.floating(below), self.floating(below))
        if kind == 4:
            return (p.among(_TESTS), self.floating(depth - 1))
        if kind == 5:
            return ("not", self.of_floats(depth - 1))
        return (p.one("and", "or", "=>"), self.of_floats(depth - 1), self.of_floats(depth - 1))
