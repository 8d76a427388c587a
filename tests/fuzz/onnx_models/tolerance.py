"""How far two results of one node may be apart.

Integers, bools, elements that are moved, and arithmetic that is rounded once are compared bit for bit, NaN being one
value.  Functions such as exp may be off by some units in the last place; sums, and what is made of them, by what the
result changes when the operands change in their last place.  NaN, infinities and signs of zero must be the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tests.fuzz.onnx_models.case import OnnxModel
from tests.fuzz.onnx_models.evaluators import by_reference
from verified_tir.graph.ir import Array

Mask: TypeAlias = npt.NDArray[np.bool_]

FUNCTIONS: Final = frozenset({
    "Exp", "Log", "Sqrt", "Erf", "Tanh", "Sigmoid", "Softplus", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh",
    "Cosh", "Asinh", "Acosh", "Atanh", "Pow", "Elu", "Celu", "Selu", "Gelu", "Mish", "HardSigmoid", "HardSwish",
    "Softsign", "Reciprocal", "LeakyRelu", "PRelu", "Div", "ThresholdedRelu", "Shrink", "Clip",
    "DequantizeLinear", "HannWindow", "HammingWindow", "BlackmanWindow",
})  # fmt: skip
"""Operators on elements whose results are rounded more than once, or not correctly."""

SUMS: Final = frozenset({
    "MatMul", "Gemm", "Einsum", "Conv", "ConvTranspose", "AveragePool", "GlobalAveragePool", "ReduceSum",
    "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare",
    "CumSum", "CumProd", "Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization", "BatchNormalization",
    "InstanceNormalization", "GroupNormalization", "MeanVarianceNormalization", "LRN", "RNN", "GRU", "LSTM", "Resize",
    "Upsample", "Attention", "RotaryEmbedding", "LinearAttention", "CausalConvWithState", "LpPool", "Sum", "Mean",
    "ScatterElements", "ScatterND", "AffineGrid", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "SwiGLU",
    "Swish",
})  # fmt: skip
"""Operators whose results are sums, or products, or are made of some: they may be taken in another order."""

ULPS: Final = 16
"""Units in the last place that functions may be off by; those of 16 bits by 2."""


def agrees(model: OnnxModel, k: int, ours: Array, theirs: Array) -> Mask:
    """Where two opinions of a node's k-th result are the same, up to rounding where that is allowed."""
    (node,) = model.nodes
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return np.array(False)
    same = same_bits(ours, theirs)
    if same.all() or not _floating(ours) or node.op not in FUNCTIONS | SUMS:
        return same
    bound = _last_place(ours) * (ULPS if ours.dtype.itemsize > 2 else 2) + _absolute(model, ours)
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    close = _near(a, b, bound)
    if node.op in SUMS and not (same | close).all():
        close |= _near(a, b, bound + _sensitivity(model, k, ours))
    return same | close


def _floating(a: Array) -> bool:
    return a.dtype.kind == "f" or str(a.dtype) == "bfloat16"


def _near(a: Any, b: Any, bound: Any) -> Mask:
    """Numbers that differ by no more than a bound; zeros of both signs are near, infinities and NaN are not."""
    found: Mask = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= bound)
    return found


def same_bits(a: Array, b: Array) -> Mask:
    """Where two arrays of one type have the same bits; NaN is one value."""
    if a.dtype.kind in "iub":
        found: Mask = np.asarray(a == b)
        return found
    x, y = a.astype(np.float64), b.astype(np.float64)
    found = (np.isnan(x) & np.isnan(y)) | ((x == y) & (np.signbit(x) == np.signbit(y)))
    return found


def _last_place(a: Array) -> Any:
    """The unit in the last place of each element, in float64."""
    info: Any = ml_dtypes.finfo(a.dtype)  # type: ignore[no-untyped-call]
    return np.maximum(np.abs(a.astype(np.float64)) * float(info.eps), 64 * float(info.smallest_subnormal))


def _sensitivity(model: OnnxModel, place: int, ours: Array) -> Any:
    """By how much a result changes when operands change in their last places: in float64, where that is possible."""
    eps, rng = _epsilon(ours), np.random.default_rng(0)
    (node,) = model.nodes
    sizes = {*node.operands[1:]} if node.op in ("Resize", "Upsample") else set()  # another scale is another shape

    def shaken(of: Mapping[str, Array], size: float) -> dict[str, Array]:
        return {
            n: np.asarray(a.astype(np.float64) * (1 + size * rng.choice([-1.0, 1.0], a.shape)))
            if _floating(a) and n not in sizes else a
            for n, a in of.items()
        }  # fmt: skip

    found: list[Any] = []
    for size in (0.0, *[eps] * 5):
        types = {n: "float64" if "float" in t else t for n, t in model.types.items()}
        inputs, constants = shaken(model.inputs, size), shaken(model.constants, size)
        results = by_reference(replace(model, inputs=inputs, constants=constants, types=types))
        if isinstance(results, Exception) or results[place].shape != ours.shape:
            return 0.0
        found.append(results[place].astype(np.float64))
    return 32 * np.nan_to_num(np.max([np.abs(f - found[0]) for f in found[1:]], axis=0), nan=0.0, posinf=0.0)


def _epsilon(a: Array) -> float:
    """The distance of 1 and the next number of a type."""
    return float(ml_dtypes.finfo(a.dtype).eps)  # type: ignore[no-untyped-call]


def _largest(a: Array) -> float:
    """The size of the largest finite element."""
    return float(np.max(np.abs(a, where=np.isfinite(a), out=np.zeros_like(a)), initial=0.0))


def _operand(model: OnnxModel, k: int) -> Array:
    """The elements of the k-th operand of the only node."""
    name = model.nodes[0].operands[k]
    return model.inputs[name] if name in model.inputs else model.constants[name]


def _absolute(model: OnnxModel, ours: Array) -> Any:
    """By how much results may be off whatever their size."""
    (node,) = model.nodes
    eps = _epsilon(ours)
    if node.op in ("Sin", "Cos"):  # onnxruntime rounds what is left of the argument when periods are taken away
        return 4 * eps
    if node.op == "Tan":  # the same, times the slope
        return 4 * eps * (1 + np.square(ours.astype(np.float64)))
    if node.op in ("Elu", "Celu", "Selu"):  # alpha times the difference of exp(x) and 1
        return 4 * eps * max(1.0, abs(float(node.attributes.get("alpha", 1.0))))
    if node.op in ("GRU", "LSTM", "RNN"):  # onnxruntime's sigmoid and tanh are approximations
        return 256 * eps
    if node.op in ("LogSoftmax", "SoftmaxCrossEntropyLoss"):  # the reference rounds what it takes the logarithm of
        return 4 * eps
    if node.op in ("Gelu", "HardSwish", "Swish"):  # a number is added to what is nearly its negative
        (x,) = (*model.inputs.values(), *model.constants.values())
        return 4 * eps * _largest(x)
    if node.op == "HardSigmoid":  # alpha times x, which is at most 1 + |beta| where it counts, and beta may cancel
        return 4 * eps * (1.0 + abs(float(node.attributes.get("beta", 0.5))))
    if node.op.endswith("Window"):  # differences of cosines, which ONNX's definition computes in float32
        return max(4 * eps, 2.0**-21)
    if node.op == "AffineGrid":  # places are rounded before they are multiplied
        return 16 * eps * _largest(ours)
    if node.op == "ConvTranspose":  # the reference has no result for some attributes, so that nothing can be shaken
        return 4 * eps * _largest(_operand(model, 0)) * _largest(_operand(model, 1))
    if node.op == "Attention":  # means by weights that are rounded
        return 4 * eps * _largest(_operand(model, 2))
    if node.op in ("Resize", "Upsample"):  # places are rounded, and weights are computed from them
        x = _operand(model, 0)
        return 2 * eps * max(x.shape, default=1) * _largest(x)
    if node.op.endswith("Normalization"):  # onnxruntime's sums of squares cancel, as those of one definition do
        return 32 * eps * _largest(ours) * (_cancelled(model) if node.op == "MeanVarianceNormalization" else 1.0)
    return 0.0


def _cancelled(model: OnnxModel) -> float:
    """How much greater the mean of squares is than what is left of it when the square of the mean is subtracted."""
    (node,) = model.nodes
    (x,) = [a.astype(np.float64) for a in (*model.used_inputs().values(), *model.constants.values())]
    axes = tuple(node.attributes.get("axes", (0, 2, 3)))
    with np.errstate(all="ignore"):
        ratios = np.mean(x * x, axes) / (np.var(x, axes) + 1e-9)
    return max(64.0, float(np.max(ratios, where=np.isfinite(ratios), initial=0.0)))


def extreme(model: OnnxModel) -> bool:
    """Whether operands have finite elements whose products or quotients may leave the range of their type."""
    for a in (*model.used_inputs().values(), *model.constants.values()):
        if _floating(a):
            most = {"float16": 2.0**7, "bfloat16": 2.0**60, "float32": 2.0**60, "float64": 2.0**500}[str(a.dtype)]
            size = np.abs(a.astype(np.float64))
            if (np.isfinite(size) & (size != 0) & ((size > most) | (size < 1 / most))).any():
                return True
        elif a.dtype.kind in "iu" and a.dtype.itemsize >= 4:  # the others compute in float64, or not
            wide = a.astype(np.float64)
            if (np.abs(wide) >= 2.0 ** (4 * a.dtype.itemsize - 1)).any():
                return True
    return False


__all__ = ["SUMS", "agrees", "extreme", "same_bits"]
