"""Counterexamples by trial: found at once, true ones, and none of what is true."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verified_tir.logic import formula as f
from verified_tir.logic import z3_query as module
from verified_tir.logic.concrete import DTYPES
from verified_tir.logic.formula import BOOL, INT, Term
from verified_tir.logic.smtlib import Script, query
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted, Unknown
from verified_tir.logic.witness import witness

A, B, C = (f.var(n, "F32") for n in "abc")
I, N = f.var("i", INT), f.var("n", INT)
ZERO, MINUS_ZERO = f.floating("F32", 0), f.negative_zero("F32")
FUSED = f.fp("fp.fma", "F32", A, B, C)
FINITE = [f.not_(f.or_(f.fp("fp.isNaN", f.BOOL, t), f.fp("fp.isInfinite", f.BOOL, t))) for t in (A, B, C)]


def load(name: str, *at: Term, sort: str = "F32") -> Term:
    return f.app(name, at, sort)


def times(a: Term, b: Term) -> Term:
    return f.fp("fp.mul", "F32", a, b)


def plus(a: Term, b: Term) -> Term:
    return f.fp("fp.add", "F32", a, b)


WITHIN = f.between(f.integer(0), I, N)
FALSE_CLAIMS: list[tuple[tuple[Term, ...], Term]] = [
    ((f.ne(C, MINUS_ZERO),), f.ne(FUSED, MINUS_ZERO)),  # a product that is almost nothing, and negative
    ((f.ne(C, MINUS_ZERO), *FINITE), f.ne(FUSED, MINUS_ZERO)),
    ((), f.eq(FUSED, C)),
    ((f.eq(A, ZERO),), f.eq(FUSED, C)),
    ((f.eq(A, ZERO), f.ne(C, MINUS_ZERO)), f.eq(FUSED, C)),  # 0.0 * infinity
    ((), f.eq(FUSED, plus(times(A, B), C))),  # rounded twice
    ((f.eq(A, ZERO),), f.eq(plus(times(A, B), C), C)),
    ((f.fp("fp.eq", f.BOOL, A, B),), f.eq(A, B)),
    ((f.implies(f.var("p", BOOL), f.eq(A, ZERO)), f.fp("fp.eq", f.BOOL, B, B)), f.eq(plus(C, times(A, B)), C)),
    (
        (WITHIN, f.implies(f.lt(f.integer(2), I), f.eq(load("A", I), ZERO)), f.lt(f.integer(2), I)),
        f.eq(plus(load("B", f.add(I, f.integer(0))), times(load("A", I), load("C", N))), load("B", I)),
    ),
    ((WITHIN, load("D", I, sort=BOOL), f.eq(load("A", I), load("B", I))), f.eq(times(load("B", I), A), A)),
    ((f.lt(I, N), f.eq(load("A", I), load("A", N))), f.eq(I, f.ite(f.fp("fp.eq", f.BOOL, load("A", I), A), N, I))),
    ((f.eq(A, load("exp", B)), f.fp("fp.lt", f.BOOL, B, C)), f.fp("fp.lt", f.BOOL, A, load("exp", C))),
]
TRUE_CLAIMS: list[tuple[tuple[Term, ...], Term]] = [
    ((f.eq(A, ZERO), FINITE[1], f.ne(C, MINUS_ZERO)), f.eq(FUSED, C)),
    ((f.ne(C, MINUS_ZERO),), f.ne(plus(C, times(A, B)), MINUS_ZERO)),  # two roundings: the sum is exact
    ((f.eq(I, N), f.eq(load("A", I), ZERO)), f.eq(load("A", N), ZERO)),
    ((f.lt(I, N), f.lt(N, I)), f.eq(A, B)),
    ((f.eq(A, ZERO), f.eq(A, MINUS_ZERO)), f.eq(B, C)),
]


@pytest.fixture
def without_z3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only questions about integers get as far as Z3."""
    check: Callable[..., object] = module.check

    def only_integers(text: str, *others: object) -> object:
        assert "FloatingPoint" not in text
        return check(text, *others)

    monkeypatch.setattr(module, "check", only_integers)


@pytest.mark.parametrize("k", range(len(FALSE_CLAIMS)))
def test_false_claims_are_refuted_without_z3(k: int, without_z3: None) -> None:
    given, goal = FALSE_CLAIMS[k]
    solver = Solver()
    assert isinstance(solver.ask(query(given, goal)), Refuted)


@pytest.mark.parametrize("k", range(len(FALSE_CLAIMS)))
def test_z3_has_the_same_counterexample(k: int) -> None:
    """With the values of the model for the variables, Z3 finds functions that go with them."""
    given, goal = FALSE_CLAIMS[k]
    verdict = Solver().ask(query(given, goal))
    assert isinstance(verdict, Refuted)
    at = []
    for name, value in verdict.model.values.items():
        sort = verdict.model.sorts[name]
        constant = f.boolean(bool(value)) if sort == BOOL else f.integer(value) if sort == INT else None
        at.append(f.eq(f.var(name, sort), constant if constant is not None else f.floating(sort, value)))
    asked = query((*given, *at), goal)
    plain = Script(asked.text, asked.names)  # nothing is tried
    assert isinstance(Solver().ask(plain), Refuted), at


@pytest.mark.parametrize("k", range(len(TRUE_CLAIMS)))
def test_nothing_is_found_against_what_is_true(k: int) -> None:
    given, goal = TRUE_CLAIMS[k]
    roots = query(given, goal).roots
    assert witness(roots, lambda _: {}) is None
    assert not isinstance(Solver(1_000_000).ask(query(given, goal)), Refuted)


def test_integers_that_do_not_fit_are_not_believed() -> None:
    """Whoever chooses the integers is not trusted."""
    given, goal = (f.lt(f.integer(5), I), f.eq(load("A", I), ZERO)), f.eq(load("A", I), B)
    assert witness(query(given, goal).roots, lambda _: {}) is None
    found = witness(query(given, goal).roots, lambda roots: {"0": 6} if len(roots) == 1 else None)
    assert found is not None and found["i", INT] == 6


@pytest.mark.parametrize("first", [0, 1])
def test_functions_of_equal_arguments_do_not_differ(first: int) -> None:
    """The integers are chosen as if two loads were two unknowns; a choice that is not a function's is not believed."""
    both = (f.eq(I, N), f.ne(load("P", I, sort=INT), load("P", N, sort=INT)))
    given = (both[first], both[1 - first])
    roots = query(given, f.eq(A, B)).roots
    unknown = [t for t in f.subterms(*roots) if t.sort == INT and t.op in ("var", "app")]
    values = {str(k): 5 + k if t.op == "app" else 1 for k, t in enumerate(unknown)}
    assert witness(roots, lambda _: values) is None
    assert isinstance(Solver().prove(given, f.eq(A, B)), Proved)


@pytest.mark.parametrize("sort", sorted(DTYPES))
def test_every_format_has_its_least_number(sort: str, without_z3: None) -> None:
    a, b, c = (f.var(n, sort) for n in "abc")
    zero = f.negative_zero(sort)
    verdict = Solver().ask(query((f.ne(c, zero),), f.ne(f.fp("fp.fma", sort, a, b, c), zero)))
    assert isinstance(verdict, Refuted) and set(verdict.model.sorts.values()) == {sort}


def test_a_proof_does_not_come_of_trying() -> None:
    """What is true stays Z3's to prove, and unknown where it cannot."""
    given, goal = (f.ne(C, MINUS_ZERO),), f.ne(plus(C, times(A, B)), MINUS_ZERO)
    assert isinstance(Solver(budget=1).ask(query(given, goal)), Unknown)
    assert isinstance(Solver().ask(query(given, goal)), Proved)


def test_what_is_found_is_the_same_every_time() -> None:
    given, goal = FALSE_CLAIMS[9]
    used = Solver()
    for other in FALSE_CLAIMS:
        used.ask(query(*other))
    first, second = used.ask(query(given, goal)), Solver().ask(query(given, goal))
    assert isinstance(first, Refuted) and isinstance(second, Refuted) and first.model.values == second.model.values
