"""ONNX's products of matrices."""

from __future__ import annotations

import numpy as np

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.registry import conversion, with_room


def product(c: Converter, a: Value, b: Value) -> Value:
    """The product of two matrices, or several; a vector on the left is a row, one on the right a column."""
    if not a.rank or not b.rank:
        raise c.fail("scalars are not matrices")
    left = c.op("expand_dims", a, axis=(0,)) if a.rank == 1 else a
    right = c.op("expand_dims", b, axis=(1,)) if b.rank == 1 else b
    made = c.op("matmul", left, right)
    gone = (*([-2] if left is not a else []), *([-1] if right is not b else []))
    return c.op("squeeze", made, axis=gone) if gone else made


@conversion("MatMul")
@with_room
def _matmul(c: Converter) -> Value:
    return product(c, c.value(0), c.value(1))


@conversion("Gemm")
@with_room
def _gemm(c: Converter) -> Value:
    a, b = c.value(0), c.value(1)
    alpha, beta = c.attributes.get("alpha", 1.0), c.attributes.get("beta", 1.0)
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if np.dtype(a.dtype).kind in "iu" and factor != int(factor):
            raise c.fail(f"{name} is {factor}, and its elements are {a.dtype}")
    at, bt = c.attributes.get("transA", False), c.attributes.get("transB", False)
    y = c.op("nn.dense", a, b) if bt and not at else c.op("matmul", a, b, transpose_a=at, transpose_b=bt)
    if alpha != 1.0:
        y = c.op("multiply", y, c.constant(alpha, y.dtype, "alpha"))
    if c.has(2) and beta != 0.0:  # nothing is added then, not even 0 times infinity
        bias = c.value(2)
        if beta != 1.0:
            bias = c.op("multiply", bias, c.constant(beta, bias.dtype, "beta"))
        y = c.op("add", y, bias)
    return y
