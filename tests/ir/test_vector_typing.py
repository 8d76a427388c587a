"""The types of accesses, element lanes × index lanes, and what they mean.

The tables are those of the RFC "Buffer physical layout" (its section on conventions for buffer indexing), of RFC 63
("Different combinations of buffer type and index type") and of the RFC on vectorized types in TIR, whose proposed
semantics decide: an access of M-lane elements at an N-lane index has N * M lanes, those of each element together.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.semantics.programs import function
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, INT32, DType
from verified_tir.ir.expr import Binary, Broadcast, Call, Expr, Load, Ramp, Shuffle, Undef, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.stmt import DeclBuffer, Evaluate, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import Outcome, UndefinedBehaviour, run

I = Var.fresh("i")
BASES = ("float32", "float64", "float16", "bfloat16", "int8", "uint16", "int32", "int64", "bool")
ELEMENT_LANES = (1, 2, 4, 8)


def indices(lanes: int, dtype: str = "int32") -> list[Expr]:
    """Indices of so many lanes, one of each kind: scalars, ramps of any stride, copies, shuffles, loads, arithmetic."""
    i = Var.fresh("i", DType.parse(dtype))
    if lanes == 1:
        return [const(0, dtype), i, i * 2 + 1, Ramp(i, const(1, dtype), 1), Broadcast(i, 1)]
    table = Buffer.declare("table", (64,), dtype)
    ramp = Ramp(i, const(1, dtype), lanes)
    return [
        ramp,
        Ramp(i, const(0, dtype), lanes),
        Ramp(const(40, dtype), const(-3, dtype), lanes) if DType.parse(dtype).code == "int" else ramp,
        Broadcast(i, lanes),
        Shuffle((ramp, i), (lanes, *range(lanes - 1))),
        Load(table, (ramp,)),
        ramp * 2 + 1,
        Undef(DType.parse(dtype).with_lanes(lanes)),
    ]


# --------------------------------------------------------------------------------------------------------- the tables


@pytest.mark.sample(36)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("elements", ELEMENT_LANES)
@pytest.mark.parametrize("lanes", [1, 2, 4, 16])
def test_every_combination(base: str, elements: int, lanes: int) -> None:
    element = DType.parse(base).with_lanes(elements)
    want = element.with_lanes(elements * lanes)
    for index_dtype in ("int32", "int64", "uint8"):
        for index in indices(lanes, index_dtype):
            for lead in range(3):
                buffer = Buffer.declare("A", (8,) * lead + (64,), element)
                at = (const(0, index_dtype),) * lead + (index,)
                assert Load(buffer, at).dtype is want
                assert Store(buffer, Undef(want), at).value.dtype is want


@pytest.mark.parametrize(
    ("shape", "element", "at", "view", "want"),
    [
        ((64,), "float32", (0,), None, "float32"),
        ((16,), "float32x4", (0,), None, "float32x4"),
        ((16,), "float32x4", (0,), ((32,), "float32x2"), "float32x2"),
        ((64,), "float32", (4,), None, "float32x4"),
        ((64,), "float32", (0,), ((16,), "float32x4"), "float32x4"),
        ((16,), "float32x4", (0,), ((64,), "float32"), "float32"),
        ((64, 64), "float32", (0, 0), None, "float32"),
        ((64, 64), "float32", (0, 4), None, "float32x4"),
    ],
)
def test_the_examples_of_rfc_63(
    shape: tuple[int, ...],
    element: str,
    at: tuple[int, ...],
    view: tuple[tuple[int, ...], str] | None,
    want: str,
) -> None:
    """An entry of ``at`` that is not 0 stands for ``T.ramp(0, 1, lanes)``."""
    buffer = Buffer.declare("A", shape, element)
    if view is not None:
        buffer = Buffer.declare("A_view", view[0], view[1], data=buffer.data)
    index = tuple(const(0) if lanes == 0 else Ramp(const(0), const(1), lanes) for lanes in at)
    assert str(Load(buffer, index).dtype) == want


def test_the_table_of_proposed_semantics() -> None:
    """Rows: scalar and M-lane elements.  Columns: a scalar index, a ramp of stride 1, another vector."""
    m, n = 2, 4
    other = Shuffle((Ramp(const(0), const(1), 4),), (3, 1, 0, 2))
    row = (const(0), Ramp(const(0), const(1), n), other)
    for lanes, want in ((1, (1, n, n)), (m, (m, n * m, n * m))):
        buffer = Buffer.declare("A", (16,), DType.parse("float16").with_lanes(lanes))
        assert tuple(Load(buffer, (index,)).dtype.lanes for index in row) == want


def test_no_dimension() -> None:
    for lanes in ELEMENT_LANES:
        buffer = Buffer.declare("A", (), INT32.with_lanes(lanes))
        assert Load(buffer, ()).dtype.lanes == lanes


def test_text_has_the_same_types() -> None:
    func = parse_func("""
@T.prim_func
def f(A: T.Buffer((4, 16), "float32"), V: T.Buffer((16,), "float32x4"), X: T.Buffer((16,), "float32x4")):
    X[0] = A[1, 0:4]
    X[1] = A[1, T.Ramp(12, -3, 4)]
    V[0:4] = V[T.Ramp(6, -2, 4)]
    V[2] = V[3] + X[4]
""")
    stores = [s for s in getattr(func.body, "stmts", ()) if isinstance(s, Store)]
    assert [s.value.dtype.lanes for s in stores] == [4, 4, 16, 4]
    assert script(parse_func(script(func))) == script(func)


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("elements", ELEMENT_LANES)
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_a_stored_value_has_exactly_these_lanes(elements: int, lanes: int) -> None:
    buffer = Buffer.declare("A", (64,), INT32.with_lanes(elements))
    for index in indices(lanes):
        for given in {1, 2, 4, 8, 16, 32, 64} - {elements * lanes}:
            with pytest.raises(IRError, match=r"A\[…\] has type int32.* is stored"):
                Store(buffer, Undef(INT32.with_lanes(given)), (index,))


@pytest.mark.parametrize("other", ["float64", "int32", "uint32", "float16"])
def test_a_stored_value_has_exactly_this_type(other: str) -> None:
    buffer = Buffer.declare("A", (64,), "float32x2")
    with pytest.raises(IRError, match="has type float32x8; a value of type"):
        Store(buffer, Undef(DType.parse(other).with_lanes(8)), (Ramp(const(0), const(1), 4),))


def test_lanes_in_the_last_index_only() -> None:
    vector, scalar = Ramp(const(0), const(1), 4), const(0)
    for rank in (2, 3):
        for at in product((scalar, vector), repeat=rank):
            for element in ("float32", "float32x4"):
                buffer = Buffer.declare("A", (8,) * rank, element)
                value = Undef(buffer.dtype.with_lanes(buffer.dtype.lanes * 4))
                if vector not in at[:-1]:
                    assert Load(buffer, at).dtype.lanes == buffer.dtype.lanes * at[-1].dtype.lanes
                    continue
                first = at.index(vector)
                for make in (lambda b=buffer, a=at: Load(b, a), lambda b=buffer, a=at, v=value: Store(b, v, a)):
                    with pytest.raises(IRError, match=f"index {first} of A has lanes; only the last index may"):
                        make()


def test_indices_are_integers_and_as_many_as_dimensions() -> None:
    buffer = Buffer.declare("A", (8, 8), "float32x4")
    for wrong in (const(0.0, "float32"), const(True, "bool"), Broadcast(const(1.0, "float32"), 4)):
        with pytest.raises(IRError, match=r"index 1 of A has type .*; an integer is needed"):
            Load(buffer, (const(0), wrong))
    for at in ((), (const(0),), (const(0),) * 3):
        with pytest.raises(IRError, match=f"2 dimensions and is accessed with {len(at)} indices"):
            Load(buffer, at)
    with pytest.raises(IRError, match="0 dimensions"):
        Load(Buffer.declare("B", (), "int32"), (const(0),))


def test_masks_have_the_lanes_of_the_index() -> None:
    buffer = Buffer.declare("A", (64,), "int32x2")
    ramp = Ramp(const(0), const(1), 4)
    assert Load(buffer, (ramp,), Undef(BOOL.with_lanes(4))).dtype.lanes == 8
    for wrong in (BOOL, BOOL.with_lanes(8), INT32.with_lanes(4)):
        with pytest.raises(IRError, match=r"of as many lanes of bool \(here 4\)"):
            Load(buffer, (ramp,), Undef(wrong))
    with pytest.raises(IRError, match="only vector accesses take a predicate"):
        Load(buffer, (const(0),), Undef(BOOL))


def test_ramps_are_of_scalar_integers() -> None:
    x, vector = Var.fresh("x", DType.parse("float32")), Broadcast(I, 2)
    for base, stride in ((x, x), (vector, vector), (I, vector), (I, const(1, "int64")), (const(True, "bool"), I)):
        with pytest.raises(IRError, match="a ramp has a scalar integer base and stride of one type"):
            Ramp(base, stride, 4)
    for lanes in (0, -1):
        with pytest.raises(IRError, match="at least one lane"):
            Ramp(I, I, lanes)


def test_reinterpret_keeps_bytes() -> None:
    types = [DType.parse(b).with_lanes(n) for b in BASES for n in (1, 2, 4, 8)]
    for source, target in product(types, repeat=2):
        value = Undef(source)
        if source is target or (
            not source.is_bool and not target.is_bool and source.bits * source.lanes == target.bits * target.lanes
        ):
            assert source.nbytes == target.nbytes
            assert Call(target, "reinterpret", (value,)).dtype is target
        else:
            with pytest.raises(IRError, match="reinterpret"):
                Call(target, "reinterpret", (value,))
    with pytest.raises(IRError, match="reinterpret of boolx8 does not give int8"):
        Call(DType.parse("int8"), "reinterpret", (Undef(BOOL.with_lanes(8)),))
    for args in ((), (I, I)):
        with pytest.raises(IRError, match="1 argument"):
            Call(INT32, "reinterpret", args)


# ------------------------------------------------------------------------------------------------------ what they mean


def outcome(buffers: list[Buffer], body: Stmt, **arrays: np.ndarray) -> Outcome:
    return run(function(buffers, body), arrays)


RAMPS = [(0, 1), (1, 2), (7, -1), (7, -2), (5, 0), (4, 1), (6, -3)]


@pytest.mark.parametrize("elements", [1, 2, 3])
@pytest.mark.parametrize(("base", "stride"), RAMPS)
@pytest.mark.parametrize("lanes", [2, 3])
def test_loads_take_element_after_element(elements: int, base: int, stride: int, lanes: int) -> None:
    """Against numpy: the lanes of one element stay together, elements come in the order of the index."""
    element = INT32.with_lanes(elements)
    source = Buffer.declare("A", (8,), element)
    out = Buffer.declare("O", (elements * lanes,), "int32")
    given = np.arange(8 * elements, dtype=np.int32).reshape((8,) if elements == 1 else (8, elements))
    value = Load(source, (Ramp(const(base), const(stride), lanes),))
    body = Store(out, value, (Ramp(const(0), const(1), elements * lanes),))
    got = outcome([source, out], body, A=given, O=np.zeros(elements * lanes, np.int32)).arrays["O"]
    assert got.tolist() == given[[base + k * stride for k in range(lanes)]].reshape(-1).tolist()


@pytest.mark.parametrize("elements", [1, 2, 3])
@pytest.mark.parametrize(("base", "stride"), RAMPS)
@pytest.mark.parametrize("lanes", [2, 3])
def test_stores_put_element_after_element(elements: int, base: int, stride: int, lanes: int) -> None:
    """Where the index hits an element twice, its last lanes stay."""
    target = Buffer.declare("A", (8,), INT32.with_lanes(elements))
    value = Ramp(const(100), const(1), elements * lanes)
    body = Store(target, value, (Ramp(const(base), const(stride), lanes),))
    want = np.zeros((8, elements), np.int32)
    for k in range(lanes):
        want[base + k * stride] = 100 + k * elements + np.arange(elements)
    given = np.zeros((8,) if elements == 1 else (8, elements), np.int32)
    assert outcome([target], body, A=given).arrays["A"].reshape(8, elements).tolist() == want.tolist()


def test_views_of_other_lanes_see_the_same_bytes() -> None:
    """``A_vector_2 = T.buffer_decl([32], "float32x2", data=A.data)`` and its relatives."""
    quads = Buffer.declare("A", (4,), "float32x4")
    pairs = Buffer.declare("P", (8,), "float32x2", data=quads.data)
    ones = Buffer.declare("S", (16,), "float32", data=quads.data)
    out = Buffer.declare("O", (16,), "float32")
    given = np.arange(16, dtype=np.float32).reshape(4, 4)
    ramp = Ramp(const(3), const(-1), 2)
    for view, lanes in ((quads, 8), (pairs, 4), (ones, 2)):
        store = Store(out, Load(view, (ramp,)), (Ramp(const(0), const(1), lanes),))
        body = store if view is quads else DeclBuffer(view, store)
        want = given.reshape(-1, view.dtype.lanes)[[3, 2]].reshape(-1)
        got = outcome([quads, out], body, A=given, O=np.zeros(16, np.float32)).arrays["O"]
        assert got[:lanes].tolist() == want.tolist()


def test_strides_and_offsets_count_elements() -> None:
    """A view of 2-lane elements with a stride of 2 and an offset of 1, read at a descending ramp."""
    block = Buffer.declare("A", (16,), "int32")
    view = Buffer.declare("V", (3,), "int32x2", data=block.data, strides=(2,), elem_offset=1)
    out = Buffer.declare("O", (6,), "int32")
    read = Store(out, Load(view, (Ramp(const(2), const(-1), 3),)), (Ramp(const(0), const(1), 6),))
    got = outcome([block, out], DeclBuffer(view, read), A=np.arange(16, dtype=np.int32), O=np.zeros(6, np.int32))
    assert got.arrays["O"].tolist() == [10, 11, 6, 7, 2, 3]


@pytest.mark.parametrize(
    ("base", "stride", "lanes", "outside"),
    [(5, 1, 4, 8), (2, -1, 4, -1), (0, 7, 3, 14), (8, 0, 2, 8), (-1, 1, 2, -1)],
)
@pytest.mark.parametrize("elements", [1, 4])
def test_every_lane_of_an_index_is_in_bounds(base: int, stride: int, lanes: int, outside: int, elements: int) -> None:
    buffer = Buffer.declare("A", (8,), INT32.with_lanes(elements))
    given = np.zeros((8,) if elements == 1 else (8, elements), np.int32)
    index = (Ramp(const(base), const(stride), lanes),)
    for body in (Evaluate(Load(buffer, index)), Store(buffer, Undef(Load(buffer, index).dtype), index)):
        with pytest.raises(UndefinedBehaviour) as caught:
            outcome([buffer], body, A=given)
        assert (caught.value.kind, caught.value.indices) == ("out-of-bounds", (outside,))


def test_a_ramp_overflows_in_the_lane_where_it_does() -> None:
    """The lanes of index arithmetic are index arithmetic."""
    buffer = Buffer.declare("A", (8,), "int32")
    far = Ramp(const(2**31 - 2), const(1), 3)
    body = Store(buffer, Binary("sub", far, Broadcast(const(2**31 - 2), 3)), (Ramp(const(0), const(1), 3),))
    with pytest.raises(UndefinedBehaviour) as caught:
        outcome([buffer], body, A=np.zeros(8, np.int32))
    assert caught.value.kind == "index-overflow"
    fits = Ramp(const(2**31 - 3), const(1), 3)
    body = Store(buffer, fits, (Ramp(const(0), const(1), 3),))
    assert outcome([buffer], body, A=np.zeros(8, np.int32)).arrays["A"][2] == 2**31 - 1


def test_undef_stays_in_its_lane_of_its_element() -> None:
    pairs, out = Buffer.declare("A", (4,), "int32x2"), Buffer.declare("O", (4,), "int32")
    half = Shuffle((const(7), Undef(INT32)), (0, 1))
    read = Store(out, Load(pairs, (Ramp(const(2), const(-1), 2),)), (Ramp(const(0), const(1), 4),))
    body = seq(Store(pairs, half, (const(1),)), read)
    got = outcome([pairs, out], body, A=np.zeros((4, 2), np.int32), O=np.zeros(4, np.int32))
    assert got.defined["O"].tolist() == [True, True, True, False]
    assert got.arrays["O"][:3].tolist() == [0, 0, 7]


def test_an_undefined_lane_of_an_index_is_undefined_behaviour() -> None:
    pairs = Buffer.declare("A", (4,), "int32x2")
    index = Shuffle((const(1), Undef(INT32)), (0, 1))
    for body in (Evaluate(Load(pairs, (index,))), Store(pairs, Undef(INT32.with_lanes(4)), (index,))):
        with pytest.raises(UndefinedBehaviour) as caught:
            outcome([pairs], body, A=np.zeros((4, 2), np.int32))
        assert caught.value.kind == "undef-index"
