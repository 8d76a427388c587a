"""Strategies for formulas.  Each draws a term twice: built by the builders of ``formula``, and as it was written."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from verified_tir.logic import formula as f
from verified_tir.logic.deduction import Deduction
from verified_tir.logic.formula import Term, make
from verified_tir.logic.solver import Solver
from verified_tir.logic.strategy import by_lemma
from verified_tir.logic.verdict import Proved

INTS = tuple(f.var(name, f.INT) for name in "ijk")
BOOLS = tuple(f.var(name, f.BOOL) for name in "pq")

Pair = tuple[Term, Term]
_ARITHMETIC: dict[str, Callable[[Term, Term], Term]] = {"+": f.add, "-": f.sub, "*": f.mul}
_ORDERS: dict[str, Callable[[Term, Term], Term]] = {"<=": f.le, "<": f.lt, "=": f.eq}
_JUNCTIONS: dict[str, Callable[..., Term]] = {"and": f.and_, "or": f.or_, "=>": f.implies, "=": f.eq}


def refolded(plain: Term) -> Term:
    """The term as the builders make it."""
    if not plain.args:
        return plain
    args = [refolded(a) for a in plain.args]
    builders: dict[str, Callable[..., Term]] = {
        **_ARITHMETIC, **_ORDERS, **_JUNCTIONS, "not": f.not_, "ite": f.ite, "div": f.euclid_div, "mod": f.euclid_mod,
    }  # fmt: skip
    return builders[plain.op](*args)


@st.composite
def int_terms(draw: DrawFn, depth: int) -> Pair:
    """An integer term; divisors are constants other than zero."""
    kind = draw(st.integers(0, 6 if depth else 1))
    if kind == 0:
        number = f.integer(draw(st.integers(-3, 3)))
        return number, number
    if kind == 1:
        v = draw(st.sampled_from(INTS))
        return v, v
    a, a_plain = draw(int_terms(depth - 1))
    if kind == 2:
        divisor = f.integer(draw(st.sampled_from([-3, -2, -1, 1, 2, 3])))
        op = draw(st.sampled_from(["div", "mod"]))
        built = (f.euclid_div if op == "div" else f.euclid_mod)(a, divisor)
        return built, make(op, (a_plain, divisor), f.INT)
    b, b_plain = draw(int_terms(depth - 1))
    if draw(st.booleans()):  # the same again, or a part of the other operand
        b_plain = draw(st.sampled_from([t for t in f.subterms(a_plain) if t.sort == f.INT]))
        b = refolded(b_plain)
    if kind == 3:
        c, c_plain = draw(bool_terms(depth - 1))
        return f.ite(c, a, b), make("ite", (c_plain, a_plain, b_plain), f.INT)
    op = draw(st.sampled_from(list(_ARITHMETIC)))
    return _ARITHMETIC[op](a, b), make(op, (a_plain, b_plain), f.INT)


@st.composite
def bool_terms(draw: DrawFn, depth: int) -> Pair:
    """A boolean term over the variables ``INTS`` and ``BOOLS``."""
    kind = draw(st.integers(0, 6 if depth else 1))
    if kind == 0:
        truth = f.boolean(draw(st.booleans()))
        return truth, truth
    if kind == 1:
        v = draw(st.sampled_from(BOOLS))
        return v, v
    if kind <= 3:
        (a, a_plain), (b, b_plain) = draw(int_terms(depth - 1)), draw(int_terms(depth - 1))
        op = draw(st.sampled_from(list(_ORDERS)))
        return _ORDERS[op](a, b), make(op, (a_plain, b_plain), f.BOOL)
    a, a_plain = draw(bool_terms(depth - 1))
    if kind == 4:
        return f.not_(a), make("not", (a_plain,), f.BOOL)
    b, b_plain = draw(bool_terms(depth - 1))
    if kind == 5:
        c, c_plain = draw(bool_terms(depth - 1))
        return f.ite(c, a, b), make("ite", (c_plain, a_plain, b_plain), f.BOOL)
    op = draw(st.sampled_from(list(_JUNCTIONS)))
    return _JUNCTIONS[op](a, b), make(op, (a_plain, b_plain), f.BOOL)


# ---------------------------------------------------------------------------------------------------------- floats

Question = tuple[tuple[Term, ...], Term]
"""Givens and a goal."""


def plus(a: Term, b: Term) -> Term:
    return f.fp("fp.add", a.sort, a, b)


def minus(a: Term, b: Term) -> Term:
    return f.fp("fp.sub", a.sort, a, b)


def times(a: Term, b: Term) -> Term:
    return f.fp("fp.mul", a.sort, a, b)


def rounded(mode: str, a: Term) -> Term:
    return f.fp(f"fp.roundToIntegral {mode}", a.sort, a)


def below(a: Term, b: Term) -> Term:
    return f.fp("fp.lt", f.BOOL, a, b)


def is_nan(a: Term) -> Term:
    return f.fp("fp.isNaN", f.BOOL, a)


def prove_by_lemma(solver: Solver, given: tuple[Term, ...], goal: Term) -> Proved | None:
    """A proof without knowing of floats, or by a lemma about floats alone, as a step of a deduction."""
    d = Deduction(solver.ask, given, goal)
    found = by_lemma(d, d.given)
    assert d.proved or found is None
    return found
