"""ONNX nodes and models as graphs: the results are those of onnx's own evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from verified_tir.graph import GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.onnx import from_onnx, load_onnx

Array = np.ndarray


def small(*shape: int, seed: int = 0, low: int = -4) -> Array:
    return np.random.default_rng(seed).integers(low, 5, shape).astype(np.float32)


def model(
    op: str, arrays: list[Array | None], opset: int = 17, constant: tuple[int, ...] = (), outputs: int = 1, **attrs: Any
) -> Any:
    """A model of one node; operands in ``constant`` are initializers, None is left out."""
    names = ["" if a is None else f"i{k}" for k, a in enumerate(arrays)]
    results = [f"o{k}" for k in range(outputs)]
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for k, (n, a) in enumerate(zip(names, arrays, strict=True)) if a is not None and k not in constant
    ]  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node(op, names, results, **attrs)], "one", inputs,
        [helper.make_value_info(r, onnx.TypeProto()) for r in results],
        [numpy_helper.from_array(a, f"i{k}") for k, a in enumerate(arrays) if k in constant and a is not None],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


X, W = small(1, 4, 7, 6), small(6, 2, 3, 3)
CHANNELS = [small(4, seed=k, low=1) for k in range(4)]
ODD = {"output_padding": [1, 0]}
CASES: dict[str, tuple[str, list[Array | None], dict[str, Any]]] = {
    "conv": ("Conv", [X, W, small(6)], {"group": 2, "strides": [2, 1], "pads": [0, 1, 1, 0], "dilations": [1, 2]}),
    "conv auto_pad": ("Conv", [X, W], {"group": 2, "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    "conv_transpose": ("ConvTranspose", [X, small(4, 3, 3, 3)], {"strides": [2, 2], "pads": [1, 1, 1, 1], **ODD}),
    "max_pool": ("MaxPool", [X], {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 0, 1]}),
    "average_pool": ("AveragePool", [X], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    "gemm": ("Gemm", [small(2, 3), small(3, 4), small(4)], {"alpha": 2.0, "beta": 0.5}),
    "gemm transposed": ("Gemm", [small(3, 2), small(4, 3)], {"transA": 1, "transB": 1}),
    "batch_norm": ("BatchNormalization", [X, *CHANNELS], {"epsilon": 0.5}),
    "sum": ("Sum", [small(3), small(3, seed=1), small(1)], {}),
    "max": ("Max", [small(3), small(3, seed=1)], {}),
    "clip": ("Clip", [X, None, np.float32(2)], {}),
    "leaky_relu": ("LeakyRelu", [X], {"alpha": 0.25}),
    "softmax": ("Softmax", [X], {"axis": 1}),
    "concat": ("Concat", [X, X], {"axis": -1}),
    "split": ("Split", [X, np.array([1, 3])], {"axis": 1}),
    "slice": ("Slice", [X, np.array([1, -1]), np.array([9, -9]), np.array([1, 2]), np.array([2, -1])], {}),
    "reshape": ("Reshape", [X, np.array([0, -1, 2])], {}),
    "transpose": ("Transpose", [X], {"perm": [0, 2, 3, 1]}),
    "unsqueeze": ("Unsqueeze", [small(3), np.array([0, 2])], {}),
    "squeeze": ("Squeeze", [small(1, 3, 1), np.array([2])], {}),
    "gather": ("Gather", [small(5, 3), np.array([[0, 4], [-1, 2]])], {}),
    "pad": ("Pad", [small(3, 4), np.array([1, 0, 0, 2]), np.float32(7)], {}),
    "reduce_mean": ("ReduceMean", [small(2, 4, 4)], {"axes": [1, 2], "keepdims": 0}),
    "expand": ("Expand", [small(3, 1), np.array([2, 1, 4])], {}),
    "cast": ("Cast", [small(3)], {"to": onnx.TensorProto.INT32}),
    "layer_norm": ("LayerNormalization", [small(2, 4), small(4, low=1), small(4)], {"epsilon": 1.0}),
    "global_average_pool": ("GlobalAveragePool", [X], {}),
}  # fmt: skip
CONSTANT = {
    "clip": (2,),
    "split": (1,),
    "slice": (1, 2, 3, 4),
    "reshape": (1,),
    "unsqueeze": (1,),
    "squeeze": (1,),
    "pad": (1, 2),
    "expand": (1,),
}


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", CASES)
def test_nodes_compute_what_the_evaluator_of_onnx_does(name: str) -> None:
    op, arrays, attrs = CASES[name]
    constant = CONSTANT.get(name, ())
    made = model(op, arrays, constant=constant, outputs=2 if op == "Split" else 1, **attrs)
    given = {f"i{k}": a for k, a in enumerate(arrays) if a is not None and k not in constant}
    expected = ReferenceEvaluator(made).run(None, given)
    for got, want in zip(build(from_onnx(made)).run(given), expected, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_softmax_of_older_models_takes_all_dimensions_from_the_axis_on() -> None:
    made = model("Softmax", [X], opset=9, axis=1)
    flat = np.exp(X.reshape(1, -1) - X.max())
    np.testing.assert_allclose(build(from_onnx(made))(X), (flat / flat.sum()).reshape(X.shape), rtol=1e-5)


LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"


@pytest.mark.nightly
def test_a_real_model_is_read() -> None:
    graph = load_onnx(LIGHT / "light_squeezenet.onnx")
    assert [n.op for n in graph.nodes].count("nn.conv2d") == 26
    assert [(v.name, v.shape) for v in graph.inputs] == [("data_0", (1, 3, 224, 224))]
    assert graph.nodes[0].source


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: model("NonZero", [X]), r"node NonZero \(o0\) \(NonZero\): the operator NonZero is not known here"),
        (
            lambda: model("Reshape", [X, np.array([1, -1])]),
            "its shape is computed by the model, and must be a constant",
        ),
        (lambda: model("Conv", [X, small(6, 3, 3, 3)]), r"node Conv \(o0\) \(Conv\): .*do not fit weights"),
    ],
)
def test_what_is_not_known_is_said_with_the_node(made: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(made())


def test_open_shapes_and_broken_files(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 3])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    made = helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y]))
    assert str(from_onnx(made).outputs[0].type) == 'R.Tensor((batch, 3), "float32")'
    assert from_onnx(made, {"batch": 2}).outputs[0].shape == (2, 3)
    assert from_onnx(made, {"x": (4, 3)}).outputs[0].shape == (4, 3)
    with pytest.raises(GraphError, match="the input x has 2 dimensions, and is given 1"):
        from_onnx(made, {"x": (4,)})
    with pytest.raises(GraphError, match="the model has no input or dimension bath; it has x, batch"):
        from_onnx(made, {"bath": 4})
    with pytest.raises(GraphError, match="has size 3 in dimension 1 by the model, and is given 5"):
        from_onnx(made, {"x": (4, 5)})
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    with pytest.raises(GraphError, match=r"broken\.onnx is not an ONNX model"):
        load_onnx(tmp_path / "broken.onnx")
    with pytest.raises(GraphError, match="there is no file"):
        load_onnx(tmp_path / "missing.onnx")


@pytest.mark.nightly
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_infinite_weights_of_a_transposed_convolution_meet_no_zeros(dimensions: int) -> None:
    """Between the elements of a stretched input there is nothing, and not zeros that would be multiplied."""
    x, w = np.ones((1, 1, *[2] * dimensions), np.float32), np.ones((1, 1, *[3] * dimensions), np.float32)
    w[(0, 0, *[1] * dimensions)] = np.inf
    made = model("ConvTranspose", [x, w], strides=[2] * dimensions)
    (want,) = ReferenceEvaluator(made).run(None, {"i0": x, "i1": w})
    assert np.isinf(want).sum() == 2**dimensions and not np.isnan(want).any()
    np.testing.assert_array_equal(build(from_onnx(made))(x, w), want)


@pytest.mark.nightly
def test_very_many_operands_of_a_concatenation() -> None:
    parts: list[np.ndarray | None] = [small(1 + k % 2, 2, seed=k) for k in range(70)]
    f = build(from_onnx(model("Concat", parts, axis=0)), schedules=False)
    np.testing.assert_array_equal(f(*parts), np.concatenate(parts))  # type: ignore[arg-type]
