"""ONNX models with symbolic dimensions: read and compiled once, run at any size, with onnxruntime's results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from verified_tir.graph import GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.onnx import from_onnx
from verified_tir.graph.onnx.counts import Counts, counted
from verified_tir.graph.sizes import Dim, dim_text, symbol
from verified_tir.ir.expr import Expr

Array = np.ndarray
rng = np.random.default_rng(0)
SIZES = [{"batch": b, "seq": s} for b, s in ((1, 1), (3, 7), (7, 3), (0, 2), (2, 0))]


def node(op: str, inputs: str, output: str, **attrs: Any) -> Any:
    """A node; its operands are separated by spaces, and its last result is its name."""
    outputs = output.split()
    return helper.make_node(op, inputs.split(), outputs, name=outputs[-1], **attrs)


def weights(*shape: int) -> Array:
    return (0.3 * rng.standard_normal(shape)).astype(np.float32)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def model(
    nodes: Sequence[Any],
    inputs: dict[str, Sequence[Any]],
    constants: dict[str, Any],
    outputs: str = "y",
    opset: int = 17,
) -> Any:
    """A model; an input of which the name begins with ``ids`` has integers."""
    types = {n: TensorProto.INT64 if n.startswith("ids") else TensorProto.FLOAT for n in inputs}
    graph = helper.make_graph(
        list(nodes), "g", [helper.make_tensor_value_info(n, types[n], list(s)) for n, s in inputs.items()],
        [helper.make_value_info(o, onnx.TypeProto()) for o in outputs.split()],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def feeds(made: Any, sizes: dict[str, int]) -> dict[str, Array]:
    found = {}
    for i in made.graph.input:
        t = i.type.tensor_type
        shape = [sizes.get(d.dim_param, d.dim_value) for d in t.shape.dim]
        integers = t.elem_type == TensorProto.INT64
        found[i.name] = rng.integers(0, 9, shape).astype(np.int64) if integers else weights(*shape)
    return found


def agree(made: Any, sizes: Sequence[dict[str, int]] = SIZES, f: Any = None) -> None:
    """The compiled model gives what onnxruntime gives, as far as that runs."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, ["CPUExecutionProvider"])
    f = f or build(from_onnx(made))
    compared = 0
    for at in sizes:
        arrays = feeds(made, at)
        try:
            got = f.run(arrays)
        except GraphError as refused:  # a shape of which an extent is 0 means another one
            assert "an extent of 0 means another one" in str(refused)
            with pytest.raises(ValueError, match="cannot reshape array of size 0"):
                ReferenceEvaluator(made).run(None, arrays)
            continue
        try:
            want = session.run(None, arrays)
        except Exception:  # of its own kind: it does not take -1 in a shape of no elements
            assert 0 in at.values()
            continue
        compared += 1
        for a, b in zip(got, want, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            assert np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True), at
    assert compared >= 3


# -- models ------------------------------------------------------------------------------------------------------------

HEADS, WIDTH = 2, 8


def block(prefix: str, x: str, result: str, mask: str = "") -> tuple[list[Any], dict[str, Any]]:
    """Attention and a normalisation as exporters write it: shapes are put together from those of operands."""
    p = prefix
    constants: dict[str, Any] = {
        f"{p}i0": np.int64(0), f"{p}i1": np.int64(1), f"{p}axis": ints(0), f"{p}heads": ints(HEADS),
        f"{p}each": ints(WIDTH // HEADS), f"{p}rest": ints(-1), f"{p}scale": np.float32(2.0),
        f"{p}g": weights(WIDTH), f"{p}c": weights(WIDTH), f"{p}wo": weights(WIDTH, WIDTH),
    }  # fmt: skip
    nodes = [
        node("Shape", x, f"{p}shape"), node("Gather", f"{p}shape {p}i0", f"{p}b"),
        node("Gather", f"{p}shape {p}i1", f"{p}s"), node("Unsqueeze", f"{p}b {p}axis", f"{p}b1"),
        node("Unsqueeze", f"{p}s {p}axis", f"{p}s1"),
        node("Concat", f"{p}b1 {p}s1 {p}heads {p}each", f"{p}split", axis=0),
        node("Concat", f"{p}b1 {p}s1 {p}rest", f"{p}join", axis=0),
    ]  # fmt: skip
    for q in "qkv":
        constants[f"{p}w{q}"] = weights(WIDTH, WIDTH)
        nodes += [
            node("MatMul", f"{x} {p}w{q}", f"{p}{q}0"), node("Reshape", f"{p}{q}0 {p}split", f"{p}{q}1"),
            node("Transpose", f"{p}{q}1", f"{p}{q}", perm=[0, 2, 3, 1] if q == "k" else [0, 2, 1, 3]),
        ]  # fmt: skip
    nodes += [node("MatMul", f"{p}q {p}k", f"{p}scores0"), node("Div", f"{p}scores0 {p}scale", f"{p}scores")]
    scores = f"{p}scores"
    if mask:
        nodes.append(node("Add", f"{scores} {mask}", f"{p}masked"))
        scores = f"{p}masked"
    nodes += [
        node("Softmax", scores, f"{p}weights", axis=-1), node("MatMul", f"{p}weights {p}v", f"{p}heads_out"),
        node("Transpose", f"{p}heads_out", f"{p}back", perm=[0, 2, 1, 3]),
        node("Reshape", f"{p}back {p}join", f"{p}together"), node("MatMul", f"{p}together {p}wo", f"{p}out"),
        node("Add", f"{p}out {x}", f"{p}sum"), node("LayerNormalization", f"{p}sum {p}g {p}c", result, axis=-1),
    ]  # fmt: skip
    return nodes, constants


def language_model() -> Any:
    """Embeddings of tokens and positions, a causal mask, attention, and scores of all tokens, flattened in between."""
    nodes = [
        node("Shape", "ids", "shape"), node("Gather", "shape one", "length"),
        node("Unsqueeze", "length axis", "length1"),
        node("Range", "zero length one", "positions"), node("Gather", "embedding ids", "tokens"),
        node("Gather", "places positions", "at"), node("Add", "tokens at", "x"),
        node("Concat", "length1 length1", "square", axis=0),
        node("ConstantOfShape", "square", "full", value=numpy_helper.from_array(np.array([-1e9], np.float32))),
        node("Trilu", "full one", "mask", upper=1),
    ]  # fmt: skip
    more, constants = block("a_", "x", "normal", "mask")
    nodes += more
    nodes += [
        node("Reshape", "normal flat", "rows"), node("Gemm", "rows embedding", "scores", transB=1),
        node("Concat", "shape vocabulary", "whole", axis=0), node("Reshape", "scores whole", "logits"),
        node("Gather", "logits last", "y", axis=1),
    ]  # fmt: skip
    constants |= {
        "zero": np.int64(0), "one": np.int64(1), "axis": ints(0), "embedding": weights(9, WIDTH), "last": np.int64(-1),
        "places": weights(16, WIDTH), "flat": ints(-1, WIDTH), "vocabulary": ints(9),
    }  # fmt: skip
    return model(nodes, {"ids": ["batch", "seq"]}, constants, "logits y")


def perceptron() -> Any:
    nodes = [node("Gemm", "x w c", "h", transB=1), node("Relu", "h", "r"), node("MatMul", "r v", "y")]
    return model(nodes, {"x": ["batch", 8]}, {"w": weights(16, 8), "c": weights(16), "v": weights(16, 4)})


def convolutional() -> Any:
    nodes = [
        node("Conv", "x w c", "h", pads=[1, 1, 1, 1]), node("BatchNormalization", "h g c m v", "n"),
        node("Relu", "n", "r"), node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", "p", "a"), node("Flatten", "a", "f"), node("Gemm", "f u", "y"),
    ]  # fmt: skip
    constants = {"w": weights(4, 2, 3, 3), "c": weights(4), "g": weights(4), "m": weights(4), "v": abs(weights(4)),
                 "u": weights(4, 3)}  # fmt: skip
    return model(nodes, {"x": ["batch", 2, 6, 6]}, constants)


def test_a_perceptron() -> None:
    agree(perceptron())


@pytest.mark.nightly
def test_a_convolutional_network() -> None:
    agree(convolutional(), [s for s in SIZES if s["batch"]])


@pytest.mark.nightly
def test_a_language_model() -> None:
    agree(language_model())


# -- nodes -------------------------------------------------------------------------------------------------------------

X = {"x": ["batch", "seq", 4]}
CASES: dict[str, tuple[list[Any], dict[str, Sequence[Any]], dict[str, Any]]] = {
    "concat and split": ([node("Concat", "x z", "c", axis=1), node("Split", "c parts", "p q", axis=1),
                          node("Mul", "q q", "y")],
                         {"x": ["batch", 2, 4], "z": ["batch", 2, 4]}, {"parts": ints(1, 3)}),
    "concat of symbols": ([node("Concat", "x z", "c", axis=1), node("Tanh", "c", "y")],
                          {**X, "z": ["batch", "more", 4]}, {}),
    "all but the last": ([node("Slice", "x b e a", "y")], X, {"b": ints(0), "e": ints(-1), "a": ints(1)}),
    "mean of a symbol": ([node("ReduceMean", "x", "y", axes=[1])], X, {}),
    "sum of all": ([node("ReduceSum", "x", "y", keepdims=0)], X, {}),
    "softmax of a symbol": ([node("Softmax", "x", "y", axis=1)], X, {}),
    "softmax before opset 13": ([node("Softmax", "x", "y", axis=1)], X, {}),
    "expand": ([node("Shape", "x", "s"), node("Expand", "c s", "e"), node("Add", "e x", "y")], X,
               {"c": weights(1, 1, 4)}),
    "expand as torch writes it": (
        [node("Shape", "x", "s"), node("Mul", "ones minus", "m"), node("Equal", "wanted m", "q"),
         node("Where", "q s wanted", "w"), node("Expand", "c w", "y")], X,
        {"c": weights(1, 1, 4), "ones": ints(1, 1, 1), "minus": ints(-1), "wanted": ints(-1, -1, 4)}),
    "half of a product": (
        [node("Shape", "x", "s"), node("ReduceProd", "s", "n"), node("Div", "n two", "h"),
         node("Concat", "h two", "w", axis=0), node("Reshape", "x w", "y")], X, {"two": ints(2)}),
    "a size as a number": ([node("Shape", "x", "s"), node("Cast", "s", "f", to=1),
                            node("ReduceSum", "x", "t", keepdims=0), node("Add", "t f", "y")], X, {}),
    "number of elements": ([node("Size", "x", "y")], X, {}),
    "a shape is a result": ([node("Shape", "x", "y")], X, {}),
    "every second": ([node("Shape", "x", "s"), node("Gather", "s one", "n"), node("Range", "zero n two", "y")], X,
                     {"zero": np.int64(0), "one": np.int64(1), "two": np.int64(2)}),
    "backwards": ([node("Shape", "x", "s"), node("Gather", "s one", "n"), node("Range", "n zero minus", "y")], X,
                  {"zero": np.int64(0), "one": np.int64(1), "minus": np.int64(-1)}),
    "constant of shape": ([node("Shape", "x", "s"), node("ConstantOfShape", "s", "y")], X, {}),
    "flatten and back": ([node("Flatten", "x", "f", axis=2), node("Shape", "x", "s"), node("Reshape", "f s", "y")],
                         X, {}),
    "squeeze": ([node("Unsqueeze", "x a", "u"), node("Squeeze", "u a", "q"), node("Neg", "q", "y")], X, {"a": ints(1)}),
    "quantised and back": ([node("QuantizeLinear", "x scale zero", "q"),
                            node("DequantizeLinear", "q scale zero", "y")], X,
                           {"scale": np.float32(0.1), "zero": np.int8(0)}),
    "the greatest two": ([node("TopK", "x k", "i y", axis=-1)], X, {"k": ints(2)}),
    "einsum": ([node("Einsum", "x z", "y", equation="bsd,bse->bde")], {**X, "z": ["batch", "seq", 3]}, {}),
    "one hot": ([node("OneHot", "ids depth v", "y")], {"ids": ["batch", "seq"]},
                {"depth": np.int64(9), "v": np.array([0, 1], np.float32)}),
    "depth to space": ([node("DepthToSpace", "x", "y", blocksize=2)], {"x": ["batch", 8, 2, 2]}, {}),
    "resize": ([helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")], {"x": ["batch", 2, 4, 4]},
               {"s": np.array([1, 1, 2, 2], np.float32)}),
    "recurrent": ([node("LSTM", "x w r", "h c y", hidden_size=4)], {"x": [3, "batch", 2]},
                  {"w": weights(1, 16, 2), "r": weights(1, 16, 4)}),
    "attention of opset 23": ([node("Attention", "q k v", "y", is_causal=1)],
                              {a: ["batch", 2, "seq", 4] for a in "qkv"}, {}),
    "one dimension of windows": ([node("Conv", "x w", "y", pads=[1, 1])], {"x": ["batch", 2, 5]},
                                 {"w": weights(3, 2, 3)}),
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", CASES)
def test_nodes_on_symbolic_dimensions(case: str) -> None:
    nodes, inputs, constants = CASES[case]
    opset = 11 if "before" in case else 23 if "23" in case else 13
    sizes = [{**s, "more": m} for s, m in zip(SIZES, (1, 2, 4, 2, 3), strict=True)]
    if case in ("mean of a symbol", "attention of opset 23", "recurrent", "resize"):
        # the mean of nothing is NaN here, and 0 there; the others take no empty operands there
        sizes = [s for s in sizes if s["seq"] and s["batch"]]
    agree(model(nodes, inputs, constants, opset=opset), sizes)


def test_elements_at_computed_places() -> None:
    f = build(from_onnx(model([node("Gather", "x ids", "y", axis=2)], {**X, "ids": ["more"]}, {})))
    x, at = weights(3, 2, 4), ints(0, -1, 3)
    assert np.array_equal(f(x, at), x[:, :, at])


REFUSED: dict[str, tuple[list[Any], dict[str, Sequence[Any]], dict[str, Any], str]] = {
    "broadcast": ([node("Add", "x z", "y")], {"x": ["a", 4], "z": ["b", 4]}, {},
                  r"node y \(Add\): shapes \(a, 4\) and \(b, 4\) go together only if a and b are equal, or 1; give the "
                  "size: --shape a=4, --shape b=4"),
    "reshape": ([node("Reshape", "x s", "y")], {"x": ["a", 4]}, {"s": ints(-1, 8)},
                r"\(a, 4\) cannot take the shape \(-1, 8\); give the size: --shape a=4"),
    "position": ([node("Shape", "x", "s"), node("Slice", "c zero s", "p"), node("Add", "x p", "y")],
                 {"x": ["a"]}, {"c": weights(16), "zero": ints(0)},
                 r"shapes \(a,\) and \(min\(16, a\),\) go together only if"),
    "axes": ([node("Shape", "x", "s"), node("ReduceSum", "x s", "y")], {"x": ["a"]}, {},
             r"its axes is \(a,\), and must be numbers here; give the size: --shape a=4"),
    "computed": ([node("Cast", "x", "s", to=7), node("Reshape", "z s", "y")], {"x": [2], "z": ["a", 4]}, {},
                 "its shape is computed by the model, and must be a constant here"),
    "same padding": ([node("MaxPool", "x", "y", kernel_shape=[2, 2], auto_pad="SAME_UPPER")], {"x": [1, 1, "a", 4]}, {},
                     r"\(a, 4\) of x behind its first two dimensions is open"),
    "top": ([node("TopK", "x k", "y i", axis=0)], {"x": ["a", 4]}, {"k": ints(1)}, r"\(a,\) of x along its axis 0 is"),
    "steps of a sequence": ([node("LSTM", "x w r", "y h c", hidden_size=4)], {"x": ["a", 3, 2]},
                            {"w": weights(1, 16, 2), "r": weights(1, 16, 4)}, r"\(a,\) of the steps of x is open"),
    "scales": ([helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")], {"x": [1, 2, "a", 4]},
               {"s": np.array([1, 1, 2, 2], np.float32)}, r"\(a,\) of x along its axis 2 is open"),
    "split": ([node("Split", "x", "y z", axis=0)], {"x": ["a", 4]}, {}, r"\(a,\) of x along its axis 0 is open"),
    "steps": ([node("Shape", "x", "s"), node("Squeeze", "s", "n"), node("Range", "n m n", "y")], {"x": ["a"]},
              {"m": np.int64(9)}, "its delta is a number that is not 0, not a"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_depends_on_the_size_is_refused_by_name(case: str) -> None:
    *parts, message = REFUSED[case]
    with pytest.raises(GraphError, match=message):
        from_onnx(model(*parts, opset=13))  # type: ignore[arg-type]


def test_dimensions_are_called_as_in_the_model_or_after_their_input() -> None:
    made = model(
        [node("Relu", "x", "y"), node("Relu", "ids_", "z")], {"x": ["past + 1", None, "n", 2], "ids_": ["x_1"]}, {}
    )
    del made.graph.node[1]
    graph = from_onnx(made)
    assert [str(v.type) for v in graph.inputs] == [
        'R.Tensor((past___1, x_1_1, n, 2), "float32")', 'R.Tensor((x_1,), "int64")',
    ]  # fmt: skip
    for given in ({"past + 1": 3}, {"past___1": 3}, {"x": (3, 4, 5, 2)}):
        assert from_onnx(made, given).inputs[0].dims[0] == 3
    assert from_onnx(made, {"x_1_1": 7}).inputs[0].dims[1] == 7
    again = model([node("Add", "x z", "y")], {"x": ["n", 2], "z": ["n", 1]}, {})
    assert from_onnx(again, {"x": (3, 2)}).inputs[1].shape == (3, 1)
    with pytest.raises(GraphError, match="the input z is given 4 for n, which is 3 elsewhere"):
        from_onnx(again, {"x": (3, 2), "z": (4, 1)})
    with pytest.raises(GraphError, match=r"n is one dimension, and is given \[3, 2\]"):
        from_onnx(again, {"n": (3, 2)})


@pytest.mark.parametrize(
    ("op", "operands", "wanted"),
    [
        ("Div", [["n", 7], [2, -2]], ["n // 2", "-3"]),
        ("Div", [["4n"], [2]], ["n * 2"]),
        ("Div", [[7], ["n"]], None),
        ("Div", [["n-1"], [2]], None),  # rounded towards zero
        ("Mod", [["4n", "n"], [4, 2]], ["0", "n % 2"]),
        ("Mod", [["n-1"], [2]], None),
        ("Max", [["n", 1], ["n-1", 4]], ["n", "4"]),
        ("Equal", [["n", "n"], ["n", -1]], ["True", "False"]),
        ("Equal", [["n"], [4]], None),
        ("Less", [["n-1", "n"], ["n", "n"]], ["True", "False"]),
        ("Greater", [["n"], [0]], None),
        ("Neg", [["n-1"]], ["1 - n"]),
        ("Sqrt", [["n"]], None),
    ],
)
def test_arithmetic_of_sizes(op: str, operands: list[list[Any]], wanted: list[str] | None) -> None:
    n = symbol("n")
    texts: dict[Any, Dim] = {"n": n, "n-1": n - 1, "4n": 4 * n}
    arrays = []
    for some in operands:
        array = np.empty(len(some), object)
        array[:] = [texts.get(e, e) for e in some]
        arrays.append(array)
    found = counted(op, {}, arrays)
    assert (None if found is None else [dim_text(e) for e in found]) == wanted
    assert (Counts(arrays[0], "int64").known is None) == any(isinstance(e, Expr) for e in arrays[0])
