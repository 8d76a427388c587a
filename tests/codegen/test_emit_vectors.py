"""Vector accesses and vector expressions: machine code against the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.emit_support import TARGET, check
from verified_tir.codegen.emit import emit
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, INT32, DType, PointerType
from verified_tir.ir.expr import Binary, Broadcast, Cast, Expr, IntImm, Load, Ramp, Shuffle, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.stmt import Store, seq
from verified_tir.ir.sugar import const

NAMES = ("bool", "int8", "uint16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
TYPES = [DType.parse(name) for name in NAMES]


def array(dtype: DType, *shape: int) -> Any:
    rng = np.random.default_rng(11)
    if dtype.is_bool:
        return rng.random(shape) < 0.5
    return rng.integers(-100 if dtype.code != "uint" else 0, 100, shape).astype(numpy_dtype(dtype.scalar))


def function(buffers: list[Buffer], body: Any, *scalars: Var) -> PrimFunc:
    params = [Var.fresh(b.name, PointerType(b.dtype)) for b in buffers]
    return PrimFunc("f", (*params, *scalars), tuple(zip(params, buffers, strict=True)), body)


def bools(*lanes: int) -> Expr:
    """A constant mask."""
    return Shuffle((Broadcast(IntImm(BOOL, 0), 2), Broadcast(IntImm(BOOL, 1), 2)), tuple(2 * k for k in lanes))


n = Var.fresh("n")
INDICES: dict[str, Expr] = {
    "ramp": Ramp(const(3), const(1), 4),
    "symbolic ramp": Ramp(n * 2 + 1, const(1), 4),
    "backwards": Ramp(n + 5, const(-1), 4),
    "every other": Ramp(const(1), const(2), 4),
    "backwards by three": Ramp(const(12), const(-3), 4),
    "symbolic stride": Ramp(const(1), n, 4),
    "one place": Broadcast(n, 4),
    "sum": Binary("add", Ramp(n, const(1), 4), Broadcast(n, 4)),
    "difference": Binary("sub", Broadcast(n + 6, 4), Ramp(const(0), const(1), 4)),
    "product": Binary("mul", Ramp(const(0), const(1), 4), Broadcast(const(2), 4)),
    "remainder": Binary("floormod", Ramp(n, const(3), 4), Broadcast(const(5), 4)),
    "shuffled": Shuffle((Ramp(const(0), const(2), 4), Ramp(const(5), const(1), 4)), (7, 1, 1, 4)),
}


@pytest.mark.sample(27)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", INDICES)
def test_every_index_at_every_type(name: str, dtype: DType) -> None:
    """Loads and stores, whole and masked, of scalar elements."""
    index = INDICES[name]
    a, b, c = (Buffer.declare(x, (16,), dtype) for x in "ABC")
    whole = Ramp(const(0), const(1), 4)
    mask = Binary("lt", Ramp(const(0), const(1), 4), Broadcast(n, 4))
    body = seq(
        Store(b, Load(a, (index,)), (whole,)),
        Store(c, Load(a, (whole,)), (index,)),
        Store(b, Load(a, (index,), mask), (Ramp(const(4), const(1), 4),), mask),
        Store(b, Load(a, (whole,)), (index,), mask),
        Store(c, Load(a, (index,), bools(1, 0, 1, 1)), (Ramp(const(15), const(-1), 4),), bools(1, 0, 1, 0)),
    )
    check(function([a, b, c], body, n), A=array(dtype, 16), B=array(dtype, 16), C=array(dtype, 16), n=2)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("lanes", [2, 3])
def test_elements_with_lanes(dtype: DType, lanes: int) -> None:
    """Element lanes times index lanes, in the element's order first."""
    element = dtype.with_lanes(lanes)
    a, b = Buffer.declare("A", (8, 6), element), Buffer.declare("B", (8, 6), element)
    mask = Binary("ne", Ramp(const(0), const(1), 4), Broadcast(n, 4))
    body = seq(
        Store(b, Load(a, (const(1), n)), (const(0), const(2))),
        Store(b, Load(a, (const(2), Ramp(const(1), const(1), 4))), (n, Ramp(const(2), const(1), 4))),
        Store(b, Load(a, (n, Ramp(const(4), const(-1), 4))), (const(4), Ramp(const(0), const(1), 4))),
        Store(b, Load(a, (n, Ramp(const(0), const(2), 3))), (const(5), Ramp(const(5), const(-2), 3))),
        Store(b, Load(a, (n, Ramp(const(0), const(1), 4)), mask), (const(6), Ramp(const(5), const(-1), 4)), mask),
        Store(b, Load(a, (n, Broadcast(n, 4)), mask), (const(7), Ramp(n, const(0), 4)), mask),
    )
    check(function([a, b], body, n), A=array(element, 8, 6, lanes), B=array(element, 8, 6, lanes), n=3)


def test_masked_lanes_are_not_touched() -> None:
    """Beyond the end of the array (and of the page) nothing is read or written where the mask is false."""
    a = Buffer.declare("A", (n,), "float32")
    step = Ramp(const(0), const(1), 16)
    mask = Binary("lt", step, Broadcast(n, 16))
    far = Ramp(const(0), const(1 << 20), 16)
    only_first = Binary("lt", step, Broadcast(const(1), 16))
    body = seq(
        Store(a, Binary("add", Load(a, (step,), mask), Broadcast(const(1, "float32"), 16)), (step,), mask),
        Store(a, Load(a, (far,), only_first), (far,), only_first),
    )
    for size in (0, 1, 7, 16):
        if size == 0:
            body = seq(*body.stmts[:1])  # type: ignore[attr-defined]
            check(function([a], body), A=np.zeros(0, np.float32))
            continue
        check(function([a], body), A=np.arange(size, dtype=np.float32))


def test_the_first_lane_may_lie_before_the_array() -> None:
    """Its address is computed, so that the computation may not claim to stay inside."""
    a, b = Buffer.declare("A", (8,), "float32"), Buffer.declare("B", (8,), "float32")
    lanes = Ramp(const(0), const(1), 8)
    shifted = Ramp(n - 3, const(1), 8)
    mask = Binary("ge", shifted, Broadcast(const(0), 8))
    func = function([a, b], Store(b, Load(a, (shifted,), mask), (lanes,), mask), n)
    assert "inbounds" not in emit(func, TARGET).text
    for k in range(4):
        check(func, A=np.arange(8, dtype=np.float32), B=np.zeros(8, np.float32), n=k)


def test_a_ramp_of_data_may_wrap_in_an_unsigned_type() -> None:
    """A stride of 255 in uint8 is -1."""
    a, b = Buffer.declare("A", (9,), "uint8"), Buffer.declare("B", (4,), "uint8")
    index = Ramp(Load(a, (const(0),)), Load(a, (const(1),)), 4)
    body = Store(b, Load(a, (index,)), (Ramp(const(0), const(1), 4),))
    check(function([a, b], body), A=np.array([5, 255, 2, 3, 4, 5, 6, 7, 8], np.uint8), B=np.zeros(4, np.uint8))


def test_later_lanes_win() -> None:
    a, b = Buffer.declare("A", (4,), "int32"), Buffer.declare("B", (4,), "int32")
    lanes = Ramp(const(0), const(1), 4)
    index = Binary("floordiv", lanes, Broadcast(const(2), 4))
    body = seq(Store(b, Load(a, (lanes,)), (index,)), Store(b, Load(a, (lanes,)), (Broadcast(const(3), 4),)))
    check(function([a, b], body), A=np.arange(4, dtype=np.int32), B=np.zeros(4, np.int32))


def test_a_vector_value_is_loaded_before_anything_is_stored() -> None:
    a = Buffer.declare("A", (12,), "int32")
    body = seq(
        Store(a, Load(a, (Ramp(const(0), const(1), 4),)), (Ramp(const(1), const(1), 4),)),
        Store(a, Load(a, (Ramp(const(9), const(-2), 4),)), (Ramp(const(4), const(2), 4),)),
    )
    check(function([a], body), A=np.arange(12, dtype=np.int32))


def test_shuffles_of_vectors_and_scalars() -> None:
    a, b = Buffer.declare("A", (16,), "int32"), Buffer.declare("B", (16,), "int32")
    x, y = Load(a, (Ramp(const(0), const(1), 4),)), Load(a, (Ramp(const(4), const(1), 4),))
    z, s = Load(a, (Ramp(const(8), const(1), 2),)), Load(a, (const(15),))
    parts = [
        Shuffle((x, y), (7, 0, 0, 5)), Shuffle((x,), (3, 2, 1, 0)), Shuffle((x, z, s), (6, 5, 0, 6)),
        Shuffle((s, s, Shuffle((x,), (2,)), s), (2, 1, 0, 3)),
    ]  # fmt: skip
    body = seq(*[Store(b, p, (Ramp(const(4 * k), const(1), 4),)) for k, p in enumerate(parts)])
    check(function([a, b], body), A=np.arange(16, dtype=np.int32) * 3, B=np.zeros(16, np.int32))


def test_ramps_whose_steps_wrap_but_not_their_sums() -> None:
    """In int8, 2 * 100 does not fit, -100 + 2 * 100 does; nor does 2 * -100."""
    b = Buffer.declare("B", (9,), "int32")
    m = Var.fresh("m", DType.parse("int8"))
    int8 = DType("int", 8)
    ramps = [
        Ramp(const(-100, int8), const(100, int8), 3), Ramp(m - 100, m + 100, 3), Ramp(m + 100, const(-100, int8), 3),
    ]  # fmt: skip
    parts = [Cast(INT32.with_lanes(3), r) for r in ramps]
    body = seq(*[Store(b, p, (Ramp(const(3 * k), const(1), 3),)) for k, p in enumerate(parts)])
    check(function([b], body, m), B=np.zeros(9, np.int32), m=0)


def test_a_contiguous_access_is_one_instruction() -> None:
    text = emit(
        function([a := Buffer.declare("A", (64,), "float32")], Store(
            a, Load(a, (Ramp(n * 16, const(1), 16),)), (Ramp(const(0), const(1), 16),)
        ), n),
        TARGET,
    ).text  # fmt: skip
    assert text.count("load <16 x float>") == text.count("store <16 x float>") == 1
    assert "insertelement" not in text
