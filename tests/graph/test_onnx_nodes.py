"""Cases of the ``onnx`` package's own tests of operators: some of each kind that ran into a mistake, or nearly.

All of them: ``python -m tests.graph.onnx_nodes``.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.graph.onnx_nodes import cases, judge
from tests.graph.test_onnx import model, small
from verified_tir.graph import GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.onnx import from_onnx, load_onnx

PASS = """
acosh: acosh_example; argmax: argmax_keepdims_example_select_last_index; argmin: argmin_no_keepdims_random;
asinh: asinh; atanh: atanh;
averagepool: averagepool_1d_default averagepool_2d_dilations averagepool_3d_default averagepool_2d_ceil
    averagepool_2d_same_lower;
batch_normalization: batchnorm_epsilon;
bitshift: bitshift_left_int8_negative_shift bitshift_right_int32_shift_ge_width;
bitwiseand: bitwise_and_ui8_bcast_4v3d; clip: clip_default_inbounds; compress: compress_negative_axis;
concat: concat_3d_axis_negative_2;
conv: basic_conv_with_padding conv_with_autopad_same conv_with_strides_and_asymmetric_padding;
convinteger: convinteger_with_padding;
convtranspose: convtranspose_1d convtranspose_dilations convtranspose_autopad_same convtranspose_output_shape
    convtranspose_3d;
cumsum: cumsum_1d_reverse_exclusive cumsum_2d_negative_axis; depthtospace: depthtospace_crd_mode_example;
dequantizelinear: dequantizelinear_axis dequantizelinear_blocked; div: div_int32_trunc;
dropout: dropout_default_old dropout_default_mask; einsum: einsum_batch_diagonal einsum_scalar; elu: elu;
expand: expand_dim_changed; eyelike: eyelike_populate_off_main_diagonal; flatten: flatten_negative_axis4;
gather: gather_negative_indices; gatherelements: gather_elements_negative_indices;
gathernd: gathernd_example_int32_batch_dim1; gelu: gelu_tanh_2; gemm: gemm_all_attributes;
globalmaxpool: globalmaxpool; gru: gru_bidirectional; hardmax: hardmax_one_hot; hardsigmoid: hardsigmoid;
instance_normalization: instancenorm_epsilon; isinf: isinf_positive; isnan: isnan;
layernormalization: layer_normalization_4d_axis0; leakyrelu: leakyrelu; loop: loop11; lrn: lrn;
lstm: lstm_with_peepholes lstm_batchwise; matmul: matmul_1d_1d matmul_4d_1d; matmulinteger: matmulinteger;
max: max_int32;
maxpool: maxpool_1d_default maxpool_2d_ceil_output_size_reduce_by_one maxpool_2d_dilations maxpool_2d_uint8
    maxpool_3d_dilations maxpool_with_argmax_2d_precomputed_pads maxpool_with_argmax_2d_precomputed_strides;
mean: mean_example; min: min_uint16;
mod: mod_float_edge_cases_fmod_0_float16 mod_mixed_sign_float16 mod_mixed_sign_int8;
onehot: onehot_out_of_range_indices; pad: constant_pad_axes edge_pad reflect_pad wrap_pad;
pow: pow_types_float32_int64 pow_types_int32_int32 pow_types_int64_int64; prelu: prelu_broadcast;
qlinearconv: qlinearconv; qlinearmatmul: qlinearmatmul_3D_int8_float16;
quantizelinear: quantizelinear_axis quantizelinear_int4 quantizelinear_blocked_symmetric;
reducemax: reduce_max_bool_inputs reduce_max_empty_set; reducemean: reduce_mean_keepdims_random;
reshape: reshape_negative_extended_dims;
resize: resize_downsample_scales_cubic_antialias resize_tf_crop_and_resize resize_upsample_sizes_nearest_not_larger
    resize_upsample_scales_linear_half_pixel_symmetric resize_upsample_scales_nearest;
reversesequence: reversesequence_batch; rnn: rnn_seq_length simple_rnn_reverse; round: round;
scan: scan9_multi_state; scatterelements: scatter_elements_with_negative_indices scatter_elements_with_reduction_mul;
scatternd: scatternd_max_with_element_indices; sign: sign; slice: slice_negative_axes; softmax: softmax_axis_1;
softplus: softplus_example; spacetodepth: spacetodepth_crd_mode_example; split: split_variable_parts_2d_opset18;
squeeze: squeeze_negative_axes; tan: tan; tile: tile; topk: top_k_same_values_2d top_k_smallest;
transpose: transpose_all_permutations_3; trilu: triu_neg tril_zero; unsqueeze: unsqueeze_unsorted_axes;
upsample: upsample_nearest; where: where_long_example
"""
"""Names of cases, by the module of the package that has them."""

MODULES = {
    name: module.strip()
    for module, _, names in (part.partition(":") for part in PASS.split(";"))
    for name in names.split()
}


def known(name: str, module: str) -> Any:
    """A case of the package.  Only its own module is read: some compute for a second what they expect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package computes with overflows and divisions by zero
        return cases(module)[f"test_{name}"]


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", MODULES)
def test_cases_of_the_onnx_package(name: str) -> None:
    assert judge(known(name, MODULES[name])) == ("pass", "")


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        ("dropout", "training_dropout_default", "training is not known here"),
        ("batch_normalization", "batchnorm_example_training_mode", "training is not known here"),
        ("equal", "equal_string_broadcast", "there is no type 'object'"),
        ("mod", "mod_mixed_sign_float32", "remainders of float32 are not exact here; those of float16 are"),
        ("loop", "loop13_seq", "the input seq_empty is not a tensor"),
    ],
)
def test_what_is_not_known_is_refused_with_the_node(module: str, name: str, message: str) -> None:
    verdict, why = judge(known(name, module))
    assert verdict == "refused"
    assert re.search(message, why), why


def test_an_attribute_that_is_not_known_is_not_passed_over() -> None:
    """As ``axis`` and ``broadcast`` of Add before opset 7, which would mean other elements."""
    with pytest.raises(GraphError, match="there is no attribute axis in opset 14"):
        from_onnx(model("Add", [small(3, 3), small(3)], axis=0, broadcast=1))


@pytest.mark.parametrize(
    ("op", "operands", "attribute"),
    [
        ("SoftmaxCrossEntropyLoss", [small(1, 3), np.array([2])], "reduction"),
        ("NegativeLogLikelihoodLoss", [small(1, 3), np.array([2])], "reduction"),
        ("Gelu", [small(3)], "approximate"),
    ],
)
def test_a_word_that_is_not_known_chooses_no_definition(op: str, operands: list[Any], attribute: str) -> None:
    with pytest.raises(GraphError, match=rf"the attribute {attribute} is one of none, .*, not 'sums'"):
        from_onnx(model(op, operands, opset=22, **{attribute: "sums"}))
    from_onnx(model(op, operands, opset=22, **{attribute: "none"}))


def test_a_kernel_shape_is_that_of_the_weights() -> None:
    made = model("Conv", [small(1, 1, 5, 5), small(1, 1, 3, 3)], kernel_shape=[2, 2])
    with pytest.raises(GraphError, match=r"kernel_shape is that of the weights, \[3, 3\], not \[2, 2\]"):
        from_onnx(made)


def test_results_are_arrays_of_their_own() -> None:
    """A result that is an input or a constant is a copy: what is done to it does not reach the graph."""
    constant = np.arange(3, dtype=np.float32)
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, [3])],
        [helper.make_tensor_value_info(n, 1, [3]) for n in ("y", "x", "c")],
        [onnx.numpy_helper.from_array(constant, "c")],
    )  # fmt: skip
    f = build(from_onnx(helper.make_model(graph)))
    x = np.array([-1, 0, 1], np.float32)
    first = f(x)
    for a in first:
        np.add(a, 100, out=a)
    second = f(x)
    np.testing.assert_array_equal(second[0], [0, 0, 1])
    np.testing.assert_array_equal(second[1], [-1, 0, 1])
    np.testing.assert_array_equal(second[2], constant)
    np.testing.assert_array_equal(first[0], [100, 100, 101])


@pytest.mark.nightly  # whole models of our own stand in
def test_a_light_model_gives_its_expected_output() -> None:
    """On the input that the package's own runner makes."""
    light = Path(onnx.__file__).parent / "backend/test/data/light"
    graph = load_onnx(light / "light_bvlc_alexnet.onnx")
    (x,) = graph.inputs
    size = x.type.size
    given = (np.arange(size).reshape(x.shape) / size).astype(np.float32)
    expected = onnx.numpy_helper.to_array(onnx.load_tensor(str(light / "light_bvlc_alexnet_output_0.pb")))
    np.testing.assert_allclose(build(graph, schedules=False)(given), expected, rtol=1e-3, atol=1e-7)
