"""Values with lanes: construction, lanewise operators, vector accesses and vector elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.semantics.programs import arrays_of, function, load, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT32, INT32
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Expr,
    IfThenElse,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    Undef,
    Var,
)
from verified_tir.ir.stmt import DeclBuffer, Evaluate, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import UndefinedBehaviour, run

N = Buffer.declare("N", (8,), "int32")
UP = Ramp(const(0), const(1), 4)
SOME = Select(Binary("lt", UP, Broadcast(const(2), 4)), UP, Undef(INT32.with_lanes(4)))  # 0, 1, undef, undef


def lanes(expr: Expr, n: list[int] | None = None) -> list[Any]:
    """The lanes of an expression over N, with ``None`` for undefined ones."""
    out = Buffer.declare("out", (expr.dtype.lanes,), expr.dtype.scalar)
    body = Store(out, expr, (Ramp(const(0), const(1), expr.dtype.lanes),))
    from verified_tir.ir.numpy_types import numpy_dtype

    args = {"N": np.array(n or range(8), np.int32), "out": np.zeros(expr.dtype.lanes, numpy_dtype(expr.dtype.scalar))}
    return arrays_of(run(function([N, out], body), args), "out")


def test_construction() -> None:
    assert lanes(Ramp(const(5), const(-2), 4)) == [5, 3, 1, -1]
    assert lanes(Ramp(load(N, 1), load(N, 2), 3)) == [1, 3, 5]
    assert lanes(Broadcast(const(7), 3)) == [7, 7, 7]
    assert lanes(Shuffle((UP, Broadcast(const(9), 2)), (5, 0, 3))) == [9, 0, 3]
    assert lanes(Shuffle((const(3), const(4)), (1, 0))) == [4, 3]
    assert lanes(Shuffle((UP,), (2,))) == [2]  # one lane is a scalar
    assert lanes(Ramp(const(3), const(1), 1)) == lanes(Broadcast(const(3), 1)) == [3]
    assert lanes(Undef(INT32.with_lanes(2))) == [None, None]
    x = Var.fresh("x", INT32.with_lanes(4))
    assert lanes(LetExpr(x, UP, x + x)) == [0, 2, 4, 6]


def test_data_ramps_wrap() -> None:
    assert lanes(Ramp(load(N, 0), const(1), 3), [2**31 - 2] + [0] * 7) == [2**31 - 2, 2**31 - 1, -(2**31)]
    assert lanes(Ramp(Undef(INT32), const(1), 2)) == [None, None]


def test_lanewise_operators_keep_undef_to_its_lane() -> None:
    assert lanes(UP * 3 + 1) == [1, 4, 7, 10]
    assert lanes(SOME + UP) == [0, 2, None, None]
    assert lanes(Cast(FLOAT32.with_lanes(4), SOME)) == [0.0, 1.0, None, None]
    assert lanes(Binary("lt", SOME, Broadcast(const(1), 4))) == [True, False, None, None]
    assert lanes(Not(Binary("lt", SOME, Broadcast(const(1), 4)))) == [False, True, None, None]
    assert lanes(Call(INT32.with_lanes(4), "abs", (SOME - 5,))) == [5, 4, None, None]


def test_select_and_if_then_else() -> None:
    even = Binary("eq", UP % 2, Broadcast(const(0), 4))
    assert lanes(Select(even, UP, SOME)) == [0, 1, 2, None]
    assert lanes(Select(even, SOME, UP)) == [0, 1, None, 3]
    assert lanes(Select(Binary("lt", load(N, 0), const(1)), UP, SOME)) == [0, 1, 2, 3]
    assert lanes(Select(Undef(BOOL), UP, SOME)) == [None] * 4
    some_bool = Binary("lt", SOME, Broadcast(const(1), 4))
    assert lanes(Select(some_bool, UP, UP + 10)) == [0, 11, None, None]
    assert lanes(IfThenElse(Binary("lt", load(N, 0), const(1)), UP, Load(N, (UP + 100,)))) == [0, 1, 2, 3]


def test_and_or_with_lanes_evaluate_both_operands_and_each_lane_decides() -> None:
    low, some = Binary("lt", UP, Broadcast(const(3), 4)), Binary("lt", SOME, Broadcast(const(1), 4))
    assert lanes(Binary("and", low, some)) == [True, False, None, False]
    assert lanes(Binary("or", low, some)) == [True, True, True, None]
    outside = Binary("eq", Load(N, (UP + 100,)), UP)
    never = Broadcast(Binary("lt", load(N, 0), const(0)), 4)
    for expr, kind in ((Binary("and", never, outside), "out-of-bounds"), (Binary("or", some, low), "undef-branch")):
        with pytest.raises(UndefinedBehaviour) as caught:
            lanes(expr)
        assert caught.value.kind == kind


def test_division_is_undefined_in_any_lane() -> None:
    with pytest.raises(UndefinedBehaviour) as caught:
        lanes(Broadcast(const(6), 4) // UP)
    assert caught.value.kind == "division-by-zero"
    assert lanes(Broadcast(const(6), 4) // (UP + 1)) == [6, 3, 2, 1]


# -------------------------------------------------------------------------------------------------------- accesses


def execute(body: Stmt, a: np.ndarray[Any, Any], buffer: Buffer) -> np.ndarray[Any, Any]:
    return run(function([buffer], body), {buffer.name: a}).arrays[buffer.name]


def test_vector_access_in_the_last_index() -> None:
    m = Buffer.declare("M", (2, 8), "int32")
    given = np.arange(16, dtype=np.int32).reshape(2, 8)
    body = store(m, Load(m, (const(0), Ramp(const(6), const(-2), 4))) * 10, 1, Ramp(const(1), const(1), 4))
    want = given.copy()
    want[1, 1:5] = [60, 40, 20, 0]
    assert np.array_equal(execute(body, given, m), want)


def test_a_store_evaluates_all_it_reads_first() -> None:
    shifted = Load(N, (Ramp(const(0), const(1), 7),))
    body = Store(N, shifted, (Ramp(const(1), const(1), 7),))
    assert execute(body, np.arange(8, dtype=np.int32), N).tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


def test_lanes_are_stored_in_order() -> None:
    body = Store(N, UP + 1, (Broadcast(const(2), 4),))
    assert execute(body, np.zeros(8, np.int32), N).tolist() == [0, 0, 4, 0, 0, 0, 0, 0]


def test_each_lane_is_in_bounds() -> None:
    with pytest.raises(UndefinedBehaviour) as caught:
        execute(Evaluate(Load(N, (Ramp(const(5), const(1), 4),))), np.zeros(8, np.int32), N)
    assert (caught.value.kind, caught.value.indices) == ("out-of-bounds", (8,))


def test_vector_elements_are_one_more_axis_of_the_array() -> None:
    v = Buffer.declare("V", (2, 3), "int32x4")
    given = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    body = store(v, load(v, 0, 1) + load(v, 1, 2), 0, 0)
    want = given.copy()
    want[0, 0] = given[0, 1] + given[1, 2]
    assert np.array_equal(execute(body, given, v), want)


def test_a_vector_index_into_vector_elements_concatenates() -> None:
    v = Buffer.declare("V", (3,), "int32x2")
    body = Store(v, Load(v, (Ramp(const(0), const(1), 2),)), (Ramp(const(1), const(1), 2),))
    assert execute(body, np.arange(6, dtype=np.int32).reshape(3, 2), v).tolist() == [[0, 1], [0, 1], [2, 3]]


def test_vector_elements_over_a_scalar_block() -> None:
    wide = Buffer.declare("W", (2,), "int32x4", data=N.data)
    body = DeclBuffer(wide, seq(store(wide, load(wide, 0) + SOME, 1), store(N, 9, 0)))
    outcome = run(function([N], body), {"N": np.arange(8, dtype=np.int32)})
    assert arrays_of(outcome, "N") == [9, 1, 2, 3, 0, 2, None, None]


def test_masks_of_vector_elements_have_their_lanes() -> None:
    v = Buffer.declare("V", (2,), "int32x2")
    mask = np.array([[True, False], [True, True]])
    outcome = run(function([v], Evaluate(load(v, 0))), {"V": np.ones((2, 2), np.int32)}, defined={"V": mask})
    assert np.array_equal(outcome.defined["V"], mask)
    with pytest.raises(UndefinedBehaviour):  # an element is accessed whole
        run(function([v], Evaluate(load(v, 0))), {"V": np.ones((2, 2), np.int32)}, inaccessible={"V": ~mask})
