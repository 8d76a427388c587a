"""Results of operators are defined, whatever their operands are; so all ways to run a graph give the same bits.

A program's cast of a float to an integer that does not hold it is undefined: machine code gives any number, and another
plan of the graph another one.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.graph.test_operators import CASES
from verified_tir.graph import GraphBuilder, TensorType
from verified_tir.graph.element_types import INTEGERS, array_dtype
from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.operators import legalize
from verified_tir.semantics.interpreter import run

Array = np.ndarray
WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, -2.5, 3e38, -3e38, 1e-45, 3e9, -1e19]


def hostile(like: Array, seed: int) -> Array:
    """Special elements: NaN, infinities, numbers that are as large as can be, zeros."""
    rng, kind = np.random.default_rng(seed), like.dtype.kind
    if kind == "b":
        return rng.choice([False, True], like.shape)
    if kind in "iu":
        info = np.iinfo(like.dtype)
        some = np.array([info.min, info.max, info.max - 1, 0, 1, 5], like.dtype)
    else:
        with np.errstate(over="ignore"):
            some = np.array(SPECIAL).astype(like.dtype)
    return rng.choice(some, like.shape)


def undefined(op: str, arrays: list[Array], attrs: dict[str, Any]) -> int:
    """How many elements of an operator's results the interpreter knows no value of."""
    func = legalize(op, [TensorType(a.shape, str(a.dtype)) for a in arrays], attrs)
    made = [np.zeros([e.value for e in b.shape], str(b.dtype)) for b in func.buffers[len(arrays) :]]  # type: ignore[attr-defined]
    names = [b.name for b in func.buffers]
    ended = run(func, dict(zip(names, [*arrays, *made], strict=True)))
    return sum(int((~ended.defined[n]).sum()) for n in names[len(arrays) :])


@pytest.mark.sample(19)
@pytest.mark.parametrize("name", CASES)
def test_results_are_defined_whatever_the_operands_are(name: str) -> None:
    op, arrays, attrs, _ = CASES[name]
    assert not undefined(op, [hostile(np.asarray(a), k) for k, a in enumerate(arrays)], attrs)


def points(dtype: str) -> Array:
    """Floats around the ends of all integer types, and special ones."""
    ends = [s * (2.0**k + d) for k in (7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1) for d in (-1, -0.5, 0, 0.5, 1)]
    near = [np.nextafter(np.float32(e), np.float32(t)) for e in ends for t in (0, np.inf, -np.inf)]
    with np.errstate(over="ignore"):
        return np.array([*SPECIAL, *ends, *near]).astype(array_dtype(dtype))


def nearest(x: float, least: int, most: int) -> int:
    if np.isnan(x):
        return 0
    return (most if x > 0 else least) if np.isinf(x) else min(max(int(x), least), most)


@pytest.mark.sample(6)
@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("source", ["float32", "float16", "bfloat16", "float64"])
def test_a_float_becomes_the_nearest_integer_that_there_is(source: str, dtype: str) -> None:
    x, info = points(source), np.iinfo(dtype)
    wanted = np.array([nearest(float(e), info.min, info.max) for e in x], dtype)
    g = GraphBuilder()
    graph = g.finish(g.op("astype", g.input("x", x.shape, source), dtype=dtype))
    for found in (build(graph)(x), build(graph, schedules=False)(x), *evaluate(graph, [x])):
        np.testing.assert_array_equal(found, wanted)
    assert not undefined("astype", [x], {"dtype": dtype})


@pytest.mark.sample(11)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("source", ["float32", "float16", "bfloat16"])
def test_a_float_becomes_a_small_integer_modulo_its_range(source: str, dtype: str) -> None:
    x = points(source)
    assert not undefined("convert", [x], {"from_dtype": source, "dtype": dtype})
    g = GraphBuilder()
    graph = g.finish(g.op("convert", g.input("x", x.shape, source), from_dtype=source, dtype=dtype))
    low = ml_dtypes.iinfo(array_dtype(dtype)).min
    size = 1 << INTEGERS[dtype]
    wanted = [(int(e) - low) % size + low if np.isfinite(e) else 0 for e in map(float, x)]
    assert build(graph)(x).astype(np.int32).tolist() == wanted


@pytest.mark.parametrize("source", ["float8_e4m3fn", "float8_e5m2"])
def test_small_floats_become_the_nearest_integer_that_there_is(source: str) -> None:
    x = np.arange(256, dtype=np.uint8).view(array_dtype(source))
    g = GraphBuilder()
    graph = g.finish(g.op("convert", g.input("x", x.shape, source), from_dtype=source, dtype="int8"))
    assert build(graph)(x).tolist() == [nearest(float(e), -128, 127) for e in x.astype(np.float32)]
