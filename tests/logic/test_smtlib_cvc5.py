"""cvc5 reads the same text as Z3, and where both decide, they decide alike."""

from __future__ import annotations

import itertools

import pytest

from tests.logic.second_solver import ask_cvc5
from tests.logic.terms import rounded
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.smtlib import query
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted

Question = tuple[tuple[Term, ...], Term]

_fresh = itertools.count()


def names(*sorts: str) -> list[Term]:
    """Variables that were never used before."""
    return [f.var(f"name{next(_fresh)}", sort) for sort in sorts]


def call(function: str, argument: Term) -> Term:
    return f.app(function, (argument,), argument.sort)


def integer_questions() -> list[Question]:
    n, i, j, k = names(f.INT, f.INT, f.INT, f.INT)
    four, eight = f.integer(4), f.integer(8)
    inside = tuple(f.between(f.integer(0), v, bound) for v, bound in [(i, n), (j, n), (k, four)])
    return [
        (inside, f.eq(f.add(f.mul(f.floordiv(i, four), four), f.floormod(i, four)), i)),
        (inside, f.implies(f.eq(f.add(f.mul(i, four), k), f.mul(j, four)), f.and_(f.eq(i, j), f.eq(k, f.integer(0))))),
        (inside, f.eq(f.floordiv(i, f.integer(-4)), f.truncdiv(i, f.integer(-4)))),
        (inside, f.lt(f.floordiv(i, four), n)),
        (inside[1:], f.lt(f.floordiv(i, four), n)),
        ((f.eq(f.floordiv(i, four), f.floordiv(j, four)),), f.eq(i, j)),
        ((f.eq(i, j),), f.eq(call("g", f.add(i, four)), call("g", f.add(four, j)))),
        ((), f.eq(call("g", i), call("g", j))),
        (inside[2:], f.eq(f.bitwise("bvand", 8, k, f.integer(3)), k)),
        ((f.between(f.integer(0), k, eight),), f.eq(f.bitwise("bvor", 8, k, f.integer(1)), k)),
        (inside[2:], f.eq(f.wrap(f.add(k, f.integer(256)), 8, signed=False), k)),
        ((), f.eq(f.wrap(k, 8, signed=True), k)),
        ((), f.eq(f.truncmod(i, f.integer(-3)), f.sub(i, f.mul(f.integer(-3), f.truncdiv(i, f.integer(-3)))))),
        ((), f.eq(f.floormod(i, f.integer(-3)), f.truncmod(i, f.integer(-3)))),
    ]


def float_questions(sort: str) -> list[Question]:
    x, y, i = names(sort, sort, f.INT)
    zero, minus = f.floating(sort, 0), f.negative_zero(sort)
    nan = f.fp("fp.isNaN", f.BOOL, x)
    width = sum(f.FLOAT_SORTS[sort])
    bits = f.fp("fp.to_bits", f.INT, x)
    small = f.between(f.integer(-5), i, f.integer(5))
    return [
        ((), f.eq(f.fp("fp.add", sort, x, minus), x)),
        ((), f.eq(f.fp("fp.add", sort, x, zero), x)),
        ((f.ne(x, minus),), f.eq(f.fp("fp.add", sort, x, zero), x)),
        ((), f.fp("fp.eq", f.BOOL, x, x)),
        ((f.not_(nan),), f.fp("fp.eq", f.BOOL, x, x)),
        ((), f.eq(f.ite(f.fp("fp.lt", f.BOOL, x, y), x, y), f.ite(f.fp("fp.lt", f.BOOL, y, x), y, x))),
        ((f.eq(x, y),), f.eq(call("exp", x), call("exp", y))),
        ((f.fp("fp.eq", f.BOOL, x, y),), f.eq(call("exp", x), call("exp", y))),
        (
            (),
            f.eq(
                rounded("RTZ", rounded("RTP", x)),
                rounded("RTP", x),
            ),
        ),
        ((), f.eq(f.fp("fp.from_bits", sort, bits), x)),
        ((f.not_(nan),), f.lt(bits, f.integer(1 << (width - 1)))),
        ((f.eq(x, f.floating(sort, 3)),), f.eq(bits, f.integer(3))),
        ((small, f.eq(i, f.integer(-3))), f.eq(f.fp("fp.to_int", f.INT, f.fp("fp.from_int", sort, i)), i)),
        ((), f.eq(f.fp("fp.sqrt", sort, f.negative_zero(sort)), minus)),
        ((), f.eq(f.fp("fp.mul", sort, f.floating(sort, 1), f.floating(sort, 1)), zero)),
    ]


def decided_alike(questions: list[Question]) -> list[str]:
    """Ask both; cvc5's answers, where it has one."""
    solver, answers = Solver(), []
    for given, goal in questions:
        script = query(given, goal)
        verdict, second = solver.ask(script), ask_cvc5(script.text)
        assert isinstance(verdict, (Proved, Refuted)), goal
        if second != "unknown":
            assert second == ("unsat" if isinstance(verdict, Proved) else "sat"), goal
            answers.append(second)
    return answers


def test_cvc5_agrees_on_integers() -> None:
    questions = integer_questions()
    answers = decided_alike(questions)
    assert len(answers) == len(questions)
    assert set(answers) == {"sat", "unsat"}


@pytest.mark.sample(1)
@pytest.mark.parametrize("sort", f.FLOAT_SORTS)
def test_cvc5_agrees_on_floats(sort: str) -> None:
    questions = float_questions(sort)
    answers = decided_alike(questions)
    assert len(answers) >= len(questions) - 2  # what goes by way of reals it need not decide
    assert set(answers) == {"sat", "unsat"}


def test_cvc5_says_so_when_it_does_not_understand() -> None:
    with pytest.raises(RuntimeError, match="to_ieee_bv"):
        ask_cvc5("(declare-fun x () (_ FloatingPoint 8 24))(assert (= #x00000000 (fp.to_ieee_bv x)))")
