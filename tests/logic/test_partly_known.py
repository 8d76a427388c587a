"""Operations that are known in part: what follows of any such function follows; what is false never does."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable

import pytest

from verified_tir.logic import formula as f
from verified_tir.logic.deduction import Deduction
from verified_tir.logic.formula import INT, Term
from verified_tir.logic.generalise import generalise
from verified_tir.logic.partly_known import facts_about
from verified_tir.logic.recheck import _HARD, SOLVERS, ask, has_hard_operations
from verified_tir.logic.solver import Solver
from verified_tir.logic.standalone import standalone
from verified_tir.logic.strategy import partly_known
from verified_tir.logic.verdict import Proved

X, Y, Z, I, J = (f.var(name, INT) for name in "xyzij")
ZERO = f.integer(0)


def load(address: Term) -> Term:
    return f.app("A", (address,), INT)


def proved(given: tuple[Term, ...], goal: Term) -> bool:
    question = Deduction(Solver().ask, given, goal)
    verdict = question.ask(*partly_known(question, question.given))
    assert isinstance(verdict, Proved) == question.proved
    return question.proved


FOLLOWS: list[tuple[tuple[Term, ...], Term]] = [
    ((f.eq(I, J),), f.eq(f.mul(load(I), X), f.mul(load(J), X))),
    ((), f.eq(f.mul(X, Y), f.mul(Y, X))),
    ((f.eq(X, ZERO),), f.eq(f.add(Z, f.mul(X, Y)), Z)),
    ((f.eq(Y, f.integer(1)),), f.eq(f.mul(X, Y), X)),
    ((f.eq(Y, f.integer(-1)),), f.eq(f.mul(X, Y), f.neg(X))),
    ((f.eq(X, ZERO),), f.eq(f.mul(f.mul(X, Y), Z), ZERO)),
    (
        (f.eq(X, ZERO),),
        f.eq(f.wrap(f.add(Z, f.mul(X, Y)), 32, True), f.wrap(Z, 32, True)),
    ),
]
for op, neutral in (("bvor", 0), ("bvxor", 0), ("bvand", -1)):
    for signed in (True, False):
        kept = f.wrap(f.bitwise(op, 8, X, Y), 8, signed)
        low, high = (-128, 127) if signed else (0, 255)
        fits = f.and_(f.le(f.integer(low), X), f.le(X, f.integer(high)))
        least = neutral if signed or op != "bvand" else 255
        FOLLOWS += [
            ((f.eq(Y, f.integer(least)), fits), f.eq(kept, X)),
            ((f.eq(I, J),), f.eq(f.bitwise(op, 8, load(I), X), f.bitwise(op, 8, load(J), X))),
            ((), f.eq(f.bitwise(op, 8, X, Y), f.bitwise(op, 8, Y, X))),
            ((), f.le(f.bitwise(op, 8, X, Y), f.integer(255))),
        ]
FOLLOWS.append(((), f.eq(f.bitwise("bvxor", 8, X, X), ZERO)))

DOES_NOT: list[tuple[tuple[Term, ...], Term]] = [
    ((), f.eq(f.mul(load(I), X), f.mul(load(J), X))),
    ((f.eq(f.mul(X, Y), ZERO),), f.eq(X, ZERO)),
    ((f.eq(X, f.integer(2)),), f.eq(f.mul(X, Y), Y)),
    ((), f.eq(f.mul(X, Y), f.mul(X, Z))),
    ((f.eq(Y, ZERO),), f.eq(f.bitwise("bvor", 8, X, Y), X)),  # X may be larger than 255
    ((f.eq(Y, f.integer(1)),), f.eq(f.bitwise("bvor", 8, X, Y), f.euclid_mod(X, f.integer(256)))),
    ((), f.eq(f.bitwise("bvand", 8, X, Y), f.bitwise("bvand", 16, X, Y))),
]


@pytest.mark.sample(26)
@pytest.mark.parametrize(("given", "goal"), FOLLOWS)
def test_what_follows_from_equal_operands(given: tuple[Term, ...], goal: Term) -> None:
    question = Deduction(Solver().ask, given, goal)
    premises, claim, hidden = partly_known(question, given)
    assert has_hard_operations(*given, goal) and not has_hard_operations(*generalise((*premises, claim), hidden))
    assert proved(given, goal)
    for solver in SOLVERS:
        answer = ask(solver, standalone(given, goal))
        assert (answer.verdict, answer.how) == ("unsat", "for any such operation"), (solver, answer)


@pytest.mark.parametrize(("given", "goal"), DOES_NOT)
def test_what_is_false_does_not_follow(given: tuple[Term, ...], goal: Term) -> None:
    assert not proved(given, goal)
    assert ask("z3", standalone(given, goal)).verdict != "unsat"


@pytest.mark.parametrize(("op", "real"), [("bvand", operator.and_), ("bvor", operator.or_), ("bvxor", operator.xor)])
def test_what_is_said_of_bits_is_true_of_them(op: str, real: Callable[[int, int], int]) -> None:
    forth, back = f.bitwise(op, 4, X, Y), f.bitwise(op, 4, Y, X)
    facts = list(facts_about(forth))
    for a, b in itertools.product(range(-17, 18), repeat=2):
        found = f.integer(real(a % 16, b % 16))
        values = {X: f.integer(a), Y: f.integer(b), forth: found, back: found}
        for t in facts:
            assert f.replace(t, values) is f.TRUE, (a, b)


def test_the_text_tells_whether_there_is_such_an_operation() -> None:
    """A question without one is not read back into formulas."""
    linear = [f.mul(f.integer(k), load(I)) for k in (-4, 4)]
    cases = [*FOLLOWS, *DOES_NOT, ((), f.lt(f.add(*linear), f.mul(f.integer(-3), f.mul(f.integer(2), X))))]
    for given, goal in cases:
        assert bool(_HARD.search(standalone(given, goal))) is has_hard_operations(*given, goal), goal
    assert not has_hard_operations(cases[-1][1])


def test_what_needs_multiplication_is_asked_as_it_is() -> None:
    """Distribution is true of products only: not proved without them, and proved with them."""
    given, goal = (), f.eq(f.mul(X, f.add(Y, Z)), f.add(f.mul(X, Y), f.mul(X, Z)))
    assert not proved(given, goal)
    assert ask("z3", standalone(given, goal)).verdict == "unsat"


def test_what_is_said_of_products_is_true_of_them() -> None:
    """Every fact holds for small numbers with real multiplication."""
    forth, back = f.mul(X, Y), f.mul(Y, X)
    facts = list(facts_about(forth))
    for a, b in itertools.product(range(-3, 4), repeat=2):
        values = {X: f.integer(a), Y: f.integer(b), forth: f.integer(a * b), back: f.integer(b * a)}
        for t in facts:
            assert f.replace(t, values) is f.TRUE, (a, b)
