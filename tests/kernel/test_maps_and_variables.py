"""A map's variables are told apart, and it binds none itself: else what is said of padding is said of other places.
They are of the types of what stands for them, on which operators depend; and it makes no call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import accepted, buffer, program, refused, steps, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT32, INT32, INT64, DType
from verified_tir.ir.expr import FALSE, Call, Cast, Expr, IfThenElse, LetExpr, Load, Ramp, StringImm, Undef, Var
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.padding import PadValue
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.rewrite import Edit, Rewrite
from verified_tir.kernel.rules.stage import Stage

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


WIDE = 'A: T.Buffer((300,), "int32"), B: T.Buffer((300,), "int32")'
BYTE = DType("uint", 8)


@pytest.mark.parametrize("kind", [BYTE, INT64])
def test_a_maps_variable_has_the_type_of_the_index(kind: DType) -> None:
    """A cast to a variable's own type changes none of its values, but makes 44 of the index 300."""
    func = program("for i in range(300):\n    B[i] = B[i] + A[i]", WIDE)
    local = program("t = T.alloc_buffer((300,), 'int32')\nfor i in range(300):\n    t[i] = A[i]\nB[0] = t[1]", WIDE)
    a, i, partial = buffer(func, "A"), variable(func, "i"), Buffer.declare("P", (300,), "int32")
    for wanted in (INT32, kind):
        v = Var.fresh("v", wanted)
        layout = LayoutMap((v,), (Cast(INT32, Cast(wanted, v)),), (y,), (y,), (const(300),), FALSE)
        for start, rule in (
            (func, Reassociate((), partial, (i,), (v,), (Cast(wanted, v),))),
            (func, Stage((), a, layout, "c")),
            (func, Relayout(a, layout, None)),
            (local, Couple((), layout)),
        ):
            if wanted is kind:
                refused(start, rule, "has another type than the extent")
            else:
                accepted(start, rule)
    narrow = LayoutMap((x,), (Cast(kind, x),), (y,), (y,), (const(300),), FALSE)
    refused(func, Stage((), a, narrow, "c"), "has another type than the extent of c")


def test_an_index_has_the_type_of_the_maps_variable() -> None:
    func = program("for i in range(4):\n    B[i] = A[i]\nB[0] = A[T.int64(1)]", PARAMS)
    a, layout = buffer(func, "A"), LayoutMap((x,), (Cast(INT32, x),), (y,), (y,), (const(4),), FALSE)
    accepted(func, Stage((0,), a, layout, "c"))
    refused(func, Stage((1,), a, layout, "c"), "an index has another type than the map's variable")
    accepted(func, Stage((1,), a, replace(layout, outputs=(x,)), "c"))  # nothing is computed of it
    func = program(
        "for i in range(4):\n    B[i] = M[0, i]\nB[0] = M[0, T.int64(1)]",
        PARAMS.replace("A", "M").replace("(4,)", "(4, 4)", 1),
    )
    m, z = buffer(func, "M"), Var.fresh("z")
    layout = LayoutMap((x, v := Var.fresh("v")), (x, Cast(INT32, v)), (y, z), (y, z), (const(4), const(4)), FALSE)
    accepted(func, Stage((0,), m, layout, "c"))
    refused(func, Stage((1,), m, layout, "c"), "an index has another type than the map's variable")


def test_a_map_makes_no_call() -> None:
    """That it would be made is not seen where nothing is read through the map."""
    func, call = program("B[0] = 1", PARAMS), Call(INT32, "call_extern", (StringImm("f"),))

    def stage(inverse: Expr, padding: Expr) -> Stage:
        return Stage((), buffer(func, "A"), LayoutMap((x,), (x,), (y,), (inverse,), (const(1),), padding), "c")

    accepted(func, stage(y, FALSE))
    for wrong in (stage(binary("mul", call, ZERO), FALSE), stage(y, binary("eq", call, ZERO))):
        refused(func, wrong, "the map makes an opaque call")
