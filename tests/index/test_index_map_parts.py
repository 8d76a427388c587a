"""The parts behind index maps: checks that refuse wrong proposals, isl's answers, enumeration, evaluation."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from tests.index.random_exprs import Undefined, draw_bool, draw_int, value
from tests.nightly import few
from verified_tir.index import isl
from verified_tir.index.bounds import Bounds
from verified_tir.index.box import Box, guarded, holds, is_safe, model_values, without_divisions
from verified_tir.index.errors import NotInvertible
from verified_tir.index.evaluate import NotEvaluable, UnsafeIndex, evaluate, open_grid
from verified_tir.index.inverse import Collision, collides, find_collision, is_inverse
from verified_tir.index.padding import Section, exact_padding, hit_mask, is_padding, padding
from verified_tir.index.simplify import Simplifier
from verified_tir.index.table import cover, tabulated
from verified_tir.index.text import index_text
from verified_tir.ir.expr import FALSE, Binary, Call, IfThenElse, LetExpr, Not, Select, Var
from verified_tir.ir.poly import Poly, as_poly, render
from verified_tir.ir.sugar import any_of, binary, const
from verified_tir.logic.verdict import Proved, Refuted

i, j, k = Var.fresh("i"), Var.fresh("j"), Var.fresh("k")
a, b = Var.fresh("a"), Var.fresh("b")
n = Var.fresh("n")

SHAPES = [const(14), const(100_001), n]  # enumerated, by Z3, by Z3 with a symbol


def split(extent):
    """``i -> [i // 4, i % 4]`` on ``[0, extent)``, and its padded box."""
    return Box((i,), (extent,)), (i // 4, i % 4), Box((a, b), ((extent + 3) // 4, const(4)))


def simplifier(box):
    return Simplifier(Bounds(box.ranges))


# ---------------------------------------------------------------------- checks


@pytest.mark.parametrize("extent", SHAPES, ids=str)
def test_wrong_inverses_are_refused(extent):
    box, outputs, hits = split(extent)
    inner = simplifier(box)
    assert is_inverse(box, outputs, hits.vars, (4 * a + b,), inner)
    for wrong in (4 * a, 4 * a + b + 1, 4 * b + a, binary("min", 4 * a + b, 12), (4 * a + b) // (b - 1)):
        assert not is_inverse(box, outputs, hits.vars, (wrong,), inner)


@pytest.mark.parametrize("extent", SHAPES, ids=str)
def test_wrong_predicates_are_refused(extent):
    box, outputs, hits = split(extent)
    section = Section((4 * a + b,), True)
    mask = hit_mask(box, outputs, hits)
    assert (mask is None) == (extent is not SHAPES[0])
    sizes = box.at_least_zero()
    right = 4 * a + b >= extent
    assert is_padding(box, outputs, hits, section, right, mask, simplifier(hits), sizes)
    too_much, too_little = 4 * a + b + 1 >= extent, 4 * a + b >= extent + 1
    unsafe = Binary("or", right, (b // a).equal(-1))
    for wrong in (too_much, too_little, FALSE, Not(right), unsafe):
        assert not is_padding(box, outputs, hits, section, wrong, mask, simplifier(hits), sizes)


def test_a_section_that_is_no_inverse_does_not_vouch_for_the_exact_predicate():
    box, outputs, hits = split(n)
    wrong = Section((4 * a + 3 - b,), False)
    with pytest.raises(NotInvertible):
        padding(box, outputs, hits, wrong, simplifier(hits), box.at_least_zero())


def test_the_exact_predicate_is_made_safe():
    box = Box((i,), (n,))
    hits = Box((a,), (n + 1,))
    plain = exact_padding(box, ((i + 1) % n,), hits, Section(((a - 1) % n,), True), box.at_least_zero())
    assert "max(n, 1)" in index_text(plain)
    assert is_safe(hits, plain, box.at_least_zero())
    assert not is_padding(box, (i,), hits, Section((a,), True), a % n * 0 + a >= n, None, simplifier(hits), [])
    assert not is_safe(hits, a % n, box.at_least_zero())
    assert is_safe(Box((a,), (n,)), a % n)
    assert index_text(guarded(a // n + a // 4)) == "a // max(n, 1) + a // 4"


class Liar:
    """A simplifier with a fixed answer."""

    def __init__(self, answer):
        self.answer = answer

    def poly(self, expr):
        return as_poly(self.answer)


@pytest.mark.parametrize(("lie", "claim"), [(const(-1), -1), (const(1), 1), (i // n + 1, 1)])
def test_lies_about_quotients_prove_nothing(lie, claim):
    box = Box((i,), (n,))
    assert isinstance(holds(box, (i // n).equal(0), (), simplifier(box)), Proved)
    assert isinstance(holds(box, (i // n).equal(claim), (), Liar(lie)), Refuted)
    assert isinstance(holds(box, (i % n).equal(i - n * claim), (), Liar(lie)), Refuted)


def test_quotients_become_polynomial_lemmas():
    m = Var.fresh("m")
    box = Box((i, j), (m, n))
    lemmas, goal = without_divisions(((i * n + j) // n).equal(i), simplifier(box))
    assert index_text(goal) == "i == i"
    assert [index_text(e) for e in lemmas] == ["j >= 0", "j < n"]


def test_a_model_names_the_point():
    verdict = holds(Box((i,), (n,)), i < 5)
    assert isinstance(verdict, Refuted)
    values = model_values(verdict, [i, n])
    assert 5 <= values[i] < values[n]


def test_collisions():
    box = Box((i,), (const(9),))
    assert find_collision(box, (i % 4,)) == (Collision((0,), (4,), {}), None)
    assert find_collision(box, (i % 9,)) == (None, None)
    assert collides(box, (i % 4,), Collision((1,), (5,), {}))
    assert not collides(box, (i % 4,), Collision((1,), (1,), {}))
    assert not collides(box, (i % 4,), Collision((1,), (6,), {}))
    assert not collides(box, (i % 4,), Collision((5,), (9,), {}))  # outside the box


# ---------------------------------------------------------------------- isl


def test_isl_inverts_and_finds_holes():
    box = Box((i, j), (const(5), const(6)))
    outputs = (i + j, i - j + 5)
    found = isl.section(box, outputs, (a, b))
    assert is_inverse(box, outputs, (a, b), found, simplifier(box))
    hits = Box((a, b), (const(10), const(10)))
    holes = isl.holes(box, outputs, hits)
    mask = hit_mask(box, outputs, hits)
    assert is_padding(box, outputs, hits, None, holes, mask, simplifier(hits), [])
    assert not is_padding(box, outputs, hits, None, Not(holes), mask, simplifier(hits), [])


def test_isl_pieces_become_choices():
    box = Box((i,), (const(9),))
    outputs = (Select(i < 4, i + 5, Binary("max", 8 - i, const(0))),)
    (back,) = isl.section(box, outputs, (a,))
    assert is_inverse(box, outputs, (a,), (back,), simplifier(box))
    assert "select" in index_text(back)


def test_isl_on_conditions_and_signs():
    box = Box((i, j), (const(7), const(5)))
    conditions = [
        Binary("and", i < 3, j >= 2), Binary("or", i.equal(3), Binary("ne", j, const(1))), Not(i <= j),
        Binary("and", i > 100, j < 2), Binary("eq", (i - 9) // -2 + (j - 7) % -3, const(3)),
    ]  # fmt: skip
    for condition in conditions:
        expr = IfThenElse(condition, 3 * i - j, i - 2 * j)
        (grid,) = evaluate([expr], box.grid())
        assert isl.greatest(box, expr) == grid.max()


def test_isl_knows_symbols_but_not_products():
    box = Box((i,), (n,))
    assert isl.collision(box, (i // 2, i % 2)) is None
    first, second, symbols = isl.collision(box, (i % 5,))
    assert first != second and first[0] % 5 == second[0] % 5 and max(first + second) < symbols[n]
    for expr in (i * n, i // n, i * i, Binary("bitxor", i, const(3)), Select(Binary("bitand", i > 2, i < 5), i, n)):
        with pytest.raises(isl.Inexpressible, match="not quasi-affine"):
            isl.collision(box, (expr,))


def test_isl_numbers_that_do_not_fit_are_not_written(monkeypatch):
    box = Box((i,), (const(5),))
    monkeypatch.setattr(isl.Reader, "value", lambda self, affine: const(2**40))
    with pytest.raises(isl.Inexpressible, match="does not fit int32"):
        isl.section(box, (i,), (a,))


def test_isl_gives_up_and_recovers(monkeypatch):
    box = Box((i, j), (const(5), const(13)))
    outputs = (((i * 19 + j + 5) // 5 + 2 * ((i * 19 + j + 5) % 5)) % 10, (i * 19 + j + 5) % 5)
    monkeypatch.setattr(isl, "OPERATIONS", 2_000)
    with pytest.raises(isl.Inexpressible, match="gave up"):
        isl.section(box, outputs, (a, b))
    assert isl.collision(Box((i,), (const(4),)), (i,)) is None


# ---------------------------------------------------------------------- enumeration


def test_tables_give_back_every_point():
    rng = np.random.default_rng(3)
    points = np.stack([x.ravel() for x in np.indices((6, 7))], axis=1)
    images = np.stack([x.ravel() for x in np.indices((4, 11))], axis=1)[rng.permutation(44)[:42]] - 2
    found = tabulated((a, b), images, points)
    assert found is not None
    back = evaluate(found, {a: images[:, 0], b: images[:, 1]})
    assert (np.stack([np.broadcast_to(v, 42) for v in back], axis=1) == points).all()


def test_tables_are_piecewise_affine_and_bounded():
    column = np.arange(1000)[:, None]
    (found,) = tabulated((a,), np.where(column < 500, 2 * column, column + 3000), column)
    assert index_text(Simplifier(Bounds({})).expr(found)) == "select(a < 3500, a // 2, a - 3000)"
    rng = np.random.default_rng(0)
    assert tabulated((a,), rng.permutation(5000)[:, None], np.arange(5000)[:, None]) is None


@pytest.mark.parametrize("seed", range(5))
def test_covers_are_exact(seed):
    rng = np.random.default_rng(seed)
    missing = rng.random((5, 1, 7)) < 0.4
    missing[2:4] = True
    condition = any_of(cover(missing, (i, j, k)))
    (marked,) = evaluate([condition], dict(zip((i, j, k), open_grid((5, 1, 7)), strict=True)))
    assert (np.broadcast_to(marked, missing.shape) == missing).all()


def test_covers_are_few_blocks():
    missing = np.zeros((4, 8), dtype=np.bool_)
    missing[3, 2:] = True
    assert [index_text(c) for c in cover(missing, (i, j))] == ["i == 3 and j >= 2"]
    missing[0, :2] = True
    assert [index_text(c) for c in cover(missing, (i, j))] == ["i == 0 and j < 2", "i == 3 and j >= 2"]
    checkered = np.indices((64, 64)).sum(axis=0) % 2 == 0
    assert cover(checkered, (i, j)) is None  # too many pieces to be worth having
    assert [index_text(c) for c in cover(np.ones((2, 3), dtype=np.bool_), (i, j))] == ["True"]


# ---------------------------------------------------------------------- evaluation and normal forms


def test_evaluation_agrees_with_python():
    rng = random.Random(11)
    points = list(itertools.product(range(5), range(1, 4), range(-3, 3)))
    grid = {v: np.array(c, dtype=np.int64) for v, c in zip((i, j, k), zip(*points, strict=True), strict=True)}
    checked = unsafe = 0
    for _ in range(few(150, 400)):
        expr = (draw_int if rng.random() < 0.6 else draw_bool)(rng, [i, j, k], 4)
        try:
            expected = [value(expr, dict(zip((i, j, k), p, strict=True))) for p in points]
        except Undefined:
            with pytest.raises(UnsafeIndex):
                evaluate([expr], grid)
            unsafe += 1
            continue
        (found,) = evaluate([expr], grid)
        checked += 1
        assert np.broadcast_to(found, len(points)).astype(int).tolist() == expected, index_text(expr)
    assert checked > few(90, 250) and unsafe > few(3, 10)


def test_evaluation_refuses_what_has_no_value():
    grid = {i: np.arange(4)}
    with pytest.raises(UnsafeIndex):
        evaluate([const(8) // i], grid)
    assert evaluate([IfThenElse(i > 0, const(8) // i, const(0))], grid)[0].tolist() == [0, 8, 4, 2]
    assert evaluate([Binary("and", i > 0, (const(8) // i).equal(4))], grid)[0].tolist() == [False, False, True, False]
    assert evaluate([LetExpr(j, i + 1, j * j)], grid)[0].tolist() == [1, 4, 9, 16]
    with pytest.raises(NotEvaluable, match="value of j"):
        evaluate([i + j], grid)
    with pytest.raises(NotEvaluable, match="Call"):
        evaluate([Call(i.dtype, "abs", (i,))], grid)


def test_polynomials():
    p = as_poly((i + n) * (j - 2) + 3)
    assert index_text(render(p, i.dtype)) == "i * j + j * n - 2 * i - 2 * n + 3"
    assert as_poly(i * j - j * i).is_zero
    quotient, rest = as_poly(i * (n + 4) + j).divide(as_poly(n + 4))
    assert quotient.same(as_poly(i)) and rest.same(as_poly(j))
    assert as_poly(6 * i + 4).divide(Poly.of(3))[0].same(as_poly(2 * i))
    assert as_poly(i * i).coefficient(i) is None
    assert index_text(render(as_poly(const(14) - i), i.dtype)) == "14 - i"
    assert index_text(render(as_poly(0 - i), i.dtype)) == "-1 * i"


def test_bounds():
    m = Var.fresh("m")
    known = Bounds({i: (const(0), m), j: (const(0), n), k: (const(-2), const(5))})
    assert known.interval(as_poly(2 * k - 1)) == (-5, 3)
    assert known.interval(as_poly(k % 4)) == (0, 3)
    assert known.interval(as_poly(Binary("min", k, j))) == (-2, 2)
    assert known.interval(as_poly(i)) == (0, None)
    assert known.nonneg(as_poly(n - 1 - j))
    assert known.nonneg(as_poly(m * n - 1 - i * n - j))
    assert not known.nonneg(as_poly(m * n - 2 - i * n - j))
    assert known.nonneg(as_poly((n + 3) // 4 * 4 - n))
    assert not known.nonneg(as_poly(n // 4 * 4 - n))
    assert known.nonneg(as_poly(n - n // 4 * 4))
    assert not known.nonneg(as_poly(i - j))
    wide = Bounds({i: (const(0), const(100_000)), j: (const(0), n)})
    assert wide.fits((i * 20_000 - i * 10_000) // 7 + j * 100_000)
    assert not wide.fits((i * 40_000) // 40_000)
    assert index_text(render(known.upper(as_poly(i * n + j)), i.dtype)) == "n * m - 1"
