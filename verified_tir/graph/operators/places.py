"""Operators about the places of elements: which is the greatest, running sums, elements taken one by one."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.elementwise import dims, is_nan
from verified_tir.graph.operators.reduction import REDUCERS, reduced
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.operators.shape import axis_of, element_at
from verified_tir.graph.sizes import never_negative, normal, numbers, shape_text
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.reduction import CommReducer
from verified_tir.te.tensor import Tensor


def _place(x: Tensor, axis: int, reducer: CommReducer, keepdims: bool, last: bool) -> Tensor:
    """Where along an axis the element stands that a reducer gives, the first or the last of several; NaN is one."""
    size = dims(x)
    a = axis_of(axis, len(size))
    (count,) = numbers(size[a : a + 1], f"{x.name} along its axis {a}")
    if not count:
        raise GraphError("there is no element along an axis that is empty")
    best = reduced(x, reducer, [a], True, name="best")
    k = te.reduce_axis((0, count), "k")
    shape = [1 if d == a else n for d, n in enumerate(size) if keepdims or d != a]

    def element(*i: Var) -> te.Reduce:
        outer = list(i)
        if keepdims:
            del outer[a]
        at = (*outer[:a], k, *outer[a:])
        here, wanted = x[at], best[(*outer[:a], const(0), *outer[a:])]
        found = T.Or(here.equal(wanted), is_nan(here)) if here.dtype.is_float else here.equal(wanted)
        none = const(-1) if last else const(count)
        return (te.max if last else te.min)(T.if_then_else(found, k, none), axis=k)

    place = te.compute(shape, element, name="place")
    return te.compute(shape, lambda *i: T.cast(place(*i), "int64"), name="argument")


@operator("argmax")
def argmax(x: Tensor, *, axis: int = 0, keepdims: bool = True, select_last: bool = False) -> Tensor:
    """Where along the axis the greatest element stands."""
    return _place(x, axis, REDUCERS["max"], keepdims, select_last)


@operator("argmin")
def argmin(x: Tensor, *, axis: int = 0, keepdims: bool = True, select_last: bool = False) -> Tensor:
    """Where along the axis the least element stands."""
    return _place(x, axis, REDUCERS["min"], keepdims, select_last)


@operator("cumsum")
def cumsum(x: Tensor, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """The sum of the elements up to each along an axis, or from each on; without it if ``exclusive``.

    Of floats it begins with -0.0, which changes nothing; the sum of none is 0.0.
    """
    size = dims(x)
    a = axis_of(axis, len(size))
    k = te.reduce_axis((0, size[a]), "k")
    none = const(-0.0 if x.buffer.dtype.is_float else 0, x.dtype)

    def element(*i: Var) -> te.Reduce:
        low, high = (i[a], k) if reverse else (k, i[a])
        counts = low < high if exclusive else low <= high
        return te.sum(T.if_then_else(counts, x[(*i[:a], k, *i[a + 1 :])], none), axis=k, init=none)

    sums = te.compute(size, element, name="cumsum")
    if not exclusive or not x.buffer.dtype.is_float:
        return sums

    def of_some(*i: Var) -> Expr:
        first = i[a].equal(size[a] - 1 if reverse else 0)
        return T.Select(first, const(0, x.dtype), sums[i])

    return te.compute(size, of_some, name="cumsum_exclusive")


@operator("gather_elements")
def gather_elements(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """An element of x for each index along an axis, at the index's place along the others; indices as of ``take``."""
    size, many = dims(x), dims(indices)
    a = axis_of(axis, len(size))
    others = [normal(n - m) for d, (m, n) in enumerate(zip(many, size, strict=False)) if d != a]
    if len(size) != len(many) or not all(map(never_negative, others)):
        raise GraphError(f"indices of shape {shape_text(many)} do not fit {shape_text(size)}")
    (count,) = numbers(size[a : a + 1], f"{x.name} along its axis {a}")
    if not count and 0 not in many:
        raise GraphError("there are no elements to be taken")

    def element(*i: Var) -> Expr:
        return x[(*i[:a], element_at(indices, i, count), *i[a + 1 :])]

    return te.compute(many, element, name="gather_elements")


@operator("tile")
def tile(x: Tensor, *, repeats: Sequence[int]) -> Tensor:
    """x repeated along each dimension."""
    size = dims(x)
    if len(repeats) != len(size) or any(r < 0 for r in repeats):
        raise GraphError(f"there is one number of repetitions for each of {len(size)} dimensions, not {list(repeats)}")
    return te.compute(
        [n * r for n, r in zip(size, repeats, strict=True)],
        lambda *i: x[tuple(v if r == 1 else v % n for v, n, r in zip(i, size, repeats, strict=True))],
        name="tile",
    )


@operator("trilu")
def trilu(x: Tensor, *, k: int = 0, upper: bool = True) -> Tensor:
    """The upper or lower triangle of the last two dimensions, from the k-th diagonal on; 0 elsewhere."""
    size = dims(x)
    if len(size) < 2:
        raise GraphError(f"a triangle takes two dimensions, not {len(size)}")

    def element(*i: Var) -> Expr:
        row, column = i[-2], i[-1]
        kept = column - row >= k if upper else column - row <= k
        return T.if_then_else(kept, x[i], const(0, x.dtype))

    return te.compute(size, element, name="trilu")
