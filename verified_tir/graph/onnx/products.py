"""ONNX's products of matrices."""

from __future__ import annotations

import numpy as np

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.more import cast, product
from verified_tir.graph.onnx.registry import conversion


def _wide(c: Converter, v: Value) -> Value:
    """A factor with room for sums: those of 16 bits are computed in 32, as numpy and onnxruntime do."""
    return cast(c, v, "float32") if v.dtype in ("float16", "bfloat16") else v


@conversion("MatMul")
def _matmul(c: Converter) -> Value:
    a, b = c.value(0), c.value(1)
    return cast(c, product(c, _wide(c, a), _wide(c, b)), a.dtype)


@conversion("Gemm")
def _gemm(c: Converter) -> Value:
    a, b = _wide(c, c.value(0)), _wide(c, c.value(1))
    alpha, beta = c.attributes.get("alpha", 1.0), c.attributes.get("beta", 1.0)
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if np.dtype(a.dtype).kind in "iu" and factor != int(factor):
            raise c.fail(f"{name} is {factor}, and its elements are {a.dtype}")
    at, bt = bool(c.attributes.get("transA", 0)), bool(c.attributes.get("transB", 0))
    y = c.op("nn.dense", a, b) if bt and not at else c.op("matmul", a, b, transpose_a=at, transpose_b=bt)
    if alpha != 1.0:
        y = c.op("multiply", y, c.builder.constant(np.asarray(alpha, y.dtype), "alpha"))
    if c.has(2) and beta != 0.0:  # nothing is added then, not even 0 times infinity
        bias = _wide(c, c.value(2))
        if beta != 1.0:
            bias = c.op("multiply", bias, c.builder.constant(np.asarray(beta, bias.dtype), "beta"))
        y = c.op("add", y, bias)
    return cast(c, y, c.value(0).dtype)
