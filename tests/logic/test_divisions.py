"""Quotients and remainders that are worked out: digits are found again, and nothing false is proved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.logic.evaluate import evaluate
from verified_tir.logic import formula as f
from verified_tir.logic.deduction import Deduction
from verified_tir.logic.divisions import FEW, has_many_divisions, sum_of, term_of, work_out
from verified_tir.logic.formula import INT, Term
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved

X, Y = (f.var(name, INT) for name in "xy")


def div(a: Term, n: int) -> Term:
    return f.euclid_div(a, f.integer(n))


def mod(a: Term, n: int) -> Term:
    return f.euclid_mod(a, f.integer(n))


def total(*terms: Term) -> Term:
    return reduce(f.add, terms)


def times(n: int, a: Term) -> Term:
    return f.mul(f.integer(n), a)


def below(x: Term, n: int) -> Term:
    return f.between(f.ZERO, x, f.integer(n))


def bits(x: Term, count: int) -> list[Term]:
    return [mod(div(x, 2**k), 2) for k in range(count)]


def number(digits: Sequence[Term]) -> Term:
    return total(*(times(2**k, b) for k, b in enumerate(digits)))


def interleaved(count: int) -> Term:
    return number([b for pair in zip(bits(X, count), bits(Y, count), strict=True) for b in pair])


def worked_out(goal: Term, *known: Term) -> Term:
    question = Deduction(Solver().ask, known, goal)
    found = work_out(question, question.given)
    assert (found is f.TRUE) <= question.proved
    return found


COUNT = 8
KNOWN = below(X, 2**COUNT), below(Y, 2**COUNT)
XOR = number([mod(f.add(a, b), 2) for a, b in zip(bits(X, COUNT), bits(Y, COUNT), strict=True)])
TRUE = {
    "a number is made of its digits": f.eq(number(bits(X, COUNT)), X),
    "Morton order, first": f.eq(number(bits(interleaved(COUNT), 2 * COUNT)[::2]), X),
    "Morton order, second": f.eq(number(bits(interleaved(COUNT), 2 * COUNT)[1::2]), Y),
    "swizzle": f.eq(number([mod(f.sub(a, b), 2) for a, b in zip(bits(XOR, COUNT), bits(X, COUNT), strict=True)]), Y),
    "within its range": below(interleaved(COUNT), 4**COUNT),
    "digits of digits": f.eq(number(bits(mod(div(X, 4), 32), 5)), mod(div(X, 4), 32)),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", TRUE)
def test_what_z3_alone_does_not_decide_is_proved(name: str) -> None:
    assert has_many_divisions(TRUE[name]) or len(bits(X, COUNT)) <= FEW
    assert isinstance(Solver().prove(KNOWN, TRUE[name]), Proved)


@pytest.mark.parametrize(
    "goal",
    [
        f.eq(number(bits(X, COUNT - 1)), X),
        f.eq(number(bits(interleaved(COUNT), 2 * COUNT)[::2]), Y),
        below(interleaved(COUNT), 4**COUNT - 1),
        f.eq(number(bits(XOR, COUNT)), X),
    ],
)
def test_what_is_nearly_so_is_not(goal: Term) -> None:
    assert has_many_divisions(goal) or COUNT - 1 <= FEW
    assert not isinstance(Solver().prove(KNOWN, goal), Proved)


def test_each_step_is_seen_in_the_goal() -> None:
    z = f.var("z", INT)
    known = below(X, 2), below(Y, 3)
    sum_ = total(times(2, Y), X)
    assert worked_out(f.eq(div(sum_, 2), z), *known) is f.eq(Y, z)
    assert worked_out(f.eq(mod(sum_, 2), z), *known) is f.eq(X, z)
    assert worked_out(f.eq(mod(div(X, 3), 1), z)) is f.eq(f.ZERO, z)
    assert worked_out(f.eq(div(div(X, 3), 5), z)) is f.eq(div(X, 15), z)
    assert worked_out(f.eq(div(mod(X, 12), 3), z)) is f.eq(mod(div(X, 3), 4), z)
    assert worked_out(f.eq(mod(mod(X, 12), 3), z)) is f.eq(mod(X, 3), z)
    assert worked_out(f.eq(mod(f.add(Y, mod(f.add(X, Y), 2)), 2), z), below(X, 2)) is f.eq(X, z)
    assert worked_out(f.eq(total(times(3, div(X, 3)), mod(X, 3)), z)) is f.eq(X, z)
    assert worked_out(f.eq(total(times(3, mod(div(X, 3), 4)), mod(X, 3)), z)) is f.eq(mod(X, 12), z)


def test_without_bounds_a_part_stays() -> None:
    z = f.var("z", INT)
    for goal in (f.eq(div(total(times(2, Y), X), 2), z), f.eq(div(mod(X, 10), 3), z), f.eq(mod(mod(X, 10), 3), z)):
        assert worked_out(goal) is goal


def test_linear_forms_come_back() -> None:
    t = f.sub(total(times(3, X), f.integer(4)), times(2, f.add(Y, f.integer(5))))
    assert sum_of(t) == {X: 3, Y: -2, f.ONE: -6}
    assert sum_of(f.sub(X, X)) == {}
    assert term_of(sum_of(t)) is total(times(-2, Y), times(3, X), f.integer(-6)) or sum_of(
        term_of(sum_of(t))
    ) == sum_of(t)


@st.composite
def sums(draw: st.DrawFn, depth: int = 3) -> Term:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from([X, Y, f.integer(draw(st.integers(-9, 9)))]))
    a, n = draw(sums(depth - 1)), draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["div", "mod", "+", "*"]))
    if kind == "+":
        return f.add(a, draw(sums(depth - 1)))
    return {"div": div, "mod": mod, "*": lambda x, k: times(k - 4, x)}[kind](a, n)


@given(sums(), st.integers(-20, 40), st.integers(0, 7))
def test_no_value_changes(t: Term, x: int, y: int) -> None:
    z = f.var("z", INT)
    found = worked_out(f.eq(t, z), below(Y, 8))
    (made,) = [a for a in found.args if a is not z] if found.op == "=" and z in found.args else (t,)
    assert evaluate(made, {"x": x, "y": y}) == evaluate(t, {"x": x, "y": y})
