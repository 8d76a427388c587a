"""Data types, values, arrays, expressions and index maps that are drawn."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from tests.drawing import search_until
from verified_tir import parse_func, script
from verified_tir.index.map import IndexMap
from verified_tir.ir.dtype import BFLOAT16, FLOAT32, INT32, DType
from verified_tir.ir.expr import Binary, Expr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.visit import walk
from verified_tir.semantics.interpreter import UndefinedBehaviour, run
from verified_tir.testing import Scope, arguments, arrays, dtypes, expressions, index_maps, masks, prim_funcs
from verified_tir.testing.dtypes import SCALARS, special_patterns
from verified_tir.testing.expressions import INTERPRETED_CALLS
from verified_tir.testing.programs.features import ALL_FEATURES

QUIET = settings(derandomize=True, database=None)


def quickly(examples: int) -> settings:
    return settings(
        max_examples=examples, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- dtypes


def test_every_scalar_type_is_drawn() -> None:
    seen: set[DType] = set()

    @quickly(100)
    @given(dtypes())
    def search(dtype: DType) -> None:
        seen.add(dtype)

    search_until(lambda: seen == set(SCALARS), search)
    assert seen == set(SCALARS)


def test_dtypes_can_be_filtered() -> None:
    @quickly(40)
    @given(dtypes(max_bits=16, lanes=(2, 4), kinds=("int", "float")))
    def search(dtype: DType) -> None:
        assert dtype.bits <= 16 and dtype.lanes in (2, 4) and dtype.code in ("int", "float")

    search()
    with pytest.raises(ValueError, match="no data type of at most 8 bits is one of float, bfloat"):
        dtypes(max_bits=8, kinds=("float", "bfloat"))


def test_the_simplest_dtype() -> None:
    assert find(dtypes(lanes=(1, 4)), lambda t: True, settings=QUIET) is FLOAT32
    assert find(dtypes(), lambda t: t.is_int, settings=QUIET) is INT32


# ---------------------------------------------------------------------------------------------------------- arrays


def test_special_floats() -> None:
    for dtype in (t for t in SCALARS if t.is_float):
        kinds = np.array(special_patterns(dtype), dtype=f"uint{dtype.bits}").view(numpy_dtype(dtype))
        with np.errstate(all="ignore"):
            wide = kinds.astype(np.float64)
        assert np.isnan(wide).sum() >= 6 and {np.inf, -np.inf} <= set(wide)
        assert ((wide == 0) & np.signbit(wide)).any() and {1.0, -1.0} <= set(wide)
        least = float(np.finfo(np.float32).tiny) if dtype is BFLOAT16 else float(np.finfo(numpy_dtype(dtype)).tiny)
        assert ((wide != 0) & (np.abs(wide) < least)).any()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint64", "bool", "float16x4"])
def test_arrays_have_the_type_and_the_shape(dtype: str) -> None:
    scalar = DType.parse(dtype).scalar

    @quickly(30)
    @given(
        st.lists(st.integers(0, 5), max_size=3).flatmap(lambda shape: arrays(dtype, shape).map(lambda a: (shape, a)))
    )
    def search(drawn: tuple[list[int], np.ndarray]) -> None:
        shape, array = drawn
        assert array.dtype == numpy_dtype(scalar)
        assert list(array.shape) == [*shape, 4] if dtype.endswith("x4") else list(array.shape) == shape

    search()


def test_arrays_are_special_in_good_proportion() -> None:
    seen: Counter[str] = Counter()

    @quickly(60)
    @given(arrays("float32", 16))
    def search(array: np.ndarray) -> None:
        with np.errstate(all="ignore"):
            seen["nan"] += bool(np.isnan(array).any())
            seen["infinite"] += bool(np.isinf(array).any())
            seen["-0.0"] += bool(((array == 0) & np.signbit(array)).any())
            seen["subnormal"] += bool(((array != 0) & (np.abs(array) < np.finfo(np.float32).tiny)).any())
            seen["tame"] += bool((np.isfinite(array) & (array == np.round(array))).all())

    search_until(lambda: len(+seen) == 5, search)
    assert set(+seen) == {"nan", "infinite", "-0.0", "subnormal", "tame"}


def test_arrays_shrink_to_counting() -> None:
    assert find(arrays("int32", 4), lambda a: True, settings=QUIET).tolist() == [1, 2, 3, 4]
    with_zero = find(arrays("int32", 4), lambda a: bool((a == 0).any()), settings=QUIET)
    assert with_zero.tolist() in ([0, 2, 3, 4], [0, 0, 0, 0])


def test_arrays_between_bounds() -> None:
    @quickly(30)
    @given(arrays("int32", (3, 4), low=2, high=5))
    def search(array: np.ndarray) -> None:
        assert array.shape == (3, 4) and array.min() >= 2 and array.max() <= 5

    search()
    with pytest.raises(ValueError, match="low and high go together"):
        arrays("float32", 4, low=0, high=1)


def test_masks() -> None:
    seen: set[bool] = set()

    @quickly(40)
    @given(masks((3, 2)))
    def search(mask: np.ndarray) -> None:
        assert mask.shape == (3, 2) and mask.dtype == np.bool_
        seen.add(bool(mask.all()))

    search_until(lambda: len(seen) == 2, search)
    assert seen == {True, False}
    assert find(masks(3), lambda m: True, settings=QUIET).all()


# ------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.nightly
def test_arguments_fit_whatever_is_drawn() -> None:
    """``run`` raises ``ArgumentError`` where they do not; strides and offsets are among what is drawn."""

    @quickly(60)
    @given(st.data())
    def search(data: st.DataObject) -> None:
        func: PrimFunc = data.draw(prim_funcs(ALL_FEATURES - {"textbook", "while_loops", "asserts"}))
        with suppress(UndefinedBehaviour):
            run(func, data.draw(arguments(func)))

    search()


def test_symbols_are_as_assumed_and_indices_are_some() -> None:
    func = parse_func("""
@T.prim_func
def f(a: T.handle, I: T.Buffer((6,), "int32"), b: T.handle):
    n, s = T.int32(), T.int32()
    A = T.match_buffer(a, (n, 3), "float32", strides=(s, 1))
    B = T.match_buffer(b, (6,), "float32")
    T.assume(n % 4 == 0 and 1 <= n)
    for i in range(6):
        B[i] = A[I[i], i % 3]
""")
    inside: Counter[bool] = Counter()

    @quickly(60)
    @given(arguments(func))
    def search(args: dict[str, np.ndarray]) -> None:
        n = args["A"].shape[0]
        assert n % 4 == 0 and n >= 1
        assert set(args) == {"A", "I", "B"}  # a built function does not take what the arrays tell
        assert args["A"].strides[0] >= 12 and args["A"].strides[1] == 4
        inside[bool(((args["I"] >= 0) & (args["I"] < n)).all())] += 1

    search()
    assert inside[True] > 2 * inside[False]


# ----------------------------------------------------------------------------------------------------- expressions

X, Y, B = Var.fresh("x"), Var.fresh("y", DType.parse("float32")), Var.fresh("b", DType.parse("bool"))
A4 = parse_func('@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    A[0] = 0').buffers
SCOPE = Scope((X, Y, B), A4, undef=True)


@pytest.mark.sample(6)
@pytest.mark.parametrize("dtype", ["int32", "float32", "bool", "uint8", "bfloat16", "int32x4", "boolx2"])
def test_expressions_have_their_type(dtype: str) -> None:
    @quickly(30)
    @given(expressions(dtype, SCOPE))
    def search(expr: Expr) -> None:
        assert str(expr.dtype) == dtype

    search()


@pytest.mark.nightly
def test_every_operator_and_call_is_drawn() -> None:
    from verified_tir.ir.expr import COMPARE_OPS, Call, LogicOp
    from verified_tir.ir.sugar import ARITHMETIC_OPS

    seen: set[str] = set()

    @quickly(90)
    @given(st.one_of(*[expressions(t, SCOPE) for t in ("int32", "float32", "bool")]))
    def search(expr: Expr) -> None:
        for n in walk(expr):
            match n:
                case Binary(op=op) | Call(op=op):
                    seen.add(op)
                case _:
                    seen.add(type(n).__name__)

    wanted = {*ARITHMETIC_OPS, *COMPARE_OPS, *get_args(LogicOp), *INTERPRETED_CALLS}
    wanted |= {"Not", "Cast", "Select", "IfThenElse", "LetExpr", "Load", "Shuffle", "Ramp", "Broadcast", "Undef", "Var"}
    search_until(lambda: wanted <= seen, search)
    assert wanted <= seen


@pytest.mark.nightly
def test_expressions_shrink() -> None:
    def loads(e: Expr) -> bool:
        return any(isinstance(n, Load) for n in walk(e))

    assert script(find(expressions("int32", SCOPE), loads, settings=QUIET)) == "A[0]"
    assert script(find(expressions("int32"), lambda e: True, settings=QUIET)) in ("0", "-9")


# ------------------------------------------------------------------------------------------------------ index maps


def points(index_map: IndexMap, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    from verified_tir.index.evaluate import evaluate, open_grid

    values = evaluate(index_map.outputs, dict(zip(index_map.inputs, open_grid(shape), strict=True)))
    flat = [np.broadcast_to(v, shape).reshape(-1).tolist() for v in values]
    return list(zip(*flat, strict=True))


def test_bijections_are_bijections() -> None:
    @quickly(60)
    @given(index_maps((8, 6), kinds=("bijective",)))
    def search(index_map: IndexMap) -> None:
        found = points(index_map, (8, 6))
        assert len(set(found)) == 48
        assert all(len(set(column)) == max(column) + 1 for column in zip(*found, strict=True))
        assert np.prod([max(column) + 1 for column in zip(*found, strict=True)]) == 48

    search()


def test_injections_are_injective_and_the_others_come_too() -> None:
    seen: Counter[bool] = Counter()

    @quickly(60)
    @given(index_maps((7, 4), kinds=("bijective", "padded")))
    def injective(index_map: IndexMap) -> None:
        assert len(set(points(index_map, (7, 4)))) == 28

    injective()

    @quickly(100)
    @given(index_maps((7, 4)))
    def search(index_map: IndexMap) -> None:
        seen[len(set(points(index_map, (7, 4)))) == 28] += 1

    search_until(lambda: seen[False] > 0, search)
    assert 0 < seen[False] < seen[True]


def test_maps_of_symbolic_shapes_are_injective() -> None:
    n = Var.fresh("n")

    @quickly(40)
    @given(index_maps((n, 6), kinds=("bijective", "padded")), st.integers(1, 9))
    def search(index_map: IndexMap, size: int) -> None:
        assert len(set(points(index_map, (size, 6)))) == 6 * size

    search()


def test_maps_shrink() -> None:
    assert str(find(index_maps((4, 6)), lambda m: True, settings=QUIET)) == "lambda i, j: [i, j]"
    found = find(index_maps((8,)), lambda m: len(m.outputs) == 2, settings=QUIET)
    assert str(found) in ("lambda i: [i // 2, i % 2]", "lambda i: [i // 4, i % 4]")


def test_maps_that_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="at most 4 dimensions, not 5"):
        index_maps((2,) * 5)
    with pytest.raises(ValueError, match="'bijective' must be among the kinds"):
        index_maps((4,), kinds=("padded",))
