"""Sums, means and extremes along axes, and the normalisations made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.elementwise import at, dims, greatest, least
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.operators.shape import axis_of, surrounded
from verified_tir.graph.sizes import dim_text, product, shape_text, widened
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.reduction import CommReducer, greatest_value, least_value
from verified_tir.te.tensor import Tensor

REDUCERS = {
    "sum": te.sum,
    "prod": te.prod,
    "max": CommReducer(greatest, least_value, "max"),
    "min": CommReducer(least, greatest_value, "min"),
}
"""Of the names that ONNX and Relax have; NaN stays."""


HALVES = ("float16", "bfloat16")
"""Floats that have no room for sums."""


def reduced(
    x: Tensor, reducer: CommReducer, axis: Sequence[int], keepdims: bool,
    of: Callable[[Expr], Expr] = lambda e: e, name: str = "reduce", rounded: bool = True,
) -> Tensor:  # fmt: skip
    """The reduction of ``of(element)`` along the axes; sums of 16-bit floats are made in 32 bits, and rounded once.

    :param rounded: whether they are; if not, they stay in 32 bits.
    """
    size = dims(x)
    wide = reducer is te.sum and x.dtype in HALVES
    gone = sorted({axis_of(a, len(size)) for a in axis})
    axes = {a: te.reduce_axis((0, size[a]), f"k{a}") for a in gone}
    shape = [1 if k in gone else n for k, n in enumerate(size) if keepdims or k not in gone]

    def element(*i: Var) -> te.Reduce:
        rest = iter(i)
        indices: list[Expr] = []
        for k in range(len(size)):
            outer = next(rest) if keepdims or k not in gone else None
            indices.append(axes[k] if outer is None or k in gone else outer)
        term = of(x[tuple(indices)])
        return reducer(T.cast(term, "float32") if wide else term, axis=list(axes.values()))

    result = te.compute(shape, element, name=name)
    if wide and rounded:
        total = result
        result = te.compute(shape, lambda *i: T.cast(total[i], x.dtype), name=f"{name}_rounded")
    return result


def _define_extreme(name: str, reducer: CommReducer, compared: CommReducer) -> None:
    def define(
        x: Tensor, *, axis: Sequence[int] | None = None, keepdims: bool = False, by_comparison: bool = False
    ) -> Tensor:
        every = list(range(x.ndim)) if axis is None else list(axis)
        return reduced(x, compared if by_comparison else reducer, every, keepdims, name=name) if every else x

    define.__doc__ = (
        f"The {name} along the axes, all if none are given; NaN if there is one.\n\n"
        "By comparison, as in TVM, elements are compared with what was found, from the last finite value on."
    )
    operator(name)(define)


def _define(name: str, reducer: CommReducer) -> None:
    def define(x: Tensor, *, axis: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        every = list(range(x.ndim)) if axis is None else list(axis)
        return reduced(x, reducer, every, keepdims, name=name) if every else x

    define.__doc__ = f"The {name} along the axes, all if none are given."
    operator(name)(define)


for _name in ("sum", "prod"):
    _define(_name, REDUCERS[_name])
for _name, _compared in {"max": te.max, "min": te.min}.items():
    _define_extreme(_name, REDUCERS[_name], _compared)


def counted(x: Tensor, axes: Sequence[int], dtype: str) -> Expr:
    """How many elements there are along the axes together."""
    size = dims(x)
    count = product(size[a] for a in sorted(set(axes)))
    return T.cast(widened(count), dtype) if isinstance(count, Expr) else const(count, dtype)


@operator("mean")
def mean(x: Tensor, *, axis: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """The mean along the axes, all if none are given; of 16-bit floats it is made in 32 bits, and rounded once."""
    axes = [axis_of(a, x.ndim) for a in (range(x.ndim) if axis is None else axis)]
    total = reduced(x, te.sum, axes, keepdims, name="sum", rounded=False)
    count = counted(x, axes, total.dtype)
    return te.compute(total.shape, lambda *i: T.cast(total(*i) / count, x.dtype), name="mean")


@operator("nn.softmax")
def softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """exp(x - max) / sum of these, along an axis."""
    _, e, total = _exponentials(x, axis)
    return te.compute(x.shape, lambda *i: e(*i) / at(total, i), name="softmax")


@operator("nn.log_softmax")
def log_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """The logarithm of softmax."""
    most, _, total = _exponentials(x, axis)
    return te.compute(x.shape, lambda *i: x(*i) - at(most, i) - te.log(at(total, i)), name="log_softmax")


def _exponentials(x: Tensor, axis: int) -> tuple[Tensor, Tensor, Tensor]:
    """The greatest element along an axis, the exponentials of what is less than it by so much, and their sum."""
    a = axis_of(axis, x.ndim)
    most = reduced(x, REDUCERS["max"], [a], True, name="greatest")
    e = te.compute(x.shape, lambda *i: te.exp(x(*i) - at(most, i)), name="exponential")
    return most, e, reduced(e, te.sum, [a], True, name="total")


@operator("nn.batch_norm")
def batch_norm(
    x: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor, *, epsilon: float = 1e-5,
    axis: int = 1,
) -> Tensor:  # fmt: skip
    """(x - mean) / √(variance + ε) · γ + β with the given mean and variance, as in inference."""
    a = axis_of(axis, x.ndim)
    channels = dims(x)[a]
    for t in (gamma, beta, moving_mean, moving_var):
        if dims(t) != [channels]:
            given = shape_text(dims(t))
            raise GraphError(f"{t.name} has {dim_text(channels)} elements, one for each channel, not shape {given}")
    eps = const(epsilon, x.dtype)

    def element(*i: Var) -> Expr:
        c = i[a]
        return (x(*i) - moving_mean(c)) / te.sqrt(moving_var(c) + eps) * gamma(c) + beta(c)

    return te.compute(x.shape, element, name="batch_norm")


@operator("nn.layer_norm")
def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, *, axes: Sequence[int] = (-1,), epsilon: float = 1e-5) -> Tensor:
    """(x - mean) / √(variance + ε) · γ + β with mean and variance along the axes."""
    every = sorted(axis_of(a, x.ndim) for a in axes)
    size = [dims(x)[a] for a in every]
    for t in (gamma, beta):
        if dims(t) != size:
            given = shape_text(dims(t))
            raise GraphError(f"{t.name} has the shape {shape_text(size)} of what is normalised, not {given}")
    count = counted(x, every, x.dtype)
    total = reduced(x, te.sum, every, True, name="total")
    centred = te.compute(x.shape, lambda *i: x(*i) - at(total, i) / count, name="centred")
    squares = reduced(centred, te.sum, every, True, of=lambda e: e * e, name="squares")
    eps = const(epsilon, x.dtype)

    def element(*i: Var) -> Expr:
        own = tuple(i[a] for a in every)
        return centred(*i) / te.sqrt(at(squares, i) / count + eps) * gamma[own] + beta[own]

    return te.compute(x.shape, element, name="layer_norm")


@operator("nn.lrn")
def lrn(
    x: Tensor, *, size: int = 5, axis: int = 1, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Tensor:
    """x / (bias + α/size · Σ x²)^β, the sum over ``size`` channels around each."""
    if x.ndim != 4:
        raise GraphError(f"lrn takes x[n, c, h, w], not {x.ndim} dimensions")
    n, c, h, w = dims(x)
    if axis != 1 or size < 1:
        raise GraphError(f"lrn goes over axis 1 and a positive number of channels, not axis {axis} and {size}")
    before = (size - 1) // 2
    r = te.reduce_axis((0, size), "r")
    around = surrounded(x, (before, 0, 0), (size - 1 - before, 0, 0), const(0, x.dtype), name="channels")
    squares = te.compute(
        (n, c, h, w), lambda b, k, i, j: te.sum(around[b, k + r, i, j] * around[b, k + r, i, j], axis=r), name="squares"
    )
    scale, offset, power = const(alpha / size, x.dtype), const(bias, x.dtype), const(beta, x.dtype)
    return te.compute((n, c, h, w), lambda *i: x(*i) / te.power(offset + squares(*i) * scale, power), name="lrn")
