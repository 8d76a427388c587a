"""Valid models that are made malformed: one with many operators and their attributes, and those with control flow,
functions, and weights in files of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from tests.graph.whole_models.writer import Writer


def operators() -> Any:
    """Operators with attributes, constants as operands, and several results; every node is needed for the result."""
    w = Writer(21)
    x = w.input("x", np.float32, [1, 4, 6, 6])
    y = w.op(
        "Conv",
        x,
        w.weight("w", 4, 2, 3, 3),
        w.weight("b", 4),
        group=2,
        pads=[1, 1, 1, 1],
        strides=[1, 1],
        dilations=[1, 1],
        kernel_shape=[3, 3],
        auto_pad="NOTSET",
    )
    c = [w.weight(f"bn{k}", 4, around=2.0) for k in range(4)]
    y = w.op("BatchNormalization", y, *c, epsilon=1e-5, momentum=0.9, training_mode=0)
    y = w.op("LeakyRelu", y, alpha=0.1)
    y = w.op(
        "MaxPool",
        y,
        kernel_shape=[3, 3],
        pads=[1, 1, 1, 1],
        strides=[1, 1],
        dilations=[1, 1],
        ceil_mode=0,
        storage_order=0,
    )
    y = w.op("AveragePool", y, kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1], count_include_pad=1)
    y = w.op("ConvTranspose", y, w.weight("wt", 4, 2, 2, 2), strides=[2, 2], group=1, output_padding=[0, 0])
    y = w.op("LRN", y, size=3, alpha=0.1, beta=0.75, bias=1.0)
    y = w.op("Pad", y, w.integers(0, 0, 1, 1, 0, 0, 1, 1), w.constant(np.float32(0.5)), mode="constant")
    y = w.op(
        "Resize",
        y,
        "",
        w.constant(np.array([1, 1, 0.5, 0.5], np.float32)),
        mode="linear",
        coordinate_transformation_mode="half_pixel",
        cubic_coeff_a=-0.75,
    )
    y = w.op("DepthToSpace", w.op("Concat", y, y, axis=1), blocksize=2, mode="DCR")
    y = w.op("Flatten", y, axis=1)
    y = w.op("Gemm", y, w.weight("gw", 196, 12), w.weight("gb", 12), alpha=0.5, beta=2.0, transA=0, transB=0)
    y = w.op("Reshape", y, w.integers(1, 3, 4), allowzero=0)
    y = w.op("Transpose", y, perm=[0, 2, 1])
    first, second = w.op("Split", y, w.integers(1, 2), axis=2, results=2)
    y = w.op("Concat", first, second, first, axis=-1)
    y = w.op("Slice", y, w.integers(3, 0), w.integers(-9, 3), w.integers(1, 2), w.integers(-1, 1))
    y = w.op("Gather", y, w.constant(np.array([2, 0, -1], np.int64)), axis=1)
    y = w.op("LayerNormalization", y, w.weight("scale", 3), w.weight("shift", 3), axis=-1, epsilon=1e-5, stash_type=1)
    y = w.op("Softmax", y, axis=1)
    y = w.op("ReduceSum", y, w.integers(2), keepdims=1, noop_with_empty_axes=0)
    y = w.op("Squeeze", w.op("Unsqueeze", y, w.integers(0, 2)), w.integers(0))
    y = w.op("CumSum", y, w.constant(np.int64(2)), exclusive=0, reverse=1)
    best, places = w.op("TopK", y, w.integers(2), axis=2, largest=1, sorted=1, results=2)
    hot = w.op("OneHot", places, w.constant(np.int64(4)), w.constant(np.array([0, 1], np.float32)), axis=-1)
    y = w.op("Mul", w.op("Unsqueeze", best, w.integers(-1)), hot)
    y = w.op("Einsum", y, w.weight("e", 4, 5), equation="abcde,ef->abcf")
    zero = w.constant(np.uint8(3))
    y = w.op("QuantizeLinear", y, w.constant(np.float32(0.01)), zero, axis=1, saturate=1)
    y = w.op("DequantizeLinear", y, w.constant(np.float32(0.01)), zero, axis=1)
    y = w.op("Clip", y, w.constant(np.float32(-1)), w.constant(np.float32(1)))
    y = w.op("Reshape", y, w.integers(2, 1, 5))
    recurrent, _, _ = w.op(
        "LSTM", y, w.weight("lw", 1, 12, 5), w.weight("lr", 1, 12, 3), hidden_size=3, direction="forward", results=3
    )
    y = w.op("Cast", w.op("Cast", recurrent, to=TensorProto.DOUBLE, saturate=1), to=TensorProto.FLOAT)
    y = w.op("Expand", w.op("Tile", y, w.integers(1, 1, 1, 2)), w.integers(2, 2, 1, 6))
    y = w.op("Where", w.constant(np.array([True, False] * 3)), y, w.op("Trilu", y, w.constant(np.int64(0)), upper=1))
    best = w.op("ArgMax", y, axis=3, keepdims=1, select_last_index=0)
    return w.model([2, 2, 1, 6], y=w.op("Add", y, w.op("Cast", best, to=TensorProto.FLOAT)))


def control() -> Any:
    """An If by a constant, a Loop that is unrolled, in whose body is another, and a Scan."""
    add = helper.make_node("Add", ["inner", "k"], ["inner2"], name="add_inner")
    go = helper.make_node("Identity", ["go"], ["go2"], name="go_inner")
    deep = helper.make_graph(
        [add, go],
        "deep",
        [_value("j", 7, []), _value("go", 9, []), _value("inner", 1, [2, 3])],
        [_value("go2", 9, []), _value("inner2", 1, [2, 3])],
    )
    cast = helper.make_node("Cast", ["i"], ["k"], name="cast_i", to=1)
    loop = helper.make_node("Loop", ["two", "yes", "state"], ["state2"], name="loop_inner", body=deep)
    keep = helper.make_node("Identity", ["yes"], ["yes2"], name="keep")
    body = helper.make_graph(
        [cast, loop, keep],
        "body",
        [_value("i", 7, []), _value("c", 9, []), _value("state", 1, [2, 3])],
        [_value("yes2", 9, []), _value("state2", 1, [2, 3])],
    )
    step = helper.make_graph(
        [
            helper.make_node("Add", ["sum", "row"], ["sum2"], name="add_row"),
            helper.make_node("Relu", ["sum2"], ["out"], name="out"),
        ],
        "step",
        [_value("sum", 1, [3]), _value("row", 1, [3])],
        [_value("sum2", 1, [3]), _value("out", 1, [3])],
    )
    then = helper.make_graph(
        [helper.make_node("Abs", ["x"], ["t"], name="then_abs")], "then", [], [_value("t", 1, [2, 3])]
    )
    other = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["e"], name="else_neg")], "else", [], [_value("e", 1, [2, 3])]
    )
    nodes = [
        helper.make_node("If", ["yes"], ["chosen"], name="if", then_branch=then, else_branch=other),
        helper.make_node("Loop", ["three", "yes", "chosen"], ["looped"], name="loop", body=body),
        helper.make_node("Scan", ["start", "looped"], ["total", "y"], name="scan", body=step, num_scan_inputs=1),
    ]
    constants = {"yes": np.array(True), "two": np.int64(2), "three": np.int64(3), "start": np.zeros(3, np.float32)}
    graph = helper.make_graph(
        nodes,
        "main_graph",
        [_value("x", 1, [2, 3])],
        [_value("y", 1, [2, 3])],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def functions() -> Any:
    """A function of the model with an attribute, which calls another."""
    ours = [helper.make_opsetid("", 21), helper.make_opsetid("ours", 1)]
    slope = helper.make_node("LeakyRelu", ["a"], ["b"], name="leaky")
    slope.attribute.append(_reference("alpha", "slope"))
    inner = helper.make_function("ours", "Leaky", ["a"], ["b"], [slope], ours, ["slope"])
    call = helper.make_node("Leaky", ["p"], ["q"], name="call_leaky", domain="ours", slope=0.25)
    outer = helper.make_function(
        "ours", "Twice", ["p"], ["r"], [call, helper.make_node("Add", ["q", "q"], ["r"], name="twice")], ours
    )
    graph = helper.make_graph(
        [helper.make_node("Twice", ["x"], ["y"], name="call_twice", domain="ours")],
        "main_graph",
        [_value("x", 1, [2, 3])],
        [_value("y", 1, [2, 3])],
    )
    return helper.make_model(graph, functions=[inner, outer], opset_imports=ours, ir_version=10)


def _value(name: str, element: int, shape: list[int]) -> Any:
    return helper.make_tensor_value_info(name, element, shape)


def _reference(name: str, outer: str) -> Any:
    found = AttributeProto()
    found.name, found.ref_attr_name, found.type = name, outer, AttributeProto.FLOAT
    return found
