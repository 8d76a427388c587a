"""Deductions: whatever a search does with one, only what follows is known."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.logic.terms import below, is_nan, plus, rounded
from verified_tir.ir import outside
from verified_tir.logic import formula as f
from verified_tir.logic.deduction import Deduction
from verified_tir.logic.formula import Term
from verified_tir.logic.generalise import Hidden, generalise
from verified_tir.logic.names import has_floats
from verified_tir.logic.smtlib import query
from verified_tir.logic.solver import Solver
from verified_tir.logic.strategy import resolved, search
from verified_tir.logic.verdict import Proved, Refuted, Unknown

X, Y, Z = (f.var(name, f.INT) for name in "xyz")
P, Q, R = (f.var(name, f.BOOL) for name in "pqr")
A, B = f.var("a", "F32"), f.var("b", "F32")
ONE = f.integer(1)


def deduction(*given: Term, goal: Term) -> Deduction:
    return Deduction(Solver().ask, given, goal)


# -- the rules ---------------------------------------------------------------------------------------------------------


def test_givens_and_their_parts_are_known() -> None:
    given = f.and_(P, f.make("and", (Q, f.lt(X, Y)), f.BOOL))
    for goal in (P, Q, f.lt(X, Y), f.and_(P, Q)):
        assert deduction(given, goal=goal).proved
    assert not deduction(f.or_(P, Q), goal=P).proved and not deduction(P, goal=f.and_(P, Q)).proved


def test_premises_of_the_goal_are_givens() -> None:
    assert deduction(goal=f.implies(P, f.implies(Q, P))).proved
    assert deduction(f.implies(P, Q), goal=f.implies(P, Q)).proved
    assert not deduction(goal=f.implies(P, Q)).proved


def test_what_is_asked_of_unknown_formulas_is_not_learnt() -> None:
    d = deduction(f.lt(X, Y), goal=f.lt(X, Z))
    assert isinstance(d.ask((f.lt(X, Y), f.lt(Y, Z)), f.lt(X, Z)), Proved) and not d.proved
    assert isinstance(d.ask((f.lt(X, Y), f.lt(Y, Z)), f.lt(X, Z), search=search), Proved) and not d.proved
    assert isinstance(d.ask((f.FALSE,), f.lt(X, Z)), Proved) and not d.proved
    assert isinstance(d.ask((f.lt(X, Y),), f.lt(X, Z)), Refuted) and not d.proved
    assert isinstance(d.ask((f.lt(X, Y),), f.le(f.add(X, ONE), Y), search=search), Proved)
    assert resolved(d, f.or_(f.lt(Y, f.add(X, ONE)), P)) is P and not d.proved


def test_alternatives_go_where_they_are_excluded() -> None:
    either = f.or_(P, f.lt(X, Y), Q)
    d = deduction(either, f.not_(P), goal=f.or_(f.lt(X, Y), Q))
    assert not d.proved and resolved(d, either) is d.goal and d.proved
    d = deduction(either, P, goal=f.or_(f.lt(X, Y), Q))
    assert resolved(d, either) is either and not d.proved
    d = deduction(f.not_(P), goal=Q)
    assert resolved(d, f.or_(P, Q)) is Q and not d.proved, "the disjunction itself is not known"
    d = deduction(f.implies(P, Q), P, goal=Q)
    assert resolved(d, f.implies(P, Q)) is Q and d.proved
    d = deduction(f.implies(P, Q), Q, goal=P)
    assert resolved(d, f.implies(P, Q)) is f.implies(P, Q) and not d.proved
    d = deduction(f.implies(P, Q), f.not_(Q), goal=f.not_(P))
    assert resolved(d, f.implies(P, Q)) is f.not_(P) and d.proved
    for t in (P, f.and_(P, Q), f.ite(P, Q, R)):
        assert resolved(deduction(t, f.not_(Q), goal=R), t) is t


@pytest.mark.parametrize("order", [f.eq(X, Y), f.eq(Y, X)])
def test_equals_are_put_for_equals(order: Term) -> None:
    d = deduction(order, f.lt(X, ONE), goal=f.lt(Y, ONE))
    assert d.substitute({X: Y}, [f.lt(X, ONE)]) == [f.lt(Y, ONE)] and d.proved
    d = deduction(order, f.lt(Y, ONE), goal=f.lt(X, ONE))
    assert d.substitute({X: Y}, [d.goal]) == [f.lt(Y, ONE)] and d.proved, "the goal may be shown as it is now"
    d = deduction(f.le(X, Y), f.lt(X, ONE), goal=f.lt(Y, ONE))
    assert d.substitute({X: Y}, [f.lt(X, ONE)]) == [f.lt(X, ONE)] and not d.proved, "they are not known to be equal"
    d = deduction(order, goal=f.lt(Y, ONE))
    assert d.substitute({X: Y}, [f.lt(X, ONE)]) == [f.lt(Y, ONE)] and not d.proved
    d = deduction(order, f.lt(X, ONE), goal=f.lt(Z, ONE))
    assert d.substitute({X: Y, Y: Z}, [f.lt(X, ONE)]) == [f.lt(X, ONE)] and not d.proved


def test_truths_are_equal_to_true() -> None:
    d = deduction(P, f.not_(Q), f.ite(P, f.or_(Q, R), f.FALSE), goal=R)
    d.substitute({P: f.TRUE, Q: f.FALSE}, list(d.given))
    assert d.proved
    for wrong in ({P: f.FALSE}, {Q: f.TRUE}, {R: f.TRUE}):
        d = deduction(P, f.not_(Q), f.implies(P, f.or_(Q, R)), goal=R)
        d.substitute(wrong, [*d.given, d.goal])
        assert not d.proved


def test_zeros_that_compare_equal_are_no_equals() -> None:
    d = deduction(f.fp("fp.eq", f.BOOL, A, B), f.eq(A, f.floating("F32", 0)), goal=f.eq(B, f.floating("F32", 0)))
    d.substitute({A: B}, list(d.given))
    assert not d.proved


def test_facts_are_of_hard_operations_only() -> None:
    d = deduction(goal=f.eq(f.mul(X, Y), f.mul(Y, X)))
    assert not d.facts(f.add(X, Y)) and not d.facts(f.mul(ONE, X)) and not d.proved
    assert d.facts(f.mul(X, Y)) and d.proved


# -- what is hidden ----------------------------------------------------------------------------------------------------

PRODUCT, OTHER = f.mul(X, Y), f.mul(X, Z)


@pytest.mark.parametrize(
    ("given", "goal", "hidden"),
    [
        ((), f.eq(PRODUCT, OTHER), Hidden(values=(PRODUCT, OTHER))),
        ((), f.eq(PRODUCT, OTHER), Hidden(operations=(PRODUCT, OTHER))),
        ((), f.eq(PRODUCT, OTHER), Hidden(operations=(PRODUCT,))),
        ((), f.eq(PRODUCT, f.var("('value', (* x y))", f.INT)), Hidden(values=(PRODUCT,))),
        ((), f.eq(f.app("*", (X, Y), f.INT), PRODUCT), Hidden(operations=(PRODUCT,))),
        ((), f.eq(f.bitwise("bvand", 8, X, Y), f.bitwise("bvand", 16, X, Y)), Hidden(operations=(
            f.bitwise("bvand", 8, X, Y), f.bitwise("bvand", 16, X, Y)))),
        ((), f.eq(A, B), Hidden(floats=True)),
        ((), f.eq(f.app("a", (X,), "F32"), f.app("a", (Y,), "F32")), Hidden(floats=True)),
        ((f.eq(f.app("a", (X,), f.INT), f.app("a", (Y,), f.INT)),),
         f.eq(f.app("a", (X,), "F32"), f.app("a", (Y,), "F32")), Hidden(floats=True)),
        ((f.eq(f.var("a", "F64"), f.var("b", "F64")),), f.eq(A, B), Hidden(floats=True)),
        ((), f.eq(rounded("RNE", A), rounded("RTZ", A)), Hidden(floats=True)),
        ((), f.eq(f.fp("fp.from_bits", "F32", X), f.fp("fp.from_int", "F32", X)), Hidden(floats=True)),
        ((f.eq(P, below(A, B)),), f.eq(P, below(B, A)), Hidden(values=(A, B), floats=True)),
        ((f.eq(plus(A, B), A),), f.eq(plus(B, A), A), Hidden(values=(plus(A, B), plus(B, A)))),
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_follow_does_not_follow_whatever_is_hidden(
    given: tuple[Term, ...], goal: Term, hidden: Hidden
) -> None:
    d = deduction(*given, goal=goal)
    d.ask(given, goal, hidden)
    d.ask(given, goal, hidden, search)
    assert not d.proved


def test_nothing_hidden_is_the_question_itself() -> None:
    assert generalise((PRODUCT, plus(A, B)), Hidden()) == (PRODUCT, plus(A, B))
    assert generalise((PRODUCT,), Hidden(values=(X,)))[0] is not PRODUCT


def test_the_same_becomes_the_same() -> None:
    (first,), (second,) = (generalise((PRODUCT,), Hidden(values=(PRODUCT,))) for _ in range(2))
    assert first is second and first.sort == f.INT
    sums = (plus(A, B), plus(A, B), plus(B, A))
    a, b, c = generalise(sums, Hidden(floats=True))
    assert a is b is not c and not has_floats(a)


# -- searches that are wrong -------------------------------------------------------------------------------------------


def says_proved(_: Solver, d: Deduction, *others: object) -> Any:
    return Proved()


def says_nothing(_: Solver, d: Deduction, *others: object) -> Any:
    return None


def claims_a_subclass(_: Solver, d: Deduction, *others: object) -> Any:
    return type("Yes", (), {"how": "z3"})()


def asks_something_else(_: Solver, d: Deduction, *others: object) -> Any:
    return d.ask((), f.TRUE)


def assumes_the_goal(_: Solver, d: Deduction, *others: object) -> Any:
    d.ask((d.goal,), d.goal)
    d.ask((f.FALSE,), d.goal)
    d.substitute({d.goal: f.TRUE}, [f.implies(d.goal, d.goal)])
    d.substitute({d.goal: f.TRUE}, [d.goal])
    return Proved()


def hides_until_it_is_equal(_: Solver, d: Deduction, *others: object) -> Any:
    terms = frozenset(f.subterms(d.goal))
    for hidden in (Hidden(values=terms), Hidden(operations=terms), Hidden(floats=True), Hidden(terms, terms, True)):
        d.ask(d.given, d.goal, hidden)
    return Proved()


class Lookalike:
    """Equal to a term, and something else to whoever asks it."""

    def __init__(self, term: Term) -> None:
        self.term, self.op, self.args, self.sort, self.payload = term, "const", (), f.BOOL, 0

    def __hash__(self) -> int:
        return hash(self.term)

    def __eq__(self, other: object) -> bool:
        return other is self.term


def searches_for_something_else(_: Solver, d: Deduction, *others: object) -> Any:
    d.ask(d.given, d.goal, search=lambda inner: inner.ask((), f.TRUE))
    d.ask(d.given, d.goal, search=lambda inner: Proved())
    d.ask(d.given, d.goal, search=lambda inner: inner.ask((f.FALSE,), inner.goal))
    return Proved()


def says_what_the_text_does_not(solver: Solver, d: Deduction, *others: object) -> Any:
    solver.store.check("(assert false)", solver.budget, "Solver", 1000)
    solver.store.notes[query(d.given, d.goal).text, solver.budget] = "unsat", None
    solver.store.check(Text("(assert false)"), solver.budget, "Solver", 1000)
    d.ask(d.given, d.goal)
    return Proved()


class Text(str):
    """Equal to whatever text it is compared with."""

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return True


def asks_of_lookalikes(_: Solver, d: Deduction, *others: object) -> Any:
    given: Any = Lookalike(d.given[0])
    goal: Any = Lookalike(d.goal)
    for step in (
        lambda: d.ask((given,), d.goal),
        lambda: d.ask(d.given, goal),
        lambda: d.ask((given,), d.goal, search=search),
        lambda: d.facts(given),
        lambda: d.substitute({}, [given]),
        lambda: d.substitute({given: f.FALSE}, [d.goal]),
        lambda: d.substitute({d.given[0]: given}, [d.goal]),
    ):
        with pytest.raises(TypeError, match="about terms"):
            step()
    d.ask(d.given, d.goal, Hidden(values=(given, goal)))
    return Proved()


def puts_equals_in_what_is_no_goal(_: Solver, d: Deduction, *others: object) -> Any:
    d.substitute({}, d.given)
    d.substitute({d.goal: f.TRUE}, [d.goal])
    d.ask((), f.TRUE)
    d.substitute({}, [f.TRUE])
    return Proved()


class Another(tuple[Term, ...]):
    """Some terms, equal to whatever others it is compared with."""

    seems: Any

    def __hash__(self) -> int:
        return hash(self.seems)

    def __eq__(self, other: object) -> bool:
        return True


def keeps_another_text_for_the_question(_: Solver, d: Deduction, *others: object) -> Any:
    given = Another((f.FALSE,))
    given.seems = d.given
    query(given, d.goal)
    d.ask(d.given, d.goal)
    d.ask(given, d.goal)
    return Proved()


def hides_a_float_as_a_truth_value(_: Solver, d: Deduction, *others: object) -> Any:
    """Of three truth values two are equal."""
    zero, numbers = f.floating("F32", 0), [f.floating("F32", bits) for bits in (0x3F800000, 0x40000000, 0x40400000)]
    with pytest.raises(TypeError, match="no such term"):
        a, b, c = (f.make("fp.add", (n, zero), f.BOOL) for n in numbers)
        d.ask((), f.or_(f.eq(a, b), f.eq(b, c), f.eq(a, c)), Hidden(values=(a, b, c)))
        d.ask((f.or_(f.eq(a, b), f.eq(b, c), f.eq(a, c)),), f.FALSE)
    return Proved()


def hides_a_fraction_as_an_integer(_: Solver, d: Deduction, *others: object) -> Any:
    """No integer lies between 0 and 1."""
    with pytest.raises(TypeError, match="no such term"):
        half = f.make("fp.to_real", (f.floating("F32", 0x3F000000),), f.INT)
        claim = f.or_(f.le(half, f.ZERO), f.le(ONE, half))
        d.ask((), claim, Hidden(values=(half,)))
        d.ask((claim,), f.FALSE)
    return Proved()


def combines_less_than_one_bit(_: Solver, d: Deduction, *others: object) -> Any:
    with pytest.raises(TypeError, match="no such term"):
        t = f.make("bvand", (X, Y), f.INT, -1)
        d.facts(t)
        d.ask((f.le(f.ZERO, t), f.lt(t, f.ZERO)), f.FALSE, Hidden(values=(t,)))
    return Proved()


class NowAndThen:
    """Hides floats when it is asked for the ``first`` time, to the ``last``."""

    values, operations = (), ()

    def __init__(self, first: int, last: int) -> None:
        self.times = range(first, last + 1)
        self.asked = 0

    @property
    def floats(self) -> bool:
        self.asked += 1
        return self.asked in self.times


def hides_some_floats(_: Solver, d: Deduction, *others: object) -> Any:
    """The number of a float is an integer, which is no NaN when it is converted."""
    claim = f.not_(is_nan(f.fp("fp.from_fp", "F64", f.not_a_number("F32"))))
    for first in range(1, 9):
        for last in range(first, 9):
            hidden: Any = NowAndThen(first, last)
            with contextlib.suppress(TypeError):
                d.ask((), claim, hidden)
    d.ask((claim,), f.FALSE)
    return Proved()


def sets_an_option(solver: Solver, d: Deduction, *others: object) -> Any:
    """One of Z3, with which what has no meaning is 0."""
    whole = f.fp("fp.to_int", f.INT, f.not_a_number("F32"))
    option = "(set-option :rewriter.hi_fp_unspecified true)"
    for setting in ("Solver", "shared"):
        solver.store.check(option, solver.budget, setting, 1000)
        for asked in ("Solver", "SimpleSolver", "shared"):
            text = query((), f.eq(whole, f.ZERO)).text
            assert solver.store.check(text, solver.budget, asked, 100_000)[0] != "unsat"
    return Proved()


WRONG = [
    puts_equals_in_what_is_no_goal,
    keeps_another_text_for_the_question,
    hides_a_float_as_a_truth_value,
    hides_a_fraction_as_an_integer,
    combines_less_than_one_bit,
    hides_some_floats,
    sets_an_option,
    says_proved,
    says_nothing,
    claims_a_subclass,
    asks_something_else,
    assumes_the_goal,
    hides_until_it_is_equal,
    searches_for_something_else,
    says_what_the_text_does_not,
    asks_of_lookalikes,
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_search_that_is_wrong_proves_nothing(wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(outside._answers, "attempt", wrong)
    assert isinstance(Solver().prove((f.lt(X, Y),), f.lt(Y, X)), Unknown)
    assert isinstance(Solver().prove((f.lt(X, Y),), f.eq(f.mul(X, Y), f.mul(Y, Z))), Unknown)


def test_without_a_search_nothing_but_the_obvious_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(outside._answers, "attempt")
    assert isinstance(Solver().prove((P,), P), Proved)
    assert isinstance(Solver().prove((f.lt(X, Y),), f.le(X, Y)), Unknown)
