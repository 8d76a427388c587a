"""What a model computes of an open size was not always what it computes of a number: `ReduceSum` passed over
`noop_with_empty_axes`, `Slice` went back from below the first element to nothing, int32 did not wrap, and a size by
itself was 1, also where it is 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from verified_tir.graph.execute import build
from verified_tir.graph.onnx import from_onnx
from verified_tir.graph.onnx.counts import fits_type
from verified_tir.graph.sizes import greater, smaller, symbol

INT32, INT64 = TensorProto.INT32, TensorProto.INT64


def node(op: str, inputs: str, output: str, **attributes: Any) -> Any:
    names = ["" if n == "_" else n for n in inputs.split()]
    return helper.make_node(op, names, [output], **attributes)


def model(nodes: list[Any], rank: int, opset: int = 17, element: int = INT64, **constants: Any) -> Any:
    """A model that computes y of s, the shape of its input."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [f"n{k}" for k in range(rank)])
    graph = helper.make_graph(
        [node("Shape", "x", "s"), *nodes], "g", [x], [helper.make_tensor_value_info("y", element, None)],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def without_axes() -> Any:
    found = node("Squeeze", "s", "y")
    found.attribute.append(onnx.AttributeProto(name="axes", type=onnx.AttributeProto.INTS))
    return found


NARROW = node("Cast", "s", "i", to=INT32)
THREE = np.array(3, np.int32)
SQUARE = [NARROW, node("Mul", "i i", "p")]
CASES: list[tuple[Any, tuple[int, ...], list[int]]] = [
    (model([node("ReduceSum", "s", "y", noop_with_empty_axes=1)], 2), (2, 3), [2, 3]),
    (model([node("ReduceSum", "s a", "y", noop_with_empty_axes=1)], 2, a=np.array([], np.int64)), (2, 3), [2, 3]),
    (model([node("ReduceSum", "s", "y")], 2), (2, 3), [5]),
    (model([node("ReduceProd", "s", "y", noop_with_empty_axes=1)], 2, 18), (2, 3), [2, 3]),
    (model([node("Slice", "s a b _ c", "y")], 2, a=[-10], b=[-20], c=[-1]), (2, 3), [2]),
    (model([node("Slice", "s a b _ c", "y")], 2, a=[-1], b=[-20], c=[-1]), (2, 3), [3, 2]),
    (model([without_axes()], 1, 11), (3,), [3]),
    (model([node("Squeeze", "s", "y")], 1, 11), (3,), [3]),
    (model([*SQUARE, node("Max", "p c", "y")], 1, 17, INT32, c=THREE), (50_000,), [3]),
    (model([*SQUARE, node("Max", "p c", "y")], 1, 17, INT32, c=THREE), (40_000,), [1_600_000_000]),
    (model([*SQUARE, node("Less", "p c", "l"), node("Where", "l s t", "y")], 1, c=THREE, t=[7]), (50_000,), [50_000]),
    (model([node("Mul", "s f", "p"), node("Cast", "p", "i", to=INT32), node("Neg", "i", "y")], 1, 17, INT32,
           f=2**18), (2**15,), [0]),
    (model([NARROW, node("Add", "i c", "y")], 1, 17, INT32, c=np.int32(2**31 - 5)), (9,), [4 - 2**31]),
    (model([node("Mul", "s s", "p"), node("Mul", "p p", "y")], 1), (2**16,), [0]),
    (model([node("Mul", "s f", "p"), node("Cast", "p", "y", to=INT32)], 1, 17, INT32, f=2**31), (3,), [-(2**31)]),
    (model([node("Mul", "s f", "p"), node("Div", "p s", "y")], 1, f=4), (0,), [0]),
    (model([node("Mul", "s f", "p"), node("Div", "p s", "y")], 1, f=4), (5,), [4]),
    (model([node("Max", "s o", "m"), node("Mul", "m f", "p"), node("Div", "p m", "y")], 1, f=4, o=1), (0,), [4]),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_size_is_computed_with_as_a_number_is(case: int) -> None:
    made, shape, expected = CASES[case]
    x = np.zeros(shape, np.float32)
    sizes = {f"n{k}": n for k, n in enumerate(shape)}
    for given in ({}, sizes):
        assert build(from_onnx(made, given))(x).reshape(-1).tolist() == expected


def test_what_is_known_to_have_room_is_a_size() -> None:
    """It may be the shape of a result then, which is not computed when the graph runs."""
    for nodes, rank, constants in (
        ([NARROW, node("Cast", "i", "w", to=INT64)], 1, {}),
        ([node("ReduceProd", "s", "w")], 3, {}),
        ([node("Max", "s o", "m"), node("Mul", "m f", "p"), node("Div", "p m", "w")], 1, {"f": [4], "o": [1]}),
        ([node("Div", "s f", "w")], 1, {"f": [4]}),
    ):
        made = model([*nodes, node("ConstantOfShape", "w", "y")], rank, 17, TensorProto.FLOAT, **constants)
        graph = from_onnx(made)
        assert build(graph)(np.zeros((4, 2, 3)[:rank], np.float32)).size in (4, 24, 1)


def test_what_types_hold() -> None:
    a, b, c = symbol("a"), symbol("b"), symbol("c")
    assert fits_type(a, "int32", []) and fits_type(0 - a, "int32", []) and fits_type(a % 7 + b // 2, "int32", [])
    assert not fits_type(a + b, "int32", []) and not fits_type(a * 4, "int32", [])
    assert fits_type(smaller(a, 9) * 4 - 5, "int32", []) and not fits_type(greater(a, 9) * 4, "int32", [])
    assert fits_type(a * b, "int64", []) and not fits_type(a * b * 4, "int64", [])
    assert fits_type(a * b * 4, "int64", [(a, c, b, 4, 0)]) and not fits_type(a * b * 8, "int64", [(a, b, 4)])
    assert not fits_type(a * a * 4, "int64", [(a, b, 4)]) and fits_type(2**63 - 1, "int64", [])
    assert not fits_type(2**63, "int64", [])
