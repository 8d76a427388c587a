"""Fit the polynomials of the transcendental functions, and write them as Python.

Each polynomial minimises the largest weighted error over an interval (Remez' exchange algorithm), in 60 digits.  Its
coefficients are then rounded to the type one after another, from the lowest power up, and the rest is fitted again
each time, so that later coefficients make up for the rounding of earlier ones.

    python benchmarks/intrinsics/fit.py > verified_tir/semantics/intrinsics/coefficients.py

Needs mpmath.  The error printed beside each polynomial is that of the rounded coefficients in exact arithmetic.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp

mp.mp.dps = 60
Function = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Fit:
    """Coefficients of ``sum(c[j] * x**j)`` near ``target`` on ``[low, high]``; errors count times ``weight``."""

    name: str
    words: str
    target: Function
    weight: Function
    low: mp.mpf
    high: mp.mpf
    degree: int
    bits: int  # of the significand to round to


def rounded(value: mp.mpf, bits: int) -> float:
    """The nearest float32 or float64."""
    double = float(value)
    return double if bits == 53 else struct.unpack("<f", struct.pack("<f", double))[0]


def extrema(grid: list[mp.mpf], errors: list[mp.mpf], count: int) -> list[int]:
    """Where the error is largest in each run of one sign: ``count`` neighbouring runs, those with the largest ends."""
    best = [0]
    for k in range(1, len(grid)):
        if (errors[k] > 0) == (errors[best[-1]] > 0):
            if abs(errors[k]) > abs(errors[best[-1]]):
                best[-1] = k
        else:
            best.append(k)
    while len(best) > count:
        best.pop(0 if abs(errors[best[0]]) < abs(errors[best[-1]]) else -1)
    return best


def remez(
    grid: list[mp.mpf], values: list[mp.mpf], weights: list[mp.mpf], powers: range
) -> tuple[list[mp.mpf], mp.mpf]:
    """The polynomial in the given powers with the least largest weighted error on the grid, and that error.

    The exchange need not converge from everywhere, so it starts from two sets of points; the better end counts.
    """
    most, count = len(grid) - 1, len(powers)
    even = [most * k // count for k in range(count + 1)]
    outer = [round(most * (1 - float(mp.cos(mp.pi * k / count))) / 2) for k in range(count + 1)]
    return min((exchange(grid, values, weights, powers, start) for start in (even, outer)), key=lambda found: found[1])


def horner(coefficients: list[mp.mpf], x: mp.mpf) -> mp.mpf:
    """The polynomial with these coefficients, lowest power first."""
    value = mp.mpf(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def exchange(
    grid: list[mp.mpf], values: list[mp.mpf], weights: list[mp.mpf], powers: range, points: list[int]
) -> tuple[list[mp.mpf], mp.mpf]:
    """Remez' algorithm from one set of points, as indices into the grid."""
    count = len(points)
    best: tuple[list[mp.mpf], mp.mpf] = ([], mp.inf)
    for _ in range(20):
        matrix, right = mp.matrix(count, count), mp.matrix(count, 1)
        for row, k in enumerate(points):
            for column, power in enumerate(powers):
                matrix[row, column] = weights[k] * grid[k] ** power
            matrix[row, count - 1] = (-1) ** row
            right[row] = weights[k] * values[k]
        solution = mp.lu_solve(matrix, right)
        coefficients, level = list(solution[: count - 1]), abs(solution[count - 1])
        errors = [
            w * (v - horner(coefficients, x) * x**powers.start) for x, v, w in zip(grid, values, weights, strict=True)
        ]
        largest = max(abs(e) for e in errors)
        best = min(best, (coefficients, largest), key=lambda found: found[1])
        points = extrema(grid, errors, count)
        if largest <= level * mp.mpf("1.02") or len(points) < count:
            break
    return best


def fit(request: Fit) -> tuple[list[float], mp.mpf]:
    """Coefficients rounded to the type, and the largest weighted error with them."""
    low, high = mp.mpf(request.low), mp.mpf(request.high)
    size = 30 * (request.degree + 2) + 1  # odd or even, no point is exactly zero unless an end is
    grid = [low + (high - low) * (1 - mp.cos(mp.pi * (2 * k + 1) / (2 * size))) / 2 for k in range(size)]
    grid = [x if x else mp.mpf(10) ** -8 for x in grid]
    values, weights = [request.target(x) for x in grid], [request.weight(x) for x in grid]
    done: list[float] = []
    rest, largest = values, mp.mpf(0)
    for power in range(request.degree + 1):
        coefficients, largest = remez(grid, rest, weights, range(power, request.degree + 1))
        done.append(rounded(coefficients[0], request.bits))
        rest = [v - mp.mpf(done[-1]) * x**power for v, x in zip(rest, grid, strict=True)]
    largest = max(abs(v * w) for v, w in zip(rest, weights, strict=True))
    return done, largest


HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.0001")
EIGHTH = mp.sqrt(2) - 1  # tan(pi / 8)
S_MOST = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mp.mpf("1.0001")  # f / (2 + f) at f = sqrt(2) - 1
QUARTER = (mp.pi / 4) ** 2 * mp.mpf("1.0001")


def root(z: mp.mpf) -> mp.mpf:
    return mp.sqrt(z)


def log_series(z: mp.mpf) -> mp.mpf:
    """``(log((1 + s) / (1 - s)) - 2 s) / s**3`` for ``s = sqrt(z)``."""
    s = root(z)
    return (mp.log((1 + s) / (1 - s)) - 2 * s) / s**3


def log_weight(z: mp.mpf) -> mp.mpf:
    s = root(z)
    return s**3 / mp.log((1 + s) / (1 - s))


def fits() -> list[Fit]:
    exp_tail: tuple[Function, Function] = (lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.exp(r))
    expm1_weight: Function = lambda r: r**2 / mp.expm1(r)  # noqa: E731
    return [
        Fit("EXP_32", "(exp(r) - 1 - r) / r**2", *exp_tail, -HALF_LN2, HALF_LN2, 4, 24),
        Fit("EXP2_32", "(2**r - 1) / r", lambda r: (2**r - 1) / r, lambda r: r / 2**r, -0.5, 0.5, 5, 24),
        Fit(
            "LOG_32", "(log(1 + f) - f + f**2 / 2) / f**3", lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3,
            lambda f: f**3 / mp.log1p(f), mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 7, 24,
        ),
        Fit(
            "ERF_32", "erf(x) / x - 1 in x**2", lambda z: mp.erf(root(z)) / root(z) - 1,
            lambda z: root(z) / mp.erf(root(z)), mp.mpf(0), mp.mpf(1), 6, 24,
        ),
        Fit(
            "ERFC_32", "-log(erfc(x)) in x - 1", lambda y: -mp.log(mp.erfc(y + 1)),
            lambda y: mp.erfc(y + 1), 0.0, 3.0, 8, 24,
        ),
        Fit(
            "TANH_32", "(tanh(x) - x) / x**3 in x**2", lambda z: (mp.tanh(root(z)) - root(z)) / root(z) ** 3,
            lambda z: z * root(z) / mp.tanh(root(z)), 0.0, 0.4225, 4, 24,
        ),
        Fit("EXP_64", "(exp(r) - 1 - r) / r**2", exp_tail[0], expm1_weight, -HALF_LN2, HALF_LN2, 10, 53),
        Fit("LOG_64", "(log((1 + s) / (1 - s)) - 2 s) / s**3 in s**2", log_series, log_weight, 0.0, S_MOST**2, 7, 53),
        Fit(
            "SIN_64", "(sin(r) - r) / r**3 in r**2", lambda z: (mp.sin(root(z)) - root(z)) / root(z) ** 3,
            lambda z: z * root(z) / mp.sin(root(z)), 0.0, QUARTER, 6, 53,
        ),
        Fit(
            "COS_64", "(cos(r) - 1 + r**2 / 2) / r**4 in r**2", lambda z: (mp.cos(root(z)) - 1 + z / 2) / z**2,
            lambda z: z**2 / mp.cos(root(z)), 0.0, QUARTER, 6, 53,
        ),
        Fit(
            "ATAN_64", "(atan(u) - u) / u**3 in u**2", lambda z: (mp.atan(root(z)) - root(z)) / root(z) ** 3,
            lambda z: z * root(z) / mp.atan(root(z)), 0.0, (EIGHTH * mp.mpf("1.0001")) ** 2, 11, 53,
        ),
        Fit(
            "ERF_64", "erf(x) / x - 1 in x**2", lambda z: mp.erf(root(z)) / root(z) - 1,
            lambda z: root(z) / mp.erf(root(z)), mp.mpf(0), mp.mpf(1), 13, 53,
        ),
        Fit(
            "ERFC_64", "-log(erfc(x)) in x - 1", lambda y: -mp.log(mp.erfc(y + 1)),
            lambda y: mp.erfc(y + 1), 0.0, 5.0, 19, 53,
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    wanted = set(sys.argv[1:])
    if not wanted:
        print('"""Polynomials of the expansions, lowest power first; written by ``benchmarks/intrinsics/fit.py``."""\n')
    for request in fits():
        if wanted and request.name not in wanted:
            continue
        coefficients, largest = fit(request)
        print(f"{request.name} = (  # {request.words}, on [{float(request.low):.4g}, {float(request.high):.4g}]:"
              f" error 2**{float(mp.log(largest, 2)):.1f}")  # fmt: skip
        for c in coefficients:
            print(f'    float.fromhex("{c.hex()}"),')
        print(")", flush=True)
