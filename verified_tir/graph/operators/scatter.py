"""Operators that put elements at given places, take them from given places, or put them in order; and products by name.

What is put somewhere is a reduction over all that may be put there, in their order: the last one stays, or all together
are added, multiplied, or compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from verified_tir import te
from verified_tir.graph.element_types import near_int32
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.elementwise import dims, extents, greatest, is_nan, least, same_type
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.operators.shape import axis_of, element_at
from verified_tir.graph.sizes import Dim, dim_text, hint, numbers
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.reduction import CommReducer
from verified_tir.te.tensor import Tensor

COMBINED: dict[str, Callable[[Expr, Expr], Expr]] = {
    "none": lambda _, new: new, "add": lambda old, new: old + new, "mul": lambda old, new: old * new,
    "max": greatest, "min": least,
}  # fmt: skip
"""What becomes of an element and one that is put there."""

OF_TRUTHS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "none": COMBINED["none"], "add": T.Or, "mul": T.And, "max": T.Or, "min": T.And,
}  # fmt: skip
"""The same of bools, as of 0 and 1."""


def _put(
    x: Tensor, updates: Tensor, reduction: str, axes: Sequence[Var], there: Expr, update: Expr, i: Sequence[Var]
) -> te.Reduce:
    if reduction not in COMBINED:
        raise GraphError(f"reduction is one of {', '.join(COMBINED)}, not {reduction}")
    same_type(x, updates)
    combined = (OF_TRUTHS if x.buffer.dtype.is_bool else COMBINED)[reduction]
    reducer = CommReducer(combined, lambda t: const(0, t), reduction)
    return reducer(update, axis=axes, where=there, init=x[tuple(i)])


def _is_place(indices: Tensor, at: Sequence[Expr], size: int, here: Expr) -> Expr:
    """Whether an index says a place among ``size``, a negative one counted from the end; there may be no such place."""
    place = indices[tuple(at)]
    if place.dtype.max_value < size:
        place = T.cast(place, "int32")
    place = T.Select(place < const(0, place.dtype), place + const(size, place.dtype), place)
    return place.equal(T.cast(here, str(place.dtype)))


@operator("scatter_elements")
def scatter_elements(x: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none") -> Tensor:
    """x with each update at the place along the axis that its index says, at its own place along the others."""
    size, many = extents(x), extents(indices)
    a = axis_of(axis, len(size))
    if (
        extents(updates) != many
        or len(many) != len(size)
        or any(m > n for d, (m, n) in enumerate(zip(many, size, strict=True)) if d != a)
    ):
        raise GraphError(f"updates {extents(updates)} at indices {many} do not fit {size}")
    k = te.reduce_axis((0, many[a]), "k")

    def element(*i: Var) -> te.Reduce:
        at = (*i[:a], k, *i[a + 1 :])
        inside = [v < m for d, (v, m) in enumerate(zip(i, many, strict=True)) if d != a and m < size[d]]
        here = _is_place(indices, at, size[a], i[a])
        return _put(x, updates, reduction, [k], T.And(*inside, here) if inside else here, updates[at], i)

    if 0 in many:
        return x
    return te.compute(size, element, name="scatter_elements")


@operator("scatter_nd")
def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, *, reduction: str = "none") -> Tensor:
    """x with the slices of updates at the places that the last dimension of the indices says."""
    size, many = extents(x), extents(indices)
    if not many or not 1 <= many[-1] <= len(size) or extents(updates) != [*many[:-1], *size[many[-1] :]]:
        raise GraphError(f"updates {extents(updates)} at indices {many} do not fit {size}")
    outer, deep = many[:-1], many[-1]
    if 0 in outer:
        return x
    axes = [te.reduce_axis((0, n), f"k{d}") for d, n in enumerate(outer)] or [te.reduce_axis((0, 1), "k")]
    at = tuple(axes[: len(outer)])

    def element(*i: Var) -> te.Reduce:
        here = [_is_place(indices, (*at, const(d)), size[d], i[d]) for d in range(deep)]
        return _put(x, updates, reduction, axes, te.all(*here), updates[(*at, *i[deep:])], i)

    return te.compute(size, element, name="scatter_nd")


@operator("gather_nd")
def gather_nd(x: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    """The slices of x at the places that the last dimension of the indices says; indices as of ``take``."""
    size, many = extents(x), extents(indices)
    b = batch_dims
    if (
        not many
        or not 0 <= b < min(len(many), len(size) + 1)
        or many[:b] != size[:b]
        or not (1 <= many[-1] <= len(size) - b)
    ):
        raise GraphError(f"indices of shape {many} do not fit {size} with {b} common dimensions")
    deep, outer = many[-1], many[:-1]
    if 0 in size[b : b + deep] and 0 not in outer:
        raise GraphError("there are no elements to be taken")

    def element(*i: Var) -> Expr:
        places = [element_at(indices, (*i[: len(outer)], const(d)), size[b + d]) for d in range(deep)]
        return x[(*i[:b], *places, *i[len(outer) :])]

    return te.compute([*outer, *size[b + deep :]], element, name="gather_nd")


@operator("one_hot")
def one_hot(indices: Tensor, values: Tensor, *, depth: int, axis: int = -1) -> Tensor:
    """Along a new axis the second value at each index's place, a negative one counted from the end; else the first."""
    many = dims(indices)
    a = axis_of(axis, len(many) + 1)

    def element(*i: Var) -> Expr:
        at = (*i[:a], *i[a + 1 :])
        here = _is_place(indices, at, depth, i[a])
        return T.Select(here, values[const(1)], values[const(0)])

    return te.compute([*many[:a], depth, *many[a:]], element, name="one_hot")


@operator("topk")
def topk(x: Tensor, *, k: int, axis: int = -1, largest: bool = True) -> list[Tensor]:
    """The k greatest elements along an axis, or the least, in order, and their places; the first of equal ones first.

    NaN counts as greater than all numbers, as numpy sorts.
    """
    size = dims(x)
    a = axis_of(axis, len(size))
    (count,) = numbers(size[a : a + 1], f"{x.name} along its axis {a}")
    if not 0 <= k <= count:
        raise GraphError(f"there are no {k} elements among {count}")
    other = te.reduce_axis((0, count), "other")

    def before(p: Expr, q: Expr) -> Expr:
        """Whether p comes before q, whatever their places."""
        comes = p > q if largest else p < q
        if not p.dtype.is_float:
            return comes
        first, second = (p, q) if largest else (q, p)
        return T.Or(comes, T.And(is_nan(first), T.Not(is_nan(second))))

    def rank(*i: Var) -> te.Reduce:
        mine, theirs = x[i], x[(*i[:a], other, *i[a + 1 :])]
        ahead = T.Or(before(theirs, mine), T.And(other < i[a], T.Not(before(mine, theirs))))
        return te.sum(T.Select(ahead, const(1), const(0)), axis=other)

    ranks = te.compute(size, rank, name="rank")
    which = te.reduce_axis((0, count), "which")
    shape = [*size[:a], k, *size[a + 1 :]]

    def place(*i: Var) -> te.Reduce:
        here = ranks[(*i[:a], which, *i[a + 1 :])].equal(i[a])
        return te.sum(T.Select(here, which, const(0)), axis=which)

    places = te.compute(shape, place, name="place")

    def value(*i: Var) -> Expr:
        inside = T.min(T.max(places[i], const(0)), const(count - 1))
        return x[(*i[:a], inside, *i[a + 1 :])]

    values = te.compute(shape, value, name="values")
    wide = te.compute(shape, lambda *i: T.cast(places[i], "int64"), name="places")
    return [values, wide]


@operator("reverse_sequence")
def reverse_sequence(x: Tensor, lengths: Tensor, *, batch_axis: int, time_axis: int) -> Tensor:
    """The first elements along the time axis, as many as each batch's length says, in reverse."""
    size = extents(x)
    b, t = axis_of(batch_axis, len(size)), axis_of(time_axis, len(size))

    def element(*i: Var) -> Expr:
        length = T.min(T.max(near_int32(lengths[i[b]]), const(0)), const(size[t]))
        place = T.Select(i[t] < length, length - const(1) - i[t], i[t])
        return x[(*i[:t], T.min(T.max(place, const(0)), const(size[t] - 1)), *i[t + 1 :])]

    return te.compute(size, element, name="reverse_sequence")


# -- products by name --------------------------------------------------------------------------------------------------


def _labels(equation: str, shapes: Sequence[Sequence[Dim]]) -> tuple[list[list[str]], list[str]]:
    """The label of each dimension of each operand, and of the result; those of an ellipsis are numbers from its end."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise GraphError(f"{equation} is about {len(terms)} operands, not {len(shapes)}")
    found = [_spelled(t, len(s), equation) for t, s in zip(terms, shapes, strict=True)]
    dots = sorted({x for labels in found for x in labels if not x.isalpha()}, key=int, reverse=True)
    if arrow:
        before, some, after = right.partition("...")
        return found, [*before, *(dots if some else ()), *after]
    every = [x for labels in found for x in labels if x.isalpha()]
    return found, [*dots, *sorted(x for x in set(every) if every.count(x) == 1)]


def _spelled(term: str, rank: int, equation: str) -> list[str]:
    before, dots, after = term.partition("...")
    more = rank - len(before) - len(after)
    names = before + after
    if more < 0 or (more and not dots) or (names and not names.isalpha()):
        raise GraphError(f"{term} in {equation} does not name {rank} dimensions")
    return [*before, *(str(n) for n in range(more, 0, -1)), *after]


@operator("einsum")
def einsum(*x: Tensor, equation: str) -> Tensor:
    """The sum of products over the labels that the result does not have (numpy's ``einsum``)."""
    labels, wanted = _labels(equation, [dims(t) for t in x])
    size: dict[str, Dim] = {}
    for t, names in zip(x, labels, strict=True):
        same_type(x[0], t)
        for name, n in zip(names, dims(t), strict=True):
            if name in size and n != size[name] and 1 not in ((n, size[name]) if not name.isalpha() else ()):
                two = f"{dim_text(size[name])} and {dim_text(n)}"
                raise GraphError(f"{name} is {two} in {equation}{hint((n, size[name]))}")
            size[name] = n if size.get(name, 1) == 1 else size[name]
    if len(set(wanted)) != len(wanted) or any(name not in size for name in wanted):
        raise GraphError(f"the result of {equation} has labels that the operands do not have once each")
    axes = {name: te.reduce_axis((0, n), "k") for name, n in size.items() if name not in wanted}

    def element(*i: Var) -> Expr | te.Reduce:
        places: dict[str, Expr] = {**axes, **dict(zip(wanted, i, strict=True))}
        factors = [
            t[tuple(const(0) if n == 1 else places[name] for name, n in zip(names, dims(t), strict=True))]
            for t, names in zip(x, labels, strict=True)
        ]
        product = math.prod(factors[1:], start=factors[0])
        return te.sum(product, axis=list(axes.values())) if axes else product

    return te.compute([size[name] for name in wanted], element, name="einsum")
