"""Where onnxruntime and ONNX's reference evaluator are known to differ, and what the specification says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from tests.fuzz.onnx_models.opinion import (
    Opinion,
    beyond_integers,
    clipped,
    dilated,
    error_function,
    every_axis_by_itself,
    far_apart,
    first_maxima,
    floating,
    greatest,
    halves,
    hard_swish,
    infinite,
    infinite_for_nan,
    log_sum_exp,
    nan,
    near_each_other,
    no_powers,
    normalized_locally,
    odd_windows,
    old,
    only,
    operands,
    other_zeros,
    power_by_floats,
    power_of_integers,
    powers_of_two,
    product_of_integers,
    quantised,
    root_of_squares,
    rounded_once,
    same_padding,
    saturated,
    shrunk,
    wrapped,
    zeros,
)
from verified_tir.graph.ir import Array

Right = Literal["reference", "onnxruntime", "either", "neither", "any"]
Mask = npt.NDArray[np.bool_]


@final
@dataclass(frozen=True)
class Difference:
    """A difference that is known.

    :ivar title: the operators and the case, as in the documentation's table.
    :ivar right: whom our result must agree with; ``either``: with one of them in each element; ``any`` where the
        specification leaves it open; ``neither`` where it is what ``expected`` computes.
    :ivar when: whether an opinion falls under it.
    :ivar reference: what the reference evaluator gives; ``onnxruntime``: what that gives; ``here``: what we do, and
        what the specification says of it.
    """

    title: str
    operators: tuple[str, ...]
    right: Right
    when: Callable[[Opinion], bool]
    reference: str
    onnxruntime: str
    here: str
    expected: Callable[[Opinion], Array] | None = None
    besides: Callable[[Opinion], Mask] | None = None
    """Elements in which our result need not agree with the one that is right elsewhere."""

    def holds(self, opinion: Opinion, with_reference: Mask, with_runtime: Mask) -> bool:
        """Whether our result is what it should be.

        :param with_reference: where it agrees with the reference; ``with_runtime``: with onnxruntime.
        """
        if self.expected is not None:
            wanted, ours = self.expected(opinion), opinion.ours
            if ours is None or ours.shape != wanted.shape:
                return False
            if self.besides is not None:
                free = self.besides(opinion)
                ours, wanted = ours[~free], wanted[~free]
            if not floating(ours):
                return bool(np.array_equal(ours, wanted))
            return np.allclose(ours.astype(np.float64), wanted, rtol=1e-12, atol=0.0, equal_nan=True)
        if self.besides is not None:
            free = self.besides(opinion)
            with_reference, with_runtime = with_reference | free, with_runtime | free
        right: dict[Right, bool] = {
            "reference": bool(with_reference.all()), "onnxruntime": bool(with_runtime.all()),
            "either": bool((with_reference | with_runtime).all()), "neither": False, "any": True,
        }  # fmt: skip
        return right[self.right]


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "`Softmax`, `LogSoftmax`, `Hardmax` before opset 13", ("Softmax", "LogSoftmax", "Hardmax"), "onnxruntime",
        lambda o: old(o) and not nan(o),
        "along one axis", "over all dimensions from the axis on",
        "as onnxruntime, and as those opsets say; NaN beside an ∞, the difference of ∞ and ∞",
        besides=lambda o: np.isnan(o.result.astype(np.float64)) & infinite(o),
    ),
    Difference(
        "`Softmax`, `LogSoftmax` before opset 13 with NaN", ("Softmax", "LogSoftmax"), "onnxruntime",
        lambda o: old(o) and nan(o), "along one axis, where NaN is", "numbers, in some cases",
        "over all dimensions from the axis on, where NaN is", besides=lambda o: np.isnan(o.result.astype(np.float64)),
    ),
    Difference(
        "`Hardmax` before opset 13 with NaN", ("Hardmax",), "any", lambda o: old(o) and nan(o),
        "along one axis, where NaN is", "depends on where NaN stands",
        "over all dimensions from the axis on, where NaN is",
    ),
    Difference(
        "`ArgMax`, `ArgMin`, `Hardmax`, `TopK` with NaN", ("ArgMax", "ArgMin", "Hardmax", "TopK"), "reference", nan,
        "NaN is the greatest and the least", "depends on where it stands",
        "as the reference; the specification is silent",
    ),
    Difference(
        "`ReduceMax`, `ReduceMin`, `GlobalMaxPool` with NaN", ("ReduceMax", "ReduceMin", "GlobalMaxPool"), "reference",
        nan, "NaN", "depends on where it stands", "NaN, as `Max` and `Min`", besides=zeros,
    ),
    Difference(
        "`Dropout`, its mask, before opset 12", ("Dropout",), "neither", lambda o: o.model.opset < 12,
        "true", "false", "true; the specification says only from opset 12 on that nothing is dropped then",
        lambda o: np.ones_like(o.result),
    ),
    Difference(
        "`Cast` of NaN to float4", ("Cast", "CastLike"), "reference",
        lambda o: str(o.result.dtype) == "float4_e2m1fn" and nan(o), "0 or -0.0", "not known there",
        "0, as in ONNX's tests; its table of conversions says 6", besides=lambda o: o.result == 0,
    ),
    Difference(
        "`Cast` of floats that the integers do not have", ("Cast", "CastLike"), "neither", beyond_integers,
        "any", "any", "the nearest end of the type, 0 of NaN; the specification leaves it undefined", saturated,
    ),
    Difference(
        "`Clip` with a bound that is NaN", ("Clip",), "neither",
        lambda o: any(a is not None and floating(a) and bool(np.isnan(a.astype(np.float64)).any())
                      for a in (o.operand(1), o.operand(2)))
        or any(np.isnan(o.node.attributes.get(n, 0.0)) for n in ("min", "max")),
        "NaN", "the element", "that bound does nothing; the specification is silent", clipped,
    ),
    Difference(
        "`BatchNormalization` before opset 14", ("BatchNormalization",), "onnxruntime", lambda o: o.model.opset < 14,
        "takes `momentum` as a sign of training, and mixes statistics", "as in inference", "as in inference",
        besides=infinite_for_nan,
    ),
    Difference(
        "`LRN` with more channels than batches", ("LRN",), "onnxruntime",
        lambda o: o.operand(0).shape[0] < o.operand(0).shape[1] and bool(np.isfinite(o.operand(0)).all()),
        "normalizes as many channels as there are batches", "all channels", "all channels",
    ),
    Difference(
        "`LRN` with NaN or infinities", ("LRN",), "any", lambda o: not bool(np.isfinite(o.operand(0)).all()),
        "as above", "they reach channels that they are not beside", "they reach the channels around them only",
    ),
    Difference(
        "`AveragePool` with NaN", ("AveragePool",), "onnxruntime",
        lambda o: nan(o) and not (same_padding(o) and dilated(o)),
        "passes it over", "NaN", "NaN",
    ),
    Difference(
        "`MaxPool` with NaN", ("MaxPool",), "any", nan,
        "depends on where it stands", "depends on the window",
        "passes it over; a window of nothing else gives -∞. The specification is silent",
    ),
    Difference(
        "`MaxPool`, its second result", ("MaxPool",), "onnxruntime",
        lambda o: o.ours is not None and o.ours.dtype == np.int64
        and not odd_windows(o),
        "counts in each channel anew in some cases", "counts over the whole operand",
        "counts over the whole operand, as the specification says",
    ),
    Difference(
        "`BatchNormalization`, `InstanceNormalization` with infinities",
        ("BatchNormalization", "InstanceNormalization"), "reference",
        lambda o: infinite(o) or (o.ours is not None and bool(np.isinf(o.ours.astype(np.float64)).any())),
        "by the formula", "multiplies the mean by the scale first: NaN", "by the specification's formula",
    ),
    Difference(
        "`Gemm` of integers", ("Gemm",), "neither", lambda o: o.operand(0).dtype.kind in "iu",
        "rounds products to float64", "not known there", "exact, modulo the type", product_of_integers,
    ),
    Difference(
        "`Relu` of -0.0", ("Relu",), "onnxruntime", lambda o: only(o, o.reference, lambda a: a == 0),
        "0.0", "-0.0", "-0.0, as `x` is not less than 0",
    ),
    Difference(
        "`ReduceMean` of nothing", ("ReduceMean",), "reference", lambda o: o.operand(0).size == 0,
        "NaN", "0", "NaN, the quotient of 0 and 0",
    ),
    Difference(
        "`Slice` backwards from below the first element", ("Slice",), "onnxruntime",
        lambda o: o.operand(4) is not None and bool((o.operand(4) < 0).any()),
        "nothing", "the first element", "the first element: the specification clamps the start",
    ),
    Difference(
        "`Pow` of signed integers by uint64", ("Pow",), "neither",
        lambda o: o.operand(0).dtype.kind == "i" and o.operand(1).dtype == np.uint64,
        "in float64", "not known there", "exact, modulo the type", power_of_integers,
    ),
    Difference(
        "`Pow` of integers by floats", ("Pow",), "neither",
        lambda o: o.operand(0).dtype.kind in "iu" and floating(o.operand(1)),
        "any number if it is too large, or NaN", "any number if it is too large, or NaN",
        "the nearest end of the type, 0 of NaN; the specification leaves it undefined", power_by_floats,
    ),
    Difference(
        "`Max`, `Min`, `ReduceMax`, `ReduceMin`, `MaxPool`, `GlobalMaxPool` of 0.0 and -0.0",
        ("Max", "Min", "ReduceMax", "ReduceMin", "MaxPool", "GlobalMaxPool"), "either", other_zeros,
        "any of them", "any of them", "one of them, of `Max` and `Min` the last one; the specification is silent",
        besides=zeros,
    ),
    Difference(
        "`Softplus` of large float64", ("Softplus",), "reference",
        lambda o: o.operand(0).dtype == np.float64 and bool((o.operand(0) > 80).any()),
        "the number", "∞ beyond float32", "the number",
    ),
    Difference(
        "`BlackmanWindow`, `HammingWindow`, `HannWindow`, as integers",
        ("BlackmanWindow", "HammingWindow", "HannWindow"), "any",
        lambda o: o.ours is not None and o.ours.dtype.kind in "iu",
        "cut off", "cut off", "cut off: what is rounded to a number just below an integer becomes the one before",
    ),
    Difference(
        "`Squeeze` with an empty list as attribute", ("Squeeze",), "any",
        lambda o: "axes" in o.node.attributes and len(o.node.attributes["axes"]) == 0,
        "all dimensions of extent 1", "all dimensions of extent 1", "none, as ONNX's shape inference says",
    ),
    Difference(
        "`Gather`, `GatherElements`, `GatherND` with an index out of range that is computed",
        ("Gather", "GatherElements", "GatherND"), "any", lambda o: o.ours is None,
        "an error", "an error", "the element that is nearest",
    ),
    Difference(
        "`ScatterElements`, `ScatterND` with such an index", ("ScatterElements", "ScatterND"), "any",
        lambda o: o.ours is None, "an error", "an error", "nothing is put there",
    ),
    Difference(
        "`Pow` of 1 by NaN", ("Pow",), "reference",
        lambda o: floating(o.operand(0)) and bool((o.operand(0) == 1).any()) and nan(o),
        "1", "NaN for signalling ones", "1, as IEEE 754 says of `pow`",
    ),
    Difference(
        "`Pow` of integers that is too large", ("Pow",), "reference",
        lambda o: o.operand(0).dtype.kind in "iu", "wraps", "the least integer", "wraps; the specification is silent",
    ),
    Difference(
        "`ScatterElements`, `ScatterND` twice at one place", ("ScatterElements", "ScatterND"), "reference",
        lambda o: o.node.attributes.get("reduction", "none") == "none",
        "the last one", "any of them", "the last one; the specification leaves it undefined",
    ),
    Difference(
        "`DynamicQuantizeLinear` of NaN or infinities", ("DynamicQuantizeLinear",), "any",
        lambda o: not bool(np.isfinite(o.operand(0)).all()), "NaN as the scale", "passes NaN over",
        "as ONNX's definition by other operators; the specification is silent",
    ),
    Difference(
        "`DynamicQuantizeLinear` of nothing", ("DynamicQuantizeLinear",), "neither", lambda o: o.operand(0).size == 0,
        "an error", "a scale of 1", "a scale of 0; the specification is silent", lambda o: np.zeros_like(o.result),
    ),
    Difference(
        "`GlobalMaxPool`, `GlobalAveragePool` over nothing", ("GlobalMaxPool", "GlobalAveragePool"), "any",
        lambda o: o.operand(0).size == 0, "an error", "an error", "-∞, as `ReduceMax`; NaN, as `ReduceMean`",
    ),
    Difference(
        "`QuantizeLinear` of NaN, or by a scale of 0", ("QuantizeLinear",), "neither",
        lambda o: o.ours is not None and not floating(o.ours) and (nan(o) or not bool(o.operand(1).all())),
        "any", "any", "0 of NaN, the nearest end of the type of infinite quotients; the specification is silent",
        quantised,
    ),
    Difference(
        "`QuantizeLinear` by a scale of 16 bits", ("QuantizeLinear",), "any",
        lambda o: str(o.operand(1).dtype).endswith("16") and bool(np.isfinite(o.operand(0).astype(np.float64)).all()),
        "divides in the wider type of the two", "divides in float32",
        "in float32 before opset 23, and in the type of the scale from then on, as the specification says",
    ),
    Difference(
        "`QuantizeLinear` of large numbers", ("QuantizeLinear",), "onnxruntime",
        lambda o: bool((np.abs(o.operand(0).astype(np.float64)) > 2.0**20).any()),
        "converts to int32 first, and wraps", "saturates", "saturates, as the specification says",
    ),
    Difference(
        "`LSTM` that begins with a cell that is infinite", ("LSTM",), "either",
        lambda o: len(o.node.operands) > 6 and o.operand(6) is not None and bool(np.isinf(o.operand(6)).any()),
        "NaN: multiplies it by peepholes that are not there", "NaN where the forget gate is nearly 0",
        "by the specification's equations", besides=lambda o: np.isnan(o.reference) & np.isnan(o.onnxruntime),
    ),
    Difference(
        "`RNN`, `GRU`, `LSTM` with NaN or infinities", ("RNN", "GRU", "LSTM"), "either",
        lambda o: nan(o) or infinite(o), "passes them over in some gates", "clamps them in some gates",
        "by the specification's equations",
    ),
    Difference(
        "`AveragePool`, `MaxPool` with `ceil_mode`", ("AveragePool", "MaxPool"), "onnxruntime",
        lambda o: bool(o.node.attributes.get("ceil_mode", 0)) and not (o.node.op == "MaxPool" and same_padding(o)),
        "takes other elements in some cases",
        "the elements of each window", "the elements of each window",
    ),
    Difference(
        "`OneHot` of values that are not finite, or -0.0", ("OneHot",), "onnxruntime",
        lambda o: floating(o.operand(2)),
        "computes on the values: NaN, and 0.0", "one of the values", "one of the values",
    ),
    Difference(
        "`Unsqueeze` before opset 13, of several axes", ("Unsqueeze",), "onnxruntime", old,
        "inserts one after the other, in their order", "in any order", "in any order: they are those of the result",
    ),
    Difference(
        "`MeanVarianceNormalization` of equal elements", ("MeanVarianceNormalization",), "reference",
        lambda o: isinstance(o.onnxruntime, np.ndarray) and bool(np.isnan(o.onnxruntime).any()), "0", "NaN",
        "0, by ONNX's definition by other operators, which adds 1e-9 to the variance",
    ),
    Difference(
        "`SoftmaxCrossEntropyLoss`, `NegativeLogLikelihoodLoss`, the mean of nothing",
        ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"), "reference", lambda o: o.operand(1).size == 0,
        "NaN", "0", "NaN, the quotient of 0 and 0",
    ),
    Difference(
        "`SoftmaxCrossEntropyLoss` with NaN or infinities", ("SoftmaxCrossEntropyLoss",), "reference",
        lambda o: (nan(o) or infinite(o)) and not far_apart(o.operand(0)),
        "NaN", "passes them over in some cases", "NaN",
    ),
    Difference(
        "`SoftmaxCrossEntropyLoss` of NaN or infinities, and of numbers far apart", ("SoftmaxCrossEntropyLoss",),
        "either", lambda o: nan(o) or infinite(o),
        "NaN; -∞, the logarithm of 0", "passes them over in some cases; a finite number", "NaN; a finite number",
    ),
    Difference(
        "`Attention` with NaN or infinities", ("Attention",), "onnxruntime",
        lambda o: nan(o) or infinite(o) or not np.isfinite(o.node.attributes.get("scale", 1.0)),
        "zeros for a query whose weights are NaN", "NaN", "NaN; zeros where all is masked, as the specification says",
    ),
    Difference(
        "`Attention` of float64, its scale", ("Attention",), "onnxruntime",
        lambda o: o.operand(0).dtype == np.float64,
        "in float64", "in float32", "in float32, by ONNX's definition by other operators",
    ),
    Difference(
        "`ReduceLogSumExp` with infinities and NaN", ("ReduceLogSumExp",), "either", lambda o: infinite(o) and nan(o),
        "NaN", "depends on where NaN stands", "NaN where an element is; else ∞",
    ),
    Difference(
        "`ReduceLogSumExp` with infinities", ("ReduceLogSumExp",), "onnxruntime", infinite,
        "NaN, ∞ - ∞", "∞", "∞, by ONNX's definition by other operators",
    ),
    Difference(
        "`Erf` of float64", ("Erf",), "neither", lambda o: o.operand(0).dtype == np.float64,
        "off by up to 1e-7", "not known there", "in float64", error_function,
    ),
    Difference(
        "`Gelu` of float64", ("Gelu",), "any", lambda o: o.operand(0).dtype == np.float64, "off by up to 1e-7",
        "not known there", "in float64",
    ),
    Difference(
        "`DynamicQuantizeLinear` of zeros", ("DynamicQuantizeLinear",), "neither", lambda o: not o.operand(0).any(),
        "a scale of 1/255", "a scale of 1", "a scale of 0, by the specification's formula",
        lambda o: np.zeros_like(o.result),
    ),
    Difference(
        "`DynamicQuantizeLinear` of numbers so small that the scale is 0", ("DynamicQuantizeLinear",), "any",
        lambda o: float(np.abs(o.operand(0)).max(initial=0)) < 2.0**-140,
        "the zero point is 255", "the zero point is 255", "the zero point is 0, that of NaN",
    ),
    Difference(
        "`MaxPool`, `GlobalMaxPool` of nothing but -∞", ("MaxPool", "GlobalMaxPool"), "reference",
        lambda o: only(o, o.onnxruntime, np.isneginf) and np.shape(o.reference) == o.result.shape,
        "-∞", "the least finite number", "-∞",
    ),
    Difference(
        "`GroupNormalization`, `LayerNormalization`, `RMSNormalization` of float64, or with another `stash_type`",
        ("GroupNormalization", "LayerNormalization", "RMSNormalization"), "any",
        lambda o: o.operand(0).dtype == np.float64 or o.node.attributes.get("stash_type", 1) != 1,
        "in float64; knows no other `stash_type`", "in float64 or float32, whatever `stash_type` says",
        "in the type that `stash_type` says, float32 unless given, as the specification says",
    ),
    Difference(
        "`LayerNormalization` of float16 or bfloat16, its mean and deviation", ("LayerNormalization",), "onnxruntime",
        lambda o: o.ours is not None and o.ours.dtype == np.float32 != o.operand(0).dtype,
        "of the operand's type", "of the type that `stash_type` says",
        "of the type that `stash_type` says, as the specification says",
    ),
    Difference(
        "`LayerNormalization` with infinities", ("LayerNormalization",), "reference", infinite,
        "by the specification's formula", "NaN in some cases", "by the specification's formula",
    ),
    Difference(
        "`Upsample`, `Resize` of other than two dimensions before opset 11", ("Upsample", "Resize"), "any",
        lambda o: o.ours is None and o.model.opset < 11,
        "not known there", "linear of some ranks and scales only", "linear along each axis",
    ),
    Difference(
        "`Resize` with NaN or infinities", ("Resize", "Upsample"), "any",
        lambda o: o.node.attributes.get("mode", "nearest") != "nearest" and (nan(o) or infinite(o)),
        "multiplies them by weights of 0", "along axes that do not change, too",
        "multiplies them by weights of 0, but for neighbours whose weight is 0 at all places of the axis",
    ),
    Difference(
        "`ConvTranspose` in groups, with a bias", ("ConvTranspose",), "onnxruntime",
        lambda o: o.node.attributes.get("group", 1) > 1 and o.operand(2) is not None,
        "adds the bias of the first group's channels to each", "adds each channel's", "adds each channel's",
    ),
    Difference(
        "`ConvTranspose` of nothing", ("ConvTranspose",), "onnxruntime", lambda o: o.operand(0).size == 0,
        "an error", "an error where the result is empty", "the bias, as many as the formula for its shape says",
    ),
    Difference(
        "`ConvInteger`, `MatMulInteger`, `QLinearConv`, `QLinearMatMul` of nothing",
        ("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"), "reference",
        lambda o: any(a.size == 0 for a in operands(o)),
        "0, or the zero point", "leaves memory as it is", "0, or the zero point",
    ),
    Difference(
        "`ConvInteger`, `MatMulInteger` of uint8 by int8", ("ConvInteger", "MatMulInteger"), "reference",
        lambda o: (o.operand(0).dtype, o.operand(1).dtype) == (np.uint8, np.int8),
        "exact", "adds two products in int16, which saturates, on x86 processors without VNNI", "exact",
    ),
    Difference(
        "`QLinearConv`, `QLinearMatMul`, halves", ("QLinearConv", "QLinearMatMul"), "either", lambda _: True,
        "multiplies by one scale after the other", "by the product of scales, in float32",
        "by the product of scales, in float32; the specification is silent",
    ),
    Difference(
        "`LRN` over an even number of channels", ("LRN",), "any", lambda o: o.ours is None,
        "an error in some cases", "not known there", "by the specification's formula",
    ),
    Difference(
        "`LRN` of float64", ("LRN",), "neither", lambda o: o.operand(0).dtype == np.float64 and not nan(o),
        "`alpha / size` in float32, and 0.0001 in float64 without `alpha`", "not known there",
        "`alpha / size` in float64, and 0.0001 in float32, the type of the attribute", normalized_locally,
    ),
    Difference(
        "`DequantizeLinear` of int32 with a zero point", ("DequantizeLinear",), "onnxruntime",
        lambda o: str(o.operand(0).dtype) == "int32" and o.operand(2) is not None,
        "subtracts in float32", "subtracts in integers", "subtracts in integers",
    ),
    Difference(
        "`Einsum` of three operands, with infinities", ("Einsum",), "any",
        lambda o: len(o.node.operands) > 2 and infinite(o),
        "sums over two operands first", "sums over two operands first",
        "sums products of all; the specification is silent",
    ),
    Difference(
        "`Shrink` of integers", ("Shrink",), "neither", lambda o: o.operand(0).dtype.kind in "iu",
        "in float64", "in float32", "by ONNX's definition, in integers", shrunk,
    ),
    Difference(
        "`Shrink` of float64", ("Shrink",), "reference", lambda o: o.operand(0).dtype == np.float64,
        "in float64", "in float32", "in float64",
    ),
    Difference(
        "`LogSoftmax`, `SoftmaxCrossEntropyLoss` of numbers far apart", ("LogSoftmax", "SoftmaxCrossEntropyLoss"),
        "onnxruntime", lambda o: far_apart(o.operand(0)),
        "-∞, the logarithm of 0", "a finite number", "a finite number",
    ),
    Difference(
        "`LogSoftmax` of infinities", ("LogSoftmax",), "reference", lambda o: infinite(o) and not nan(o),
        "NaN, the difference of ∞ and ∞", "-∞ beside the ∞", "NaN",
    ),
    Difference(
        "`ReduceL2` of integers", ("ReduceL2",), "neither",
        lambda o: o.operand(0).dtype.kind in "iu" and not every_axis_by_itself(o),
        "the root in float64", "not known there", "the root in float32, by ONNX's definition by other operators",
        root_of_squares,
    ),
    Difference(
        "`ReduceL1`, `ReduceSumSquare`, `ReduceSum`, `ReduceProd` of small integers before opset 18",
        ("ReduceL1", "ReduceSumSquare", "ReduceSum", "ReduceProd"), "neither",
        lambda o: o.ours is not None and o.ours.dtype.kind in "iu" and isinstance(o.reference, np.ndarray)
        and o.reference.dtype != o.ours.dtype and o.reference.shape == o.ours.shape,
        "in int64", "the least or the greatest integer if it is too large", "wrap",
        lambda o: o.reference.astype(o.result.dtype),
    ),
    Difference(
        "`ReduceSum`, `ReduceMean`, `ReduceL1` of floats of 16 bits", ("ReduceSum", "ReduceMean", "ReduceL1"),
        "neither", lambda o: halves(o) and not nan(o) and not infinite(o),
        "rounds each sum of two", "in float32, or not known there", "in float32, rounded once", rounded_once,
    ),
    Difference(
        "`CumSum` with `exclusive`, of -0.0", ("CumSum",), "reference",
        lambda o: bool(o.node.attributes.get("exclusive", 0)) and other_zeros(o),
        "-0.0", "0.0", "-0.0, and 0.0 where there is nothing to be added",
    ),
    Difference(
        "Sums and products of integers that are too large",
        ("ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare", "CumSum", "Einsum"), "reference",
        lambda o: o.operand(0).dtype.kind in "iu", "wrap", "wrap, are the least integer, or are rounded to float64",
        "wrap",
    ),
    Difference(
        "`Sigmoid` of negative numbers", ("Sigmoid",), "reference",
        lambda o: o.ours is not None and bool((o.ours < 0.1).any()),
        "by its definition", "off by up to 1e-7", "by its definition",
    ),
    Difference(
        "`AveragePool` with `auto_pad`, of windows with gaps or smaller than strides", ("AveragePool",), "any",
        lambda o: o.ours is not None and odd_windows(o),
        "other elements", "fewer windows, or an error", "as many windows as the specification says",
    ),
    Difference(
        "`MaxPool` with `auto_pad`, of windows with gaps or smaller than strides", ("MaxPool",), "neither",
        lambda o: o.ours is not None and odd_windows(o),
        "other windows in some cases", "fewer windows, or an error",
        "as many windows as the specification says, padded as it says", greatest, lambda o: first_maxima(o) < 0,
    ),
    Difference(
        "`MaxPool`, `AveragePool`, how many windows", ("MaxPool", "AveragePool"), "onnxruntime",
        lambda o: hasattr(o.reference, "shape") and o.ours is not None and o.reference.shape != o.ours.shape,
        "others in some cases (`auto_pad`, `ceil_mode`, uneven `pads`)", "as its shape inference says",
        "as ONNX's shape inference says", besides=lambda o: np.isneginf(o.result.astype(np.float64)),
    ),
    Difference(
        "`AveragePool`, `MaxPool`, the same shape, of windows that are smaller than strides",
        ("AveragePool", "MaxPool"), "any",
        lambda o: o.ours is None and same_padding(o),
        "an error", "an error", "nothing is padded, as ONNX's shape inference says",
    ),
    Difference(
        "`Pad` that takes away, and wraps", ("Pad",), "neither",
        lambda o: o.node.attributes.get("mode") == "wrap" and o.operand(1) is not None and o.operand(1).min() < 0,
        "an error", "takes away first, and wraps what is left", "as if the data formed a torus", wrapped,
    ),
    Difference(
        "`HardSwish` of float64", ("HardSwish",), "neither", lambda o: o.operand(0).dtype == np.float64,
        "by 1/6 as a float32", "not known there", "by 1/6", hard_swish,
    ),
    Difference(
        "`InstanceNormalization` with large scales, or of numbers near each other", ("InstanceNormalization",),
        "reference",
        lambda o: bool((np.abs(o.operand(1).astype(np.float64)) > 2.0**16).any()) or near_each_other(o.operand(0)),
        "by the formula", "multiplies the mean by the scale first, and loses the difference", "by the formula",
    ),
    Difference(
        "`Selu` of negative numbers near 0", ("Selu",), "any",
        lambda o: bool(((o.operand(0) < 0) & (o.operand(0) > -0.01)).any()),
        "by the exponential less 1", "by the exponential less 1",
        "by ONNX's definition, in which digits are lost: the difference of two products",
    ),
    Difference(
        "`Sign` of NaN", ("Sign",), "reference", nan, "NaN", "0 in float16", "NaN",
    ),
    Difference(
        "`ReduceLogSumExp` of integers", ("ReduceLogSumExp",), "neither",
        lambda o: o.ours is not None and o.operand(0).dtype.kind in "iu",
        "in float64, or an error", "exponentials are cut to integers", "in float64, and cut to an integer", log_sum_exp,
    ),
    Difference(
        "`Where` of -0.0", ("Where",), "reference",
        lambda o: only(o, o.onnxruntime, lambda a: np.signbit(a) & (a == 0)),
        "-0.0", "0.0", "-0.0",
    ),
    Difference(
        "`ScatterElements`, `ScatterND`, the least or greatest, with NaN", ("ScatterElements", "ScatterND"),
        "either", lambda o: o.node.attributes.get("reduction") in ("min", "max") and nan(o),
        "depends on where it stands", "depends on where it stands", "NaN, as `Max` and `Min`",
    ),
    Difference(
        "`Cast` of a scalar to float8_e8m0fnu", ("Cast", "CastLike"), "any",
        lambda o: o.ours is None and o.operand(0).ndim == 0,
        "an error", "not known there", "as of other arrays",
    ),
    Difference(
        "`Cast` of negative numbers to float8_e8m0fnu, and of infinities", ("Cast", "CastLike"), "neither",
        no_powers, "the power of their size; NaN", "not known there",
        "NaN, which the specification leaves undefined; the greatest power", powers_of_two,
    ),
    Difference(
        "`MatMul`, `Gemm` of infinities and zeros", ("MatMul", "Gemm"), "onnxruntime",
        lambda o: infinite(o) and any((x == 0).any() for x in operands(o)),
        "passes products with 0 over in some shapes, by numpy's BLAS", "NaN, the product of 0 and ∞",
        "NaN, the product of 0 and ∞",
    ),
    Difference(
        "`Conv` with dilations, with NaN or infinities", ("Conv",), "onnxruntime",
        lambda o: dilated(o) and (nan(o) or infinite(o)),
        "multiplies elements between those of the window by 0", "passes them over", "passes them over",
    ),
    Difference(
        "`LeakyRelu` with an `alpha` that is not finite", ("LeakyRelu",), "onnxruntime",
        lambda o: not np.isfinite(o.node.attributes.get("alpha", 0.01)),
        "multiplies it by 0 where `x` is positive", "`x` where it is not negative",
        "`x` where it is not negative, as the specification says",
    ),
    Difference(
        "`PRelu` with slopes that are not finite", ("PRelu",), "onnxruntime",
        lambda o: not bool(np.isfinite(o.operand(1).astype(np.float64)).all()),
        "multiplies them by 0 where `x` is positive", "`x` where it is not negative",
        "`x` where it is not negative, as the specification says",
    ),
    Difference(
        "`Resize` to a length that the scale does not give exactly, corners aligned", ("Resize",), "reference",
        lambda o: o.node.attributes.get("coordinate_transformation_mode") == "align_corners",
        "by the fraction that the scale gives, as in ONNX's tests", "by the whole length",
        "by the fraction, as ONNX's tests have it; its text says the whole length",
    ),
    Difference(
        "`Resize` to a length of 1, or one that the scale does not give exactly, by `pytorch_half_pixel` or "
        "`tf_crop_and_resize`", ("Resize",), "onnxruntime",
        lambda o: o.node.attributes.get("coordinate_transformation_mode")
        in ("pytorch_half_pixel", "tf_crop_and_resize"),
        "by the fraction that the scale gives", "by the whole length", "by the whole length, as the specification says",
    ),
    Difference(
        "`Resize` by the nearest element, with NaN, infinities or integers", ("Resize", "Upsample"), "onnxruntime",
        lambda o: o.node.attributes.get("mode", "nearest") == "nearest"
        and (nan(o) or infinite(o) or o.operand(0).dtype.kind in "iu"),
        "computes on the elements", "one of the elements", "one of the elements",
    ),
    Difference(
        "`Pad` that takes away, and adds elements that are no constant", ("Pad",), "any",
        lambda o: isinstance(o.reference, Exception) and isinstance(o.onnxruntime, Exception),
        "an error if nothing is left", "an error if nothing is left", "nothing",
    ),
    Difference(
        "`Clip` without bounds, of an infinity, or with a bound that is one", ("Clip",), "neither", infinite,
        "the infinity", "depends on the type",
        "the greatest finite number, the default of `max` (`numeric_limits::max()`)", clipped,
    ),
)  # fmt: skip
"""All that are known, the first that an opinion falls under counts."""


def difference(opinion: Opinion) -> Difference | None:
    """The known difference that an opinion falls under."""
    for d in DIFFERENCES:
        if opinion.node.op in d.operators and d.when(opinion):
            return d
    return None


__all__ = ["DIFFERENCES", "Difference", "Opinion", "difference"]
