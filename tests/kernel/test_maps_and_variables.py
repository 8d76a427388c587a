"""A map's variables are told apart, and it binds none itself: else what is said of padding is said of other places."""

from __future__ import annotations

import pytest

from tests.kernel.programs import buffer, program, refused, steps
from verified_tir.ir.dtype import BOOL, FLOAT32, INT32, DType
from verified_tir.ir.expr import FALSE, IfThenElse, LetExpr, Load, Ramp, Undef, Var
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.padding import PadValue
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.rewrite import Edit, Rewrite

PARAMS = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")'
x, y, z, t = (Var.fresh(name) for name in "xyzt")
ZERO = const(0)


def test_no_variable_stands_for_two_indices() -> None:
    """Of padding known by one variable for both, only the diagonal would be looked at."""
    func = program("for i in range(4):\n    A[i] = i", PARAMS)
    a = buffer(func, "A")
    shape, pad = (const(1), const(6)), binary("ge", y, const(4))
    refused(
        func, Relayout(a, LayoutMap((x,), (ZERO, x), (y, y), (y,), shape, pad), Undef(a.dtype)), "have one variable"
    )
    free = steps(func, Relayout(a, LayoutMap((x,), (ZERO, x), (z, y), (y,), shape, pad), Undef(a.dtype)))
    a = buffer(free.after, "A")
    written = steps(free, Insert((), Store(a, const(7), (ZERO, const(5)))))
    refused(written, PadValue(a, 0, ZERO), "holds its value at the end")


def test_a_map_binds_no_variable() -> None:
    """It could be one of the indices of the next map."""
    func = program("for i in range(4):\n    B[i] = A[i]", PARAMS)
    a, shape = buffer(func, "A"), (const(6),)
    bound = LetExpr(t, const(4), binary("ge", y, t))
    refused(func, Relayout(a, LayoutMap((x,), (x,), (y,), (y,), shape, bound), ZERO), "the map binds a variable")
    pad = binary("ge", y, const(4))
    value = LetExpr(t, ZERO, Load(a, (binary("min", y, t),)))
    refused(func, Relayout(a, LayoutMap((x,), (x,), (y,), (y,), shape, pad), value), "the padding's value mentions t")
    padded = steps(func, Relayout(a, LayoutMap((x,), (x,), (y,), (y,), shape, pad), ZERO))
    again = LayoutMap((x,), (x,), (t,), (t,), shape, FALSE)
    moved = steps(padded, Relayout(buffer(padded.after, "A"), again, None))
    refused(moved, Rewrite((0,), (Edit((), (0,), ZERO),)), "0 equals A[i]")


@pytest.mark.parametrize("kind", [BOOL, FLOAT32, INT32.with_lanes(4)])
def test_a_map_is_one_of_integers(kind: DType) -> None:
    func = program("for i in range(4):\n    B[i] = A[i]", PARAMS)
    v, shape, lanes = Var.fresh("v", kind), (const(4),), Ramp(y, const(1), 4)
    index = IfThenElse(v, ZERO, const(1)) if kind is BOOL else v
    for layout in (
        LayoutMap((v,), (index,), (y,), (y,), shape, FALSE),
        LayoutMap((x,), (x,), (v,), (v,), shape, FALSE),
        LayoutMap((x,), (x,), (y,), (lanes,), shape, FALSE),
    ):
        refused(func, Relayout(buffer(func, "A"), layout, None), "index")
    for padding in (ZERO, binary("lt", lanes, lanes)):
        layout = LayoutMap((x,), (x,), (y,), (y,), shape, padding)
        refused(func, Relayout(buffer(func, "A"), layout, None), "the map's padding has type")
