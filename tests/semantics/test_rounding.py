"""Rounding of exact numbers, conversion of large integers, and the fused multiply-add."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.semantics.oracles import FLOATS, interesting_floats, key, nearest
from verified_tir.ir.dtype import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType
from verified_tir.ir.float_bits import round_to
from verified_tir.ir.floats import bits_of
from verified_tir.semantics.rounding import fma_operation, round_exact, round_integer, rounder

fractions = st.builds(
    lambda n, d, e: Fraction(n, d) * Fraction(2) ** e,
    st.integers(-(1 << 80), 1 << 80), st.integers(1, 1 << 40), st.integers(-1150, 1000),
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(fractions, st.sampled_from(FLOATS), st.integers(-3, 3))
def test_round_exact_is_nearest_even(q: Fraction, dtype: DType, scale: int) -> None:
    # the types' own range is narrower than the fractions': bring some of them into it
    q = q * Fraction(2) ** (scale * 64) if scale else q / max(1, abs(q)) if abs(q) > 1 else q
    assert key(round_exact(dtype, q)) == key(nearest(dtype, q))


@pytest.mark.sample(1)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_ties_and_their_neighbours(dtype: DType) -> None:
    finite = sorted({v for v in interesting_floats(dtype) if math.isfinite(v)})
    for a, b in combinations_with_replacement(finite, 2):
        middle = (Fraction(a) + Fraction(b)) / 2
        for q in (middle, middle * (1 + Fraction(1, 1 << 90)), middle * (1 - Fraction(1, 1 << 90))):
            expected = key(nearest(dtype, q))
            assert key(round_exact(dtype, q)) == expected
            if q == Fraction(float(q)):
                assert key(round_to(dtype, float(q))) == expected


@settings(max_examples=150, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(FLOATS))
def test_round_to_rounds_a_float64_once(x: float, dtype: DType) -> None:
    exact = nearest(dtype, Fraction(x)) if x != 0 else x
    assert key(round_to(dtype, x)) == key(exact)
    assert key(rounder(dtype)(x)) == key(exact)


def test_bfloat16_does_not_go_by_way_of_float32() -> None:
    just_above_a_tie = 1.0 + 2.0**-8 + 2.0**-40
    assert round_to(BFLOAT16, just_above_a_tie) == 1.0 + 2.0**-7
    assert float(np.float32(just_above_a_tie)) == 1.0 + 2.0**-8  # so a detour would find a tie, and 1.0
    assert bits_of(BFLOAT16, just_above_a_tie) == 0x3F81


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 0.0, -0.0])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_special_values_round_to_themselves(value: float, dtype: DType) -> None:
    assert key(round_to(dtype, value)) == key(value)
    assert key(rounder(dtype)(value)) == key(value)


@settings(max_examples=100, deadline=None)
@given(st.integers(-(1 << 63), (1 << 64) - 1), st.sampled_from(FLOATS))
def test_integers_round_once(n: int, dtype: DType) -> None:
    assert key(round_integer(dtype, n)) == key(nearest(dtype, Fraction(n)))


def test_large_integers_do_not_go_by_way_of_float64() -> None:
    for k in (54, 62):
        n = (1 << k) + (1 << (k - 24)) + 1  # just above a tie of float32; float64 would make it the tie
        assert round_integer(FLOAT32, n) == float((1 << k) + (1 << (k - 23)))
        assert float(np.float32(float(n))) == float(1 << k)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fma_of_finite_numbers_rounds_once(dtype: DType) -> None:
    finite = [v for v in interesting_floats(dtype) if math.isfinite(v)]
    for a, b, c in product(finite[::2], finite[1::3], finite[::3]):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact != 0:
            assert key(fma_operation(dtype)(a, b, c)) == key(nearest(dtype, exact))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(FLOATS))
def test_fma_of_any_finite_numbers(data: st.DataObject, dtype: DType) -> None:
    a, b, c = (round_to(dtype, data.draw(st.floats(-200.0, 200.0))) for _ in range(3))
    if data.draw(st.booleans()):  # nearly cancelling: where a detour shows
        c = -round_to(dtype, a * b)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact != 0:
        assert key(fma_operation(dtype)(a, b, c)) == key(nearest(dtype, exact))


def test_fma_where_a_detour_through_float64_rounds_twice() -> None:
    a, b, c = 2.0**-24 * (1 + 2.0**-16), 1 - 2.0**-16, 1 + 2.0**-23
    assert fma_operation(FLOAT32)(a, b, c) == 1 + 2.0**-23  # the exact sum is just below a tie
    assert float(np.float32(a * b + c)) == 1 + 2.0**-22  # which float64 takes for the tie


@pytest.mark.parametrize(
    ("a", "b", "c", "result"),
    [
        (math.inf, 0.0, 1.0, math.nan),
        (0.0, -math.inf, 1.0, math.nan),
        (math.inf, 1.0, -math.inf, math.nan),
        (math.inf, -1.0, 5.0, -math.inf),
        (2.0, 3.0, -math.inf, -math.inf),
        (math.nan, 1.0, 1.0, math.nan),
        (1.0, 1.0, math.nan, math.nan),
        (-1.0, 0.0, -0.0, -0.0),
        (-1.0, 0.0, 0.0, 0.0),
        (1.0, 0.0, -0.0, 0.0),
        (2.0, 3.0, -6.0, 0.0),
        (-2.0, 3.0, 6.0, 0.0),
    ],
)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fma_of_special_values(dtype: DType, a: float, b: float, c: float, result: float) -> None:
    assert key(fma_operation(dtype)(a, b, c)) == key(result)


def test_fma_of_large_products_that_float64_cannot_hold() -> None:
    large = float(np.finfo(np.float64).max)
    assert fma_operation(FLOAT64)(large, 2.0, -math.inf) == -math.inf
    assert fma_operation(FLOAT64)(large, 2.0, -large) == large
    assert fma_operation(FLOAT64)(large, 2.0, 0.0) == math.inf
    assert fma_operation(FLOAT16)(65504.0, 2.0, -65504.0) == 65504.0
    least = 5e-324
    assert key(fma_operation(FLOAT64)(-least, least, 0.0)) == key(-0.0)  # underflow keeps its sign
