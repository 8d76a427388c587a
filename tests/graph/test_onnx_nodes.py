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

MODULES = """
averagepool batch_normalization cast clip concat conv convtranspose div dropout elu expand flatten gather gelu gemm
globalmaxpool hardsigmoid layernormalization leakyrelu lrn matmul max maxpool min pad pow prelu reducemax reducemean
reshape resize round sign slice softmax softplus split squeeze transpose unsqueeze upsample where equal argmax argmin
cumsum dequantizelinear gatherelements hardmax instance_normalization isnan matmulinteger mean quantizelinear tile trilu
tan bitshift bitwiseand mod isinf eyelike scatterelements scatternd gathernd onehot topk reversesequence compress einsum
depthtospace spacetodepth acosh asinh atanh lstm gru rnn qlinearmatmul qlinearconv convinteger loop scan
"""
PASS = """
averagepool_1d_default averagepool_2d_dilations averagepool_3d_default averagepool_2d_ceil averagepool_2d_same_lower
basic_conv_with_padding batchnorm_epsilon clip_default_inbounds concat_3d_axis_negative_2 constant_pad_axes
conv_with_autopad_same conv_with_strides_and_asymmetric_padding convtranspose_1d convtranspose_dilations
div_int32_trunc dropout_default_old edge_pad elu expand_dim_changed flatten_negative_axis4 gather_negative_indices
gelu_tanh_2 gemm_all_attributes globalmaxpool hardsigmoid leakyrelu lrn matmul_1d_1d matmul_4d_1d max_int32
maxpool_1d_default maxpool_2d_ceil_output_size_reduce_by_one maxpool_2d_dilations maxpool_2d_uint8 min_uint16
pow_types_float32_int64 prelu_broadcast reduce_mean_keepdims_random reflect_pad reshape_negative_extended_dims round
sign slice_negative_axes convtranspose_autopad_same convtranspose_output_shape dropout_default_mask
layer_normalization_4d_axis0 maxpool_3d_dilations maxpool_with_argmax_2d_precomputed_pads
maxpool_with_argmax_2d_precomputed_strides pow_types_int32_int32 pow_types_int64_int64 reduce_max_bool_inputs
reduce_max_empty_set resize_downsample_scales_cubic_antialias resize_tf_crop_and_resize
resize_upsample_sizes_nearest_not_larger resize_upsample_scales_linear_half_pixel_symmetric
resize_upsample_scales_nearest wrap_pad softmax_axis_1 softplus_example split_variable_parts_2d_opset18
squeeze_negative_axes transpose_all_permutations_3 unsqueeze_unsorted_axes upsample_nearest where_long_example
argmax_keepdims_example_select_last_index argmin_no_keepdims_random cumsum_1d_reverse_exclusive
cumsum_2d_negative_axis dequantizelinear_axis gather_elements_negative_indices hardmax_one_hot instancenorm_epsilon
isnan matmulinteger mean_example quantizelinear_axis quantizelinear_int4 tile triu_neg tril_zero tan
bitshift_left_int8_negative_shift bitshift_right_int32_shift_ge_width bitwise_and_ui8_bcast_4v3d
mod_float_edge_cases_fmod_0_float16 mod_mixed_sign_float16 mod_mixed_sign_int8 isinf_positive
eyelike_populate_off_main_diagonal scatter_elements_with_negative_indices scatter_elements_with_reduction_mul
scatternd_max_with_element_indices gathernd_example_int32_batch_dim1 onehot_out_of_range_indices
top_k_same_values_2d top_k_smallest reversesequence_batch compress_negative_axis einsum_batch_diagonal einsum_scalar
depthtospace_crd_mode_example spacetodepth_crd_mode_example acosh_example asinh atanh lstm_with_peepholes
gru_bidirectional rnn_seq_length simple_rnn_reverse lstm_batchwise qlinearmatmul_3D_int8_float16 qlinearconv
convinteger_with_padding loop11 scan9_multi_state convtranspose_3d dequantizelinear_blocked
quantizelinear_blocked_symmetric
"""


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package computes with overflows and divisions by zero
        return cases(*MODULES.split())


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", PASS.split())
def test_cases_of_the_onnx_package(name: str, known: dict[str, Any]) -> None:
    assert judge(known[f"test_{name}"]) == ("pass", "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("training_dropout_default", "training is not known here"),
        ("batchnorm_example_training_mode", "training is not known here"),
        ("equal_string_broadcast", "there is no type 'object'"),
        ("mod_mixed_sign_float32", "remainders of float32 are not exact here; those of float16 are"),
        ("loop13_seq", "the input seq_empty is no tensor"),
    ],
)
def test_what_is_not_known_is_refused_with_the_node(name: str, message: str, known: dict[str, Any]) -> None:
    verdict, why = judge(known[f"test_{name}"])
    assert verdict == "refused"
    assert re.search(message, why), why


def test_an_attribute_that_is_not_known_is_not_passed_over() -> None:
    """As ``axis`` and ``broadcast`` of Add before opset 7, which would mean other elements."""
    with pytest.raises(GraphError, match="there is no attribute axis in opset 14"):
        from_onnx(model("Add", [small(3, 3), small(3)], axis=0, broadcast=1))


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


def test_a_light_model_gives_its_expected_output() -> None:
    """On the input that the package's own runner makes."""
    light = Path(onnx.__file__).parent / "backend/test/data/light"
    graph = load_onnx(light / "light_bvlc_alexnet.onnx")
    (x,) = graph.inputs
    size = x.type.size
    given = (np.arange(size).reshape(x.shape) / size).astype(np.float32)
    expected = onnx.numpy_helper.to_array(onnx.load_tensor(str(light / "light_bvlc_alexnet_output_0.pb")))
    np.testing.assert_allclose(build(graph, schedules=False)(given), expected, rtol=1e-3, atol=1e-7)
