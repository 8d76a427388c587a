"""Special values of the transcendental functions (ISO/IEC 9899, annex F.10), and results that must be exact."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from tests.semantics.oracles import EXPONENT_BITS, FLOATS, infinity_pattern, interesting_floats, key, to_float
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import FLOAT64, DType
from verified_tir.ir.float_bits import round_to
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.intrinsics import EXPANDED, array_operation, scalar_operation

INF, NAN = math.inf, math.nan
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0)],
    "exp2": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0)],
    "log": [(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (-1.0, NAN)],
    "log2": [(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (-1.0, NAN)],
    "log10": [(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (-1.0, NAN)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (-INF, NAN), (-2.0, NAN)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (100.0, 1.0), (-100.0, -1.0)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e4, INF), (-1e4, -INF)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (1e4, INF), (-1e4, INF)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (50.0, 1.0), (-50.0, -1.0)],
    "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (100.0, 1.0), (-1e4, 0.0)],
    "rsqrt": [(1.0, 1.0), (4.0, 0.5), (0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, NAN), (-1.0, NAN)],
}
everywhere = pytest.mark.parametrize("dtype", FLOATS, ids=str)


def compute(op: str, dtype: DType, *args: float) -> float:
    """The scalar evaluator's result, which the array evaluator confirms."""
    (result,) = compute_all(op, dtype, *([a] for a in args))
    return result


def compute_all(op: str, dtype: DType, *columns: list[float]) -> list[float]:
    """The same for several arguments at once."""
    results: list[float] = [scalar_operation(op, dtype)(*args) for args in zip(*columns, strict=True)]
    arrays = [np.array(column, np.float64).astype(numpy_dtype(dtype)) for column in columns]
    with np.errstate(all="ignore"):
        found = array_operation(op, dtype)(*arrays).astype(np.float64).tolist()
    for result, confirmed, *args in zip(results, found, *columns, strict=True):
        assert key(confirmed) == key(result), args
    return results


@everywhere
@pytest.mark.parametrize("op", SPECIAL)
def test_special_values(op: str, dtype: DType) -> None:
    values, wanted = map(list, zip(*SPECIAL[op], (NAN, NAN), strict=True))
    assert [*map(key, compute_all(op, dtype, values))] == [key(round_to(dtype, y)) for y in wanted]


def test_every_function_is_covered() -> None:
    assert {*SPECIAL, "pow", "atan2"} == EXPANDED
    assert all(PURE_CALLS[op].operands == "float" for op in EXPANDED)


@pytest.mark.sample(6)
@everywhere
@pytest.mark.parametrize("op", ["sin", "tan", "tanh", "sinh", "atan", "erf"])
def test_odd_functions_are_odd_to_the_bit(op: str, dtype: DType) -> None:
    values = interesting_floats(dtype)
    mirrored = compute_all(op, dtype, [-x for x in values])
    assert [key(y) for y in mirrored] == [key(-y) for y in compute_all(op, dtype, values)]


@everywhere
@pytest.mark.parametrize("op", ["cos", "cosh"])
def test_even_functions_are_even_to_the_bit(op: str, dtype: DType) -> None:
    values = interesting_floats(dtype)
    mirrored = compute_all(op, dtype, [-x for x in values])
    assert [key(y) for y in mirrored] == [key(y) for y in compute_all(op, dtype, values)]


@everywhere
@pytest.mark.parametrize("op", ["sin", "tan", "tanh", "sinh", "atan", "log1p"])
def test_the_least_numbers_are_their_own_images(op: str, dtype: DType) -> None:
    patterns = (1, 2, 3, (1 << (dtype.bits - 1 - EXPONENT_BITS[dtype])) - 1)
    values = [to_float(dtype, pattern) for pattern in patterns]
    assert compute_all(op, dtype, values) == values


@pytest.mark.sample(2)
@everywhere
def test_powers_of_two_are_exact(dtype: DType) -> None:
    bias = (1 << (EXPONENT_BITS[dtype] - 1)) - 1
    least = 2 - bias - (dtype.bits - EXPONENT_BITS[dtype])
    exponents = [float(n) for n in range(least, bias + 1, max(1, bias // 40)) if round_to(dtype, n) == n]
    powers = [math.ldexp(1.0, int(n)) for n in exponents]
    assert exponents
    assert compute_all("exp2", dtype, exponents) == powers
    assert compute_all("log2", dtype, powers) == exponents
    assert compute_all("pow", dtype, [2.0] * len(powers), exponents) == powers


def test_powers_of_small_whole_numbers_are_exact() -> None:
    bases, exponents = map(list, zip(*product(map(float, range(-12, 13)), map(float, range(13))), strict=True))
    assert compute_all("pow", FLOAT64, bases, exponents) == [x**n for x, n in zip(bases, exponents, strict=True)]


# --------------------------------------------------------------------------------------------------- two arguments


def power_of_special(x: float, y: float) -> float | None:
    """What the standard says of ``pow`` where it says something, rule by rule; ``None`` elsewhere."""
    odd = math.isfinite(y) and y == math.floor(y) and math.fmod(y, 2.0) != 0.0
    if y == 0.0 or x == 1.0:
        return 1.0
    if math.isnan(x) or math.isnan(y):
        return NAN
    if x == 0.0:
        size = INF if y < 0.0 else 0.0
        return math.copysign(size, x) if odd else size
    if math.isinf(y):
        if x == -1.0:
            return 1.0
        return INF if (abs(x) > 1.0) == (y > 0.0) else 0.0
    if math.isinf(x):
        size = INF if y > 0.0 else 0.0
        return math.copysign(size, x) if odd else size
    return NAN if x < 0.0 and y != math.floor(y) else None


def angle_of_special(y: float, x: float) -> float | None:
    """The same for ``atan2``."""
    if math.isnan(x) or math.isnan(y):
        return NAN
    left = math.copysign(1.0, x) < 0
    if y == 0.0:
        return math.copysign(math.pi if left else 0.0, y)
    if x == 0.0:
        return math.copysign(math.pi / 2, y)
    if math.isinf(x) and math.isinf(y):
        return math.copysign(math.pi * 3 / 4 if left else math.pi / 4, y)
    if math.isinf(x):
        return math.copysign(math.pi if left else 0.0, y)
    return math.copysign(math.pi / 2, y) if math.isinf(y) else None


def corners(dtype: DType) -> list[float]:
    """Zeros, infinities, NaN, odd, even and broken numbers, the least and the largest."""
    largest = to_float(dtype, infinity_pattern(dtype) - 1)
    precision = dtype.bits - EXPONENT_BITS[dtype]
    last_odd = 2.0**precision - 1  # every larger number is even
    found = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, last_odd, last_odd + 1, last_odd / 2, largest, to_float(dtype, 1), INF]
    near_one = [1.0 + 2.0 ** (1 - precision), 1.0 - 2.0**-precision]
    return [*[s * v for v in [*found, *near_one] for s in (1.0, -1.0)], NAN]


@everywhere
@pytest.mark.parametrize(("op", "law"), [("pow", power_of_special), ("atan2", angle_of_special)])
def test_special_values_of_two_arguments(op: str, law: object, dtype: DType) -> None:
    assert callable(law)
    said = 0
    values = corners(dtype)
    pairs = list(product(values, values))
    arrays = [np.array(column, np.float64).astype(numpy_dtype(dtype)) for column in zip(*pairs, strict=True)]
    with np.errstate(all="ignore"):
        results = array_operation(op, dtype)(*arrays).astype(np.float64).tolist()
    for (a, b), result in zip(pairs, results, strict=True):
        wanted = law(a, b)
        if wanted is not None:
            said += 1
            assert key(result) == key(round_to(dtype, wanted)), (a, b)
    assert said > 250


@everywhere
def test_signs_of_powers(dtype: DType) -> None:
    precision = dtype.bits - EXPONENT_BITS[dtype]
    last_odd = 2.0**precision - 1
    assert compute("pow", dtype, -1.0, last_odd) == -1.0
    assert compute("pow", dtype, -1.0, last_odd + 1) == 1.0
    assert compute("pow", dtype, -1.0, (last_odd - 1) / 2) == -1.0
    assert compute("pow", dtype, -1.0, -(last_odd - 1) / 2) == -1.0
    assert key(compute("pow", dtype, -1.0, (2.0 ** (precision - 1) - 1) / 2)) == key(NAN)
    assert compute("pow", dtype, -2.0, 3.0) == -8.0 and compute("pow", dtype, -2.0, -2.0) == 0.25
    assert key(compute("pow", dtype, -(2.0**-14), 255.0)) == key(-0.0)
    assert compute("pow", dtype, -(2.0**-14), -255.0) == -INF and compute("pow", dtype, -(2.0**-14), -254.0) == INF


def test_angles_in_every_quadrant() -> None:
    for y, x in product((1.0, -1.0), (1.0, -1.0)):
        assert compute("atan2", FLOAT64, y, x) == math.copysign(math.pi / 4 if x > 0 else 3 * math.pi / 4, y)
    large, tiny = 1.7976931348623157e308, 5e-324
    assert compute("atan2", FLOAT64, large, large) == math.pi / 4
    assert compute("atan2", FLOAT64, tiny, tiny) == math.pi / 4
    assert compute("atan2", FLOAT64, tiny, large) == 0.0 and compute("atan2", FLOAT64, tiny, -large) == math.pi
    assert compute("atan2", FLOAT64, large, tiny) == compute("atan2", FLOAT64, large, -tiny) == math.pi / 2
