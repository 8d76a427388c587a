"""The text of queries: canonical, and the bits of floats in it."""

from __future__ import annotations

import itertools

from tests.logic.terms import rounded
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.logic.model import our_names
from verified_tir.logic.settings import settings
from verified_tir.logic.smtlib import query
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Proved, Refuted

_fresh = itertools.count()


def names(*sorts: str) -> list[Term]:
    """Variables that were never used before."""
    return [f.var(f"name{next(_fresh)}", sort) for sort in sorts]


Question = tuple[tuple[Term, ...], Term]


def sample_question(g: str) -> Question:
    """About new variables and the function ``g``."""
    n, i, p, x, y = names(f.INT, f.INT, f.BOOL, "F32", "F32")
    four = f.integer(4)
    element = f.app(g, (f.floordiv(i, four), f.floormod(i, four)), "F32")
    given = (
        f.between(f.integer(0), i, n),
        f.implies(p, f.eq(x, element)),
        f.or_(p, f.fp("fp.eq", f.BOOL, y, f.negative_zero("F32"))),
    )
    total = f.fp("fp.add", "F32", x, y)
    return given, f.and_(f.eq(total, f.fp("fp.add", "F32", element, y)), f.le(i, f.add(n, f.floordiv(i, four))))


# ------------------------------------------------------------------------------------------------------- canonical


def test_names_do_not_matter() -> None:
    given, goal = sample_question("g")
    again, other = sample_question("quite another function")
    assert goal is not other
    assert query(given, goal).text == query(again, other).text
    assert query(given, goal).names != query(again, other).names


def test_what_is_a_different_question_has_a_different_text() -> None:
    given, goal = sample_question("g")
    n, i, x, y = [t for t in f.subterms(*given, goal) if t.op == "var" and t.sort != f.BOOL]
    texts = [query(given, goal).text]
    for a, b in [(n, i), (x, y)]:
        swapped = tuple(f.replace(g, {a: b}) for g in given)
        texts.append(query(swapped, f.replace(goal, {a: b})).text)
    texts.append(query(given[:-1], goal).text)
    texts.append(query(given, f.not_(goal)).text)
    texts.append(query(given, f.replace(goal, {x: f.floating("F32", 0)})).text)
    texts.append(query(given, f.replace(goal, {x: f.negative_zero("F32")})).text)
    assert len(set(texts)) == len(texts)


def test_sorts_are_part_of_the_text() -> None:
    texts = {query((), f.eq(*names(sort, sort))).text for sort in (f.INT, f.BOOL, *f.FLOAT_SORTS)}
    assert len(texts) == 6


def test_one_name_at_several_types_is_several_symbols() -> None:
    """Programs may well call a variable like a function, and a function may be used at several types."""
    x, y = f.var("s", f.INT), f.var("s", f.BOOL)
    calls = [f.app("s", (x,), f.INT), f.app("s", (x, x), f.INT), f.app("s", (y,), f.INT), f.app("s", (x,), f.BOOL)]
    script = query((), f.and_(f.eq(calls[0], x), f.eq(calls[1], calls[2]), calls[3], y))
    assert script.text.count("declare-fun") == 6
    assert [name for name, _ in our_names(script).values()] == ["s"] * 6
    solver = Solver()
    assert isinstance(solver.prove((f.eq(x, calls[0]),), f.eq(x, f.app("s", (calls[0],), f.INT))), Proved)
    assert isinstance(solver.prove((), f.eq(calls[0], calls[2])), Refuted)


def test_shared_terms_are_bound_once() -> None:
    a, b = names(f.INT, f.INT)
    product = f.mul(a, b)
    script = query((f.le(product, f.mul(product, product)),), f.lt(f.add(product, a), product))
    assert (
        script.text
        == """\
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(assert (let ((l0 (* x0 x1))) (<= l0 (* l0 l0))))
(assert (let ((l0 (* x0 x1))) (<= l0 (+ l0 x0))))"""
    )


def test_every_kind_of_term_as_text() -> None:
    """The text is a certificate: it may not change unnoticed."""
    x, i = f.var("x", "F16"), f.var("i", f.INT)
    wide = f.fp("fp.from_fp", "BF16", x)
    goal = f.and_(
        f.eq(f.fp("fp.fma", "F16", x, x, f.negative_zero("F16")), rounded("RTZ", x)),
        f.fp("fp.leq", f.BOOL, wide, f.fp("fp.from_int", "BF16", i)),
        f.fp("fp.lt", f.BOOL, f.floating("F16", 0x7E00), f.fp("fp.from_bits", "F16", i)),
        f.lt(f.fp("fp.to_bits", f.INT, f.fp("fp.abs", "F16", x)), f.fp("fp.to_int", f.INT, x)),
        f.eq(f.bitwise("bvxor", 8, i, f.integer(-1)), f.euclid_mod(i, f.integer(-3))),
    )
    script = query((f.var("p", f.BOOL),), goal)
    assert (
        script.text
        == """\
(declare-fun x0 () Bool)
(declare-fun x1 () (_ FloatingPoint 5 11))
(declare-fun x2 () Int)
(declare-fun b3 () (_ BitVec 16))
(assert (= ((_ to_fp 5 11) b3) (fp.abs x1)))
(assert x0)
(assert (not (and (= (fp.fma RNE x1 x1 (fp #b1 #b00000 #b0000000000)) (fp.roundToIntegral RTZ x1)) \
(fp.leq ((_ to_fp 8 8) RNE x1) ((_ to_fp 8 8) RNE (to_real x2))) \
(fp.lt (_ NaN 5 11) ((_ to_fp 5 11) ((_ int_to_bv 16) x2))) \
(< (ubv_to_int b3) (to_int (fp.to_real (fp.roundToIntegral RTZ x1)))) \
(= (ubv_to_int (bvxor ((_ int_to_bv 8) x2) ((_ int_to_bv 8) (- 1)))) (mod x2 (- 3))))))"""
    )
    assert our_names(script) == {"x0": ("p", f.BOOL), "x1": (x.payload, x.sort), "x2": ("i", f.INT)}
    assert [setting for setting, _ in settings(script, 1, False)] == ["Solver"]
    assert [k for k, _ in settings(query((), f.fp("fp.isNaN", f.BOOL, rounded("RNA", x))), 1, False)] == ["QF_FP"]


# ------------------------------------------------------------------------------------------------- the bits of floats


def test_the_bits_of_a_float_are_its_bits() -> None:
    solver = Solver()
    (x,) = names("F32")
    bits = f.fp("fp.to_bits", f.INT, x)
    back = f.fp("fp.from_bits", "F32", bits)
    assert isinstance(solver.prove((), f.eq(back, x)), Proved)  # of a NaN too: there is one NaN
    assert isinstance(solver.prove((f.eq(x, f.negative_zero("F32")),), f.eq(bits, f.integer(1 << 31))), Proved)
    assert isinstance(
        solver.prove((f.fp("fp.eq", f.BOOL, x, f.floating("F32", 0)),), f.eq(bits, f.integer(0))), Refuted
    )
    assert isinstance(solver.prove((), f.between(f.integer(0), bits, f.integer(1 << 32))), Proved)
    infinity = f.floating("F32", 0x7F800000)
    assert isinstance(solver.prove((f.eq(x, infinity),), f.eq(bits, f.integer(0x7F800000))), Proved)


def test_a_nan_has_no_particular_bits() -> None:
    solver = Solver()
    x, y = names("F16", "F16")
    given = (f.fp("fp.isNaN", f.BOOL, x), f.fp("fp.isNaN", f.BOOL, y))
    bits = [f.fp("fp.to_bits", f.INT, t) for t in (x, y)]
    assert isinstance(solver.prove(given, f.eq(bits[0], f.integer(0x7E00))), Refuted)
    assert not isinstance(solver.prove(given, f.FALSE), Proved)
    known = f.not_(f.fp("fp.isNaN", f.BOOL, x))
    assert isinstance(solver.prove((known, f.eq(x, y)), f.eq(*bits)), Proved)
