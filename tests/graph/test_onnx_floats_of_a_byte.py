"""`QLinearMatMul` takes floats of eight bits from opset 21 on; their fractions were cut off before the product."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper, numpy_helper

from verified_tir.graph.execute import build
from verified_tir.graph.onnx import from_onnx


def product(a: Any, b: Any, zeros: tuple[Any, Any, Any], scales: tuple[float, float, float] = (1, 1, 1)) -> Any:
    """The result of a model of two operands; ONNX's evaluator and onnxruntime know integers only."""
    element = [helper.np_dtype_to_tensor_dtype(v.dtype) for v in (a, b, zeros[2])]
    known = {f"z{k}": np.asarray(z) for k, z in enumerate(zeros)}
    known |= {f"s{k}": np.float32(s) for k, s in enumerate(scales)}
    graph = helper.make_graph(
        [helper.make_node("QLinearMatMul", ["a", "s0", "z0", "b", "s1", "z1", "s2", "z2"], ["y"])], "g",
        [helper.make_tensor_value_info(n, e, v.shape) for n, e, v in zip("ab", element, (a, b), strict=False)],
        [helper.make_tensor_value_info("y", element[2], [len(a), len(b[0])])],
        [numpy_helper.from_array(v, n) for n, v in known.items()],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    return build(from_onnx(made)).run([a, b])[0]


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"])
def test_floats_keep_their_fractions(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    a, b = np.array([[0.5, 1.5], [-2, 0.25]], dtype), np.array([[0.5, 3], [1.5, -1]], dtype)
    found = product(a, b, (dtype.type(0), dtype.type(0), dtype.type(0)))
    np.testing.assert_array_equal(found.astype(np.float32), [[2.5, 0], [-0.625, -6]])


def test_zeros_and_scales_of_floats() -> None:
    dtype = np.dtype(ml_dtypes.float8_e5m2)
    a, b = np.array([[0.5, 1.5]], dtype), np.array([[0.75], [3]], dtype)
    found = product(a, b, (dtype.type(0.25), dtype.type(0.5), dtype.type(0.25)), (2, 1, 2))
    np.testing.assert_array_equal(found.astype(np.float32), [[3.5]])  # 0.25 * 0.25 + 1.25 * 2.5 + 0.25 is 3.4375


def test_integers_beside_floats() -> None:
    dtype = np.dtype(ml_dtypes.float8_e4m3fn)
    a, b = np.array([[3, -2]], np.int8), np.array([[0.5], [1.5]], dtype)
    found = product(a, b, (np.int8(1), dtype.type(0), dtype.type(0)))
    np.testing.assert_array_equal(found.astype(np.float32), [[-3.5]])
    found = product(a, b, (np.int8(1), dtype.type(0), np.int8(0)), (4, 1, 1))
    np.testing.assert_array_equal(found, [[-14]])
