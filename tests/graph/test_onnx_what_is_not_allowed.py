"""Models that ONNX's specification does not allow: some ended the process, others were taken for something."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.graph.test_onnx import model, small
from verified_tir.graph import GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.onnx import from_onnx

FLOAT = TensorProto.FLOAT


def whole(nodes: list[Any], constants: list[tuple[str, Any]], shape: Any = (2, 3), **said: Any) -> Any:
    """A model of x, which is 2 by 3, that computes y; ``said``: types of other values."""
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants],
        value_info=[helper.make_tensor_value_info(n, *t) for n, t in said.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


@pytest.mark.parametrize("beyond", [2**31, -(2**31) - 1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize(
    ("op", "operands", "outputs", "attribute"),
    [
        ("LayerNormalization", [small(2, 3), small(3)], 2, "axis"),
        ("GatherND", [small(2, 2), np.array([[0], [1]])], 1, "batch_dims"),
        ("Concat", [small(2), small(2)], 1, "axis"),
        ("ReduceMean", [small(2)], 1, "axes"),
    ],
)
def test_attributes_beyond_int32(op: str, operands: list[Any], outputs: int, attribute: str, beyond: int) -> None:
    """ONNX's shape inference ended the process for the first two."""
    given = [beyond] if attribute == "axes" else beyond
    with pytest.raises(GraphError, match=f"the attribute {attribute} is beyond int32"):
        from_onnx(model(op, operands, outputs=outputs, **{attribute: given}))


def test_ends_may_be_as_far_away_as_exporters_write_them() -> None:
    x = small(2, 3)
    shape = build(from_onnx(model("Shape", [x], start=-(2**63), end=2**63 - 1)))(x)
    np.testing.assert_array_equal(shape, [2, 3])
    sliced = build(from_onnx(model("Slice", [x], opset=9, starts=[1], ends=[2**63 - 1], axes=[1])))(x)
    np.testing.assert_array_equal(sliced, x[:, 1:])
    assert build(from_onnx(model("Constant", [], value_int=2**40)))() == 2**40


def test_two_results_of_one_name() -> None:
    with pytest.raises(GraphError, match=r"node .*\(Split\): its result y is there already"):
        from_onnx(whole([helper.make_node("Split", ["x"], ["y", "y"], axis=0)], []))
    with pytest.raises(GraphError, match="two initializers of the model are called c"):
        from_onnx(whole([helper.make_node("Add", ["x", "c"], ["y"])], [("c", np.float32(1)), ("c", np.float32(2))]))
    twice = whole([helper.make_node("Neg", ["x"], ["y"])], [])
    twice.graph.input.append(helper.make_tensor_value_info("x", FLOAT, [3]))
    with pytest.raises(GraphError, match="two inputs of the model are called x"):
        from_onnx(twice)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"shape": (2, 4)}, r"the result y has the shape \[2, 4\] by the model, and \(2, 3\) here"),
        ({"shape": (6,)}, r"the result y has the shape \[6\] by the model, and \(2, 3\) here"),
        ({"h": (FLOAT, ["n", 4])}, r"the value h has the shape \[n, 4\] by the model, and \(2, 3\) here"),
        ({"h": (TensorProto.INT32, [2, 3])}, "the value h is int32 by the model, and float32 here"),
        ({"c": (FLOAT, [2])}, r"the value c has the shape \[2\] by the model, and \(\) here"),
        ({"shape": ("n", None), "h": (FLOAT, None), "c": (FLOAT, []), "gone": (FLOAT, [7])}, ""),
        ({"shape": (0, -1), "h": (FLOAT, [2, "m"])}, ""),
    ],
)
def test_types_that_are_said(said: dict[str, Any], message: str) -> None:
    nodes = [helper.make_node("Neg", ["x"], ["h"]), helper.make_node("Mul", ["h", "c"], ["y"])]
    made = whole(nodes, [("c", np.float32(2))], **said)
    if not message:
        np.testing.assert_array_equal(build(from_onnx(made))(small(2, 3)), -2 * small(2, 3))
        return
    with pytest.raises(GraphError, match=message):
        from_onnx(made)


def test_scales_and_zeros_go_together() -> None:
    x, scales = np.array([[1, 2], [3, 4]], np.int8), np.array([2, 3], np.float32)
    few, many = np.array(1, np.int8), np.array([1, 2], np.int8)
    with pytest.raises(GraphError, match=r"scales have the shape \(2,\), and zeros \(\)"):
        from_onnx(model("DequantizeLinear", [x, scales, few]))
    with pytest.raises(GraphError, match=r"scales have the shape \(\), and zeros \(2,\)"):
        from_onnx(model("QuantizeLinear", [x.astype(np.float32), np.float32(2), many]))
    found = build(from_onnx(model("DequantizeLinear", [x, scales, many])))(x, scales, many)
    np.testing.assert_array_equal(found, [[0, 0], [4, 6]])
    one = np.array([1], np.int8)
    found = build(from_onnx(model("DequantizeLinear", [x, np.float32(2), one])))(x, np.float32(2), one)
    np.testing.assert_array_equal(found, [[0, 2], [4, 6]])


def test_the_axis_of_a_vector() -> None:
    x, scales = np.array([1, 2], np.int8), np.array([2, 3], np.float32)
    with pytest.raises(GraphError, match="there is no axis 7 among 1"):
        from_onnx(model("DequantizeLinear", [x, scales], axis=7))
    for axis in (0, -1):
        np.testing.assert_array_equal(
            build(from_onnx(model("DequantizeLinear", [x, scales], axis=axis)))(x, scales), [2, 6]
        )


def test_upsample_does_not_shrink() -> None:
    x, scales = small(1, 1, 4, 4), np.array([1, 1, 0.5, 2], np.float32)
    for more in ({"operands": [x, scales], "opset": 9, "constant": (1,)}, {"operands": [x], "opset": 7}):
        attributes = {} if more["opset"] == 9 else {"scales": scales.tolist()}
        made = model("Upsample", more["operands"], more["opset"], more.get("constant", ()), **attributes)
        with pytest.raises(GraphError, match="scales are 1 and more, not"):
            from_onnx(made)


def test_a_second_result_that_a_later_node_of_the_body_uses() -> None:
    """It was said not to be known, since nobody seemed to use it."""
    body = helper.make_graph(
        [helper.make_node("MaxPool", ["s"], ["p", "at"], kernel_shape=[2], pads=[0, 1]),
         helper.make_node("Cast", ["at"], ["f"], to=FLOAT), helper.make_node("Add", ["p", "f"], ["t"]),
         helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("s", FLOAT, [1, 1, 3])],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("t", FLOAT, [1, 1, 3])],
    )  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "yes", "x"], ["y"], body=body)], "g",
        [helper.make_tensor_value_info("x", FLOAT, [1, 1, 3])], [helper.make_tensor_value_info("y", FLOAT, [1, 1, 3])],
        [numpy_helper.from_array(np.array(1), "n"), numpy_helper.from_array(np.array(True), "yes")],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    x = np.array([[[5, 7, 1]]], np.float32)
    np.testing.assert_array_equal(build(from_onnx(made))(x), [[[8, 8, 3]]])
