"""Masked lanes of a copy: their elements need not exist, but the map is evaluated in them."""

from __future__ import annotations

import pytest

from tests.kernel.programs import accepted, buffer, program, refused
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import FALSE, Select, Undef, Var
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.stage import Stage

EIGHT = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
MASKED = "B[0:8] = A.vload([T.Ramp({0}, 1, 8)], predicate=T.Ramp({0}, 1, 8) < T.Broadcast(8, 8))"


@pytest.mark.parametrize(("start", "fine"), [(0, True), (2, True), (3, False)])
def test_the_map_is_evaluated_in_masked_lanes(start: int, fine: bool) -> None:
    """``x + 100 // (10 - x) // 1000`` is x wherever an element lives, and divides by zero at 10."""
    f = program(MASKED.format(start), EIGHT)
    x, y = Var.fresh("x"), Var.fresh("y")
    layout = LayoutMap((x,), (x + const(100) // (10 - x) // 1000,), (y,), (y,), (const(8),), FALSE)
    rule = Stage((), buffer(f, "A"), layout, "c", "local", copy_out=False)
    accepted(f, rule) if fine else refused(f, rule, "no division by zero (Refuted)")


@pytest.mark.parametrize(("rows", "fine"), [(8, True), (9, False)])
def test_an_index_of_a_row_that_is_masked_out_is_defined(rows: int, fine: bool) -> None:
    """The map is undefined from row 8 on, where all lanes are masked out."""
    params = EIGHT.replace("(8,)", "(8, 4)")
    text = f"for i in range({rows}):\n    B[0, 0:4] = A.vload([i, T.Ramp(0, 1, 4)], predicate=T.Broadcast(i < 8, 4))"
    f = program(text, params)
    x, y, v, w = (Var.fresh(n) for n in "xyvw")
    row = Select(binary("lt", x, const(8)), x, Undef(INT32))
    layout = LayoutMap((x, y), (row, y), (v, w), (v, w), (const(8), const(4)), FALSE)
    rule = Stage((), buffer(f, "A"), layout, "c", "local", copy_out=False)
    accepted(f, rule) if fine else refused(f, rule, "(Refuted)")


def test_a_row_that_there_may_not_be_is_undefined_behaviour_before_and_after() -> None:
    text = "B[0, 0:4] = A.vload([n, T.Ramp(0, 1, 4)], predicate=T.Broadcast(n < 8, 4))"
    f = program(text, EIGHT.replace("(8,)", "(8, 4)") + ", n: T.int32")
    x, y, v, w = (Var.fresh(n) for n in "xyvw")
    layout = LayoutMap((x, y), (x, y), (v, w), (v, w), (const(8), const(4)), FALSE)
    accepted(f, Stage((), buffer(f, "A"), layout, "c", "local", copy_out=False))
