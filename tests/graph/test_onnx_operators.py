"""Single ONNX operators on what is easily got wrong: empty dimensions, NaN, zeros, old opsets, illegal nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy import inf, nan
from onnx import defs, helper, numpy_helper

from verified_tir import te
from verified_tir.graph import GraphError
from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.onnx import from_onnx
from verified_tir.graph.operators.reduction import layer_norm


def f4(*elements: Any) -> Any:
    return np.array(elements, np.float32)


def ints(*elements: int) -> Any:
    return np.array(elements, np.int64)


def node(
    op: str, *operands: Any, known: Sequence[int] = (), outs: Sequence[str] = ("y",), opset: int = 17, **attributes: Any
) -> tuple[Any, list[Any]]:
    """A model of one node, and its inputs; operands whose places are ``known`` are constants."""
    names = [f"x{k}" for k in range(len(operands))]
    given = {n: np.asarray(a) for n, a in zip(names, operands, strict=True)}
    live = [n for k, n in enumerate(names) if k not in known]
    types = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in given.items()}
    graph = helper.make_graph(
        [helper.make_node(op, names, list(outs), name="the_node", **attributes)], "g",
        [helper.make_tensor_value_info(n, types[n], given[n].shape) for n in live],
        [helper.make_empty_tensor_value_info(o) for o in outs if o],
        [numpy_helper.from_array(given[n], n) for n in names if n not in live],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), [given[n] for n in live]


def computed(*what: Any, **how: Any) -> list[Any]:
    """The results, compiled; the interpreter gives the same."""
    model, arrays = node(*what, **how)
    graph = from_onnx(model)
    results = build(graph).run(arrays)
    for a, b in zip(results, evaluate(graph, arrays), strict=True):
        np.testing.assert_array_equal(a, b)
    return results


NONE = np.zeros((0, 3), np.float32)


@pytest.mark.sample(9)
@pytest.mark.parametrize(
    ("op", "operands", "attributes", "expected"),
    [
        ("ReduceSum", (NONE, ints(0)), {"known": [1]}, f4([0, 0, 0])),
        ("ReduceProd", (NONE,), {"axes": [0]}, f4([1, 1, 1])),
        ("ReduceMax", (NONE,), {"axes": [0]}, f4([-inf] * 3)),
        ("ReduceMin", (NONE.astype(np.int32),), {"axes": [0], "opset": 17}, np.array([[2**31 - 1] * 3], np.int32)),
        ("ReduceMean", (NONE,), {"axes": [0], "keepdims": 0}, f4(nan, nan, nan)),
        ("MatMul", (NONE.T[:2], NONE), {}, np.zeros((2, 3), np.float32)),
        ("Gemm", (NONE.T[:2], NONE, f4(1, 2, 3)), {}, f4([1, 2, 3], [1, 2, 3])),
        ("Softmax", (NONE.T,), {}, NONE.T),
        ("Softmax", (NONE,), {"axis": 0}, NONE),
        ("Conv", (np.zeros((1, 0, 3, 3), np.float32), np.zeros((1, 0, 2, 2), np.float32)), {}, np.zeros((1, 1, 2, 2))),
    ],
)  # fmt: skip
def test_a_reduction_of_nothing_is_its_neutral_element(op: str, operands: Any, attributes: Any, expected: Any) -> None:
    (found,) = computed(op, *operands, **attributes)
    np.testing.assert_array_equal(found, expected)


X = f4([nan, 1, 2], [1, nan, 2], [1, 2, nan], [-0.0, 0.0, -0.0], [inf, -inf, 1])


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("op", "operands", "attributes", "expected"),
    [
        ("Relu", (X,), {}, f4([nan, 1, 2], [1, nan, 2], [1, 2, nan], [-0.0, 0, -0.0], [inf, 0, 1])),
        ("Sign", (X,), {}, f4([nan, 1, 1], [1, nan, 1], [1, 1, nan], [0, 0, 0], [1, -1, 1])),
        ("Clip", (X, np.float32(-1), np.float32(1)), {"known": [1, 2]},
         f4([nan, 1, 1], [1, nan, 1], [1, 1, nan], [-0.0, 0, -0.0], [1, -1, 1])),
        ("Clip", (f4(0, 5), np.float32(3), np.float32(1)), {"known": [1, 2]}, f4(1, 1)),
        ("Max", (f4(nan, 1, nan, 2), f4(1, nan, nan, 3)), {}, f4(nan, nan, nan, 3)),
        ("Min", (f4(nan, 1, nan, 2), f4(1, nan, nan, 3), f4(1, 1, 1, 1)), {}, f4(nan, nan, nan, 1)),
        ("ReduceMax", (X,), {"axes": [1], "keepdims": 0}, f4(nan, nan, nan, -0.0, inf)),
        ("ReduceMin", (X,), {"axes": [1], "keepdims": 0}, f4(nan, nan, nan, -0.0, -inf)),
        ("MaxPool", (X.reshape(5, 1, 3),), {"kernel_shape": [3]}, f4(2, 2, 2, -0.0, inf).reshape(5, 1, 1)),
        ("HardSigmoid", (f4(nan, 9, -9),), {}, f4(nan, 1, 0)),
        ("Gemm", (f4([1, 2]), f4([1], [2]), f4(inf)), {"beta": 0.0}, f4([5])),
        ("PRelu", (f4(0, -0.0, -1, 2), f4(nan, nan, nan, nan)), {}, f4(0, -0.0, nan, 2)),
        ("LeakyRelu", (f4(0, -0.0, -1, nan),), {"alpha": -2.0}, f4(0, -0.0, 2, nan)),
        ("Elu", (f4(0, -0.0, -inf, nan),), {"alpha": 2.0}, f4(0, -0.0, -2, nan)),
        ("Acosh", (f4(0, -5, 1, -inf, 0.5, inf, nan),), {}, f4(nan, nan, 0, nan, nan, inf, nan)),
        ("Softplus", (f4(-inf, nan, 200, inf),), {}, f4(0, nan, 200, inf)),
    ],
)  # fmt: skip
def test_nan_and_zeros_are_as_in_onnx(op: str, operands: Any, attributes: Any, expected: Any) -> None:
    (found,) = computed(op, *operands, **attributes)
    np.testing.assert_array_equal(found, expected)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


def test_defaults_of_attributes_have_the_precision_of_attributes() -> None:
    """They are float32, whatever the elements are."""
    one = np.ones(1)
    (found,) = computed("BatchNormalization", np.ones((1, 1, 1)), one, one * 0, one * 0, one * 0)
    np.testing.assert_array_equal(found, [[[1 / np.sqrt(np.float64(np.float32(1e-5)))]]])


def test_softplus_of_large_negative_numbers_is_not_zero() -> None:
    (found,) = computed("Softplus", f4(-20, -80))
    np.testing.assert_allclose(found, np.exp(f4(-20, -80)), rtol=1e-6)


def test_a_part_that_nobody_names_is_a_part() -> None:
    (found,) = computed("Split", np.arange(6, dtype=np.float32), ints(2, 4), known=[1], outs=["", "z"])
    np.testing.assert_array_equal(found, [2, 3, 4, 5])


@pytest.mark.nightly
@pytest.mark.parametrize("known", [[], [0]])
def test_softmax_before_opset_13_goes_over_all_dimensions_from_its_axis_on(known: list[int]) -> None:
    ones = np.ones((2, 3, 4), np.float32)
    (found,) = computed("Softmax", ones, known=known, opset=11)
    np.testing.assert_allclose(found, ones / 12, rtol=1e-6)
    (found,) = computed("LogSoftmax", ones, known=known, opset=11)
    np.testing.assert_allclose(found, -np.log(12 * ones), rtol=1e-6)


@pytest.mark.nightly
def test_layer_normalization_computes_in_the_type_of_stash() -> None:
    """The squares are too large for 16 bits."""
    x = np.array([[1000, 2000, 3000, 10000]], np.float16)
    outs = ["y", "mean", "inverse"]
    y, mean, inverse = computed("LayerNormalization", x, np.ones(4, np.float16), outs=outs)
    wide = x.astype(np.float32)
    np.testing.assert_allclose(y, (wide - 4000) / wide.std(), rtol=1e-3)
    assert (y.dtype, mean.dtype, inverse.dtype) == (np.float16, np.float32, np.float32)
    np.testing.assert_allclose([mean[0, 0], inverse[0, 0]], [4000, 1 / wide.std()], rtol=1e-6)


@pytest.mark.nightly
def test_scale_and_bias_of_a_layer_normalization_are_broadcast() -> None:
    x, one, three = f4(1, 2), f4(2), f4(3, 4)
    normal = np.array([-1, 1], np.float32)
    for scale, bias in ((three, one), (one, three), (one, one), (three, three)):
        (found,) = computed("LayerNormalization", x, scale, bias, axis=0, epsilon=0.0)
        np.testing.assert_allclose(found, normal * scale + bias, rtol=1e-6)


def test_what_is_normalised_has_the_shape_of_scale_and_shift() -> None:
    for gamma, beta in (((2,), (1,)), ((3,), (2,)), ((2,), (2, 1))):
        with pytest.raises(GraphError, match="has the shape"):
            layer_norm(*(te.placeholder(s, dtype="float32") for s in ((2,), gamma, beta)))


def test_an_exponent_is_not_rounded_to_the_type_of_the_base() -> None:
    (found,) = computed("Pow", f4(-1, -1, 2), ints(2**24 + 1, 3, -2))
    np.testing.assert_array_equal(found, f4(-1, -1, 0.25))


@pytest.mark.parametrize(
    ("start", "end", "step", "expected"),
    [(-100, -200, -1, [0]), (100, -200, -2, [4, 2, 0]), (-100, 100, 2, [0, 2, 4]), (3, 1, 1, []), (-1, -3, -1, [4, 3])],
)
def test_slices_are_clamped_as_onnx_says(start: int, end: int, step: int, expected: list[int]) -> None:
    x = np.arange(5, dtype=np.float32)
    (found,) = computed("Slice", x, ints(start), ints(end), ints(0), ints(step), known=[1, 2, 3, 4])
    np.testing.assert_array_equal(found, f4(*expected))


def test_a_sum_of_a_number_is_a_copy_of_it() -> None:
    assert computed("ReduceSum", np.float32(3)) == [3]


ONES = np.ones((2, 3), np.float32)
IMAGE = np.ones((1, 1, 3, 3), np.float32)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (node("Split", np.arange(6.0), ints(2, 3), known=[1], outs=["y", "z"]), "sum of 'split' .5."),
        (
            node("Split", np.arange(6.0), num_outputs=2, outs=["y", "z", "u"], opset=24),
            "3 results, and num_outputs is 2",
        ),
        (node("Softmax", np.ones((2, 3, 4)), axis=5), r"axis.*5"),
        (node("RMSNormalization", ONES, ONES, axis=9, opset=23), "there is no axis 9 among"),
        (node("Flatten", ONES, axis=9), "9"),
        (node("Relu", ONES, opset=999), "opset 999 is not known here"),
        (node("Gather", np.arange(5.0), ints(7), known=[1]), "its indices are 7 to 7, and there are 5 elements"),
        (node("Gather", np.arange(5.0), ints(-6), known=[1]), "its indices are -6 to -6"),
        (node("Unsqueeze", ONES, ints(0, 0), known=[1]), "more than once"),
        (node("ConvTranspose", IMAGE, IMAGE, output_padding=[-1, -1], strides=[2, 2]), "output_padding"),
        (node("ConvTranspose", IMAGE, IMAGE, output_padding=[0, 2], strides=[2, 2]), "less than stride or dilation"),
        (node("BatchNormalization", IMAGE, *[f4(1)] * 4, opset=9, outs=list("yabcd")), "training is not known here"),
        (node("Gemm", np.ones((1, 2), np.int32), np.ones((2, 1), np.int32), alpha=0.5), "alpha is 0.5"),
        (node("ReduceSum", np.float32(3), ints(0), known=[1]), "axis"),
        (node("LRN", np.ones((1, 4, 3), np.float32), size=3), "not 3 dimensions"),
        (node("Clip", np.ones(3, bool)), "which Clip does not take"),
        (node("Add", ONES, ONES.astype(np.float64)), "its operand B is double, and the one before float"),
        (node("Pad", ONES, ints(1, 1), known=[1]), "[Pp]ads"),
        (node("Split", ONES, axis=5, outs=["y", "z"]), "axis"),
        (node("Slice", ONES, ints(0, 1), ints(2), known=[1, 2]), "starts and ends"),
        (node("LayerNormalization", np.float32(1), np.float32(1)), "axis"),
        (node("Conv", IMAGE, IMAGE, auto_pad="SAME_UPPER", strides=[0, 0]), "strides"),
        (node("Conv", IMAGE, IMAGE, group=0), "group"),
        (node("MaxPool", IMAGE, kernel_shape=[0, 0]), "kernel_shape"),
        (node("Expand", ONES, ints(2**40, 2, 3), known=[1]), "1099511627776"),
        (node("ConstantOfShape", ints(2**40), known=[0]), "at most 2147483647 elements here"),
        (node("Reshape", ONES, ints(-1, -1), known=[1]), "-1|dimension"),
        (node("Transpose", ONES, perm=[0, 0]), "perm"),
        (node("Concat", ONES, ONES, axis=4), "axis"),
        (node("Concat", ONES, ONES), "the attribute axis is missing"),
        (node("Squeeze", ONES, ints(0), known=[1]), "[Dd]imension"),
        (node("LeakyRelu", np.ones(2, np.int32)), "which LeakyRelu does not take"),
        (node("LeakyRelu", ONES, alpha="x"), "the attribute alpha"),
        (node("Upsample", IMAGE, f4(1, 1, 2, 2), known=[1]), "is no longer an operator of opset 17"),
        (node("Relu", ONES, ONES), "it has 2 operands; Relu has 1"),
        (node("Cast", ONES, to=77), "valid type|77"),
        (node("ReverseSequence", ONES, ints(1, 1), batch_axis=1, time_axis=1), "they are 1 and 1"),
        (
            node("ReverseSequence", ONES, ints(1, 1), batch_axis=1, time_axis=0),
            "there is a length for each of 3 batches",
        ),
        (node("Softmax", f4(1, 2), opset=9), "there is no axis 1 among 1"),
        (node("Nope", ONES), "there is no operator Nope in opset 17"),
    ],
)
def test_what_is_not_legal_is_refused_with_the_node(what: tuple[Any, Any], message: str) -> None:
    with pytest.raises(GraphError, match=message) as refused:
        from_onnx(what[0])
    assert "the_node" in str(refused.value) or "opset 999" in str(refused.value)


def test_types_of_sixteen_bits_have_bounds_of_their_own() -> None:
    x = np.array([-3, 4], ml_dtypes.bfloat16)
    (found,) = computed("Clip", x)
    np.testing.assert_array_equal(found, x)


def test_bounds_that_are_left_out() -> None:
    """The ends of the type; before opset 11, those of float32."""
    x = np.array([-inf, -1e300, 1e39, nan])
    (found,) = computed("Clip", x)
    np.testing.assert_array_equal(found, [np.finfo(float).min, -1e300, 1e39, nan])
    (found,) = computed("Clip", x, opset=10)
    most = float(np.finfo(np.float32).max)
    np.testing.assert_array_equal(found, [-most, -most, most, nan])
    halves = np.float16([-inf, 5, inf, nan])
    (found,) = computed("Clip", halves, opset=10)
    np.testing.assert_array_equal(found, halves)


@pytest.mark.parametrize("opset", [7, 13, 18])
def test_sums_of_what_is_made_of_each_element(opset: int) -> None:
    """Before opset 18, ONNX has no definition of these by other operators."""
    x, last = np.array([[3, -4], [1, 1e-9]]), {"axes": [1]} if opset < 18 else {}
    more: Any = () if last else (ints(1),)
    for op, expected in {
        "ReduceL1": np.abs(x).sum(1), "ReduceL2": np.sqrt((x * x).sum(1)), "ReduceSumSquare": (x * x).sum(1),
    }.items():  # fmt: skip
        (found,) = computed(op, x, *more, known=[1], opset=opset, keepdims=0, **last)
        np.testing.assert_allclose(found, expected, rtol=1e-15)
    (found,) = computed("ReduceLogSum", np.abs(x), *more, known=[1], opset=opset, keepdims=0, **last)
    np.testing.assert_allclose(found, np.log(np.abs(x).sum(1)), rtol=1e-15)
    with pytest.raises(GraphError, match="ReduceLogSum"):
        computed("ReduceLogSum", np.arange(3), opset=opset)


@pytest.mark.nightly
@pytest.mark.parametrize("op", ["Selu", "Softsign", "ThresholdedRelu"])
def test_an_operator_is_what_a_later_opset_defines_if_it_did_not_change(op: str) -> None:
    x = f4(-2, -0.5, 0, 0.5, 2)
    np.testing.assert_array_equal(computed(op, x, opset=10), computed(op, x, opset=18))


def test_memory_that_there_is_not_is_not_taken() -> None:
    model, _ = node("Pad", ONES, ints(10**6, 10**6, 10**6, 10**6), known=[1])
    with pytest.raises(
        GraphError, match=r"needs \d+\.\d GiB of memory, and there are \d+\.\d GiB; the largest tensor is y"
    ):
        build(from_onnx(model))


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("base", [np.int32, np.int64])
def test_powers_of_integers_wrap(base: Any) -> None:
    """Also by negative exponents, which leave 1, -1 or 0."""
    x = np.array([3, 2, 0, 1, 255, 7], np.int64).astype(base)
    y = ints(40, 3, 0, 2**62 + 1, 2, 11)
    (found,) = computed("Pow", x, y)
    bits = np.iinfo(base).bits
    expected = [pow(int(a), int(b), 2**bits) for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(found, np.array(expected, np.uint64).astype(base))


@pytest.mark.nightly
def test_negative_powers_of_integers() -> None:
    (found,) = computed("Pow", np.array([1, -1, -1, 2, -2, 0], np.int32), ints(-3, -3, -2, -1, -1, -1))
    np.testing.assert_array_equal(found, [1, -1, 1, 0, 0, 0])


def test_places_of_maxima_of_windows_with_ties_and_nan() -> None:
    x = f4([nan, 2, 2], [1, 2, nan], [nan, nan, nan]).reshape(3, 1, 3)
    best, where = computed("MaxPool", x, kernel_shape=[3], outs=["y", "places"])
    np.testing.assert_array_equal(best.reshape(-1), [2, 2, -inf])
    np.testing.assert_array_equal(where.reshape(-1), [1, 4, -1])


def test_whole_multiples_of_nearest_neighbours_are_an_operator_that_layouts_know() -> None:
    image = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    scales = f4(1, 1, 2, 3)
    for op, opset, operands, known in (
        ("Upsample", 9, (image, scales), [1]),
        ("Resize", 17, (image, f4(), scales), [1, 2]),
        ("Resize", 10, (image, scales), [1]),
    ):
        model, arrays = node(op, *operands, known=known, opset=opset)
        graph = from_onnx(model)
        assert [n.op for n in graph.nodes] == ["nn.upsampling"]
        np.testing.assert_array_equal(build(graph)(*arrays), image.repeat(2, 2).repeat(3, 3))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"mode": "quintic"}, "mode is nearest, linear, cubic"),
        ({"coordinate_transformation_mode": "odd"}, "coordinate_transformation_mode is half_pixel"),
        ({"axes": [0, 1]}, "axes"),
    ],
)
def test_resizing_that_there_is_not_is_refused(attributes: Any, message: str) -> None:
    model, _ = node("Resize", IMAGE, f4(), f4(1, 1, 2, 2.5), known=[1, 2], opset=18, **attributes)
    with pytest.raises(GraphError, match=message):
        from_onnx(model)


@pytest.mark.nightly
def test_operators_that_onnx_defines_by_others_are_those_others() -> None:
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    (found,) = computed("ReduceLogSumExp", x, ints(1), known=[1], opset=18, keepdims=0)
    np.testing.assert_allclose(found, np.log(np.exp(x).sum(1)), rtol=1e-5)
    (found,) = computed("Celu", x, alpha=0.5)  # an attribute of the node
    np.testing.assert_allclose(found, np.maximum(x, 0) + np.minimum(0, 0.5 * (np.exp(x / 0.5) - 1)), rtol=1e-5)
    (found,) = computed("ThresholdedRelu", x, opset=22)  # its default
    np.testing.assert_array_equal(found, np.where(x > 1, x, 0))
    newest = defs.onnx_opset_version()
    blocks = np.arange(16, dtype=np.float32).reshape(1, 4, 2, 2)
    (found,) = computed("DepthToSpace", blocks, blocksize=2, opset=newest)  # one that depends on the node
    np.testing.assert_array_equal(
        found, blocks.reshape(1, 2, 2, 1, 2, 2).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 4, 4)
    )


def test_a_definition_is_checked_like_any_node() -> None:
    model, _ = node("DepthToSpace", np.ones((1, 3, 2, 2), np.float32), blocksize=2)
    with pytest.raises(GraphError, match="the_node"):
        from_onnx(model)


def test_values_inside_of_a_definition_are_not_those_of_the_model() -> None:
    """However these are called."""
    model, (x,) = node("Celu", f4(-1, 2), alpha=0.5)
    inner = {v.name for n in from_onnx(model).nodes for v in n.outputs}
    for name in sorted(inner - {"y"}):
        nodes = [
            helper.make_node("Neg", ["x0"], [name]),
            helper.make_node("Celu", ["x0"], ["y"], name="the_node", alpha=0.5),
            helper.make_node("Add", ["y", name], ["z"]),
        ]
        made = helper.make_graph(nodes, "g", model.graph.input, [helper.make_empty_tensor_value_info("z")])
        again = helper.make_model(made, opset_imports=model.opset_import)
        (found,) = build(from_onnx(again)).run([x])
        np.testing.assert_allclose(found, np.maximum(x, 0) + np.minimum(0, 0.5 * (np.exp(x / 0.5) - 1)) - x, rtol=1e-5)


# -- places, bits, control ---------------------------------------------------------------------------------------------


def test_nan_is_greater_than_all_others_in_order() -> None:
    values, places = computed("TopK", f4(1, nan, 3, -inf, nan), ints(3), known=[1], outs=("y", "i"))
    np.testing.assert_array_equal(values, f4(nan, nan, 3))
    np.testing.assert_array_equal(places, ints(1, 4, 2))


def test_what_is_put_twice_at_a_place_comes_in_order() -> None:
    (y,) = computed("ScatterND", f4(0, 0, 0), ints(1, 1, -1).reshape(3, 1), f4(5, 7, 9))
    np.testing.assert_array_equal(y, f4(0, 7, 9))


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_what_is_put_at_a_place_is_combined_with_what_is_there(reduction: str) -> None:
    x, at, new = f4([1, -2, 3]), ints([2, 2]).reshape(1, 2), f4([nan, 4])
    (y,) = computed("ScatterElements", x, at, new, axis=1, reduction=reduction, opset=18)
    np.testing.assert_array_equal(y, f4([1, -2, nan]))


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "message"),
    [
        ("ScatterND", (f4(1, 2), ints(2).reshape(1, 1), f4(3)), {"known": [1]}, "are 2 to 2, and there are 2"),
        ("GatherND", (f4(1, 2), ints(-3).reshape(1, 1)), {"known": [1]}, "its indices are -3 to -3, and there are 2"),
        ("TopK", (f4(1, 2), ints(3)), {"known": [1], "outs": ("y", "i")}, "less than the requested k"),
        ("Einsum", (f4(1, 2), f4(1, 2, 3)), {"equation": "i,i->i"}, "i is 2 and 3"),
        ("Einsum", (f4(1, 2), f4(1, 2)), {"equation": "i,j->k"}, "label missing"),
        ("Compress", (f4(1, 2), np.array([False, True, True])), {"known": [1], "axis": 0}, "element 2 of 2"),
        ("Mod", (f4(1), f4(2)), {"fmod": 1}, "remainders of float32 are not exact here"),
        ("BitShift", (ints(1).astype(np.uint8), ints(1).astype(np.uint8)), {"direction": "UP"}, "LEFT or RIGHT"),
        ("LSTM", (f4(1, 2).reshape(2, 1, 1), np.zeros((1, 4, 1), np.float32), np.zeros((1, 4, 1), np.float32)),
         {"activations": ["Sigmoid", "Tanh", "Elu"]}, "activations for each direction are among"),
    ],
)  # fmt: skip
def test_illegal_or_unknown_nodes_are_refused(op: str, operands: Any, attributes: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        computed(op, *operands, **attributes)


def test_integers_have_remainders_of_everything() -> None:
    (y,) = computed("Mod", np.array([-128, 7, -7, 7], np.int8), np.array([-1, 0, 3, -3], np.int8))
    np.testing.assert_array_equal(y, np.array([0, 0, 2, -2], np.int8))


def test_products_of_halves_are_summed_with_room() -> None:
    """As numpy and onnxruntime do: 4,096 ones are 4,096, and not the 2,048 from which a float16 does not go on."""
    ones = np.ones((1, 4096), np.float16)
    (y,) = computed("MatMul", ones, ones.T)
    assert y.dtype == np.float16
    assert y.item() == 4096.0


def branches(condition: bool) -> Any:
    """``If`` on a constant: x + x, or -x; both say x and y inside, and mean what is outside, or their own."""
    x = helper.make_tensor_value_info("x", 1, [2])
    y = helper.make_tensor_value_info("y", 1, [2])
    graphs = [
        helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "yes", [], [y]),
        helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "no", [], [y]),
    ]
    chosen = helper.make_node("If", ["c"], ["z"], name="the_node", then_branch=graphs[0], else_branch=graphs[1])
    z = helper.make_tensor_value_info("z", 1, [2])
    known = numpy_helper.from_array(np.array(condition), "c")
    return helper.make_model(helper.make_graph([chosen], "g", [x], [z], [known]))


@pytest.mark.parametrize(("condition", "factor"), [(True, 2), (False, -1)])
def test_a_constant_condition_takes_its_branch(condition: bool, factor: int) -> None:
    x = f4(1, 3)
    np.testing.assert_array_equal(build(from_onnx(branches(condition))).run([x])[0], factor * x)


def test_a_condition_that_is_computed_is_refused() -> None:
    made = branches(True)
    del made.graph.initializer[:]
    made.graph.input.append(helper.make_tensor_value_info("c", 9, []))
    with pytest.raises(GraphError, match=r"node the_node .*its condition must be a constant here"):
        from_onnx(made)


def loop(count: int) -> Any:
    """x doubled ``count`` times, with all that it was on the way."""
    inner = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["goes"]), helper.make_node("Add", ["v", "v"], ["w"]),
         helper.make_node("Identity", ["w"], ["seen"])],
        "body",
        [helper.make_tensor_value_info(n, t, s) for n, t, s in (("k", 7, []), ("go", 9, []), ("v", 1, [2]))],
        [helper.make_tensor_value_info(n, t, s) for n, t, s in (("goes", 9, []), ("w", 1, [2]), ("seen", 1, [2]))],
    )  # fmt: skip
    outer = helper.make_node("Loop", ["n", "", "x"], ["last", "all"], name="the_node", body=inner)
    outs = [helper.make_tensor_value_info("last", 1, [2]), helper.make_tensor_value_info("all", 1, [count, 2])]
    known = numpy_helper.from_array(np.array(count, np.int64), "n")
    x = helper.make_tensor_value_info("x", 1, [2])
    return helper.make_model(helper.make_graph([outer], "g", [x], outs, [known]))


@pytest.mark.parametrize("count", [1, 3])
def test_a_loop_of_a_known_count_is_unrolled(count: int) -> None:
    last, every = build(from_onnx(loop(count))).run([f4(1, -1)])
    np.testing.assert_array_equal(last, f4(2**count, -(2**count)))
    np.testing.assert_array_equal(every, [f4(2**k, -(2**k)) for k in range(1, count + 1)])


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize(("count", "message"), [(0, "has no shape"), (5000, "it runs more than 1000 times")])
def test_loops_without_an_end_or_a_beginning_are_refused(count: int, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(loop(count))


def test_sums_of_halves_have_room() -> None:
    (y,) = computed("ReduceSum", np.ones(4096, np.float16), ints(0), known=[1], keepdims=0)
    assert y == np.float16(4096)


@pytest.mark.parametrize("op", ["ScatterND", "ScatterElements"])
def test_where_nothing_is_put_all_stays(op: str) -> None:
    shape = (0, 1) if op == "ScatterND" else (0,)
    (y,) = computed(op, f4(1, 2), np.zeros(shape, np.int64), np.zeros(0, np.float32))
    np.testing.assert_array_equal(y, f4(1, 2))


@pytest.mark.parametrize("known", [[], [0]])
def test_all_channels_are_normalized_also_of_a_constant(known: list[int]) -> None:
    """ONNX's evaluator normalizes as many channels as there are batches."""
    (y,) = computed("LRN", np.ones((1, 3, 1, 1), np.float32), known=known, size=1, alpha=1.0, beta=1.0)
    np.testing.assert_array_equal(y, np.full((1, 3, 1, 1), 0.5))


def test_nan_in_an_average_of_constants_is_nan() -> None:
    (y,) = computed("AveragePool", f4(nan, 1, 2, 4).reshape(1, 1, 4), known=[0], kernel_shape=[2], strides=[2])
    np.testing.assert_array_equal(y, f4(nan, 3).reshape(1, 1, 2))


def test_graphs_in_a_definition_know_the_operands_and_refuse_with_the_node() -> None:
    """AffineGrid is defined by other operators, some in branches, which mention its second operand."""
    theta = np.ones((2, 2, 3), np.float32)
    refused = r"node the_node/If/Expand \(Expand\): its shape is computed by the model, and must be a constant here"
    with pytest.raises(GraphError, match=refused):
        from_onnx(node("AffineGrid", theta, ints(2, 1, 2, 2), opset=20)[0])


@pytest.mark.parametrize("known", [[1], [0, 1, 2]])
def test_values_of_one_hot_are_only_moved(known: list[int]) -> None:
    (y,) = computed("OneHot", ints(0, 1), np.int64(2), f4(inf, -0.0), known=known)
    np.testing.assert_array_equal(y, f4([0, inf], [inf, 0]))
    assert np.signbit(y).tolist() == [[True, False], [False, True]]


def test_a_type_that_a_window_cannot_have_is_refused() -> None:
    with pytest.raises(GraphError, match=r"node the_node \(HannWindow\): .*unsupported type"):
        from_onnx(node("HannWindow", np.int64(4), output_datatype=24, opset=25)[0])


@pytest.mark.parametrize("known", [[], [0]])
def test_axes_of_unsqueeze_may_stand_in_any_order(known: list[int]) -> None:
    (y,) = computed("Unsqueeze", np.zeros((4, 3, 5), np.float32), known=known, axes=[3, 0], opset=10)
    assert y.shape == (1, 4, 3, 1, 5)


def test_celu_is_what_its_formula_says_not_its_definition() -> None:
    """Which makes a vector of a number, and means something else where alpha is negative."""
    (y,) = computed("Celu", np.float32(-1))
    assert y.shape == ()
    np.testing.assert_allclose(y, np.expm1(np.float32(-1)), rtol=1e-6)
    (y,) = computed("Celu", f4(2.0**24, nan, inf, -inf), alpha=-2.0)
    np.testing.assert_array_equal(y, f4(2.0**24, nan, inf, -inf))
    (y,) = computed("Celu", f4(-1e4, 3), alpha=2.0)
    np.testing.assert_array_equal(y, f4(-2, 3))


@pytest.mark.parametrize(("reduction", "expected"), [("add", [1, 1, 1, 0]), ("mul", [1, 0, 0, 0])])
def test_truths_are_put_together_as_zeros_and_ones(reduction: str, expected: list[int]) -> None:
    x, updates = np.array([True, True, False, False]), np.array([True, False, True, False])
    (y,) = computed("ScatterElements", x, ints(0, 1, 2, 3), updates, reduction=reduction, opset=18)
    np.testing.assert_array_equal(y, np.array(expected, bool))


@pytest.mark.sample(3)
@pytest.mark.parametrize("known", [[], [0]])
@pytest.mark.parametrize(
    ("op", "operand", "attributes", "expected"),
    [
        ("Relu", f4(-0.0, -1, nan), {}, f4(-0.0, 0, nan)),
        ("Cast", f4(nan, 300, -inf, -1.5), {"to": 3}, np.array([0, 127, -128, -1], np.int8)),
        ("Cast", f4(nan, 0.0, -0.0, 1e-45), {"to": 9}, np.array([True, False, False, True])),
        ("Shrink", ints(2**62 + 1, -1), {"lambd": 0.5}, ints(2**62 + 1, -1)),
        ("Pow", ints(-3, 2), {}, ints(pow(-3, -3 % 2**64, 2**64), 2)),
    ],
)
def test_it_makes_no_difference_whether_operands_are_constants(
    op: str, operand: Any, attributes: Any, expected: Any, known: list[int]
) -> None:
    """The reference evaluator computes other results of each."""
    more = [np.array([2**64 - 3, 1], np.uint64)] if op == "Pow" else []
    (found,) = computed(op, operand, *more, known=[*known, *([1] if known and more else [])], **attributes)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize(
    "model", [node("RandomUniform", shape=[3]), node("Bernoulli", f4(0.5), known=[0]), node("RandomNormal", shape=[3])]
)
def test_nothing_is_drawn_when_a_model_is_read(model: Any) -> None:
    with pytest.raises(GraphError, match="it draws random numbers"):
        from_onnx(model[0])


def test_what_is_not_known_here_is_computed_of_constants() -> None:
    (found,) = computed("NonZero", f4(0, 1, 2), known=[0])
    np.testing.assert_array_equal(found, [[1, 2]])
    with pytest.raises(GraphError, match="its shape is a list of numbers"):
        from_onnx(node("ConstantOfShape", np.array(3), known=[0])[0])


@pytest.mark.nightly
def test_the_logarithm_of_a_sum_of_exponentials_is_finite_where_these_are_not() -> None:
    for x, expected in (
        (f4(1000, 1000), 1000 + np.log(2)),
        (f4(inf, 1), inf),
        (f4(-inf, -inf), -inf),
        (f4(nan, 1), nan),
    ):
        (found,) = computed("ReduceLogSumExp", x, opset=18)
        np.testing.assert_allclose(found, f4(expected), rtol=1e-7)
    (found,) = computed(
        "ReduceLogSumExp", np.array([[60960, 5], [3, -9]], np.int32), ints(1), known=[1], keepdims=0, opset=18
    )
    np.testing.assert_array_equal(found, np.array([60960, 3], np.int32))


def test_an_index_that_there_is_not_means_the_nearest_one() -> None:
    """Also where its last 32 bits are one that there is."""
    x, far = f4(10, 20, 30), ints(2**32, -(2**33), 1, -1, 2**63 - 1, -(2**63))
    (found,) = computed("Gather", x, far)
    np.testing.assert_array_equal(found, f4(30, 10, 20, 30, 30, 10))
    (found,) = computed("GatherND", x, far.reshape(-1, 1))
    np.testing.assert_array_equal(found, f4(30, 10, 20, 30, 30, 10))
    (found,) = computed("ScatterElements", x, ints(2**32, 1, -(2**33)), f4(1, 2, 3))
    np.testing.assert_array_equal(found, f4(10, 2, 30))
    lengths = ints(2**32 + 1, -(2**32) - 1, 2)
    (found,) = computed("ReverseSequence", f4([1, 2, 3], [4, 5, 6], [7, 8, 9]), lengths, batch_axis=0, time_axis=1)
    np.testing.assert_array_equal(found, f4([3, 2, 1], [4, 5, 6], [8, 7, 9]))


def test_one_hot_of_small_integers_may_be_deeper_than_these_count() -> None:
    (found,) = computed("OneHot", np.array([100, -1, 3], np.int8), ints(200), f4(0, 1), known=[1])
    np.testing.assert_array_equal(found.argmax(axis=1), [100, 199, 3])
    assert found.sum() == 3


def test_floats_in_a_range_are_as_many_as_fit() -> None:
    for start, limit, step, expected in ((0, 1, 0.25, [0, 0.25, 0.5, 0.75]), (1, -1.5, -1, [1, 0, -1]), (2, 1, 1, [])):
        (found,) = computed("Range", *map(np.float32, (start, limit, step)), known=[0, 1, 2])
        np.testing.assert_array_equal(found, f4(*expected))
    with pytest.raises(GraphError, match="there are no numbers from"):
        from_onnx(node("Range", *map(np.float32, (0, 1, 0)), known=[0, 1, 2])[0])


def test_what_the_evaluator_cannot_compute_in_advance_is_an_operator() -> None:
    (y,) = computed("Upsample", f4([1, 2]), known=[0], scales=[1.0, 2.0], opset=8)
    np.testing.assert_array_equal(y, f4([1, 1, 2, 2]))


@pytest.mark.parametrize(("left", "right"), [((3,), (3, 2)), ((2, 3), (3,)), ((3,), (3,)), ((2, 2, 3), (3,))])
def test_products_of_integers_take_vectors(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = (
        np.arange(np.prod(left), dtype=np.uint8).reshape(left),
        np.arange(np.prod(right), dtype=np.int8).reshape(right),
    )
    (y,) = computed("MatMulInteger", a, b)
    np.testing.assert_array_equal(y, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("axis", [-(2**63), 4, -4])
def test_an_axis_of_flatten_is_one_of_its_operand(axis: int) -> None:
    """ONNX's inference takes the least integer for one."""
    graph = helper.make_graph(
        [helper.make_node("Flatten", ["x"], ["y"], axis=axis, name="flat")], "g",
        [helper.make_tensor_value_info("x", 1, [2, 3, 4])], [helper.make_tensor_value_info("y", 1, None)],
    )  # fmt: skip
    with pytest.raises(GraphError, match=r"node flat \(Flatten\): .*axis"):
        from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))


def test_the_type_in_which_numbers_are_divided_by_their_scale() -> None:
    """From opset 23 on it is the type of the scale, unless the model names another one."""
    x, scale = np.linspace(1, 20, 900).astype(np.float16), np.array(0.1, np.float16)
    wide = np.rint(x.astype(np.float32) / np.float32(scale)).astype(np.uint8)
    narrow = np.rint((x / scale).astype(np.float32)).astype(np.uint8)
    assert (wide != narrow).any()
    for how, expected in (({"opset": 21}, wide), ({"opset": 23}, narrow), ({"opset": 23, "precision": 1}, wide)):
        (found,) = computed("QuantizeLinear", x, scale, **how)
        np.testing.assert_array_equal(found, expected)
