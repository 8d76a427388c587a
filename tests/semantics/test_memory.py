"""Blocks and views: other shapes, strides, offsets, dtypes and lanes over the same bytes; what is undefined there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.semantics.oracles import FLOATS, INTEGERS, interesting_floats, interesting_integers, key
from tests.semantics.programs import arrays_of, function, load, loop, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT32, INT32, DType
from verified_tir.ir.expr import Expr, Undef, Var
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.stmt import Allocate, DeclBuffer, If, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import UndefinedBehaviour, run
from verified_tir.semantics.memory import Block, reader, writer
from verified_tir.semantics.values import UNDEF

i, j = Var.fresh("i"), Var.fresh("j")


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, BOOL], ids=str)
def test_what_is_written_is_read(dtype: DType) -> None:
    values: list[Any] = [False, True] if dtype.is_bool else [*interesting_integers(dtype)] if dtype.is_int else []
    values = values or [*interesting_floats(dtype)]
    block = Block("b", 3 * dtype.nbytes)
    for value in values:
        writer(dtype)(block, dtype.nbytes, value)
        assert key(reader(dtype)(block, dtype.nbytes)) == key(value)
        assert reader(dtype)(block, 0) is UNDEF and reader(dtype)(block, 2 * dtype.nbytes) is UNDEF
        bits = block.data[dtype.nbytes : 2 * dtype.nbytes]
        there = np.frombuffer(bytes(bits), numpy_dtype(dtype))[0]  # numpy lays it out alike
        assert key(there.item() if not dtype.is_float else float(there)) == key(value)
    writer(dtype)(block, dtype.nbytes, UNDEF)
    assert reader(dtype)(block, dtype.nbytes) is UNDEF


# -------------------------------------------------------------------------------------------------- shapes of views


def test_views_of_other_shape_strides_and_offset() -> None:
    a = Buffer.declare("A", (12,), "int32")
    out = Buffer.declare("out", (2, 3), "int32")
    square = Buffer.declare("S", (3, 4), "int32", data=a.data)
    transposed = Buffer.declare("T", (2, 3), "int32", data=a.data, strides=(1, 4), elem_offset=2)
    body = DeclBuffer(
        square,
        seq(
            store(square, 100, 2, 1),
            DeclBuffer(transposed, loop(i, 2, loop(j, 3, store(out, load(transposed, i, j), i, j)))),
        ),
    )
    given = np.arange(12, dtype=np.int32)
    outcome = run(function([a, out], body), {"A": given, "out": np.zeros((2, 3), np.int32)})
    assert outcome.arrays["A"].tolist() == [*range(9), 100, 10, 11]
    given[9] = 100
    assert np.array_equal(outcome.arrays["out"], given.reshape(3, 4)[:, 2:4].T)


def test_a_view_keeps_the_extents_of_its_declaration() -> None:
    n = Buffer.declare("N", (1,), "int32")
    a = Buffer.declare("A", (8,), "int32")
    v = Buffer.declare("V", (load(n, 0),), "int32", data=a.data)
    body = DeclBuffer(v, seq(store(n, 0, 0), store(v, 7, 3)))
    outcome = run(function([n, a], body), {"N": np.array([4], np.int32), "A": np.zeros(8, np.int32)})
    assert outcome.arrays["A"][3] == 7
    with pytest.raises(UndefinedBehaviour):
        run(function([n, a], body), {"N": np.array([3], np.int32), "A": np.zeros(8, np.int32)})


# -------------------------------------------------------------------------------------------------- other dtypes


def through(stored: Expr, read: str, lanes: int = 1) -> tuple[list[Any], list[Any]]:
    """Store a value into a block of four bytes, read it at another dtype: the lanes, and the block as int8."""
    block = Buffer.declare("t", (4,), "int8")
    first = Buffer.declare("first", (4 // stored.dtype.nbytes,), stored.dtype, data=block.data)
    count = 4 // DType.parse(read).nbytes
    second = Buffer.declare("second", (count,), read, data=block.data)
    out, raw = Buffer.declare("out", (count,), read), Buffer.declare("raw", (4,), "int8")
    copies = seq(
        Store(first, stored, (const(0),)),
        loop(i, count, store(out, load(second, i), i)),
        loop(j, 4, store(raw, load(block, j), j)),
    )
    body: Stmt = Allocate(block, DeclBuffer(first, DeclBuffer(second, copies)))
    element = DType.parse(read)
    shape = (count,) if element.lanes == 1 else (count, element.lanes)
    args = {"out": np.zeros(shape, numpy_dtype(element.scalar)), "raw": np.zeros(4, np.int8)}
    outcome = run(function([out, raw], body), args)
    return arrays_of(outcome, "out"), arrays_of(outcome, "raw")


def test_bytes_read_at_another_dtype() -> None:
    assert through(const(0x3F800000, "int32"), "float32") == ([1.0], [0, 0, -128, 63])
    assert through(const(1.0, "float32"), "int32") == ([0x3F800000], [0, 0, -128, 63])
    assert through(const(0x3F800000, "int32"), "bfloat16") == ([0.0, 1.0], [0, 0, -128, 63])
    assert through(const(0x01000302, "int32"), "int8x2") == ([2, 3, 0, 1], [2, 3, 0, 1])
    assert through(const(5, "int16"), "int32") == ([None], [5, 0, None, None])  # half of it was never written
    assert through(const(5, "int16"), "int16") == ([5, None], [5, 0, None, None])


def test_a_nan_has_no_bits() -> None:
    nan = const(math.nan, "float32")
    assert through(nan, "int32") == ([None], [None] * 4)
    assert through(nan, "float16") == ([None, None], [None] * 4)
    same, _ = through(nan, "float32")
    assert math.isnan(same[0])
    lanes, _ = through(nan, "float32x1")
    assert math.isnan(lanes[0])
    half = const(math.nan, "float16")
    assert through(half, "bfloat16") == ([None, None], [None] * 4)  # another type of the same width


def test_bits_written_as_an_integer_may_be_read_as_a_nan() -> None:
    numbers, raw = through(const(0x7FC00001, "int32"), "float32")
    assert math.isnan(numbers[0]) and raw == [1, 0, -64, 127]


def test_a_nan_partly_overwritten_is_undefined() -> None:
    a = Buffer.declare("A", (1,), "float64")
    low = Buffer.declare("L", (2,), "int32", data=a.data)
    body = DeclBuffer(low, store(low, 0, 0))
    assert arrays_of(run(function([a], body), {"A": np.array([math.nan])}), "A") == [None]
    assert arrays_of(run(function([a], body), {"A": np.array([1.0])}), "A") == [1.0]


def test_a_bool_is_a_byte_of_zero_or_one() -> None:
    assert through(const(0x00020100, "int32"), "bool") == ([False, True, None, False], [0, 1, 2, 0])
    assert through(const(True, "bool"), "int8")[0] == [1, None, None, None]
    a = Buffer.declare("A", (3,), "bool")
    raw = Buffer.declare("R", (3,), "int8", data=a.data)
    body = DeclBuffer(raw, seq(store(raw, 0, 0), store(raw, 2, 1)))
    outcome = run(function([a], body), {"A": np.ones(3, np.bool_)})
    assert arrays_of(outcome, "A") == [False, None, True]


# ------------------------------------------------------------------------------------------------- definedness


def test_allocations_are_undefined_and_fresh_for_each_execution() -> None:
    """The trap of reversing a loop: what ``t`` held in the last iteration is gone."""
    t, b = Buffer.declare("t", (1,), "int32"), Buffer.declare("B", (3,), "int32")
    body = loop(i, 3, Allocate(t, seq(store(b, load(t, 0), i), store(t, i, 0))))
    outcome = run(function([b], body), {"B": np.zeros(3, np.int32)})
    assert arrays_of(outcome, "B") == [None, None, None]
    assert outcome.arrays["B"].tolist() == [0, 0, 0]


def test_entry_elements_may_be_undefined_and_be_defined_by_the_program() -> None:
    a, b = Buffer.declare("A", (3,)), Buffer.declare("B", (3,))
    body = seq(loop(i, 3, store(b, load(a, i) * 0.0, i)), store(a, 5.0, 2), store(b, Undef(FLOAT32), 0))
    args = {"A": np.ones(3, np.float32), "B": np.ones(3, np.float32)}
    outcome = run(function([a, b], body), args, defined={"A": np.array([True, False, False])})
    assert arrays_of(outcome, "A") == [1.0, None, 5.0]
    assert outcome.arrays["A"].tolist() == [1.0, 0.0, 5.0]  # an undefined element holds zero
    assert arrays_of(outcome, "B") == [None, None, None]  # 0.0 * undef is undef, and undef was stored


def test_select_takes_only_the_chosen_arm() -> None:
    from verified_tir.ir.expr import Binary, Select

    a, b = Buffer.declare("A", (2,)), Buffer.declare("B", (2,))
    pick = Select(Binary("eq", i, const(0)), load(a, 0), load(a, 1))
    outcome = run(
        function([a, b], loop(i, 2, store(b, pick, i))),
        {"A": np.ones(2, np.float32), "B": np.zeros(2, np.float32)},
        defined={"A": np.array([True, False])},
    )
    assert arrays_of(outcome, "B") == [1.0, None]


def test_the_loop_that_may_not_be_reversed() -> None:
    """``for i: t = alloc; t[0] = i; if t[0] == i: B[0] = i`` ends with the last i, for t is the iteration's own."""
    from verified_tir.ir.expr import Binary

    t, b = Buffer.declare("t", (1,), INT32), Buffer.declare("B", (1,), INT32)
    body = loop(i, 2, Allocate(t, seq(store(t, i, 0), If(Binary("eq", load(t, 0), i), store(b, i, 0)))))
    assert run(function([b], body), {"B": np.array([9], np.int32)}).arrays["B"].tolist() == [1]
