"""The index simplifier: what it must find, and that it never changes a value."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.index.random_exprs import Undefined, draw_bool, draw_int, value
from tests.nightly import few
from verified_tir.index.simplify import simplify
from verified_tir.index.text import index_text
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT64
from verified_tir.ir.expr import FALSE, TRUE, Binary, Call, Cast, IfThenElse, IntImm, Load, Not, Select, Var
from verified_tir.ir.sugar import const

n, m = Var.fresh("n"), Var.fresh("m")
io, ii, x = Var.fresh("io"), Var.fresh("ii"), Var.fresh("x")
i, j, k = Var.fresh("i"), Var.fresh("j"), Var.fresh("k")
RANGES = {
    io: (const(0), const(8)), ii: (const(0), const(4)), x: (const(0), const(100)),
    i: (const(0), m), j: (const(0), n), k: (const(3), const(5)),
}  # fmt: skip

CASES = [
    # split, fused again, in every spelling
    ((4 * io + ii) // 4, "io"),
    ((4 * io + ii) % 4, "ii"),
    ((ii + io * 4 + 8) // 4, "io + 2"),
    ((4 * io + ii) // 16, "io // 4"),
    ((4 * io + ii) % 16, "4 * (io % 4) + ii"),
    (4 * (x // 4) + x % 4, "x"),
    (4 * (x // 16 * 4 + x // 4 % 4) + x % 4, "x"),
    (x // 4 // 5, "x // 20"),
    (x % 16 // 4, "x // 4 % 4"),
    (x % 16 % 4, "x % 4"),
    (x - 4 * (x // 4), "x % 4"),
    (4 * (x // 16) + x % 4, "4 * (x // 16) + x % 4"),  # near misses
    (8 * (x // 4) + x % 4, "8 * (x // 4) + x % 4"),
    (4 * (x // 4) + io % 4, "4 * (x // 4) + io % 4"),
    (4 * (x // 4) + (x + 1) % 4, "4 * (x // 4) + (x + 1) % 4"),
    (x - 4 * (x // 5), "x - 4 * (x // 5)"),
    ((x + 9) // 8 * 8 + (x + 9) % 8, "x + 9"),
    (x % 200, "x"),
    (x // 100, "0"),
    ((6 * x + 4) // 8, "(3 * x + 2) // 4"),
    ((6 * x + 5) % 8, "2 * ((3 * x + 2) % 4) + 1"),
    # symbols
    ((i * n + j) // n, "i"),
    ((i * n + j) % n, "j"),
    ((n + 3) // 4 * 4, "4 * ((n + 3) // 4)"),
    ((n - 1) // 4 + 1, "(n + 3) // 4"),
    ((i * n + j) < m * n, "True"),
    (j < (n + 3) // 4 * 4, "True"),
    (n > 0, "True"),  # there is no j otherwise
    (j + 1 > n, "False"),
    # comparisons
    (4 * io + ii < 32, "True"),
    (4 * io + ii < 16, "io < 4"),
    (4 * io + ii < 14, "4 * io + ii < 14"),
    (4 * io >= 14, "io >= 4"),
    (14 - io > x, "io + x < 14"),
    (2 * x <= 2 * io + 1, "io >= x"),
    (Binary("eq", 4 * io + ii, const(40)), "False"),
    (Binary("ne", 2 * x, const(7)), "True"),
    (Binary("eq", x // 4, const(30)), "False"),
    (Binary("eq", (x + 1) % 4, const(0)), "x % 4 == 3"),
    (Binary("ne", (x + 6) % 4, const(1)), "x % 4 != 3"),
    (Binary("eq", (x + 1) % 4, const(9)), "False"),
    (Binary("min", x, const(99)), "x"),
    (Binary("max", x, k), "max(x, k)"),
    (Binary("max", k, const(2)), "k"),
    # logic
    (Binary("and", x < 100, io < 2), "io < 2"),
    (Binary("or", io < 2, io < 2), "io < 2"),
    (Binary("and", io < 2, x < 0), "False"),
    (Not(Binary("and", io < 2, ii >= 1)), "io >= 2 or ii < 1"),
    (Select(x < 100, io, ii), "io"),
    (IfThenElse(io < 2, ii, ii + 0 * x), "ii"),
    (Binary("truncdiv", x, const(4)), "x // 4"),
    (Binary("truncmod", x - 50, const(4)), "truncmod(x - 50, 4)"),
]


@pytest.mark.parametrize(("expr", "expected"), CASES, ids=[index_text(e) for e, _ in CASES])
def test_finds(expr, expected):
    assert index_text(simplify(expr, RANGES)) == expected


def test_simplified_is_the_same_object_again():
    for expr, _ in CASES:
        once = simplify(expr, RANGES)
        assert simplify(once, RANGES) is once


def test_data_is_left_alone_but_its_indices_are_not():
    a = Buffer.declare("A", (16,), "int32")
    load = Load(a, ((4 * io + ii) // 4,))
    assert simplify(load + 0 * x, RANGES) is Binary("add", Load(a, (io,)), const(0))
    assert simplify(Cast(INT64, 4 * (x // 4) + x % 4), RANGES) is Cast(INT64, x)
    assert simplify(Call(io.dtype, "abs", (x - x,)), RANGES) is Call(io.dtype, "abs", (const(0),))


def test_a_constant_that_outgrows_the_type_leaves_the_expression():
    big = const(2**31 - 1)
    expr = Binary("floordiv", Binary("mul", Binary("mul", x, big), big), const(7))
    assert simplify(expr, RANGES) is expr


def test_division_by_what_may_be_zero_stays():
    assert simplify(x // m - x // m, {}) is IntImm(x.dtype, 0)
    assert index_text(simplify((x * m) // m, {})) == "m * x // m"
    assert simplify((i * m) // m, RANGES) is i


def test_ranges_that_do_not_start_at_zero():
    assert simplify(k < 8, RANGES) is TRUE
    assert simplify(k < 3, RANGES) is FALSE
    shifted = {k: (n, m)}
    assert simplify(k >= n, shifted) is TRUE
    assert simplify(k < n + m, shifted) is TRUE


def points(rng):
    """Values of the symbols, then every point of the ranges for them (a sample of it)."""
    for _ in range(6):
        sizes = {n: rng.randint(1, 9), m: rng.randint(1, 9)}
        axes = [range(8), range(4), rng.sample(range(100), 4), range(sizes[m]), range(sizes[n]), range(3, 8)]
        everything = list(itertools.product(*[rng.sample(list(a), min(3, len(a))) for a in axes]))
        for point in rng.sample(everything, min(12, len(everything))):
            yield {**sizes, **dict(zip((io, ii, x, i, j, k), point, strict=True))}


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_never_changes_a_value(seed):
    rng = random.Random(seed)
    variables = [io, ii, x, i, j, k, n, m]
    shorter = 0
    for _ in range(few(300, 600)):
        draw = draw_int if rng.random() < 0.6 else draw_bool
        expr = draw(rng, rng.sample(variables, 3), rng.randint(1, 4))
        simple = simplify(expr, RANGES)
        shorter += len(index_text(simple)) < len(index_text(expr))
        for point in points(rng):
            try:
                expected = value(expr, point)
            except Undefined:
                continue
            assert value(simple, point) == expected, (index_text(expr), index_text(simple), point)
    assert shorter > few(100, 200)
