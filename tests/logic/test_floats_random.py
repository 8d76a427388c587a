"""Random attacks on the lemma path for floats: whatever it proves is held against plain Python and against Z3."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.drawing import search_until
from tests.logic.evaluate import Value, evaluate
from tests.logic.terms import Question, below, is_nan, minus, plus, prove_by_lemma
from tests.nightly import few
from verified_tir.ir.dtype import FLOAT16
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.smtlib import query
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Refuted
from verified_tir.testing.dtypes import float_of_bits

IMPATIENT = Solver(budget=20_000)  # most of these questions need no answer
I, J = f.var("i", f.INT), f.var("j", f.INT)
P = f.var("p", f.BOOL)
ONE = f.integer(1)

FLOATS16 = tuple(f.var(name, "F16") for name in "abc")
LEAVES16 = (*FLOATS16, f.app("m", (I,), "F16"), f.app("m", (J,), "F16"), f.floating("F16", 0), f.negative_zero("F16"))
ATOMS = (P, f.not_(P), f.lt(I, J), f.le(J, I), f.lt(I, f.add(J, ONE)), f.eq(I, J))
SPECIAL = [float_of_bits(FLOAT16, bits) for bits in (0, 0x8000, 1, 0x3C00, 0xBE00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00)]


@st.composite
def terms16(draw: DrawFn, depth: int) -> Term:
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        return draw(st.sampled_from(LEAVES16))
    a, b = draw(terms16(depth - 1)), draw(terms16(depth - 1))
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return f.ite(draw(st.one_of(st.sampled_from(ATOMS), st.just(below(a, b)))), a, b)
    return (plus, minus, plus)[kind - 1](a, b)


@st.composite
def claims16(draw: DrawFn) -> Term:
    """Something that can be said of floats."""
    a, b = draw(terms16(1)), draw(terms16(2))
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return f.not_(is_nan(a))
    return (f.eq, f.ne, lambda x, y: f.fp("fp.eq", f.BOOL, x, y), below)[kind - 1](a, b)


@st.composite
def givens16(draw: DrawFn) -> Term:
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return draw(st.sampled_from(ATOMS))
    if kind <= 2:
        return f.eq(draw(st.sampled_from(LEAVES16[:5])), draw(terms16(1)))
    fact = draw(claims16())
    return {3: fact, 4: f.implies(draw(st.sampled_from(ATOMS)), fact), 5: f.or_(draw(st.sampled_from(ATOMS)), fact)}[
        kind
    ]


@st.composite
def questions16(draw: DrawFn) -> Question:
    """Something follows from an equation and a condition, or would, had they not been tampered with."""
    target, definition = draw(st.sampled_from(LEAVES16[:5])), draw(terms16(2))
    atom = draw(st.sampled_from(ATOMS))
    equation = f.eq(target, definition)
    givens = [draw(st.sampled_from([equation, f.implies(atom, equation)])), atom]
    one, other = draw(terms16(2)), draw(terms16(1))
    whole = f.ite(atom, plus(target, one), other)
    goal = f.eq(whole, plus(definition, f.replace(one, {target: definition})))
    if draw(st.booleans()):  # tamper
        k = draw(st.integers(0, 1))
        wrong = [f.not_(givens[k]), f.TRUE, draw(st.sampled_from(ATOMS)), f.fp("fp.eq", f.BOOL, target, definition)]
        givens[k] = draw(st.sampled_from(wrong))
    return (*givens, *draw(st.lists(givens16(), max_size=2))), goal


def assignments(count: int) -> list[tuple[dict[str, Value], dict[int, Value]]]:
    """Values of the variables, and contents of the memory ``m``."""
    rng = random.Random(7)
    return [
        (
            {**{str(v.payload): rng.choice(SPECIAL) for v in FLOATS16}, "i": rng.randint(0, 1), "j": rng.randint(0, 1),
             "p": rng.random() < 0.5},
            {k: rng.choice(SPECIAL) for k in range(2)},
        )
        for _ in range(count)
    ]  # fmt: skip


POINTS = assignments(200)


def contradicted(given_: tuple[Term, ...], goal: Term, values: dict[str, Value], memory: dict[int, Value]) -> bool:
    """Whether the givens hold there, and the goal does not."""

    def contents(name: str, at: tuple[Value, ...], sort: str) -> Value:
        return memory[int(at[0])]

    return all(evaluate(g, values, contents) for g in given_) and not evaluate(goal, values, contents)


@cache
def attack() -> tuple[int, int]:
    """How many lemmas were proved, and how many not; once in a process."""
    proofs: list[bool] = []

    @settings(max_examples=few(25, 80), deadline=None, database=None, derandomize=True)
    @given(st.one_of(st.tuples(st.lists(givens16(), max_size=4).map(tuple), claims16()), questions16(), questions16()))
    def never_contradicted(question: Question) -> None:
        given_, goal = question
        proofs.append(prove_by_lemma(IMPATIENT, given_, goal) is not None)
        if proofs[-1]:
            for point in POINTS:
                assert not contradicted(given_, goal, *point), point
            assert not isinstance(IMPATIENT.ask(query(given_, goal)), Refuted)

    search_until(lambda: min(proofs.count(True), proofs.count(False)) > 20, never_contradicted)
    return proofs.count(True), proofs.count(False)


@pytest.mark.nightly
def test_a_lemma_is_never_contradicted() -> None:
    """Neither by evaluating at many special values, nor by Z3 when it is asked the whole question."""
    attack()


def test_the_random_attacks_can_hit() -> None:
    """Many lemmas were proved and many were not; and the points that they are held against refute what is wrong."""
    proved, not_proved = attack()
    assert proved > 20
    assert not_proved > 20
    a, b, _ = FLOATS16
    for given_, goal in [
        ((), f.eq(plus(a, f.floating("F16", 0)), a)),
        ((f.fp("fp.eq", f.BOOL, a, b),), f.eq(a, b)),
        ((f.implies(P, f.eq(a, b)),), f.eq(a, b)),
        ((), f.fp("fp.eq", f.BOOL, a, a)),
        ((), f.eq(LEAVES16[3], LEAVES16[4])),
    ]:
        assert any(contradicted(given_, goal, *point) for point in POINTS), goal
