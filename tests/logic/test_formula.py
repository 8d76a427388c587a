"""Formulas: interning, folding, replacing.

Folding must not change what a term means, so every builder is compared with the same term left unfolded, by plain
Python at many points.
"""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.logic.evaluate import Value, evaluate
from tests.logic.terms import BOOLS, INTS, bool_terms, int_terms
from tests.nightly import few
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term, make
from verified_tir.logic.names import has_bits, has_floats, names_in
from verified_tir.logic.readable import readable
from verified_tir.logic.smtlib import query
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted

X, Y = f.var("x", f.INT), f.var("y", f.INT)
P, Q = f.var("p", f.BOOL), f.var("q", f.BOOL)
A, B = f.var("a", "F32"), f.var("b", "F32")

NUMBERS = [-7, -6, -5, -2, -1, 1, 2, 3, 4, 7]


# ------------------------------------------------------------------------------------------------------- interning


def test_equal_terms_are_one_object() -> None:
    assert f.add(X, Y) is f.add(X, Y)
    assert f.add(X, Y) is not f.add(Y, X)
    assert f.var("x", f.INT) is X
    assert f.var("x", f.BOOL) is not X
    assert f.app("g", (X,), f.INT) is f.app("g", (X,), f.INT)
    assert f.app("g", (), f.INT) is f.var("g", f.INT)


@given(bool_terms(3), st.booleans(), st.booleans())
def test_a_term_knows_what_occurs_in_it(pair: tuple[Term, Term], bits: bool, floats: bool) -> None:
    t = pair[1]
    if bits:
        t = f.and_(t, f.eq(f.bitwise("bvxor", 8, X, Y), f.integer(3)))
    if floats:
        t = f.or_(f.eq(f.app("load", (X,), "F32"), A), t)
    inside = list(f.subterms(t))
    assert has_bits(t) == any(s.op in ("bvand", "bvor", "bvxor") for s in inside)
    assert has_floats(t) == any(s.sort == "F32" for s in inside)
    for _ in range(2):  # found, and remembered
        assert names_in(t) == {(s.payload, s.sort) for s in inside if s.op in ("var", "app")}


def test_constants_of_different_kind_are_kept_apart() -> None:
    one = f.integer(1)
    assert (
        len({one, f.TRUE, f.floating("F32", 1), f.floating("F64", 1), f.floating("F16", 1), f.floating("BF16", 1)}) == 6
    )
    zeros = {f.floating("F32", 0), f.negative_zero("F32"), f.integer(0), f.FALSE, f.floating("F16", 0)}
    assert len(zeros) == 5
    assert f.floating("F32", 0) is f.floating("F32", 0)
    assert f.floating("F32", 1 << 31) is f.negative_zero("F32")
    assert f.eq(f.floating("F32", 0), f.negative_zero("F32")) is f.FALSE


@pytest.mark.parametrize("number", [True, np.int64(1), np.uint8(1)])
def test_an_integer_is_a_python_integer_whatever_it_came_from(number: int) -> None:
    made = f.integer(number)
    assert made is f.integer(1)
    assert type(made.payload) is int
    assert query((), f.eq(X, made)).text.endswith("(= x0 1)))")
    large = f.integer(int(number) << 40)
    assert f.mul(f.mul(large, large), f.integer(number)) is f.integer(1 << 80)


@pytest.mark.parametrize(("sort", "nan", "other", "infinity"), [
    ("F16", 0x7C01, 0xFFFF, 0x7C00), ("BF16", 0x7F81, 0xFFC0, 0x7F80), ("F32", 0x7F800001, 0xFFFFFFFF, 0x7F800000),
    ("F64", 0x7FF0000000000001, 0xFFF8000000000000, 0x7FF0000000000000),
])  # fmt: skip
def test_there_is_one_nan(sort: str, nan: int, other: int, infinity: int) -> None:
    assert f.floating(sort, nan) is f.floating(sort, other)
    assert f.eq(f.floating(sort, nan), f.floating(sort, other)) is f.TRUE
    assert f.floating(sort, infinity) is not f.floating(sort, nan)
    assert f.eq(f.floating(sort, infinity), f.floating(sort, nan)) is f.FALSE
    solver = Solver()
    assert isinstance(solver.prove((), f.fp("fp.isNaN", f.BOOL, f.floating(sort, other))), Proved)
    assert isinstance(solver.prove((), f.fp("fp.isInfinite", f.BOOL, f.floating(sort, infinity))), Proved)


def test_bits_must_fit_the_format() -> None:
    for sort, bits in [("F16", 1 << 16), ("F32", -1), ("F64", 1 << 64)]:
        with pytest.raises(AssertionError):
            f.floating(sort, bits)


def test_ill_sorted_terms_are_not_made() -> None:
    """Z3 would read a truth value as a number."""
    for op, args, sort in [
        ("<", (X, P), f.BOOL), ("+", (P, P), f.INT), ("and", (P, X), f.BOOL), ("=", (X, P), f.BOOL),
        ("ite", (P, X, A), f.INT), ("ite", (X, X, X), f.INT), ("fp.add", (A, f.var("h", "F16")), "F32"),
        ("fp.lt", (A, X), f.BOOL), ("fp.from_int", (A,), "F32"), ("fp.add", (A, A), f.BOOL), ("fp.sqrt", (A,), "F64"),
        ("fp.isNaN", (A,), f.INT), ("fp.to_int", (A,), "F32"), ("fp.add", (A,), "F32"), ("fp.to_real", (A,), f.INT),
    ]:  # fmt: skip
        with pytest.raises(TypeError):
            make(op, args, sort)
    for op, args, sort, payload in [
        ("bvand", (X, X), f.INT, -1), ("bvor", (X, X), f.INT, 0), ("bvxor", (X, X), f.INT, None),
        ("fp.to_bits", (A,), f.INT, 16), ("fp.from_bits", (X,), "F32", 64), ("fp.roundToIntegral", (A,), "F32", 0),
    ]:  # fmt: skip
        with pytest.raises(TypeError):
            make(op, args, sort, payload)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_terms_have_no_copies_and_do_not_change(again: Callable[[Term], Term]) -> None:
    """A second 2 would be another number than 2."""
    with pytest.raises(AttributeError, match="no copies"):
        again(f.integer(2))
    with pytest.raises(AttributeError, match="do not change"):
        f.integer(2).payload = 3
    with pytest.raises(AttributeError, match="do not change"):
        object.__new__(Term).op = "const"


# --------------------------------------------------------------------------------------------------------- folding

UNFOLDED = {
    f.add: "+", f.sub: "-", f.mul: "*", f.le: "<=", f.lt: "<", f.euclid_div: "div", f.euclid_mod: "mod", f.eq: "=",
}  # fmt: skip


@pytest.mark.parametrize("builder", UNFOLDED, ids=lambda b: b.__name__)
def test_constants_fold_to_what_the_solver_computes(builder: Callable[..., Term]) -> None:
    """With a zero among the operands too, but not as divisor."""
    op = UNFOLDED[builder]
    pairs = [(a, b) for a, b in product([*NUMBERS, 0], repeat=2) if b or op not in ("div", "mod")]
    sort = f.BOOL if op in ("<=", "<", "=") else f.INT
    claims = []
    for a, b in pairs:
        args = f.integer(a), f.integer(b)
        claims.append(make("=", (make(op, args, sort), builder(*args)), f.BOOL))
        assert evaluate(builder(*args), {}) == evaluate(make(op, args, sort), {})
    assert isinstance(Solver().prove((), f.and_(*claims)), Proved)


@pytest.mark.nightly
@settings(max_examples=few(100, 400), deadline=None, database=None, derandomize=True)
@given(bool_terms(4), st.tuples(*[st.integers(-4, 4) for _ in INTS]), st.tuples(*[st.booleans() for _ in BOOLS]))
def test_folding_changes_no_meaning(pair: tuple[Term, Term], ints: tuple[int, ...], bools: tuple[bool, ...]) -> None:
    """The strategy draws a term twice: built by the builders, and left as it was written."""
    folded, plain = pair
    values: dict[str, Value] = {**{str(v.payload): x for v, x in zip(INTS, ints, strict=True)},
                                **{str(v.payload): x for v, x in zip(BOOLS, bools, strict=True)}}  # fmt: skip
    assert evaluate(folded, values) == evaluate(plain, values)


@settings(max_examples=few(60, 200), deadline=None, database=None, derandomize=True)
@given(bool_terms(4), int_terms(2), st.integers(-4, 4), st.tuples(*[st.integers(-4, 4) for _ in INTS]))
def test_replacing_a_variable_is_evaluating_with_its_value(
    pair: tuple[Term, Term], put_in: tuple[Term, Term], number: int, ints: tuple[int, ...]
) -> None:
    values: dict[str, Value] = {str(v.payload): x for v, x in zip(INTS, ints, strict=True)}
    values |= {str(v.payload): k % 2 == 0 for k, v in enumerate(BOOLS)}
    x = INTS[0]
    for term in pair:
        assert evaluate(f.replace(term, {x: f.integer(number)}), values) == evaluate(
            term, {**values, str(x.payload): number}
        )
        inside = evaluate(put_in[1], values)
        assert evaluate(f.replace(term, {x: put_in[0]}), values) == evaluate(term, {**values, str(x.payload): inside})


def test_sums_and_products_fold() -> None:
    two, five, zero, one = (f.integer(k) for k in (2, 5, 0, 1))
    assert f.sub(X, X) is zero
    assert f.sub(f.sub(X, Y), Y) is not X
    assert f.add(f.add(two, X), f.integer(3)) is f.add(X, five)
    assert f.sub(f.add(X, five), five) is X
    assert f.add(X, zero) is f.add(zero, X) is f.mul(one, X) is f.mul(X, one) is X
    assert f.neg(f.integer(3)) is f.integer(-3)
    assert f.neg(X) is f.mul(f.integer(-1), X)
    assert f.euclid_div(X, one) is X
    assert f.euclid_mod(X, one) is zero


def test_negation_of_orders_is_for_integers_only() -> None:
    assert f.not_(f.le(X, Y)) is f.lt(Y, X)
    assert f.not_(f.lt(X, Y)) is f.le(Y, X)
    for op in ("fp.lt", "fp.leq"):
        not_below = f.not_(f.fp(op, f.BOOL, A, B))
        assert not_below.op == "not"  # of a NaN and anything neither holds
        turned = f.fp("fp.leq" if op == "fp.lt" else "fp.lt", f.BOOL, B, A)
        assert isinstance(Solver().prove((), f.eq(not_below, turned)), Refuted)


def test_choices_and_implications() -> None:
    assert f.ite(P, X, X) is X
    assert f.implies(P, f.FALSE) is f.not_(P)
    assert f.implies(f.FALSE, P) is f.implies(P, f.TRUE) is f.TRUE
    assert f.and_() is f.TRUE
    assert f.or_() is f.FALSE
    assert f.and_(P, f.and_(Q, P), f.TRUE) is f.and_(P, Q)
    assert f.eq(P, f.FALSE) is f.not_(P)
    assert f.ne(f.TRUE, P) is f.not_(P)


def test_division_by_zero_is_some_function() -> None:
    """Nothing folds it, equal dividends give equal results, and no result is known."""
    solver, zero = Solver(), f.integer(0)
    for divide in (f.floordiv, f.truncdiv, f.floormod, f.truncmod, f.euclid_div, f.euclid_mod):
        quotient = divide(X, zero)
        assert isinstance(solver.prove((f.eq(X, Y),), f.eq(quotient, divide(Y, zero))), Proved)
        assert isinstance(solver.prove((), f.eq(quotient, zero)), Refuted)
        assert not isinstance(solver.prove((), f.FALSE), Proved)
        unfolded = f.replace(divide(X, Y), {Y: zero})
        assert isinstance(solver.prove((), f.eq(unfolded, quotient)), Proved)


# -------------------------------------------------------------------------------------------------------- division


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if a * b >= 0 else -1)


def remainder_of_truncation(a: int, b: int) -> int:
    return a - b * truncated(a, b)


EXPECTED: dict[Callable[[Term, Term], Term], Callable[[int, int], int]] = {
    f.floordiv: operator.floordiv,
    f.floormod: operator.mod,
    f.truncdiv: truncated,
    f.truncmod: remainder_of_truncation,
}


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("divide", EXPECTED, ids=lambda d: d.__name__)
def test_divisions_are_pythons_for_all_signs(divide: Callable[..., Term]) -> None:
    """Both constant, the divisor constant, both variable; small numbers and the ends of int64."""
    large = [-(2**63), -(2**63) + 1, 2**63 - 1, 2**31]
    pairs = [
        *product([*NUMBERS, 0], NUMBERS),
        *product(large, NUMBERS),
        *product(NUMBERS, large),
        *product(large, large),
    ]
    solver, claims = Solver(), []
    for k, (a, b) in enumerate(pairs):
        expected = f.integer(EXPECTED[divide](a, b))
        x, y = f.var(f"x{k}", f.INT), f.var(f"y{k}", f.INT)
        assert evaluate(divide(f.integer(a), f.integer(b)), {}) == evaluate(expected, {})
        assert evaluate(divide(x, y), {f"x{k}": a, f"y{k}": b}) == evaluate(expected, {})
        given_x, given_y = f.eq(x, f.integer(a)), f.eq(y, f.integer(b))
        claims.append(f.eq(divide(f.integer(a), f.integer(b)), expected))
        claims.append(f.implies(given_x, f.eq(divide(x, f.integer(b)), expected)))
        claims.append(f.implies(f.and_(given_x, given_y), f.eq(divide(x, y), expected)))
    assert isinstance(solver.prove((), f.and_(*claims)), Proved)


def test_a_quotient_and_its_remainder_make_the_dividend() -> None:
    solver = Solver()
    for divisor in (3, -3):
        b = f.integer(divisor)
        for quotient, remainder in [(f.floordiv, f.floormod), (f.truncdiv, f.truncmod)]:
            whole = f.eq(f.add(f.mul(b, quotient(X, b)), remainder(X, b)), X)
            assert isinstance(solver.prove((), whole), Proved)
    assert isinstance(solver.prove((), f.eq(f.floordiv(X, f.integer(2)), f.truncdiv(X, f.integer(2)))), Refuted)
    nonnegative = (f.le(f.integer(0), X),)
    assert isinstance(solver.prove(nonnegative, f.eq(f.floordiv(X, f.integer(2)), f.truncdiv(X, f.integer(2)))), Proved)


@pytest.mark.parametrize("bits", [8, 32, 64])
@pytest.mark.parametrize("signed", [True, False])
def test_wrap(bits: int, signed: bool) -> None:
    low = -(1 << (bits - 1)) if signed else 0
    high = low + (1 << bits) - 1
    wrapped = f.wrap(X, bits, signed)
    for a in (low - 1, low, -1, 0, 1, high, high + 1, 3 << bits, -(5 << bits) + 7):
        expected = (a - low) % (1 << bits) + low
        assert f.wrap(f.integer(a), bits, signed) is f.integer(expected)
        assert evaluate(wrapped, {"x": a}) == expected
    solver = Solver()
    inside = f.and_(f.le(f.integer(low), X), f.le(X, f.integer(high)))
    assert isinstance(solver.prove((inside,), f.eq(wrapped, X)), Proved)
    assert isinstance(solver.prove((), f.eq(wrapped, X)), Refuted)
    assert isinstance(solver.prove((), f.and_(f.le(f.integer(low), wrapped), f.le(wrapped, f.integer(high)))), Proved)


# ------------------------------------------------------------------------------------------------------- replacing


def test_replacement_is_simultaneous_and_outermost_first() -> None:
    total = f.add(X, Y)
    assert f.replace(total, {X: Y, Y: X}) is f.add(Y, X)
    assert f.replace(f.mul(total, X), {total: Y, X: f.integer(3)}) is f.mul(f.integer(3), Y)
    assert f.replace(total, {}) is total
    assert f.replace(f.lt(X, Y), {X: Y}) is f.FALSE


def test_deep_and_shared_terms_take_linear_time() -> None:
    deep = X
    for k in range(5000):
        deep = f.mul(f.sub(Y, deep), f.var(f"v{k % 7}", f.INT))
    assert len(list(f.subterms(deep))) > 5000
    assert f.replace(f.replace(deep, {X: Y}), {Y: X}) is f.replace(deep, {Y: X})
    shared = X
    for _ in range(200):
        shared = f.mul(shared, shared)
    assert f.replace(shared, {X: f.integer(1)}) is f.integer(1)
    assert len(query((), f.eq(shared, Y)).text) < 20_000


def test_terms_print_for_people() -> None:
    implied = f.implies(P, f.lt(f.add(X, f.integer(-2)), f.app("g", (Y,), f.INT)))
    assert readable(implied) == "(=> p (< (+ x (- 2)) (g y)))"
    assert repr(f.fp("fp.to_bits", f.INT, A)) == "(fp.to_bits a)"
    shared = X
    for _ in range(200):
        shared = f.mul(shared, shared)
    assert len(repr(f.lt(shared, Y))) < 10_000
