"""A function `F(a, b, c): If(c){ x = Neg(b); r = Add(x, a) }`, called as `F(x, b, c)`, computed -b + -b: the operand
`a` became `x` within the branch, which has an `x` of its own.  Such a value of the branch gets another name now."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from verified_tir.graph import GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.onnx import from_onnx

FLOAT = TensorProto.FLOAT
X, B = np.array([1, 2, 3], np.float32), np.array([10, 20, 30], np.float32)


def value(name: str) -> Any:
    return helper.make_tensor_value_info(name, FLOAT, [3])


def graph(*nodes: Any, weights: tuple[Any, ...] = ()) -> Any:
    return helper.make_graph(list(nodes), "inner", [], [helper.make_empty_tensor_value_info("r")], list(weights))


def branch(then: Any) -> Any:
    return helper.make_node("If", ["c"], ["r"], then_branch=then, else_branch=then)


def called(*nodes: Any) -> Any:
    """The result of F(x, b, c), of which the nodes are those of ``F(a, b, c): r``."""
    ours = [helper.make_opsetid("", 21), helper.make_opsetid("ours", 1)]
    function = helper.make_function("ours", "F", ["a", "b", "c"], ["r"], list(nodes), ours)
    call = helper.make_node("F", ["x", "b", "c"], ["y"], domain="ours")
    yes = numpy_helper.from_array(np.array(True), "c")
    whole = helper.make_graph([call], "g", [value("x"), value("b")], [value("y")], [yes])
    made = helper.make_model(whole, functions=[function], opset_imports=ours, ir_version=10)
    return build(from_onnx(made))(X, B)


NEG, ADD = helper.make_node("Neg", ["b"], ["x"]), helper.make_node("Add", ["x", "a"], ["r"])
FIVE = numpy_helper.from_array(np.full(3, 5, np.float32), "x")


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        (graph(NEG, ADD), X - B),
        (graph(ADD, weights=(FIVE,)), X + 5),
        (graph(branch(graph(NEG, ADD))), X - B),
        (graph(NEG, branch(graph(ADD))), X - B),  # x of the branch around
        (graph(NEG, helper.make_node("Neg", ["x"], ["x_"]), helper.make_node("Add", ["x_", "a"], ["r"])), X + B),
        (graph(helper.make_node("Neg", ["b"], ["a"]), helper.make_node("Add", ["a", "b"], ["r"])), B * 0),  # its own a
    ],
)
def test_a_value_of_a_branch_is_not_the_operand_of_that_name(then: Any, expected: Any) -> None:
    np.testing.assert_array_equal(called(branch(then)), expected)


def test_a_value_of_a_branch_is_not_the_state_of_that_name() -> None:
    """The state s is x outside; the branch has an x of its own."""
    then = graph(helper.make_node("Neg", ["p"], ["x"]), helper.make_node("Add", ["x", "s"], ["r"]))
    body = helper.make_graph(
        [branch(then), helper.make_node("Identity", ["r"], ["every"])], "body", [value("s"), value("p")],
        [value("r"), value("every")],
    )  # fmt: skip
    scan = helper.make_node("Scan", ["x", "ps"], ["y", ""], body=body, num_scan_inputs=1)
    rows = helper.make_tensor_value_info("ps", FLOAT, [2, 3])
    whole = helper.make_graph(
        [scan], "g", [value("x"), rows], [value("y")], [numpy_helper.from_array(np.array(True), "c")]
    )
    made = helper.make_model(whole, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    np.testing.assert_array_equal(build(from_onnx(made))(X, np.stack([B, X])), X - B - X)


def test_a_graph_that_is_handed_to_a_function_takes_nothing_from_outside() -> None:
    """Its names would be those of the function."""

    def made(inner: Any) -> Any:
        chosen = helper.make_node("If", ["c"], ["r"], else_branch=graph(helper.make_node("Neg", ["a"], ["r"])))
        reference = chosen.attribute.add()
        reference.name, reference.ref_attr_name = "then_branch", "inner"
        reference.type = reference.GRAPH
        ours = [helper.make_opsetid("", 21), helper.make_opsetid("ours", 1)]
        function = helper.make_function("ours", "F", ["a", "c"], ["r"], [chosen], ours, ["inner"])
        call = helper.make_node("F", ["x", "c"], ["y"], domain="ours", name="call", inner=inner)
        whole = helper.make_graph(
            [helper.make_node("Neg", ["x"], ["a"]), call], "g", [value("x")], [value("y")],
            [numpy_helper.from_array(np.array(True), "c")],
        )  # fmt: skip
        return helper.make_model(whole, functions=[function], opset_imports=ours, ir_version=10)

    with pytest.raises(
        GraphError, match=r"node call \(F\): a graph that it hands to the function takes a from outside"
    ):
        from_onnx(made(graph(helper.make_node("Abs", ["a"], ["r"]))))
    five = graph(helper.make_node("Identity", ["x"], ["r"]), weights=(FIVE,))
    np.testing.assert_array_equal(build(from_onnx(made(five)))(X), [5, 5, 5])
