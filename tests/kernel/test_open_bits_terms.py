"""What is known of sums whose order is open, term by term."""

from __future__ import annotations

import struct

import pytest

from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Var
from verified_tir.kernel.open_bits import adds_nothing, only_compares, stored, usable
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded

SORT = "F32"


def number(value: float) -> Term:
    return f.floating(SORT, int.from_bytes(struct.pack(">f", value), "big"))


OLD, X, Y, C = f.var("old", SORT), f.var("x", SORT), f.var("y", SORT), f.var("c", f.BOOL)
ZERO, NEGATIVE, ONE = number(0.0), number(-0.0), number(1.0)


def plus(a: Term, b: Term) -> Term:
    return f.fp("fp.add", SORT, a, b)


def times(a: Term, b: Term) -> Term:
    return f.fp("fp.mul", SORT, a, b)


NEUTRAL = f.or_(f.eq(X, NEGATIVE), f.and_(f.eq(X, ZERO), f.ne(OLD, NEGATIVE)))


@pytest.mark.parametrize(
    ("value", "when"),
    [
        (OLD, f.TRUE),
        (X, f.FALSE),
        (plus(OLD, X), NEUTRAL),
        (plus(X, OLD), NEUTRAL),
        (times(OLD, X), f.eq(X, ONE)),
        (times(X, OLD), f.eq(X, ONE)),
        (f.ite(C, plus(OLD, X), OLD), f.ite(C, NEUTRAL, f.TRUE)),
        (f.ite(C, times(X, OLD), Y), f.ite(C, f.eq(X, ONE), f.FALSE)),
        # nothing of these is one more term of what the element holds
        (plus(X, Y), f.FALSE),
        (plus(OLD, OLD), f.FALSE),
        (plus(OLD, times(OLD, X)), f.FALSE),
        (times(OLD, plus(X, OLD)), f.FALSE),
        (f.fp("fp.sub", SORT, OLD, X), f.FALSE),
        (f.fp("fp.div", SORT, OLD, X), f.FALSE),
    ],
)
def test_what_adds_nothing(value: Term, when: Term) -> None:
    assert adds_nothing(value, OLD) is when


@pytest.mark.parametrize(("sort", "one"), [("F16", 0x3C00), ("F32", 0x3F800000), ("F64", 0x3FF0000000000000)])
def test_one_is_one_in_each_type(sort: str, one: int) -> None:
    old, x = f.var("old", sort), f.var("x", sort)
    assert adds_nothing(f.fp("fp.mul", sort, old, x), old) is f.eq(x, f.floating(sort, one))


B, A = (Var.fresh(name, PointerType(DType.parse("float32"), "global")) for name in "BA")
BLOCKS = {"B@1": B, "A@1": A, "old": B}
ELEMENT, OTHER = f.app("B@1", (f.integer(0),), SORT), f.app("A@1", (f.integer(0),), SORT)


@pytest.mark.parametrize(
    ("value", "may"),
    [
        (ELEMENT, f.eq(ELEMENT, NEGATIVE)),
        (plus(ELEMENT, OTHER), f.and_(f.eq(ELEMENT, NEGATIVE), f.eq(OTHER, NEGATIVE))),
        (plus(ELEMENT, NEGATIVE), f.eq(ELEMENT, NEGATIVE)),
        (plus(ELEMENT, ZERO), f.FALSE),
        (f.ite(C, plus(ELEMENT, ZERO), OTHER), f.ite(C, f.FALSE, f.eq(OTHER, NEGATIVE))),
        (f.ite(C, OTHER, plus(ELEMENT, ZERO)), f.ite(C, f.eq(OTHER, NEGATIVE), f.FALSE)),
        (plus(times(ELEMENT, OTHER), X), f.eq(X, NEGATIVE)),
        (times(ELEMENT, OTHER), f.TRUE),
    ],
)
def test_a_sum_is_negative_zero_only_if_all_of_its_terms_are(value: Term, may: Term) -> None:
    """Where the element begins anew if A is not written, and nothing is known of a product."""
    defined = f.var("d", f.BOOL)
    held, known = stored(Encoded(value, defined, True), BLOCKS, {B})
    assert held.value is not value and held.defined is defined and held.data
    assert known == (f.implies(f.eq(held.value, NEGATIVE), may),)
    assert f.eq(held.value, NEGATIVE) is not f.FALSE


def test_a_value_of_what_is_not_written_is_stored_as_it_is() -> None:
    value = Encoded(plus(OTHER, X), f.TRUE, True)
    assert stored(value, BLOCKS, {B}) == (value, ())
    held, _ = stored(value, BLOCKS, {A, B})
    assert held.value is not value.value


def test_nothing_is_known_of_an_integer() -> None:
    value = Encoded(f.app("B@1", (f.integer(0),), f.INT), f.TRUE, True)
    held, known = stored(value, BLOCKS, {B})
    assert held.value.sort == f.INT and held.value is not value.value and known == ()


@pytest.mark.parametrize(
    ("fact", "mentions", "computes"),
    [
        (f.eq(ELEMENT, X), True, False),
        (f.not_(f.eq(ELEMENT, OTHER)), True, False),
        (f.eq(OTHER, X), False, False),
        (f.eq(plus(ELEMENT, X), Y), True, True),
        (f.eq(OLD, X), True, False),
        (f.fp("fp.isNaN", f.BOOL, ELEMENT), True, True),
        (f.fp("fp.isNaN", f.BOOL, OLD), True, True),
        (f.and_(C, f.eq(f.app("A@1", (f.app("B@1", (f.integer(0),), f.INT),), SORT), X)), True, True),
        (f.fp("fp.isNaN", f.BOOL, plus(OTHER, X)), False, False),
    ],
)
def test_what_a_fact_does_with_an_element(fact: Term, mentions: bool, computes: bool) -> None:
    assert usable(fact, BLOCKS, {B}) is not mentions
    assert only_compares(fact, BLOCKS, {B}) is not computes
    assert usable(fact, BLOCKS, set()) and only_compares(fact, BLOCKS, set())
