"""Fused multiply-add: of scalars against fractions, of arrays against scalars."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from tests.semantics.oracles import FLOATS, interesting_floats, key, nearest
from verified_tir.ir.dtype import FLOAT32, FLOAT64, DType
from verified_tir.ir.float_bits import round_to
from verified_tir.semantics.intrinsics.array_fma import fma_float32, fma_float64
from verified_tir.semantics.rounding import fma_operation

PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
LEAST = {"float16": -14, "bfloat16": -126, "float32": -126, "float64": -1022}


def hard_cases(dtype: DType, count: int) -> list[tuple[float, float, float]]:
    """Sums near a tie, sums that cancel, products that underflow or nearly overflow, the largest numbers."""
    draw = random.Random(str(dtype))
    precision, least = PRECISION[str(dtype)], LEAST[str(dtype)]
    found = []

    def number(exponent: int) -> float:
        return round_to(dtype, math.ldexp(draw.choice((-1, 1)) * draw.uniform(1, 2), exponent))

    for _ in range(count):
        e1, e2 = draw.randint(least // 2, -least // 2), draw.randint(least // 2, -least // 2 - 2)
        a, b = number(e1), number(e2)
        product = round_to(dtype, a * b)
        found += [
            (a, b, -product),
            (a, b, math.nextafter(product, 0.0) if dtype is FLOAT64 else -round_to(dtype, product * 1.001)),
            (a, b, number(max(min(e1 + e2 + precision + draw.randint(-2, 2), -least), least))),
            (a, b, number(max(min(e1 + e2 - precision + draw.randint(-2, 2), -least), least))),
            (number(least // 2 - precision // 2), number(least // 2 - precision // 2), number(least)),
            (number(least // 2), number(least // 2 - 1), draw.choice((0.0, -0.0, number(least)))),
            (number(-least // 2), number(-least // 2), number(-least)),
            (
                1.0 + 2.0 ** (1 - precision),
                1.0 - 2.0**-precision,
                math.ldexp(draw.choice((-1, 1)), -draw.randint(0, 2 * precision)),
            ),
        ]
    return [row for row in found if all(math.isfinite(v) for v in row)]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_scalars_round_the_exact_sum_once(dtype: DType) -> None:
    compute = fma_operation(dtype)
    rows = hard_cases(dtype, 60)
    assert len(rows) > 400
    inexact = 0
    for a, b, c in rows:
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact != 0:
            assert key(compute(a, b, c)) == key(nearest(dtype, exact)), (a, b, c)
            inexact += compute(a, b, c) != exact
        else:
            assert compute(a, b, c) == 0.0
    assert inexact > len(rows) // 3


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_arrays_agree_with_scalars(dtype: DType) -> None:
    corners = interesting_floats(dtype)
    draw = random.Random(7)
    rows = hard_cases(dtype, 150) + [tuple(draw.choice(corners) for _ in range(3)) for _ in range(2000)]
    numpy = np.float32 if dtype is FLOAT32 else np.float64
    a, b, c = (np.array(column, numpy) for column in zip(*rows, strict=True))
    scalar = fma_operation(dtype)
    with np.errstate(all="ignore"):
        got = fma_float32(a, b, c) if dtype is FLOAT32 else fma_float64(a, b, c)
    assert got.dtype == numpy
    for row, result in zip(rows, got.tolist(), strict=True):
        assert key(result) == key(scalar(*row)), row


def test_arrays_where_two_roundings_differ_from_one() -> None:
    """Each of these is wrong if the product or the sum is rounded in the type first."""
    a, b, c = np.float32(2.0**-24 * (1 + 2.0**-16)), np.float32(1 - 2.0**-16), np.float32(1 + 2.0**-23)
    assert fma_float32(np.array([a]), b, c)[0] == c != np.float32(float(a) * float(b) + float(c))
    x, y, z = 1.0 + 2.0**-27, 1.0 + 2.0**-27, -(1.0 + 2.0**-26)
    assert fma_float64(np.array([x]), np.float64(y), np.float64(z))[0] == 2.0**-54 != x * y + z
