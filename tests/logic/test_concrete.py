"""Formulas at concrete values: as the interpreter's floats, as the tests' fractions, and as Z3 has them."""

from __future__ import annotations

import itertools
import math

import pytest

from tests.logic.evaluate import evaluate as by_fractions
from tests.semantics.oracles import interesting_floats, key
from verified_tir.ir.float_bits import float_of
from verified_tir.ir.floats import bits_of
from verified_tir.logic import formula as f
from verified_tir.logic.concrete import DTYPES, Evaluation, NoValue, Value, as_number, evaluate, special_values
from verified_tir.logic.formula import INT, Term
from verified_tir.logic.smtlib import query
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved
from verified_tir.semantics.rounding import fma_operation, round_integer

SORTS = sorted(DTYPES)


def number(sort: str, value: float) -> Term:
    return f.floating(sort, bits_of(DTYPES[sort], value))


@pytest.mark.parametrize("sort", SORTS)
def test_special_values_are_floats_of_their_sort(sort: str) -> None:
    values = special_values(sort)
    assert [key(float_of(DTYPES[sort], as_number(sort, v))) for v in values] == [key(v) for v in values]
    assert len({v.hex() for v in values}) == len(values)


@pytest.mark.parametrize("sort", SORTS)
def test_a_fused_multiply_add_is_the_interpreter_s(sort: str) -> None:
    exact = fma_operation(DTYPES[sort])
    a, b, c = (f.var(n, sort) for n in "abc")
    fused = f.fp("fp.fma", sort, a, b, c)
    ready = Evaluation((fused,), (a, b, c))
    values = [*special_values(sort), 1.0 / 3.0 if sort == "F64" else 1.25]
    for x, y, z in itertools.product(values, repeat=3):
        assert key(ready.value([x, y, z])) == key(exact(x, y, z)), (x, y, z)
        # the product loses its last bits, and the sum cancels
        assert key(ready.value([x, y, -z])) == key(exact(x, y, -z)), (x, y, -z)


@pytest.mark.nightly
@pytest.mark.sample(2)
@pytest.mark.parametrize("op", ["fp.add", "fp.sub", "fp.mul"])
@pytest.mark.parametrize("sort", SORTS)
def test_operations_round_once(sort: str, op: str) -> None:
    a, b = f.var("a", sort), f.var("b", sort)
    term = f.fp(op, sort, a, b)
    ready = Evaluation((term,), (a, b))
    for x, y in itertools.product(interesting_floats(DTYPES[sort])[:40], repeat=2):
        assert key(ready.value([x, y])) == key(by_fractions(term, {"a": x, "b": y})), (x, y)


@pytest.mark.nightly
@pytest.mark.parametrize("sort", ["F16", "F32"])
def test_everything_is_as_z3_has_it(sort: str) -> None:
    """Each operation and test, at special values: Z3 proves that the value is the one that was computed."""
    solver = Solver()
    x, n = f.var("x", sort), f.var("n", INT)
    values = [0.0, -0.0, 1.0, -1.0, 3.0, math.inf, -math.inf, math.nan, special_values(sort)[4]]
    pairs = list(itertools.product(values, repeat=2))[::5]
    for a, b in pairs:
        one, two = number(sort, a), number(sort, b)
        terms = [f.fp(op, sort, one, two) for op in ("fp.add", "fp.mul", "fp.div")]
        terms += [f.fp(op, sort, one) for op in ("fp.sqrt", "fp.abs")] + [f.fp("fp.fma", sort, one, two, one)]
        terms += [f.fp("fp.from_fp", "BF16", one), f.fp("fp.from_int", sort, f.integer(2049 * 3))]
        for t in terms:
            result = evaluate(t, {}, {})
            assert isinstance(solver.ask(query((), f.eq(t, number(t.sort, float(result))))), Proved), t
        tests = [f.fp(op, f.BOOL, one, two) for op in ("fp.eq", "fp.lt", "fp.leq")]
        tests += [f.fp(f"fp.is{w}", f.BOOL, one) for w in ("NaN", "Infinite", "Zero", "Negative")]
        tests += [f.eq(x, one), f.ite(f.lt(n, f.integer(2)), f.eq(x, two), f.eq(f.floormod(n, f.integer(-3)), n))]
        for t in tests:
            result = evaluate(t, {x: b, n: 1}, {})
            given = (f.eq(x, two), f.eq(n, f.integer(1)))
            goal = t if result else f.not_(t)
            assert isinstance(solver.ask(query(given, goal)), Proved), t


@pytest.mark.parametrize("sort", SORTS)
def test_integers_are_rounded_once(sort: str) -> None:
    n = f.var("n", INT)
    for value in (0, -1, 7, 2049, 65519, 65520, (1 << 24) + 1, (1 << 53) + 1, -(1 << 60) - 129, 1 << 200):
        found = evaluate(f.fp("fp.from_int", sort, n), {n: value}, {})
        assert key(found) == key(round_integer(DTYPES[sort], value)), value


def test_functions_have_one_value_at_equal_arguments() -> None:
    x, y = f.var("x", INT), f.var("y", INT)
    a, b = f.app("A", (x,), "F32"), f.app("A", (f.add(y, f.integer(1)),), "F32")
    functions: dict[object, Value] = {("A", "F32", ("Int",), (3,)): 2.0}
    assert evaluate(f.eq(a, b), {x: 3, y: 2}, functions) is True  # type: ignore[arg-type]
    assert evaluate(f.eq(a, b), {x: 3, y: 3}, functions) is False  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "term",
    [
        f.euclid_div(f.integer(1), f.var("n", INT)),
        f.fp("fp.to_int", INT, f.floating("F32", 0)),
        f.fp("fp.roundToIntegral RTZ", "F32", f.floating("F32", 0)),
    ],
)
def test_what_is_not_known_has_no_value(term: Term) -> None:
    with pytest.raises(NoValue):
        evaluate(term, {f.var("n", INT): 0}, {})
