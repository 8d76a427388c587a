"""Floats of 8 bits and less, and small integers: each of their values, and floats between them, as ``ml_dtypes`` has
them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from verified_tir.graph import GraphBuilder, GraphError
from verified_tir.graph.element_types import FLOATS, INTEGERS, SMALL, array_dtype
from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.text import graph_text, parse_graph


def values(dtype: str) -> np.ndarray:
    """Every value of a type."""
    bits = INTEGERS.get(dtype, 4 if dtype.startswith("float4") else 8)
    return np.arange(1 << bits, dtype=np.uint8).view(array_dtype(dtype))


def converted(x: np.ndarray, dtype: str, saturate: bool = True) -> np.ndarray:
    g = GraphBuilder()
    v = g.input("x", x.shape, str(x.dtype))
    graph = g.finish(g.op("convert", v, from_dtype=str(x.dtype), dtype=dtype, saturate=saturate))
    assert parse_graph(graph_text(graph)).outputs[0].type == graph.outputs[0].type
    found = build(graph)(x)
    (again,) = evaluate(graph, [x])
    assert found.dtype == again.dtype == array_dtype(dtype)
    assert found.tobytes() == again.tobytes() or not str(found.dtype).startswith(("float4", "float8", "int", "uint"))
    return found


@pytest.mark.sample(8)
@pytest.mark.parametrize("dtype", SMALL)
def test_each_value_is_read_exactly(dtype: str) -> None:
    x = values(dtype)
    np.testing.assert_array_equal(converted(x, "float32"), x.astype(np.float32))


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_are_rounded_to_the_nearest_and_to_even(dtype: str) -> None:
    exact = np.unique(values(dtype).astype(np.float32))
    exact = exact[np.isfinite(exact)]
    between = (exact[1:] + exact[:-1]) / 2
    rng = np.random.default_rng(0)
    some = rng.standard_normal(300).astype(np.float32) * np.float32(2.0) ** rng.integers(-20, 20, 300).astype(
        np.float32
    )
    points = [exact, between, some, np.float32([0.0, -0.0, 1e-45, -1e-45, 1e-30, 2**-127])]
    x = np.concatenate([*points, np.nextafter(between, np.float32(np.inf)), np.nextafter(between, -np.float32(np.inf))])
    x = x.astype(np.float32)
    most = float(ml_dtypes.finfo(array_dtype(dtype)).max)
    inside = x[np.abs(x) <= most]
    np.testing.assert_array_equal(
        converted(inside, dtype).view(np.uint8), inside.astype(array_dtype(dtype)).view(np.uint8)
    )


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("dtype", FLOATS)
def test_what_is_too_large_is_the_greatest_value_or_not_finite(dtype: str) -> None:
    x = np.array([np.inf, -np.inf, 3e38, -3e38, 1e6], np.float32)
    most = float(ml_dtypes.finfo(array_dtype(dtype)).max)
    np.testing.assert_array_equal(converted(x, dtype).astype(np.float32), np.sign(x) * most)
    if dtype != "float4_e2m1fn":
        wide = x.astype(array_dtype(dtype)).astype(np.float32)
        np.testing.assert_array_equal(converted(x, dtype, saturate=False).astype(np.float32), wide)
        assert np.isnan(converted(np.array([np.nan], np.float32), dtype).astype(np.float32)).all()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_numbers_lose_their_fraction(dtype: str) -> None:
    info = ml_dtypes.iinfo(array_dtype(dtype))
    x = np.arange(info.min, info.max + 1)
    np.testing.assert_array_equal(converted(x.astype(np.int32), dtype).astype(np.int32), x)
    toward_zero = (x + np.where(x < 0, -0.75, 0.75)).astype(np.float32)
    np.testing.assert_array_equal(converted(toward_zero, dtype).astype(np.int32), x)


def test_powers_of_two_are_rounded_up() -> None:
    x = np.array([1, 1.5, 2, 0.75, 2.0**-127, 1e-45, 3e38, np.inf, 0, -0.0, -1, np.nan], np.float32)
    expected = np.array(
        [1, 2, 2, 1, 2.0**-127, 2.0**-127, 2.0**127, 2.0**127, 2.0**-127, 2.0**-127, np.nan, np.nan], np.float32
    )
    np.testing.assert_array_equal(converted(x, "float8_e8m0fnu").astype(np.float32), expected)


def test_elements_are_moved_and_nothing_else() -> None:
    x = values("float8_e4m3fn")[:128].reshape(8, 16)
    g = GraphBuilder()
    v = g.input("x", x.shape, str(x.dtype))
    graph = g.finish(g.op("reshape", g.op("permute_dims", v), shape=(4, 32)))
    np.testing.assert_array_equal(build(graph)(x).view(np.uint8), x.view(np.uint8).T.reshape(4, 32))
    for op in ("add", "maximum", "concat_none"):
        with pytest.raises(GraphError, match=r"is not known here|there is no operator"):
            g.op(op, v, v)
    with pytest.raises(GraphError, match="it converts int4, and is given float8_e4m3fn"):
        g.op("convert", v, from_dtype="int4", dtype="float32")
    with pytest.raises(GraphError, match="would be rounded twice"):
        g.op("convert", g.input("w", (2,), "float64"), from_dtype="float64", dtype="float8_e5m2")
    with pytest.raises(GraphError, match="the input x is float32"):
        build(graph)(x.astype(np.float32))
