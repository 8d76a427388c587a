"""Verdicts: right against brute force, with models that are counterexamples, and never more than the solver knows."""

from __future__ import annotations

import pickle
import time
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.logic.evaluate import NoValue, Value, constant, evaluate, value_of_bits
from tests.logic.terms import BOOLS, INTS, Pair, bool_terms
from verified_tir.logic import formula as f
from verified_tir.logic import z3_query as module
from verified_tir.logic.formula import Term, make
from verified_tir.logic.model import Model
from verified_tir.logic.smtlib import query
from verified_tir.logic.solver import Solver
from verified_tir.logic.strategy import relevant
from verified_tir.logic.verdict import Proved, Refuted, Unknown, Verdict

X, Y, Z, OTHER = (f.var(name, f.INT) for name in ("x", "y", "z", "other"))
P, Q = f.var("p", f.BOOL), f.var("q", f.BOOL)
ZERO, ONE = f.integer(0), f.integer(1)
SHARED = Solver()


def is_counterexample(model: Model, given: tuple[Term, ...], goal: Term) -> bool:
    """Whether the givens hold and the goal does not, with any value for what the model leaves out."""
    values: dict[str, Value] = {str(t.payload): 0 for t in f.subterms(*given, goal) if t.op == "var"}
    values |= {name: value_of_bits(model.sorts[name], x) for name, x in model.values.items()}
    return all(evaluate(g, values) for g in given) and not evaluate(goal, values)


def refuted(verdict: Verdict, given: tuple[Term, ...], goal: Term) -> bool:
    """Refuted, with a real counterexample."""
    return isinstance(verdict, Refuted) and is_counterexample(verdict.model, given, goal)


# ------------------------------------------------------------------------------------------- against brute force

DOMAIN = range(-1, 3)
BOUNDED = tuple(f.between(f.integer(DOMAIN.start), v, f.integer(DOMAIN.stop)) for v in INTS)
POINTS: list[dict[str, Value]] = [
    {str(v.payload): x for v, x in zip((*INTS, *BOOLS), (*ints, *bools), strict=True)}
    for ints in product(DOMAIN, repeat=len(INTS))
    for bools in product((False, True), repeat=len(BOOLS))
]


@pytest.mark.nightly
@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(st.lists(bool_terms(2), max_size=3), bool_terms(3))
def test_verdicts_are_those_of_brute_force(pairs: list[Pair], pair: Pair) -> None:
    givens, goal = tuple(g for g, _ in pairs), pair[0]
    verdict = SHARED.prove((*BOUNDED, *givens), goal)
    plain = [g for _, g in pairs]
    valid = all(evaluate(pair[1], at) for at in POINTS if all(evaluate(g, at) for g in plain))
    assert isinstance(verdict, Proved) if valid else refuted(verdict, (*BOUNDED, *givens), goal)


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(st.lists(bool_terms(2), max_size=3), bool_terms(2), st.sampled_from([None, "true", "false"]))
def test_givens_about_other_things_change_nothing_but_a_contradiction(
    pairs: list[Pair], pair: Pair, elsewhere: str | None
) -> None:
    """What is not connected with the goal is dropped first; a contradiction there still proves everything."""
    own = (*BOUNDED, *[g for g, _ in pairs])
    u, v = f.var("u", f.INT), f.var("v", f.INT)
    other = {
        None: (),
        "true": (f.lt(u, v), f.var("r", f.BOOL)),
        "false": (f.lt(u, v), f.lt(f.add(v, ONE), u)),
    }[elsewhere]
    alone, together = SHARED.prove(own, pair[0]), SHARED.prove((*other, *own), pair[0])
    assert isinstance(together, Proved if elsewhere == "false" else type(alone))
    if isinstance(together, Refuted):
        assert is_counterexample(together.model, (*other, *own), pair[0])


def test_relevant_givens_are_those_connected_with_the_goal() -> None:
    chain = (f.lt(X, Y), f.lt(Y, Z))
    far = f.lt(f.var("far", f.INT), ONE)
    ground = make("=", (make("div", (ONE, ZERO), f.INT), ONE), f.BOOL)
    assert relevant((far, *chain, ground), f.lt(X, ONE)) == (*chain, ground)
    assert relevant((far,), f.lt(X, ONE)) == ()
    same_name = f.var("x", f.BOOL)
    assert relevant((same_name,), f.lt(X, ONE)) == ()


# ------------------------------------------------------------------------------------------------- contradictions


@pytest.mark.parametrize(
    "given_",
    [
        (f.FALSE,),
        (f.lt(X, X),),
        (P, f.not_(P)),
        (f.lt(X, Y), f.lt(Y, X)),
        (f.implies(P, Q), P, f.not_(Q)),
        (f.and_(f.lt(X, ZERO), f.lt(ZERO, X)),),
        (f.eq(f.euclid_mod(X, f.integer(2)), f.integer(2)),),
        (f.fp("fp.lt", f.BOOL, f.var("a", "F32"), f.var("b", "F32")), f.eq(f.var("a", "F32"), f.var("b", "F32"))),
    ],
    ids=str,
)
def test_contradictory_givens_prove_everything(given_: tuple[Term, ...]) -> None:
    solver = Solver()
    for goal in (f.FALSE, f.eq(Z, ONE), f.fp("fp.eq", f.BOOL, f.var("c", "F32"), f.var("d", "F32"))):
        assert isinstance(solver.prove(given_, goal), Proved)
    assert solver.contradictory(given_)


def test_consistent_givens_are_found_so() -> None:
    solver = Solver()
    assert isinstance(solver.prove((), f.FALSE), Refuted)
    assert isinstance(solver.prove((f.lt(X, Y), f.lt(Y, Z), P), f.FALSE), Refuted)
    nan = f.fp("fp.isNaN", f.BOOL, f.var("a", "F32"))
    assert isinstance(
        solver.prove((nan, f.not_(f.fp("fp.eq", f.BOOL, f.var("a", "F32"), f.var("a", "F32")))), f.FALSE), Refuted
    )


# ------------------------------------------------------------------------------------------------- shapes of goals


def test_a_conjunction_is_proved_whole_or_in_parts() -> None:
    a = f.var("a", "F32")
    parts = (f.le(X, Y), f.eq(f.fp("fp.add", "F32", a, f.negative_zero("F32")), a), f.le(X, f.add(Y, ONE)))
    given_ = (f.lt(X, Y),)
    assert isinstance(SHARED.prove(given_, f.and_(*parts)), Proved)
    for wrong in (f.lt(Y, X), f.eq(f.fp("fp.add", "F32", a, f.floating("F32", 0)), a)):
        for position in range(4):
            goal = f.and_(*parts[:position], wrong, *parts[position:])
            assert refuted(SHARED.prove(given_, goal), given_, goal)


def test_an_implication_assumes_its_premise() -> None:
    assert isinstance(SHARED.prove((), f.implies(f.and_(P, f.lt(X, Y)), f.implies(Q, f.le(X, Y)))), Proved)
    goal = f.implies(f.lt(X, Y), f.implies(Q, f.lt(Y, X)))
    assert refuted(SHARED.prove((), goal), (), goal)
    # the premise may make a given false
    assert isinstance(SHARED.prove((f.not_(P),), f.implies(P, f.FALSE)), Proved)
    assert isinstance(SHARED.prove((f.implies(P, f.FALSE),), f.implies(P, f.lt(X, X))), Proved)


def test_trivial_questions_ask_nobody() -> None:
    solver = Solver()
    for given_, goal in [((), f.TRUE), ((P,), P), ((f.FALSE,), Q), ((f.TRUE, P), P)]:
        assert isinstance(solver.prove(given_, goal), Proved)
    assert (solver.statistics.queries, solver.statistics.trivial) == (0, 4)


# ---------------------------------------------------------------------------------------------------------- models


def test_models_of_floats_are_bits() -> None:
    solver = Solver()
    for sort in f.FLOAT_SORTS:
        a, b = f.var("a", sort), f.var("b", sort)
        goals: list[tuple[tuple[Term, ...], Term]] = [
            ((), f.fp("fp.eq", f.BOOL, a, a)),  # a NaN
            ((), f.eq(f.fp("fp.add", sort, a, f.floating(sort, 0)), a)),  # the negative zero
            ((f.fp("fp.eq", f.BOOL, a, b),), f.eq(a, b)),  # two zeros
            ((), f.eq(f.fp("fp.sub", sort, f.fp("fp.add", sort, a, b), a), b)),
            ((f.fp("fp.lt", f.BOOL, a, b),), f.fp("fp.lt", f.BOOL, a, f.fp("fp.sub", sort, b, a))),
        ]
        for given_, goal in goals:
            verdict = solver.prove(given_, goal)
            assert refuted(verdict, given_, goal), (verdict, given_, goal)
    verdict = solver.prove((), f.fp("fp.eq", f.BOOL, f.var("a", "F32"), f.var("a", "F32")))
    assert isinstance(verdict, Refuted)
    assert verdict.model.values == {"a": 0x7FC00000}
    assert verdict.model.sorts == {"a": "F32"}


def test_models_with_functions_can_be_completed() -> None:
    """The model leaves functions out; with its values for the variables the question still has a counterexample."""
    g = f.app("g", (X,), f.INT)
    given_, goal = (f.lt(g, X), f.lt(f.app("g", (Y,), f.INT), X)), f.implies(f.lt(X, Y), f.eq(g, ZERO))
    verdict = SHARED.prove(given_, goal)
    assert isinstance(verdict, Refuted)
    assert set(verdict.model.values) <= {"x", "y"}
    known = tuple(f.eq(f.var(name, f.INT), constant(f.INT, value)) for name, value in verdict.model.values.items())
    assert isinstance(SHARED.prove((*given_, *known, f.not_(goal)), f.FALSE), Refuted)


def test_counterexamples_are_sought_small() -> None:
    given_ = (f.lt(f.mul(f.integer(7), Y), X), f.lt(ONE, Y))
    goal = f.lt(X, f.integer(15))
    verdict = SHARED.prove(given_, goal, small=(X, Y))
    assert refuted(verdict, given_, goal)
    assert isinstance(verdict, Refuted)
    assert verdict.model.values["y"] <= 8
    assert verdict.model.values["x"] <= 16
    # where there is no small one, a large one will do
    far = (f.lt(f.integer(1000), X),)
    assert refuted(SHARED.prove(far, goal, small=(X,)), far, goal)
    # and what holds for small numbers only is not proved
    goal = f.lt(X, f.integer(5))
    assert refuted(SHARED.prove((), goal, small=(X,)), (), goal)


# --------------------------------------------------------------------------------------------------------- unknown

POWERS = (f.lt(ONE, X), f.lt(ONE, Y), f.lt(ONE, Z))
FERMAT = f.ne(
    f.add(f.mul(X, f.mul(X, X)), f.mul(Y, f.mul(Y, Y))), f.mul(Z, f.mul(Z, Z))
)  # true, and out of any solver's reach


def test_what_is_not_decided_is_unknown() -> None:
    solver = Solver(budget=20_000)
    verdict = solver.prove(POWERS, FERMAT)
    assert isinstance(verdict, Unknown)
    assert verdict.reason
    assert isinstance(solver.prove((*POWERS, f.not_(FERMAT)), f.FALSE), Unknown)
    assert isinstance(solver.prove(POWERS, f.and_(f.lt(ZERO, X), FERMAT)), Unknown)
    assert isinstance(solver.prove(POWERS, f.implies(P, FERMAT)), Unknown)
    assert isinstance(solver.prove(POWERS, FERMAT, small=(X,)), Unknown)  # small is a wish, not an assumption


def test_a_tiny_budget_decides_nothing_wrongly() -> None:
    a, b = f.var("a", "F32"), f.var("b", "F32")
    commutes = f.eq(f.fp("fp.mul", "F32", a, b), f.fp("fp.mul", "F32", b, a))
    loses = f.eq(f.fp("fp.sub", "F32", f.fp("fp.add", "F32", a, b), a), b)
    flattened = f.implies(f.eq(f.add(f.mul(X, Z), Y), f.add(f.mul(X, Z), OTHER)), f.eq(Y, OTHER))
    starved, fed = Solver(budget=1), Solver()
    for goal, truth in [(commutes, Proved), (loses, Refuted), (flattened, Proved), (f.le(X, Y), Refuted)]:
        assert isinstance(fed.prove((), goal), truth)
        assert isinstance(starved.prove((), goal), (Unknown, truth))
    assert isinstance(starved.prove((), commutes), Unknown)
    assert isinstance(starved.prove((), loses), Refuted)  # by trial, which is not the solver's work


def test_what_the_solver_does_not_understand_is_unknown() -> None:
    too_wide = f.bitwise("bvand", 1 << 40, X, X)
    verdict = Solver().ask(query((), f.eq(too_wide, X)))
    assert isinstance(verdict, Unknown)
    assert "error" in verdict.reason


# ----------------------------------------------------------------------------------------------------------- cache


def test_a_question_asked_before_is_not_asked_again_whatever_its_names() -> None:
    solver = Solver()

    def ask(first: str, second: str) -> Verdict:
        a, b = f.var(first, f.INT), f.var(second, f.INT)
        return solver.prove((f.lt(a, b),), f.lt(f.add(a, ONE), b))

    before = ask("a", "b")
    assert (solver.statistics.queries, solver.statistics.cached) == (1, 0)
    after = ask("n", "m")
    assert (solver.statistics.queries, solver.statistics.cached) == (1, 1)
    assert isinstance(before, Refuted)
    assert isinstance(after, Refuted)
    assert after.seconds == 0.0
    assert set(before.model.values) == {"a", "b"}
    assert after.model.values == {"n": before.model.values["a"], "m": before.model.values["b"]}
    ask("m", "n")
    assert solver.statistics.queries == 1


def test_the_cache_keeps_every_verdict() -> None:
    solver = Solver(budget=20_000)
    for given_, goal in [((P,), f.or_(P, Q)), ((), f.le(X, Y)), (POWERS, FERMAT)]:
        first, queries = solver.prove(given_, goal), solver.statistics.queries
        again = solver.prove(given_, goal)
        assert type(first) is type(again)
        assert solver.statistics.queries == queries
    assert solver.statistics.cached > 0


# ---------------------------------------------------------------------------------- values, once somebody looks


def test_values_are_found_when_somebody_looks_at_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    fresh = module.fresh

    def noting(setting: str, budget: int) -> Any:
        if budget == Solver().budget:
            asked.append(setting)
        return fresh(setting, budget)

    monkeypatch.setattr(module, "fresh", noting)
    solver, given_, goal = Solver(), (f.lt(X, Y),), f.lt(f.add(X, ONE), Y)
    first, again = solver.prove(given_, goal), solver.prove(given_, goal)
    assert isinstance(first, Refuted) and isinstance(again, Refuted) and not asked
    assert is_counterexample(first.model, given_, goal) and len(asked) == 1
    assert (first.model.values, first.model.sorts, len(asked)) == (again.model.values, again.model.sorts, 1)
    other = Solver().prove(given_, goal)
    assert isinstance(other, Refuted)
    copied = pickle.loads(pickle.dumps(other)).model
    assert (copied.values, copied.sorts, len(asked)) == (first.model.values, first.model.sorts, 2)
    assert solver.statistics.queries == 1 and solver.statistics.solving > 0


def test_values_that_cannot_be_found_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shared context may know more than a fresh one: refuted it is all the same."""
    check = module.check

    def only_shared(text: str, setting: str, *others: Any) -> tuple[str, Any]:
        return check(text, setting, *others) if setting == module.SHARED else ("unknown", None)

    monkeypatch.setattr(module, "check", only_shared)
    found = Solver().prove((), f.le(X, Y))
    assert isinstance(found, Refuted) and (found.model.values, found.model.sorts) == ({}, {})


# ------------------------------------------------------------------------------------------------ how, and how long


def test_a_verdict_says_how_it_was_found() -> None:
    solver = Solver(budget=100_000)
    a = f.var("a", "F32")
    lemma = f.eq(f.fp("fp.add", "F32", a, f.negative_zero("F32")), a)
    both = f.and_(f.le(X, f.add(Y, ONE)), f.lt(X, f.add(Y, ONE)))
    for given_, goal, first in [
        ((P,), P, "trivial"),
        ((), f.implies(P, f.implies(Q, P)), "trivial"),
        ((f.lt(X, Y),), f.le(X, Y), "z3"),
        ((f.le(X, Y),), both, "z3"),
        ((f.lt(X, Y), f.implies(f.le(X, Y), f.ne(a, f.floating("F32", 0)))), lemma, "lemma"),
        ((), f.lt(X, Y), "z3"),
        (POWERS, FERMAT, "z3"),
    ]:
        verdict = solver.prove(given_, goal)
        assert verdict.how == first, goal
        assert (verdict.seconds > 0) == (first != "trivial")
        again = solver.prove(given_, goal)
        assert again.how == ("trivial" if first == "trivial" else "cached"), goal
        assert again.seconds == 0.0
        assert type(again) is type(verdict)
    starved = Solver(budget=1)  # the lemma and the whole question have one text: asked once, then known
    sums = f.eq(f.fp("fp.add", "F32", a, a), f.fp("fp.mul", "F32", a, f.var("b", "F32")))
    assert (starved.prove((), sums).how, starved.statistics.cached) == ("z3", 1)
    assert starved.prove((), sums).how == "cached"


def test_seconds_are_counted_once() -> None:
    """The lemma path proves premises inside a proof; their time is part of the whole and no more."""
    solver = Solver()
    a, b = f.var("a", "F32"), f.var("b", "F32")
    premises = tuple(f.implies(f.le(X, f.add(Y, f.integer(k))), f.fp("fp.lt", f.BOOL, a, b)) for k in range(1, 30))
    start = time.perf_counter()
    verdict = solver.prove((f.lt(X, Y), *premises), f.not_(f.fp("fp.eq", f.BOOL, a, b)))
    whole = time.perf_counter() - start
    assert isinstance(verdict, Proved)
    assert solver.statistics.queries > 10
    assert 0 < solver.statistics.solving <= whole
    assert verdict.seconds == pytest.approx(solver.statistics.solving)


@pytest.mark.parametrize("budget", [0, -1])
def test_no_budget_is_no_solver(budget: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):  # Z3 takes 0 for no limit
        Solver(budget).prove((f.lt(X, Y),), f.le(X, Y))
    assert isinstance(Solver(1).prove(POWERS, FERMAT), Unknown)


def test_a_budget_that_changes_asks_again() -> None:
    solver = Solver(budget=1)
    assert isinstance(solver.prove((f.lt(X, Y),), f.le(X, Y)), Unknown)
    solver.budget = 100_000
    assert isinstance(solver.prove((f.lt(X, Y),), f.le(X, Y)), Proved)


def test_quick_questions_leave_floats_undecided() -> None:
    a = f.var("a", "F32")
    true = f.eq(f.fp("fp.add", "F32", a, f.negative_zero("F32")), a)
    false = f.eq(f.fp("fp.add", "F32", a, f.floating("F32", 0)), a)
    solver = Solver()
    assert isinstance(solver.prove((), true, quick=True), Proved)
    assert isinstance(solver.prove((), false, quick=True), Unknown)
    assert isinstance(solver.prove((), false), Refuted)
    assert isinstance(solver.prove((), f.le(X, Y), quick=True), Refuted)


def test_evaluation_in_these_tests_knows_its_limits() -> None:
    with pytest.raises(NoValue):
        evaluate(f.floordiv(X, Y), {"x": 1, "y": 0})
    with pytest.raises(NoValue):
        evaluate(f.fp("fp.sqrt", "F32", f.floating("F32", 0)), {})
