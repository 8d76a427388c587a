"""The errors of the transcendental functions stay within the bounds that ``docs/intrinsics.md`` states.

The reference for float64 is mpmath; for the narrower types it is the float64 function of numpy or Python, whose own
errors are far below the bounds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.semantics.oracles import EXPONENT_BITS
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.intrinsics import EXPANDED, array_operation

PAGE = Path(__file__).resolve().parents[2] / "docs" / "intrinsics.md"
UNARY = sorted(op for op in EXPANDED if PURE_CALLS[op].arity == 1)
BINARY = sorted(op for op in EXPANDED if PURE_CALLS[op].arity == 2)
Array = np.ndarray[Any, Any]


def bounds() -> dict[str, dict[DType, float]]:
    """The table of the page: function, bounds for float32 and float64; above it the one for the types of 16 bits."""
    text = PAGE.read_text(encoding="utf-8")
    narrow = re.search(r"float16 and bfloat16: ([0-9.]+) ulp", text)
    assert narrow is not None
    rows = re.findall(r"^\| `(\w+)` \| ([0-9.]+) \| [^|]*\| ([0-9.]+) \|", text, re.MULTILINE)
    short = dict.fromkeys((FLOAT16, BFLOAT16), float(narrow[1]))
    return {op: {**short, FLOAT32: float(single), FLOAT64: float(double)} for op, single, double in rows}


def _sigmoid(x: Array) -> Array:
    z = np.exp(-np.abs(x))
    return np.where(x < 0, z, 1.0) / (1.0 + z)


REFERENCE: dict[str, Callable[..., Array]] = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan,
    "erf": np.vectorize(math.erf), "sigmoid": _sigmoid, "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "pow": np.power, "atan2": np.arctan2,
}  # fmt: skip


def spacing(dtype: DType, want: Array) -> Array:
    """The unit in the last place of the type at each number, that of the least normal number below it."""
    precision = dtype.bits - EXPONENT_BITS[dtype]
    least = 2 - (1 << (EXPONENT_BITS[dtype] - 1))
    exponent = np.frexp(np.where(np.isfinite(want), want, 1.0))[1] - 1
    return np.ldexp(1.0, np.maximum(exponent, least) - precision + 1)


def worst(op: str, dtype: DType, *args: Array) -> float:
    """The largest error in ulp; special values must be those of the reference, rounded."""
    with np.errstate(all="ignore"):
        got = array_operation(op, dtype)(*args).astype(np.float64)
        want = REFERENCE[op](*[a.astype(np.float64) for a in args])
        largest = float(
            np.ldexp(2.0 - 2.0 ** (1 - dtype.bits + EXPONENT_BITS[dtype]), (1 << (EXPONENT_BITS[dtype] - 1)) - 1)
        )
        limit = largest + float(spacing(dtype, np.array(largest))) / 2  # rounds to infinity from here on
        finite = np.isfinite(want) & (np.abs(want) < limit)
        rounded = np.where(np.abs(want) >= limit, np.copysign(np.inf, want), want)
        near = np.where(np.isinf(got) & finite, np.copysign(2 * limit - largest, got), got)
        error = np.abs(near - want) / spacing(dtype, want)
    special = ~finite & ~((got == rounded) | (np.isnan(got) & np.isnan(want)))
    assert not special.any(), [a[special][:3] for a in args]
    sign = (want == 0) & (np.signbit(got) != np.signbit(want))
    assert not sign.any(), [a[sign][:3] for a in args]
    return float(error[finite].max())


def everything(dtype: DType) -> Array:
    return np.arange(1 << 16, dtype=np.uint16).view(numpy_dtype(dtype))


def sample_float32(seed: int, count: int) -> Array:
    """Every exponent with both signs and round and random significands, and random numbers of moderate size."""
    random = np.random.default_rng(seed)
    exponents = np.repeat(np.arange(512, dtype=np.uint32) << 23, count // 1024)
    patterns = exponents | random.integers(0, 1 << 23, len(exponents), dtype=np.uint32)
    corners = (np.arange(512, dtype=np.uint32)[:, None] << 23) | np.array(
        [0, 1, 2, 0x3FFFFF, 0x400000, 0x7FFFFF], np.uint32
    )
    moderate = (random.normal(size=count // 2) * 2.0 ** random.integers(-12, 8, count // 2)).astype(np.float32)
    return np.concatenate([patterns.view(np.float32), corners.ravel().view(np.float32), moderate])


def test_the_page_has_a_row_for_every_function() -> None:
    assert set(bounds()) == EXPANDED == {op for op in PURE_CALLS if op in REFERENCE}


@pytest.mark.sample(10)
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
@pytest.mark.parametrize("op", UNARY)
def test_all_numbers_of_16_bits(op: str, dtype: DType) -> None:
    assert worst(op, dtype, everything(dtype)) <= bounds()[op][dtype]


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
@pytest.mark.parametrize("op", BINARY)
def test_pairs_of_16_bits(op: str, dtype: DType) -> None:
    random = np.random.default_rng(3)
    x, y = (random.permutation(everything(dtype))[: 1 << 14] for _ in range(2))
    small = (random.normal(size=len(x)) * 4).astype(numpy_dtype(dtype))
    assert worst(op, dtype, x, y) <= bounds()[op][dtype]
    assert worst(op, dtype, np.abs(x), small) <= bounds()[op][dtype]


@pytest.mark.parametrize("op", UNARY)
def test_float32_on_a_sample(op: str) -> None:
    error = worst(op, FLOAT32, sample_float32(1, 1 << 16))
    assert 0.45 < error <= bounds()[op][FLOAT32]


@pytest.mark.parametrize("op", BINARY)
def test_pairs_of_float32_on_a_sample(op: str) -> None:
    x, y = sample_float32(1, 1 << 15), np.random.default_rng(2).permutation(sample_float32(2, 1 << 15))
    error = worst(op, FLOAT32, x, y)
    small = (np.random.default_rng(4).normal(size=len(x)) * 3).astype(np.float32)
    moderate = worst(op, FLOAT32, np.abs(x), small)
    assert 0.45 < max(error, moderate) <= bounds()[op][FLOAT32]


# Arguments around which reductions, polynomials or scalings change, and worst cases for float32 found by trying all.
PLACES = {
    "exp": [-5.8584485, 88.72284, -87.33655, -103.972084, -103.27893, 0.34657359],
    "exp2": [127.99999, 128.0, -126.0, -149.0, -149.99999, -150.0, 0.5, -0.5, 1.5],
    "log": [0.70710677, 0.7071068, 1.4142135, 1.4142137, 0.99999994, 1.0000001, 1e-45, 1.1754944e-38],
    "tanh": [0.65, 0.64999998, 0.6558, 9.01, 9.25, 9.0109],
    "erf": [1.0, 0.99999994, 1.0607462, 3.9192059, 4.0, 3.8],
    "sin": [0.7853982, 0.78539824, 3.1415927, 1.5707964, 6.2831855, 16367173.0, 3.4028235e38, 1e30, 2.0**100],
}


@pytest.mark.parametrize("op", PLACES)
def test_float32_around_the_places_where_something_changes(op: str) -> None:
    where = np.array(PLACES[op], np.float32).view(np.int32)[:, None] + np.arange(-2000, 2000, dtype=np.int32)
    x = where.ravel().view(np.float32)
    assert worst(op, FLOAT32, np.concatenate([x, -x])) <= bounds()[op][FLOAT32]


# --------------------------------------------------------------------------------------------------------- float64

EXACT: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.power(2, x), "log": mpmath.log, "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10, "log1p": mpmath.log1p, "tanh": mpmath.tanh, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "atan": mpmath.atan, "erf": mpmath.erf,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)), "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "pow": mpmath.power, "atan2": mpmath.atan2,
}  # fmt: skip
RANGES = {  # the interval in which a function is neither extreme nor undefined
    "exp": (-745.2, 709.8), "exp2": (-1075.0, 1024.0), "sinh": (-710.5, 710.5), "cosh": (-710.5, 710.5),
    "sigmoid": (-745.2, 40.0), "tanh": (-20.0, 20.0), "erf": (-6.0, 6.0), "log": (0.0, 10.0), "log2": (0.0, 10.0),
    "log10": (0.0, 10.0), "log1p": (-1.0, 10.0), "rsqrt": (0.0, 10.0), "pow": (0.0, 10.0),
}  # fmt: skip


def ulps_of_float64(got: float, exact: Any) -> float:
    """The distance in ulp; infinity counts as 2**1024."""
    value = mpmath.mpf(got) if math.isfinite(got) else mpmath.mpf(2) ** 1024 * (1 if got > 0 else -1)
    exponent = max(int(mpmath.floor(mpmath.log(abs(exact), 2))), -1022) if exact else -1022
    return float(abs(value - exact) / mpmath.mpf(2) ** (min(exponent, 1023) - 52))


def sample_float64(op: str, count: int) -> list[tuple[float, ...]]:
    random = np.random.default_rng(sum(op.encode()))
    low, high = RANGES.get(op, (-10.0, 10.0))
    inside = random.uniform(low, high, count)
    small = (random.random(count) + 1.0) * 2.0 ** random.integers(-1074, 2, count)
    large = (
        (random.random(count) + 1.0) * 2.0 ** random.integers(-20, 1023, count)
        if low > -1 or high == 10.0
        else inside / 64
    )
    x = np.concatenate([inside, small, large, -small if low < -1 else small])
    if op == "pow":
        with np.errstate(all="ignore"):
            y = random.uniform(-1075, 1024, len(x)) / np.log2(x)
        y = np.where(np.isfinite(y), y, 2.0)
    else:
        with np.errstate(over="ignore"):
            y = random.permutation(x) * random.choice([-1.0, 1.0, 2.0**-40, 2.0**700], len(x))
    keep = np.isfinite(x) & np.isfinite(y) & (x > low) if op in RANGES else np.isfinite(y)
    return list(zip(x[keep], y[keep], strict=True) if op in BINARY else zip(x[keep], strict=True))


@pytest.mark.sample(3)
@pytest.mark.parametrize("op", [*UNARY, *BINARY])
def test_float64_against_mpmath(op: str) -> None:
    rows = sample_float64(op, 300)
    got = array_operation(op, FLOAT64)(*[np.array(column) for column in zip(*rows, strict=True)])
    largest = 0.0
    with mpmath.workprec(1200 if op in ("sin", "cos", "tan") else 160):
        for row, result in zip(rows, got.tolist(), strict=True):
            error = ulps_of_float64(result, EXACT[op](*[mpmath.mpf(float(v)) for v in row]))
            assert error <= bounds()[op][FLOAT64], row
            largest = max(largest, error)
    assert largest > 0.4


def test_float64_angles_next_to_multiples_of_a_quarter_turn() -> None:
    """For 6381956970095103 * 2**797 the cosine is the least of all: the worst case of the reduction."""
    near = [
        math.ldexp(6381956970095103, 797),
        1e22,
        2.0**1023,
        1.7976931348623157e308,
        math.pi / 2,
        math.pi,
        22 * math.pi,
    ]
    near += [math.ldexp(math.pi / 2 * k, 0) for k in range(1, 400, 7)]
    with mpmath.workprec(1300):
        for op in ("sin", "cos", "tan"):
            got = array_operation(op, FLOAT64)(np.array(near))
            for x, result in zip(near, got.tolist(), strict=True):
                assert ulps_of_float64(result, EXACT[op](mpmath.mpf(x))) <= bounds()[op][FLOAT64], (op, x)


@pytest.mark.parametrize(("dtype", "zeros"), [(FLOAT32, 31), (FLOAT64, 62)], ids=str)
def test_no_number_comes_nearer_to_a_multiple_of_a_quarter_turn(dtype: DType, zeros: int) -> None:
    """The reduction keeps 62 bits of the fraction for float32, and 126 for float64; how many of them can be zero?

    Of all m below a limit, ``m a`` is nearest to a whole number for a denominator of a convergent of a.
    """
    precision = dtype.bits - EXPONENT_BITS[dtype]
    largest = (1 << (EXPONENT_BITS[dtype] - 1)) - precision
    with mpmath.workprec(3000):
        two_over_pi = int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** 2500))
    one = 1 << 2500
    least = one
    for e in range(-precision, largest + 1):
        a = (two_over_pi << e if e >= 0 else two_over_pi >> -e) % one
        p, rest, before, q = one, a, 0, 1  # the Euclidean algorithm: rest / one is the distance that q leaves
        while rest:
            quotient = p // rest
            if before + quotient * q >= 1 << precision:
                break
            p, rest, before, q = rest, p - quotient * rest, q, before + quotient * q
        least = min(least, rest)
    assert 2500 - zeros <= least.bit_length() <= 2500 - zeros + 3
