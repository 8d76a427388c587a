"""Products as a function that is known in part: what follows then follows of products; what is false never does."""

from __future__ import annotations

import itertools

import pytest

from verified_tir.logic import formula as f
from verified_tir.logic.formula import INT, Term
from verified_tir.logic.products import has_products, without_products
from verified_tir.logic.recheck import SOLVERS, ask
from verified_tir.logic.solver import Solver
from verified_tir.logic.standalone import standalone
from verified_tir.logic.verdict import Proved

X, Y, Z, I, J = (f.var(name, INT) for name in "xyzij")
ZERO = f.integer(0)


def load(address: Term) -> Term:
    return f.app("A", (address,), INT)


def proved(given: tuple[Term, ...], goal: Term) -> bool:
    return isinstance(Solver().prove(*without_products(given, goal)), Proved)


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
DOES_NOT: list[tuple[tuple[Term, ...], Term]] = [
    ((), f.eq(f.mul(load(I), X), f.mul(load(J), X))),
    ((f.eq(f.mul(X, Y), ZERO),), f.eq(X, ZERO)),
    ((f.eq(X, f.integer(2)),), f.eq(f.mul(X, Y), Y)),
    ((), f.eq(f.mul(X, Y), f.mul(X, Z))),
]


@pytest.mark.parametrize(("given", "goal"), FOLLOWS)
def test_what_follows_from_equal_operands(given: tuple[Term, ...], goal: Term) -> None:
    assert has_products(*given, goal) and not has_products(*without_products(given, goal)[0])
    assert proved(given, goal)
    for solver in SOLVERS:
        answer = ask(solver, standalone(given, goal))
        assert (answer.verdict, answer.how) == ("unsat", "for any product"), (solver, answer)


@pytest.mark.parametrize(("given", "goal"), DOES_NOT)
def test_what_is_false_does_not_follow(given: tuple[Term, ...], goal: Term) -> None:
    assert not proved(given, goal)
    assert ask("z3", standalone(given, goal)).verdict != "unsat"


def test_what_needs_multiplication_is_asked_as_it_is() -> None:
    """Distribution is true of products only: not proved without them, and proved with them."""
    given, goal = (), f.eq(f.mul(X, f.add(Y, Z)), f.add(f.mul(X, Y), f.mul(X, Z)))
    assert not proved(given, goal)
    assert ask("z3", standalone(given, goal)).verdict == "unsat"


def test_what_is_said_of_products_is_true_of_them() -> None:
    """Every given that is added holds for small numbers with real multiplication."""
    given, _ = without_products((), f.eq(f.mul(X, Y), ZERO))
    forth, back = f.app("product", (X, Y), INT), f.app("product", (Y, X), INT)
    for a, b in itertools.product(range(-3, 4), repeat=2):
        values = {X: f.integer(a), Y: f.integer(b), forth: f.integer(a * b), back: f.integer(b * a)}
        for g in given:
            assert f.replace(g, values) is f.TRUE, (a, b)
