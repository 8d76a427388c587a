"""An extent of 0 in the shape of ONNX's `Reshape` means the operand's at that place.  One that was open and happened to
be 0 when the model ran was 0 in the result, which then had another shape than the model says."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from verified_tir.graph import Graph, GraphBuilder, GraphError
from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.fuse import fuse_rewrites
from verified_tir.graph.ir import with_sizes
from verified_tir.graph.onnx import from_onnx
from verified_tir.graph.plan import plan
from verified_tir.graph.sizes import dim_text
from verified_tir.graph.text import graph_text, parse_graph


def model(of: list[Any], places: list[int], numbers: dict[int, int] | None = None, allowzero: int = 0) -> Any:
    """x, reshaped to extents of its own, or to numbers at some places."""
    nodes = [helper.make_node("Shape", ["x"], ["s"])]
    parts = []
    for k in range(len(places)):
        nodes.append(helper.make_node("Gather", ["s", f"p{k}"], [f"e{k}"]))
        parts.append(f"e{k}")
    known = {f"p{k}": np.array([p], np.int64) for k, p in enumerate(places)}
    for k, n in sorted((numbers or {}).items()):
        parts.insert(k, f"n{k}")
        known[f"n{k}"] = np.array([n], np.int64)
    nodes += [
        helper.make_node("Concat", parts, ["w"], axis=0),
        helper.make_node("Reshape", ["x", "w"], ["y"], **({"allowzero": 1} if allowzero else {})),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, of)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * len(parts))],
        [numpy_helper.from_array(a, n) for n, a in known.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


MOVED = model(["a", "b", "c"], [2, 0, 1])
SIZES = [(2, 3, 4), (2, 0, 0), (0, 3, 2), (2, 3, 0), (2, 0, 3), (0, 0, 3), (0, 3, 0), (0, 0, 0), (1, 1, 1)]


def pairs(graph: Graph) -> list[tuple[str, str]]:
    return [(dim_text(e), dim_text(d)) for e, d in graph.zero_with]


def told_apart(made: Any, shapes: list[tuple[int, ...]]) -> set[str]:
    """Each call gives what onnxruntime gives, or is refused; how they end."""
    graph = from_onnx(made)
    f = build(graph)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    found = set()
    for shape in shapes:
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        try:
            (y,) = f.run([x])
        except GraphError as refused:
            assert "an extent of 0 means another one in its model" in str(refused)
            with pytest.raises(GraphError, match="an extent of 0 means another one"):
                evaluate(graph, [x])
            found.add("refused")
            continue
        (want,) = session.run(None, {"x": x})
        np.testing.assert_array_equal(y, want, strict=True)
        found.add("empty" if 0 in shape else "same")
    return found


def test_an_extent_of_0_is_not_taken_for_another_one() -> None:
    assert told_apart(MOVED, SIZES) == {"same", "empty", "refused"}
    x = np.zeros((2, 0, 0), np.float32)
    assert evaluate(from_onnx(MOVED, {"a": 2, "b": 0, "c": 0}), [x])[0].shape == (2, 2, 0)
    with pytest.raises(GraphError, match="main does not run where c is 0 and a is not: an extent"):
        build(from_onnx(MOVED)).run([x])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (model(["b", "s", 6], [0, 1], {2: 2, 3: -1}), []),  # heads of attention
        (model(["b", "s", 4], [1, 0], {2: -1}), [("s", "b"), ("b", "s")]),
        (model(["b", "s", 4], [0, 1], {2: 4}), []),
        (model(["b", 6], [0], {1: 3, 2: 2}), []),
        (model([3, "n"], [1], {0: -1}), []),
        (model([3, "n"], [1], {1: 3}), [("n", "3")]),
        (model(["n"], [0], {0: 1}), [("n", "1")]),  # there is no extent at that place
        (model(["a", "b"], [1, 0], allowzero=1), []),
    ],
)
def test_what_is_asked_of_sizes(made: Any, expected: list[tuple[str, str]]) -> None:
    graph = from_onnx(made)
    assert pairs(graph) == expected
    names = [d.dim_param or d.dim_value for d in made.graph.input[0].type.tensor_type.shape.dim]
    shapes = [tuple(n if isinstance(n, int) else size for n in names) for size in (0, 1, 3)]
    found = told_apart(made, [s for s in shapes if 0 not in s])
    assert found == {"same"}


def test_rows_and_back() -> None:
    """As a product by a matrix is written: [batch·length, width] becomes [batch, length, width]."""
    nodes = [helper.make_node("Flatten", ["x"], ["f"], axis=2), helper.make_node("Shape", ["x"], ["s"]),
             helper.make_node("Reshape", ["f", "s"], ["y"])]  # fmt: skip
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "seq", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 3)],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    assert pairs(from_onnx(made)) == [("seq", "4")]  # batch divides the rows; seq = 0 would mean 4
    assert told_apart(made, [(2, 3, 4), (0, 3, 4), (2, 0, 4), (0, 0, 4)]) == {"same", "empty", "refused"}


def test_graphs_that_are_made_of_it_refuse_it_too() -> None:
    graph = from_onnx(MOVED)
    wanted = [("c", "a"), ("a", "b"), ("b", "c")]
    assert pairs(graph) == wanted
    again = parse_graph(graph_text(graph))
    assert pairs(again) == wanted and graph_text(again) == graph_text(graph)
    assert pairs(fuse_rewrites(plan(graph).graph).graph) == wanted
    assert pairs(with_sizes(graph, {"c": 3})) == [("a", "b"), ("b", "3")]
    with pytest.raises(GraphError, match="zero_with is pairs of sizes"):
        parse_graph(graph_text(graph).replace("(c, a)", "(c, a, b)"))
    with pytest.raises(GraphError, match="k is neither a constant nor the extent of an input"):
        parse_graph(graph_text(graph).replace("(c, a)", "(c, k)"))


def test_extents_of_other_graphs_may_be_0() -> None:
    """Reshape itself means what it says: only ONNX takes 0 for another extent."""
    g = GraphBuilder("g")
    x = g.input("x", ("a", "b"))
    graph = g.finish(g.op("reshape", x, shape=(x.dims[1], x.dims[0])))
    assert graph.zero_with == ()
    assert build(graph).run([np.zeros((2, 0), np.float32)])[0].shape == (0, 2)
