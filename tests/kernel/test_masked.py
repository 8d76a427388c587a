"""What proofs know of masked vector accesses."""

from __future__ import annotations

import pytest

from tests.kernel.programs import accepted, buffer, compact, gives, program, refused
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import FALSE, Binary, Broadcast, Expr, Load, Ramp, Undef, Var
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten

EIGHT = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
FIVE = "A.vstore([T.Ramp(0, 1, 8)], T.Broadcast(3, 8), predicate=T.Ramp(0, 1, 8) < T.Broadcast(5, 8))\n"


def test_contents_after_a_masked_store() -> None:
    text = FIVE + "for i in range({0}):\n    B[i] = A[i]"
    inside = program(text.format(5), EIGHT)
    gives(inside, rewritten((1, 0), (0,), const(3)), FIVE + "for i in range(5):\n    B[i] = 3")
    refused(program(text.format(6), EIGHT), rewritten((1, 0), (0,), const(3)), "equal")


def test_what_a_mask_spares_is_no_conflict() -> None:
    text = FIVE + "for i in range({0}, 8):\n    A[i] = i"
    gives(program(text.format(5), EIGHT), moves.swap((), 0), "for i in range(5, 8):\n    A[i] = i\n" + FIVE.rstrip())
    refused(program(text.format(4), EIGHT), moves.swap((), 0), "A")


def test_a_masked_store_does_not_kill_what_it_spares() -> None:
    text = "A[{0}] = 1\n" + FIVE
    accepted(program(text.format(4), EIGHT), Erase((0,), overwritten_by=1))
    refused(program(text.format(5), EIGHT), Erase((0,), overwritten_by=1), "certainly overwritten")


def test_the_mask_of_a_load_may_go_where_all_lanes_are_in_bounds() -> None:
    text = "B[0:8] = A.vload([T.Ramp({0}, 1, 8)], predicate=T.Ramp({0}, 1, 8) < T.Broadcast(8, 8))"
    for start, fine in ((0, True), (1, False)):
        f = program(text.format(start), EIGHT)
        bare = Load(buffer(f, "A"), (Ramp(const(start), const(1), 8),))
        if fine:
            gives(f, rewritten((), (0,), bare), "B[0:8] = A[T.Ramp(0, 1, 8)]")
        else:
            refused(f, rewritten((), (0,), bare), "in bounds")


def test_a_masked_lane_is_undef_and_a_mask_may_not_grow_smaller() -> None:
    text = "B[0:8] = A.vload([T.Ramp(0, 1, 8)], predicate=T.Ramp(0, 1, 8) < T.Broadcast(6, 8))"
    f = program(text, EIGHT)
    ramp = Ramp(const(0), const(1), 8)
    for limit, fine in ((7, True), (6, True), (5, False)):
        mask = binary("lt", ramp, Broadcast(const(limit), 8))
        new = Load(buffer(f, "A"), (ramp,), mask)
        if fine:
            accepted(f, rewritten((), (0,), new))
        else:
            refused(f, rewritten((), (0,), new), "equal")
    assert isinstance(f.body, Store)


FILLED = 't = T.alloc_buffer((4,), "int32")\nfor i in range(4):\n    t[i] = i\n'
COPIED = "A[0:8] = t.vload([T.Ramp({0}, 1, 8)], predicate=T.Ramp({0}, 1, 8) < T.Broadcast(4, 8))"


def test_a_layout_is_evaluated_in_masked_lanes_too() -> None:
    """Beyond the buffer φ divides by zero, or overflows."""
    x, y = Var.fresh("x"), Var.fresh("y")
    f = program(FILLED + COPIED.format(0), EIGHT)
    divides = x + Binary("mul", Binary("floordiv", const(12), const(4) - x), const(0))
    same = (y,), (y,), (const(4),), binary("lt", y, 0)
    refused(f, Couple((), LayoutMap((x,), (divides,), *same)), "no division by zero")
    refused(f, compact((), (x,), (divides,), (const(4),)), "no division by zero")
    accepted(f, Couple((), LayoutMap((x,), (x + 12 // (x + 5) * 0,), *same)))


@pytest.mark.parametrize(("bound", "fine"), [(1000, True), (2000000000, False)])
def test_a_layout_that_overflows_in_masked_lanes(bound: int, fine: bool) -> None:
    x, y = Var.fresh("x"), Var.fresh("y")
    apart = LayoutMap((x,), (x * 2,), (y,), (y // 2,), (const(8),), binary("ne", y % 2, 0))
    guard = f"if n >= 0:\n    if n < {bound}:\n        "
    local = program(FILLED + guard + COPIED.format("n"), EIGHT + ", n: T.int32")
    text = guard + COPIED.format("n").replace("t.vload", "B.vload")
    param = program(text, 'A: T.Buffer((8,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32')
    rules = (
        (local, Couple((), apart)),
        (local, compact((), (x,), (x * 2,), (const(8),), lambda y: (y // 2,))),
        (param, Relayout(buffer(param, "B"), apart, const(0))),
    )
    for func, rule in rules:
        if fine:
            accepted(func, rule)
        else:
            refused(func, rule, "no overflow")


@pytest.mark.parametrize("row", [const(0), Undef(INT32)])
def test_a_layout_that_is_undef_in_masked_lanes(row: Expr) -> None:
    """No element is touched, so none needs a place; but the index of its row is evaluated."""
    x, y, z, w = (Var.fresh(name) for name in "xyzw")
    f = program('t = T.alloc_buffer((2, 8), "int32")\nt.vstore([0, T.Ramp(0, 1, 4)], A[0:4], predicate=M)\nB[0] = 1'
                .replace("M", "T.Broadcast(T.bool(False), 4)"), EIGHT)  # fmt: skip
    rows = LayoutMap((x, y), (row, y), (z, w), (const(0), w), (const(2), const(8)), FALSE)
    if row is const(0):
        accepted(f, Couple((), rows, "accessed"))
    else:
        refused(f, Couple((), rows, "accessed"), "an index that is undef (Refuted)")
