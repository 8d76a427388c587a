"""Arguments: symbols, strides, dtypes, scalars, masks; what does not fit is refused."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.semantics.programs import arrays_of, function, load, loop, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT8, INT64, DType
from verified_tir.ir.expr import Var
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.stmt import SKIP, Evaluate, seq
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import ArgumentError, UndefinedBehaviour, run

n, m, s, i = Var.fresh("n"), Var.fresh("m"), Var.fresh("s"), Var.fresh("i")
OUT = Buffer.declare("out", (2,), "int32")


def symbols(*shapes: Any, **more: Any) -> list[int]:
    """What n and m are, for buffers X0, X1, … of the declared shapes and arrays of the given ones."""
    buffers = [Buffer.declare(f"X{k}", declared, "int8") for k, (declared, _) in enumerate(shapes)]
    used = [m] if any("m#" in repr(declared) for declared, _ in shapes) else []
    body = seq(store(OUT, n, 0), *[store(OUT, v, 1) for v in used])
    args = {f"X{k}": np.zeros(given, np.int8) for k, (_, given) in enumerate(shapes)}
    outcome = run(function([OUT, *buffers], body), {"out": np.zeros(2, np.int32), **args, **more})
    return outcome.arrays["out"].tolist()  # type: ignore[no-any-return]


def test_symbols_follow_from_the_shapes() -> None:
    assert symbols(((n,), (5,))) == [5, 0]
    assert symbols(((n, m), (5, 6))) == [5, 6]
    assert symbols(((n * 4, m + 1), (8, 6))) == [2, 5]
    assert symbols(((4 * n - 2, 10 - m), (6, 3))) == [2, 7]
    assert symbols(((n * 4, (n + 3) // 4), (8, 1))) == [2, 0]
    assert symbols((((n + 3) // 4,), (2,)), ((n,), (7,))) == [7, 0]
    assert symbols(((n,), (0,))) == [0, 0]


def test_symbols_that_do_not_follow_are_passed_by_name() -> None:
    shape = (((n + 3) // 4, 4), (2, 4))
    with pytest.raises(ArgumentError, match="do not say what n is; pass it by name"):
        symbols(shape)
    assert symbols(shape, n=5) == [5, 0]
    assert symbols(((n,), (5,)), n=5) == [5, 0]
    with pytest.raises(ArgumentError, match="X0 has shape"):
        symbols(shape, n=9)
    with pytest.raises(ArgumentError, match="is a int32"):
        symbols(shape, n=5.0)


@pytest.mark.parametrize(
    "shapes",
    [
        [((n, 4), (3, 5))],
        [((n, n), (3, 4))],
        [((n,), (3,)), ((n,), (4,))],
        [((n * 4,), (6,))],
        [((n, 10 // (n - 3)), (3, 1))],  # the extent is undefined behaviour for n = 3
    ],
)
def test_shapes_that_contradict_their_symbols(shapes: Any) -> None:
    with pytest.raises(ArgumentError):
        symbols(*shapes)


def test_a_symbol_must_fit_its_type() -> None:
    small = Var.fresh("b", INT8)
    func = function([Buffer.declare("A", (small,), "int8")], SKIP)
    assert run(func, {"A": np.zeros(127, np.int8)})
    with pytest.raises(ArgumentError, match="b would be 128"):
        run(func, {"A": np.zeros(128, np.int8)})


@pytest.mark.parametrize("symbol, most", [(n, 2**31 - 2**16), (Var.fresh("w", INT64), 2**47)])
def test_extents_leave_room_for_index_arithmetic(symbol: Var, most: int) -> None:
    """Also those of arrays without elements: the proofs assume it, and compiled code checks it."""
    func = function([symbol, Buffer.declare("A", (symbol, 0), "int8")], SKIP)
    assert run(func, {symbol.name: most, "A": np.zeros((most, 0), np.int8)})
    with pytest.raises(ArgumentError, match=f"an extent of A is {most + 1}, too much: the most is {most}"):
        run(func, {symbol.name: most + 1, "A": np.zeros((most + 1, 0), np.int8)})


# --------------------------------------------------------------------------------------------------------- scalars


def test_scalar_parameters() -> None:
    f = Var.fresh("f", DType.parse("float32"))
    flag, wide = Var.fresh("flag", DType.parse("bool")), Var.fresh("wide", INT64)
    a = Buffer.declare("A", (1,), "float32")
    func = function([a, f, flag, wide], store(a, f, 0))
    args: dict[str, Any] = {"A": np.zeros(1, np.float32), "f": 0.1, "flag": True, "wide": 2**40}
    assert run(func, args).arrays["A"][0] == np.float32(0.1)  # rounded, as a caller's conversion would
    for good in ({"f": 3}, {"f": np.float32(2)}, {"flag": np.bool_(False)}, {"wide": np.int32(4)}):
        assert run(func, {**args, **good})
    assert run(function([a, s], SKIP), {"A": np.zeros(1, np.float32), "s": np.int64(7)})
    bad: list[dict[str, Any]] = [
        {"f": "1"}, {"f": True}, {"flag": 1}, {"wide": 1.0}, {"wide": 2**63}, {"wide": False}, {"wide": np.zeros(1)},
    ]  # fmt: skip
    for wrong in bad:
        with pytest.raises(ArgumentError):
            run(func, {**args, **wrong})


def test_a_bfloat16_scalar() -> None:
    f = Var.fresh("f", DType.parse("bfloat16"))
    a = Buffer.declare("A", (1,), "bfloat16")
    args = {"A": np.zeros(1, ml_dtypes.bfloat16), "f": ml_dtypes.bfloat16(1.5)}
    assert float(run(function([a, f], store(a, f, 0)), args).arrays["A"][0]) == 1.5


# ---------------------------------------------------------------------------------------------------------- arrays


def test_arrays_of_the_wrong_kind() -> None:
    func = function([Buffer.declare("A", (4,), "float32"), s], SKIP)
    good: dict[str, Any] = {"A": np.zeros(4, np.float32), "s": 1}
    assert run(func, good)
    bad: list[dict[str, Any]] = [
        {"A": np.zeros(4)}, {"A": np.zeros((4, 1), np.float32)}, {"A": np.zeros(5, np.float32)}, {"A": [0.0] * 4},
        {"A": 1.0}, {"B": np.zeros(4, np.float32)}, {"t": 2},
    ]  # fmt: skip
    for wrong in bad:
        with pytest.raises(ArgumentError):
            run(func, {**good, **wrong})
    with pytest.raises(ArgumentError, match="needs s"):
        run(func, {"A": good["A"]})
    with pytest.raises(ArgumentError, match="one name"):
        run(function([Buffer.declare("s", (4,), "float32"), s], SKIP), {"s": 1})


def test_lanes_of_arrays() -> None:
    func = function([Buffer.declare("A", (3,), "int16x4")], SKIP)
    assert run(func, {"A": np.zeros((3, 4), np.int16)})
    for shape in ((3,), (3, 2), (4, 4)):
        with pytest.raises(ArgumentError):
            run(func, {"A": np.zeros(shape, np.int16)})


@pytest.mark.parametrize("text", ["int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64", "bool"])
def test_contents_pass_unchanged(text: str) -> None:
    buffer = Buffer.declare("A", (2, 3), text)
    given = np.array([[0, 1, 1], [1, 0, 1]]).astype(numpy_dtype(buffer.dtype))
    for array in (given, np.asfortranarray(given), np.ascontiguousarray(given.T).T):
        outcome = run(function([buffer], SKIP), {"A": array})
        assert np.array_equal(outcome.arrays["A"], given) and outcome.arrays["A"].dtype == given.dtype
        assert outcome.arrays["A"] is not array and outcome.defined["A"].all()


def test_masks_must_fit() -> None:
    a = Buffer.declare("A", (4,), "float32")
    args = {"A": np.zeros(4, np.float32)}
    for option in ("defined", "inaccessible"):
        for masks in ({"A": np.ones(3, bool)}, {"A": np.ones(4, np.int8)}, {"B": np.ones(4, bool)}):
            with pytest.raises(ArgumentError):
                run(function([a], SKIP), args, **{option: masks})  # type: ignore[arg-type]


def test_a_scalar_buffer_and_an_empty_one() -> None:
    a, b = Buffer.declare("A", (), "int32"), Buffer.declare("B", (0, 3), "int32")
    outcome = run(
        function([a, b], store(a, load(a) + 1)), {"A": np.array(4, np.int32), "B": np.zeros((0, 3), np.int32)}
    )
    assert outcome.arrays["A"].shape == () and outcome.arrays["A"] == 5
    assert outcome.arrays["B"].shape == (0, 3)


# --------------------------------------------------------------------------------------------- strides and offsets


def test_declared_strides_leave_gaps_that_are_nobodys() -> None:
    a = Buffer.declare("A", (2, 3), "int32", strides=(8, 2), elem_offset=1)
    flat = Buffer.declare("F", (16,), "int32", data=a.data)
    from verified_tir.ir.stmt import DeclBuffer

    args = {"A": np.arange(6, dtype=np.int32).reshape(2, 3)}
    body = DeclBuffer(flat, seq(store(flat, 70, 11), store(a, load(a, 0, 2) * 10, 0, 1)))
    outcome = run(function([a], body), args)
    assert outcome.arrays["A"].tolist() == [[0, 20, 2], [3, 70, 5]]
    for gap in (0, 2, 8):
        with pytest.raises(UndefinedBehaviour) as caught:
            run(function([a], DeclBuffer(flat, Evaluate(load(flat, gap)))), args)
        assert caught.value.kind == "inaccessible"


def test_symbolic_strides_are_the_arrays_own() -> None:
    a = Buffer.declare("A", (n, 2), "int32", strides=(s, m))
    given = np.arange(12, dtype=np.int32).reshape(3, 4)[:, ::2]
    body = seq(store(OUT, s, 0), store(OUT, m, 1))
    outcome = run(function([OUT, a], body), {"out": np.zeros(2, np.int32), "A": given})
    assert outcome.arrays["out"].tolist() == [4, 2]
    assert np.array_equal(outcome.arrays["A"], given)
    offset = Buffer.declare("A", (3,), "int32", elem_offset=s)
    assert arrays_of(run(function([offset], store(offset, s, 0)), {"A": np.ones(3, np.int32)}), "A") == [0, 1, 1]


def test_strides_that_make_elements_overlap_are_refused() -> None:
    for strides in ((1, 1), (0, 1), (-3, 1)):
        a = Buffer.declare("A", (2, 3), "int32", strides=strides)
        with pytest.raises(ArgumentError, match="overlap or precede"):
            run(function([a], SKIP), {"A": np.zeros((2, 3), np.int32)})


def test_symbols_serve_the_body() -> None:
    a = Buffer.declare("A", (n,), "int32")
    outcome = run(function([a], loop(i, n - 1, store(a, n, i))), {"A": np.zeros(4, np.int32)})
    assert outcome.arrays["A"].tolist() == [4, 4, 4, 0]
    assert isinstance(const(1), type(const(2)))
