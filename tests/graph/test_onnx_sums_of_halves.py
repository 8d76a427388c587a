"""Sums of float16 and bfloat16 were rounded after each addition in `Conv`, `ConvTranspose`, `Einsum`, the averages,
`LRN`, `InstanceNormalization` and the recurrent operators: 4,000 ones were 2,048, and some numbers of elements
infinite.  `ReduceMean` rounded the sum before its division.  They are computed in float32, and rounded once."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.ir import Graph
from verified_tir.graph.onnx import from_onnx

HALF, BRAIN = np.float16, ml_dtypes.bfloat16


def read(op: str, arrays: list[Any], opset: int = 22, **attributes: Any) -> Graph:
    given = {f"x{k}": a for k, a in enumerate(arrays)}
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in given.items()
    ]
    node = helper.make_node(op, [*given], ["y"], name="the_node", **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")])
    return from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10))


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


RECURRENT = [ones(1, 1, 4000), ones(1, 1, 4000), 0 * ones(1, 1, 1)]
CASES: list[tuple[str, list[Any], dict[str, Any], float]] = [
    ("Conv", [ones(1, 4000, 1, 1), ones(1, 4000, 1, 1)], {}, 4000),
    ("Conv", [ones(1, 4000, 1), ones(1, 4000, 1), -3968 * ones(1)], {}, 32),
    ("ConvTranspose", [ones(1, 4000, 1, 1), ones(4000, 1, 1, 1)], {}, 4000),
    ("Einsum", [ones(4000), ones(4000)], {"equation": "i,i->"}, 4000),
    ("AveragePool", [ones(1, 1, 64, 64)], {"kernel_shape": [64, 64]}, 1),
    ("AveragePool", [ones(1, 1, 2, 2, 4096)], {"kernel_shape": [2, 2, 4096]}, 1),
    ("AveragePool", [ones(1, 1, 8001)], {"kernel_shape": [4001], "dilations": [2]}, 1),
    ("GlobalAveragePool", [ones(1, 1, 300, 300)], {}, 1),
    ("InstanceNormalization", [1000 * ones(1, 1, 10, 10), ones(1), ones(1)], {}, 1),
    ("LRN", [300 * ones(1, 1, 1, 1)], {"size": 1, "alpha": 1.0, "bias": 0.0, "beta": 0.5}, 1),
    ("ReduceMean", [1000 * ones(100)], {"opset": 17}, 1000),
    ("ReduceMean", [ones(70_000)], {"opset": 17}, 1),
    ("RNN", RECURRENT, {"hidden_size": 1, "activations": ["Relu"]}, 4000),
    ("GRU", [RECURRENT[0], ones(1, 3, 4000) / 4000, 0 * ones(1, 3, 1)], {"hidden_size": 1}, 0.2047),
    ("LSTM", [RECURRENT[0], ones(1, 4, 4000) / 4000, 0 * ones(1, 4, 1)], {"hidden_size": 1}, 0.3696),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_sum_of_halves_is_rounded_once(case: int) -> None:
    op, arrays, attributes, expected = CASES[case]
    wide = build(read(op, arrays, **attributes))
    for dtype in (HALF,) if op == "Einsum" else (HALF, BRAIN):  # ONNX has no Einsum of bfloat16
        graph = read(op, [a.astype(dtype) for a in arrays], **attributes)
        assert graph.outputs[0].dtype == np.dtype(dtype).name
        (found,) = build(graph).run([a.astype(dtype) for a in arrays])
        (same,) = wide.run([a.astype(dtype).astype(np.float32) for a in arrays])
        np.testing.assert_array_equal(found, same.astype(dtype))
        np.testing.assert_allclose(found.astype(np.float64).reshape(-1)[0], expected, rtol=2e-2)


def test_the_interpreter_computes_the_same() -> None:
    x, w = (np.linspace(-1, 1, 90).reshape(1, 10, 3, 3).astype(HALF) for _ in range(2))
    graph = read("Conv", [x, w])
    np.testing.assert_array_equal(build(graph)(x, w), evaluate(graph, [x, w])[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_with_room_stay_what_they_are(dtype: str) -> None:
    """Nothing is converted, and greatest elements of halves are not, either."""
    for op, arrays, attributes, _ in CASES:
        if op != "LRN" or dtype == "float32":
            graph = read(op, [a.astype(dtype) for a in arrays], **attributes)
            assert not any("astype" in str(n) or "float16" in str(n) for n in graph.nodes)
    pooled = read("MaxPool", [ones(1, 1, 4).astype(HALF)], kernel_shape=[2])
    assert {v.dtype for n in pooled.nodes for v in n.outputs} == {"float16"}
