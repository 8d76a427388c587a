"""Convolutions and matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.arranged import arranged, computed
from verified_tir.graph.operators.elementwise import batch_and_rest, broadcast_shape, dims, extents
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.operators.shape import surrounded
from verified_tir.graph.operators.windows import check_attributes, over_two, windows_over
from verified_tir.graph.sizes import Dim, dim_text, remedy, shape_text, symbols_of
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.tensor import Tensor


def _biased(x: Tensor, bias: Tensor | None, layout: str = "") -> Tensor:
    """x[n, c, …] with a number added for each channel; stored in a layout."""
    if bias is None:
        return x
    if dims(bias) != dims(x)[1:2]:
        raise GraphError(f"a bias of shape {shape_text(dims(bias))} does not fit {dim_text(dims(x)[1])} channels")

    def element(b: Var, k: Var, *at: Var) -> Expr:
        return x(b, k, *at) + bias(k)

    if layout:
        return computed(x.shape, element, "bias_add", layout)
    return te.compute(x.shape, element, name="bias_add")


@operator("nn.conv")
def conv(
    x: Tensor, w: Tensor, bias: Tensor | None = None, *, strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilation: Sequence[int], groups: int = 1,
) -> Tensor:  # fmt: skip
    """Convolution of x[n, c, …] with w[o, c / groups, …], in ``groups`` groups of channels."""
    if x.ndim != w.ndim:
        raise GraphError(f"{x.ndim} dimensions are convolved with weights of {w.ndim}")
    return _convolved("conv", x, w, bias, groups, strides=strides, padding=padding, dilation=dilation)


@operator("nn.conv2d")
def conv2d(  # noqa: PLR0913 - as many as Relax has
    x: Tensor, w: Tensor, bias: Tensor | None = None, *, strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0), dilation: Sequence[int] = (1, 1), groups: int = 1,
    data_layout: str = "NCHW", kernel_layout: str = "OIHW", out_layout: str = "",
) -> Tensor:  # fmt: skip
    """Convolution of x[n, c, h, w] with w[o, c / groups, kh, kw], in ``groups`` groups of channels.

    ``data_layout``, ``kernel_layout`` and ``out_layout`` (that of the data unless said) are other orders.
    """
    _check_ranks(x, w)
    x, w = arranged(x, data_layout, "NCHW"), arranged(w, kernel_layout, "OIHW")
    given = over_two("conv2d", strides, padding, dilation)
    return _convolved("conv2d", x, w, bias, groups, layout=out_layout or data_layout, **given)


def _check_ranks(*tensors: Tensor) -> None:
    for t in tensors:
        if t.ndim != 4:
            raise GraphError(f"{t.name} has 4 dimensions, not {t.ndim}")


def _convolved(
    name: str, x: Tensor, w: Tensor, bias: Tensor | None, groups: int, layout: str = "", **attributes: Any
) -> Tensor:
    n, (c, *_) = batch_and_rest(x)
    o, i, *kernel = extents(w)
    if groups < 1 or c % groups or o % groups or i != c // groups:
        raise GraphError(f"{c} channels in {groups} groups do not fit weights of shape {extents(w)}")
    windows = windows_over(x, kernel, **attributes)
    big = surrounded(x, windows.before, windows.after, const(0, x.dtype))
    inner, axes = te.reduce_axis((0, i), "rc"), windows.axes()

    def element(b: Var, k: Var, *at: Var) -> te.Reduce:
        channel = inner if groups == 1 else k // (o // groups) * i + inner
        return te.sum(big[(b, channel, *windows.places(at, axes))] * w[(k, inner, *axes)], axis=[inner, *axes])

    if layout and bias is None:
        return computed(windows.shape(n, o), element, name, layout)
    return _biased(te.compute(windows.shape(n, o), element, name=name), bias, layout)


@operator("nn.conv_transpose")
def conv_transpose(
    x: Tensor, w: Tensor, bias: Tensor | None = None, *, strides: Sequence[int], padding: Sequence[Sequence[int]],
    dilation: Sequence[int], output_padding: Sequence[int], groups: int = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of ``conv``: x[n, c, …] with w[c, o / groups, …]."""
    before, after = padding
    n, (c, *size) = batch_and_rest(x)
    i, per, *kernel = extents(w)
    check_attributes(len(size), kernel, strides, dilation, before, after)
    if len(size) != len(kernel) or groups < 1 or c % groups or i != c:
        raise GraphError(f"{c} channels in {groups} groups do not fit weights of shape {extents(w)}")
    every = zip(size, kernel, strides, dilation, before, after, output_padding, strict=True)
    shape = [(m - 1) * s + d * (k - 1) + 1 - p - q + more for m, k, s, d, p, q, more in every]
    if any(m < 0 for m in shape):
        raise GraphError(f"the result has the shape {shape}")
    inner = te.reduce_axis((0, c // groups), "rc")
    axes = [te.reduce_axis((0, k), f"r{j}") for j, k in enumerate(kernel)]

    def element(b: Var, k: Var, *at: Var) -> te.Reduce:
        channel = inner if groups == 1 else k // per * (c // groups) + inner
        stretched = [v + p - r * d for v, p, r, d in zip(at, before, axes, dilation, strict=True)]
        fits = [t for v, m, s in zip(stretched, size, strides, strict=True)
                for t in (v >= 0, v < m * s, (v % s).equal(0))]  # fmt: skip
        place = [v // s for v, s in zip(stretched, strides, strict=True)]
        product = x[(b, channel, *place)] * w[(channel, k % per if groups > 1 else k, *axes)]
        return te.sum(T.if_then_else(te.all(*fits), product, const(0, x.dtype)), axis=[inner, *axes])

    return _biased(te.compute([n, per * groups, *shape], element, name="conv_transpose"), bias)


@operator("nn.conv2d_transpose")
def conv2d_transpose(
    x: Tensor, w: Tensor, bias: Tensor | None = None, *, strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0, 0, 0), dilation: Sequence[int] = (1, 1), output_padding: Sequence[int] = (0, 0),
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of ``conv2d``: x[n, c, h, w] with w[c, o / groups, kh, kw]."""
    _check_ranks(x)
    given = over_two("conv2d_transpose", strides, padding, dilation)
    return conv_transpose(x, w, bias, **given, output_padding=output_padding, groups=groups)


@operator("matmul")
def matmul(a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Product of the last two dimensions, with the others broadcast, as numpy's ``matmul``."""
    sa, sb = dims(a), dims(b)
    if len(sa) < 2 or len(sb) < 2:
        raise GraphError(f"matmul takes matrices, not shapes {shape_text(sa)} and {shape_text(sb)}")
    (m, ka), (kb, n) = (sa[:-3:-1] if transpose_a else sa[-2:]), (sb[:-3:-1] if transpose_b else sb[-2:])
    if ka != kb:
        first, second = (" x ".join(map(dim_text, s)) for s in ((m, ka), (kb, n)))
        equal = f", and {dim_text(ka)} may not be {dim_text(kb)}; {remedy((ka, kb))}" if symbols_of((ka, kb)) else ""
        raise GraphError(f"a matrix of {first} is multiplied by one of {second}{equal}")
    batch = broadcast_shape(sa[:-2], sb[:-2])
    k = te.reduce_axis((0, ka), "k")

    def element(t: Tensor, size: list[Dim], outer: Sequence[Var], row: Expr, column: Expr) -> Expr:
        own = outer[len(outer) - (len(size) - 2) :]
        inside = tuple(const(0) if e == 1 else i for e, i in zip(size[:-2], own, strict=True))
        return t[(*inside, row, column)]

    def term(*i: Var) -> te.Reduce:
        *outer, y, z = i
        left = element(a, sa, outer, k, y) if transpose_a else element(a, sa, outer, y, k)
        right = element(b, sb, outer, z, k) if transpose_b else element(b, sb, outer, k, z)
        return te.sum(left * right, axis=k)

    return te.compute((*batch, m, n), term, name="matmul")


@operator("nn.dense")
def dense(x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    """x[n, k] times the transpose of w[m, k], plus bias[m]."""
    for t in (x, w):
        if t.ndim != 2:
            raise GraphError(f"{t.name} has 2 dimensions, not {t.ndim}")
    (n, k), (m, kw) = dims(x), dims(w)
    if k != kw:
        raise GraphError(f"rows of {dim_text(k)} elements are multiplied by rows of {dim_text(kw)}")
    r = te.reduce_axis((0, k), "k")
    y = te.compute((n, m), lambda i, j: te.sum(x[i, r] * w[j, r], axis=r), name="dense")
    return y if bias is None else te.compute((n, m), lambda i, j: y[i, j] + bias[j], name="bias_add")
