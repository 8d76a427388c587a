"""Where onnxruntime and ONNX's reference evaluator are known to differ, and what the specification says."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from verified_tir.graph.ir import Array
from verified_tir.testing.onnx_case import OnnxModel, OnnxNode

Right = Literal["reference", "onnxruntime", "either", "neither", "any"]
Mask = npt.NDArray[np.bool_]


@final
@dataclass(frozen=True)
class Opinion:
    """One result of one node: ours, and what the other two say of it (an exception if they do not run it)."""

    model: OnnxModel
    node: OnnxNode
    ours: Array | None
    reference: Any
    onnxruntime: Any

    def operand(self, k: int) -> Any:
        """The elements of the k-th operand; ``None`` if it is left out."""
        name = self.node.operands[k] if k < len(self.node.operands) else ""
        return self.model.inputs.get(name, self.model.constants.get(name))


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

    def holds(self, opinion: Opinion, with_reference: Mask, with_runtime: Mask) -> bool:
        """Whether our result is what it should be.

        :param with_reference: where it agrees with the reference; ``with_runtime``: with onnxruntime.
        """
        if self.expected is not None:
            wanted, ours = self.expected(opinion), opinion.ours
            return ours is not None and np.allclose(ours, wanted, rtol=1e-12, atol=0.0, equal_nan=True)
        right: dict[Right, bool] = {
            "reference": bool(with_reference.all()), "onnxruntime": bool(with_runtime.all()),
            "either": bool((with_reference | with_runtime).all()), "neither": False, "any": True,
        }  # fmt: skip
        return right[self.right]


def _nan(o: Opinion) -> bool:
    """Whether an operand has NaN among its elements."""
    return any(_floating(a) and bool(np.isnan(a.astype(np.float64)).any()) for a in _operands(o))


def _infinite(o: Opinion) -> bool:
    """Whether an operand has an infinity among its elements."""
    return any(_floating(a) and bool(np.isinf(a.astype(np.float64)).any()) for a in _operands(o))


def _finite_span(a: Array) -> float:
    """How far the finite elements are apart."""
    wide = a.astype(np.float64)[np.isfinite(a)]
    return float(wide.max() - wide.min()) if wide.size else 0.0


def _operands(o: Opinion) -> list[Array]:
    return [a for a in (o.operand(k) for k in range(len(o.node.operands))) if a is not None]


def _floating(a: Array) -> bool:
    return a.dtype.kind == "f" or "float" in str(a.dtype)


def _old(o: Opinion) -> bool:
    return o.model.opset < 13


def _beyond_integers(o: Opinion) -> bool:
    """Whether a float is converted that no element of the result is."""
    x = o.operand(0)
    if o.ours is None or x is None or not _floating(x) or o.ours.dtype.kind not in "iu":
        return False
    info, wide = np.iinfo(o.ours.dtype), x.astype(np.float64)
    return bool((~((np.trunc(wide) >= info.min) & (np.trunc(wide) < float(info.max) + 1))).any())


def _clip(o: Opinion) -> Array:
    """The elements between the bounds, of which one that is left out is the end of the type's finite values."""
    x = o.operand(0)
    info: Any = (ml_dtypes.finfo if _floating(x) else np.iinfo)(x.dtype)
    low = o.node.attributes.get("min", info.min) if o.operand(1) is None else o.operand(1)
    high = o.node.attributes.get("max", info.max) if o.operand(2) is None else o.operand(2)
    kept: Array = np.minimum(np.maximum(x, np.asarray(low).astype(x.dtype)), np.asarray(high).astype(x.dtype))
    return kept


def _erf(o: Opinion) -> Array:
    """The error function in float64."""
    erf: Callable[[Array], Array] = np.vectorize(math.erf, otypes=[np.float64])
    return erf(o.operand(0))


def _gemm(o: Opinion) -> Array:
    """Products of integers modulo their type."""
    a, b = (o.operand(k).T if o.node.attributes.get(n) else o.operand(k) for k, n in ((0, "transA"), (1, "transB")))
    alpha, beta = (np.asarray(o.node.attributes.get(n, 1.0)).astype(a.dtype) for n in ("alpha", "beta"))
    made: Array = (a @ b) * alpha if o.operand(2) is None else (a @ b) * alpha + o.operand(2) * beta
    return made


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "`Softmax`, `LogSoftmax`, `Hardmax` before opset 13", ("Softmax", "LogSoftmax", "Hardmax"), "onnxruntime",
        lambda o: _old(o) and not (o.node.op == "Hardmax" and _nan(o)),
        "along one axis", "over all dimensions from the axis on", "as onnxruntime, and as those opsets say",
    ),
    Difference(
        "`Hardmax` before opset 13 with NaN", ("Hardmax",), "any", lambda o: _old(o) and _nan(o),
        "along one axis, where NaN is", "depends on where NaN stands",
        "over all dimensions from the axis on, where NaN is",
    ),
    Difference(
        "`ArgMax`, `ArgMin`, `Hardmax`, `TopK` with NaN", ("ArgMax", "ArgMin", "Hardmax", "TopK"), "reference", _nan,
        "NaN is the greatest and the least", "depends on where it stands",
        "as the reference; the specification is silent",
    ),
    Difference(
        "`ReduceMax`, `ReduceMin`, `GlobalMaxPool` with NaN", ("ReduceMax", "ReduceMin", "GlobalMaxPool"), "reference",
        _nan, "NaN", "depends on where it stands", "NaN, as `Max` and `Min`",
    ),
    Difference(
        "`Dropout`, its mask, before opset 12", ("Dropout",), "any", lambda o: o.model.opset < 12,
        "true", "false", "true; the specification says only from opset 12 on that nothing is dropped then",
    ),
    Difference(
        "`Cast` of floats that the integers do not have", ("Cast", "CastLike"), "any", _beyond_integers,
        "any", "any", "any; the specification leaves it undefined",
    ),
    Difference(
        "`Clip` with a bound that is NaN", ("Clip",), "any",
        lambda o: any(a is not None and _floating(a) and bool(np.isnan(a.astype(np.float64)).any())
                      for a in (o.operand(1), o.operand(2))),
        "NaN", "the element", "that bound does nothing; the specification is silent",
    ),
    Difference(
        "`BatchNormalization` before opset 14", ("BatchNormalization",), "onnxruntime", lambda o: o.model.opset < 14,
        "takes `momentum` as a sign of training, and mixes statistics", "as in inference", "as in inference",
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
        "`AveragePool` with NaN", ("AveragePool",), "onnxruntime", _nan,
        "passes it over", "NaN", "NaN",
    ),
    Difference(
        "`MaxPool` with NaN", ("MaxPool",), "any", _nan,
        "depends on where it stands", "depends on the window",
        "passes it over; a window of nothing else gives -∞. The specification is silent",
    ),
    Difference(
        "`MaxPool`, its second result", ("MaxPool",), "onnxruntime",
        lambda o: o.ours is not None and o.ours.dtype == np.int64,
        "counts in each channel anew in some cases", "counts over the whole operand",
        "counts over the whole operand, as the specification says",
    ),
    Difference(
        "`BatchNormalization` with infinities", ("BatchNormalization",), "reference", _infinite,
        "by the formula", "multiplies the mean by the scale first: NaN", "by the specification's formula",
    ),
    Difference(
        "`Gemm` of integers", ("Gemm",), "neither", lambda o: o.operand(0).dtype.kind in "iu",
        "rounds products to float64", "not known there", "exact, modulo the type", _gemm,
    ),
    Difference(
        "`Relu` of -0.0", ("Relu",), "onnxruntime", lambda o: bool((o.operand(0) == 0).any()),
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
        "`Pow` of integers that is too large", ("Pow",), "reference",
        lambda o: o.operand(0).dtype.kind in "iu", "wraps", "the least integer", "wraps; the specification is silent",
    ),
    Difference(
        "`ScatterElements`, `ScatterND` twice at one place", ("ScatterElements", "ScatterND"), "any",
        lambda o: o.node.attributes.get("reduction", "none") == "none",
        "the last one", "any of them", "the last one; the specification leaves it undefined",
    ),
    Difference(
        "`DynamicQuantizeLinear` of NaN or infinities", ("DynamicQuantizeLinear",), "any",
        lambda o: not bool(np.isfinite(o.operand(0)).all()), "NaN as the scale", "passes NaN over",
        "as ONNX's definition by other operators; the specification is silent",
    ),
    Difference(
        "`DynamicQuantizeLinear` of nothing", ("DynamicQuantizeLinear",), "any", lambda o: o.operand(0).size == 0,
        "an error", "a scale of 1", "a scale of 0; the specification is silent",
    ),
    Difference(
        "`GlobalMaxPool` over nothing", ("GlobalMaxPool",), "any", lambda o: o.operand(0).size == 0,
        "an error", "an error", "-∞, as `ReduceMax`",
    ),
    Difference(
        "`QuantizeLinear` of large numbers", ("QuantizeLinear",), "onnxruntime",
        lambda o: bool((np.abs(o.operand(0).astype(np.float64)) > 2.0**20).any()),
        "converts to int32 first, and wraps", "saturates", "saturates, as the specification says",
    ),
    Difference(
        "`RNN`, `GRU`, `LSTM` with NaN or infinities", ("RNN", "GRU", "LSTM"), "either",
        lambda o: _nan(o) or _infinite(o), "passes them over in some gates", "clamps them in some gates",
        "by the specification's equations",
    ),
    Difference(
        "`AveragePool` with `ceil_mode`", ("AveragePool",), "onnxruntime",
        lambda o: bool(o.node.attributes.get("ceil_mode", 0)), "takes other elements in some cases",
        "the elements of each window", "the elements of each window",
    ),
    Difference(
        "`OneHot` of values that are not finite, or -0.0", ("OneHot",), "onnxruntime",
        lambda o: _floating(o.operand(2)),
        "computes on the values: NaN, and 0.0", "one of the values", "one of the values",
    ),
    Difference(
        "`Unsqueeze` before opset 13, of several axes", ("Unsqueeze",), "onnxruntime", _old,
        "inserts one after the other, in their order", "in any order", "in any order: they are those of the result",
    ),
    Difference(
        "`MeanVarianceNormalization` of equal elements", ("MeanVarianceNormalization",), "reference",
        lambda o: o.ours is not None and bool(np.isfinite(o.ours).all()), "0", "NaN",
        "0, by ONNX's definition by other operators, which adds 1e-9 to the variance",
    ),
    Difference(
        "`QuantizeLinear` of NaN", ("QuantizeLinear",), "any", _nan, "any", "any", "any; the specification is silent",
    ),
    Difference(
        "`SoftmaxCrossEntropyLoss`, `NegativeLogLikelihoodLoss`, the mean of nothing",
        ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"), "reference", lambda o: o.operand(1).size == 0,
        "NaN", "0", "NaN, the quotient of 0 and 0",
    ),
    Difference(
        "`Attention` with NaN or infinities", ("Attention",), "onnxruntime", lambda o: _nan(o) or _infinite(o),
        "zeros for a query whose weights are NaN", "NaN", "NaN; zeros where all is masked, as the specification says",
    ),
    Difference(
        "`HammingWindow`, `HannWindow`, `BlackmanWindow` in float64", ("HammingWindow", "HannWindow", "BlackmanWindow"),
        "reference", lambda o: o.ours is not None and o.ours.dtype == np.float64,
        "in float64", "in float32", "in float64",
    ),
    Difference(
        "`Erf` of float64", ("Erf",), "neither", lambda o: o.operand(0).dtype == np.float64,
        "off by up to 1e-7", "not known there", "in float64", _erf,
    ),
    Difference(
        "`Gelu` of float64", ("Gelu",), "any", lambda o: o.operand(0).dtype == np.float64, "off by up to 1e-7",
        "not known there", "in float64",
    ),
    Difference(
        "`DynamicQuantizeLinear` of zeros", ("DynamicQuantizeLinear",), "any", lambda o: not o.operand(0).any(),
        "a scale of 1/255", "a scale of 1", "a scale of 0, by the specification's formula",
    ),
    Difference(
        "`MaxPool` of nothing but -∞", ("MaxPool",), "reference", _infinite,
        "-∞", "the least finite number", "-∞",
    ),
    Difference(
        "`LayerNormalization`, `RMSNormalization` of float64", ("LayerNormalization", "RMSNormalization"), "any",
        lambda o: o.operand(0).dtype == np.float64, "in float64", "in float64",
        "in the type that `stash_type` says, float32 unless given, as the specification says",
    ),
    Difference(
        "`Upsample` of other than two dimensions before opset 9", ("Upsample",), "any", lambda o: o.ours is None,
        "not known there", "linear of some ranks and scales only", "linear along each axis",
    ),
    Difference(
        "`Resize` with NaN or infinities", ("Resize", "Upsample"), "any",
        lambda o: o.node.attributes.get("mode", "nearest") != "nearest" and (_nan(o) or _infinite(o)),
        "multiplies them by weights of 0", "along axes that do not change, too",
        "passes over elements with a weight of 0",
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
        "`Shrink` of float64", ("Shrink",), "reference", lambda o: o.operand(0).dtype == np.float64,
        "in float64", "in float32", "in float64",
    ),
    Difference(
        "`LogSoftmax`, `SoftmaxCrossEntropyLoss` of numbers far apart", ("LogSoftmax", "SoftmaxCrossEntropyLoss"),
        "onnxruntime", lambda o: _finite_span(o.operand(0)) > 80,
        "-∞, the logarithm of 0", "a finite number", "a finite number",
    ),
    Difference(
        "Sums and products of integers that are too large",
        ("ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare", "CumSum"), "reference",
        lambda o: o.operand(0).dtype.kind in "iu", "wrap", "wrap, or are the least integer", "wrap",
    ),
    Difference(
        "`Sigmoid` of negative numbers", ("Sigmoid",), "reference",
        lambda o: o.ours is not None and bool((o.ours < 0.1).any()),
        "by its definition", "off by up to 1e-7", "by its definition",
    ),
    Difference(
        "`MaxPool`, `AveragePool` with `auto_pad`", ("MaxPool", "AveragePool"), "onnxruntime",
        lambda o: hasattr(o.reference, "shape") and o.ours is not None and o.reference.shape != o.ours.shape,
        "fewer windows in some cases", "as its shape inference says", "as ONNX's shape inference says",
    ),
    Difference(
        "`Pad` that takes away, and adds elements that are no constant", ("Pad",), "any",
        lambda o: isinstance(o.reference, Exception) and isinstance(o.onnxruntime, Exception),
        "an error if nothing is left", "an error if nothing is left", "nothing",
    ),
    Difference(
        "`Clip` without bounds, of an infinity", ("Clip",), "neither",
        lambda o: bool(np.isinf(o.operand(0).astype(np.float64)).any()) if _floating(o.operand(0)) else False,
        "the infinity", "depends on the type",
        "the greatest finite number, the default of `max` (`numeric_limits::max()`)", _clip,
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
