"""What depends on constants only is computed when a graph is made."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from verified_tir.graph import Graph, GraphBuilder, GraphError
from verified_tir.graph.constants import FEW, constants_folded
from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.onnx import from_onnx


def chain(elements: int) -> tuple[Graph, np.ndarray]:
    """x + (|c| · 2, of which the absolute value is also a result)."""
    g = GraphBuilder()
    c = np.random.default_rng(0).standard_normal(elements).astype(np.float32)
    x = g.input("x", (elements,))
    positive = g.op("abs", g.constant(c, "c"), name="positive")
    doubled = g.op("multiply", positive, g.constant(np.float32(2), "two"), name="doubled")
    return g.finish(g.op("add", x, doubled, name="y"), positive), c


@pytest.mark.parametrize("elements", [FEW // 4, FEW])
def test_values_that_depend_on_constants_only_become_constants(elements: int) -> None:
    graph, c = chain(elements)
    folded = constants_folded(graph)
    assert [n.op for n in folded.nodes] == ["add"]
    assert [v.name for v in folded.constants] == ["positive", "doubled"]  # c and two are used no more
    x = np.ones(elements, np.float32)
    for got, want in zip(build(folded).run([x]), build(graph).run([x]), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(folded.constants[folded.outputs[1]], np.abs(c))


@pytest.mark.parametrize("beyond", [0, 4])
def test_what_is_written_to_arrays_later_changes_no_constant(beyond: int) -> None:
    """Also where an array begins as the machine wants it, and could be used as it is."""
    raw = np.zeros(4 * 128 + 128, np.uint8)
    first = -raw.ctypes.data % 64 + beyond
    c = raw[first : first + 4 * 128].view(np.float32)
    g = GraphBuilder()
    x, constant = g.input("x", (128,)), g.constant(c)
    c[:] = 1
    graph = g.finish(g.op("add", x, constant))
    given = Graph("given", (x,), {constant: c}, graph.nodes, graph.outputs)
    functions = build(graph), build(given)
    c[:] = 2
    a = np.zeros(128, np.float32)
    assert [f(a)[0] for f in functions] == [0, 1] == [evaluate(f.graph, [a])[0][0] for f in functions]
    with pytest.raises(ValueError, match="read-only"):
        graph.constants[constant][:] = 3


def test_constants_that_nobody_can_write_are_not_copied() -> None:
    fixed = np.frombuffer(bytes(4 * 64), np.float32).reshape(8, 8)
    view = np.zeros((8, 8), np.float32)[:]
    view.flags.writeable = False  # but the array that it is a view of can be written
    g = GraphBuilder()
    graph = g.finish(g.op("add", g.constant(fixed), g.constant(view)))
    first, second = graph.constants.values()
    assert first.base is fixed.base and not np.shares_memory(second, view)
    assert second.ctypes.data % 64 == 0
    assert np.shares_memory(build(graph)._constants[graph.nodes[0].inputs[1]], second)


@pytest.mark.parametrize("run", [evaluate, lambda graph, inputs: build(graph).run(inputs)], ids=["evaluate", "run"])
def test_results_have_memory_of_their_own(run: Any) -> None:
    g = GraphBuilder()
    x, c = g.input("x", (4,)), g.constant(np.ones(4, np.float32))
    y = g.op("nn.relu", x)
    graph = g.finish(x, y, c, y, c, x)
    a = np.full(4, 2, np.float32)
    results = [a, *graph.constants.values(), *run(graph, [a])]
    assert not any(np.shares_memory(p, q) for p, q in combinations(results, 2))
    assert [r[0] for r in results[2:]] == [2, 2, 1, 2, 1, 2] and all(r.flags.writeable for r in results[2:])


def test_what_an_input_reaches_stays() -> None:
    g = GraphBuilder()
    x = g.input("x", (3,))
    graph = g.finish(g.op("add", g.op("abs", x), g.constant(np.ones(3, np.float32))))
    assert constants_folded(graph) is graph


def test_small_and_large_constants_wait_for_each_other() -> None:
    """A sum of many elements is small, and what is made of it is large again."""
    g = GraphBuilder()
    c = np.random.default_rng(0).integers(0, 9, (FEW, 2)).astype(np.float32)
    total = g.op("sum", g.op("abs", g.constant(c)), axis=(0,), keepdims=True)
    wide = g.op("subtract", g.constant(c), g.op("negative", total))
    graph = constants_folded(g.finish(g.op("add", g.input("x", (FEW, 2)), wide)))
    assert [n.op for n in graph.nodes] == ["add"]
    (found,) = graph.constants.values()
    np.testing.assert_array_equal(found, c + c.sum(0, keepdims=True))


def dequantised(axis: int) -> onnx.ModelProto:
    """x times weights of 8 bits with a scale for each column."""
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["wide"], axis=axis),
        helper.make_node("MatMul", ["x", "wide"], ["y"]),
    ]
    weights = {
        "w": np.array([[-3, 5], [7, -9]], np.int8), "scale": np.array([0.5, 0.25], np.float32),
        "zero": np.array([1, -1], np.int8),
    }  # fmt: skip
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(a, n) for n, a in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


def test_weights_that_an_old_model_keeps_quantised() -> None:
    """The package's evaluator does not know DequantizeLinear before opset 19."""
    made = from_onnx(dequantised(axis=1))
    assert [n.op for n in made.nodes] == ["matmul"]
    (wide,) = made.constants.values()
    np.testing.assert_array_equal(wide, [[-2.0, 1.5], [3.0, -2.0]])
    with pytest.raises(GraphError, match=r"node DequantizeLinear \(wide\) \(DequantizeLinear\): .*axis 2"):
        from_onnx(dequantised(axis=2))
