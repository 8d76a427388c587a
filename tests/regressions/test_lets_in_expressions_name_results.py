"""What a let *in an expression* names was no result: a product was put into an order in which an index is out of range.

Finding: kernel | schedule-against-interpreter | Schedule.rfactor
"""

from __future__ import annotations

import pytest

from verified_tir import Schedule
from verified_tir.derivation.assumptions import reassociated
from verified_tir.schedule.errors import ScheduleError

PRODUCT = """
@T.prim_func
def f(B: T.Buffer((1,), "float32"), D: T.Buffer((1,), "float32"), E: T.Buffer((4,), "float32")):
    B[0] = T.float32(0)
    for k in range(2):
        B[0] = B[0] * T.float32(1e30)
    D[0] = {}
"""
"""In this order the product is 0.0; in the other one it is 0.0 times infinity."""

INDEX = "E[T.if_then_else(x == T.float32(0), 0, {0})]"
CHOSEN = "T.if_then_else(x == T.float32(0), E[0], E[{0}])"


@pytest.mark.parametrize("decided", [INDEX, CHOSEN])
def test_what_a_let_in_an_expression_names_decides(decided: str) -> None:
    inner, outer = decided.format(4), "T.Let({0}, where={{x: B[0]}})"
    nested = "T.Let(T.Let({0}, where={{x: y * T.float32(2)}}), where={{y: B[0]}})"
    for value in (inner.replace("x ==", "B[0] =="), outer.format(inner), nested.format(inner)):
        s = Schedule(PRODUCT.format(value))
        with pytest.raises(ScheduleError, match="lies within the bounds"):
            s.rfactor("k", reassociate="B")


@pytest.mark.parametrize("decided", [INDEX, CHOSEN])
def test_where_both_ways_are_in_bounds_it_may_decide(decided: str) -> None:
    s = Schedule(PRODUCT.format("T.Let(" + decided.format(3) + ", where={x: B[0]})"))
    s.rfactor("k", reassociate="B")
    assert reassociated(s.theorem) == ["B"]
