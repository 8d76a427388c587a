"""Masked lanes of a copy: their elements need not exist, but the map is evaluated in them."""

from __future__ import annotations

import pytest

from tests.kernel.programs import accepted, buffer, program, refused
from verified_tir.ir.expr import FALSE, Var
from verified_tir.ir.sugar import const
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
