"""Operators that move elements: reshape, transpose, concat, split, slice, pad, take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from verified_tir import te
from verified_tir.graph.element_types import near_int32
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import TensorType
from verified_tir.graph.operators.elementwise import at, broadcast_shape, dims, extents
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.sizes import (
    MOST,
    Dim,
    dim_text,
    divided,
    greater,
    hint,
    never_negative,
    normal,
    numbers,
    product,
    remedy,
    same,
    shape_text,
    smaller,
    symbols_of,
)
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.tensor import Tensor


def axis_of(axis: int, rank: int) -> int:
    """The axis, counted from the end if negative.

    :raises GraphError: if there is none.
    """
    if not -rank <= axis < rank:
        raise GraphError(f"there is no axis {axis} among {rank}")
    return axis % rank


@operator("reshape")
def reshape(x: Tensor, *, shape: Sequence[Dim]) -> Tensor:
    """The elements in row-major order in another shape; one extent may be -1, an extent 0 stays."""
    old = dims(x)
    new: list[Dim] = [old[k] if e == 0 and k < len(old) else normal(e) for k, e in enumerate(shape)]
    if new.count(-1) > 1:
        raise GraphError(f"only one extent may be left open, not {shape_text(shape)}")
    if -1 in new:
        rest = divided(product(old), product(e for e in new if e != -1))
        if rest is None:
            raise _unlike(old, shape)
        new[new.index(-1)] = rest
    return reshaped(x, new)


def _unlike(old: Sequence[Dim], shape: Sequence[Dim]) -> GraphError:
    return GraphError(f"{shape_text(old)} cannot take the shape {shape_text(shape)}{hint([*old, *shape])}")


def reshaped(x: Tensor, new: Sequence[Dim]) -> Tensor:
    """The elements in row-major order in a shape that is written out.

    :raises GraphError: if it does not have as many, whatever the sizes are that are open.
    """
    old = dims(x)
    if not same(product(new), product(old)) or any(isinstance(e, int) and e < 0 for e in new):
        raise _unlike(old, new)
    if 0 in new or 0 in old:
        return _same_elements(x, new)
    groups = _groups(old, list(new))

    def element(*i: Var) -> Expr:
        own: list[Expr] = []
        for some, others in groups:
            own += _from_flat(flat_index([i[k] for k in others], [new[k] for k in others]), [old[k] for k in some])
        return x[tuple(own)]

    return te.compute(list(new), element, name="reshape")


def _groups(old: list[Dim], new: list[Dim]) -> list[tuple[list[int], list[int]]]:
    """Dimensions that become others, as few as possible together: a symbol in no product needs no division.

    Numbers are taken together: a quotient by a number is not a difficulty.
    """
    if not symbols_of(old):
        return [([*range(len(old))], [*range(len(new))])]
    found: list[tuple[list[int], list[int]]] = []
    some, others = [*range(len(old))], [*range(len(new))]
    while some or others:
        here, there = some[:1], others[:1]
        while (here, there) != (some, others):
            p, q = product(old[k] for k in here), product(new[k] for k in there)
            if same(p, q) and here and there:
                break
            fewer = not here or (bool(there) and divided(q, p) is not None)
            if (fewer and len(here) < len(some)) or len(there) == len(others):
                here = some[: len(here) + 1]
            else:
                there = others[: len(there) + 1]
        found.append((here, there))
        some, others = some[len(here) :], others[len(there) :]
    return found


def flat_index(indices: Sequence[Expr], shape: Sequence[Dim]) -> Expr:
    """Where an element stands in row-major order."""
    found: Expr = const(0)
    for i, n in zip(indices, shape, strict=True):
        found = i if found is const(0) else found * n + i
    return found


def _from_flat(flat: Expr, shape: Sequence[Dim]) -> list[Expr]:
    found: list[Expr] = []
    for k, n in enumerate(shape):
        below = product(shape[k + 1 :])
        whole = flat if below == 1 else flat // below
        found.append(const(0) if n == 1 else whole if all(e == 1 for e in shape[:k]) else whole % n)
    return found


@operator("flatten")
def flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    """Two dimensions: those before ``axis`` together, and the others together."""
    size = dims(x)
    axis = axis if axis == len(size) else axis_of(axis, len(size))
    return reshaped(x, [product(size[:axis]), product(size[axis:])])


@operator("expand_dims")
def expand_dims(x: Tensor, *, axis: Sequence[int]) -> Tensor:
    """New dimensions of extent 1 at the given places of the result."""
    size = dims(x)
    new = sorted(axis_of(a, len(size) + len(axis)) for a in axis)
    for a in new:
        size.insert(a, 1)
    return reshaped(x, size)


@operator("squeeze")
def squeeze(x: Tensor, *, axis: Sequence[int] | None = None) -> Tensor:
    """Without the given dimensions of extent 1, or without any."""
    size = dims(x)
    if axis is None:
        gone = {k for k, e in enumerate(extents(x)) if e == 1}
    else:
        gone = {axis_of(a, len(size)) for a in axis}
    if any(size[k] != 1 for k in gone):
        raise GraphError(f"only dimensions of extent 1 go away, not {sorted(gone)} of {shape_text(size)}")
    kept = [k for k in range(len(size)) if k not in gone]
    return te.compute(
        [size[k] for k in kept],
        lambda *i: x[tuple(i[kept.index(k)] if k in kept else const(0) for k in range(len(size)))],
        name="squeeze",
    )


@operator("empty")
def empty(x: Tensor, *, shape: Sequence[int]) -> Tensor:
    """No elements, as x has none, in another shape."""
    if math.prod(extents(x)) or math.prod(shape):
        raise GraphError(f"{extents(x)} and {list(shape)} are not both empty")
    return _same_elements(x, shape)


def _same_elements(x: Tensor, shape: Sequence[Dim]) -> Tensor:
    """An empty tensor of another shape."""
    return te.compute(list(shape), lambda *i: x[tuple(const(0) for _ in range(x.ndim))], name="reshape")


@operator("permute_dims")
def permute_dims(x: Tensor, *, axes: Sequence[int] | None = None) -> Tensor:
    """Dimension k of the result is dimension ``axes[k]``; all reversed if none are given."""
    size = dims(x)
    order = list(reversed(range(len(size)))) if axes is None else [axis_of(a, len(size)) for a in axes]
    if sorted(order) != list(range(len(size))):
        raise GraphError(f"{list(axes or ())} is not a permutation of {len(size)} dimensions")
    return te.compute(
        [size[a] for a in order], lambda *i: x[tuple(i[order.index(k)] for k in range(len(size)))], name="transpose"
    )


@operator("concat")
def concat(*tensors: Tensor, axis: int = 0) -> Tensor:
    """The tensors one after the other along an axis."""
    if not tensors:
        raise GraphError("concat takes a tensor at least")
    sizes = [dims(t) for t in tensors]
    a = axis_of(axis, len(sizes[0]))
    for s in sizes[1:]:
        if len(s) != len(sizes[0]) or any(m != n for k, (m, n) in enumerate(zip(s, sizes[0], strict=True)) if k != a):
            two = f"shapes {shape_text(sizes[0])} and {shape_text(s)}"
            raise GraphError(f"{two} do not go together along axis {axis}{hint([*sizes[0], *s])}")
    ends: list[Dim] = [sizes[0][a]]
    for s in sizes[1:]:
        ends.append(normal(ends[-1] + s[a]))

    def element(*i: Var) -> Expr:
        def of(k: int) -> Expr:
            begin = ends[k - 1] if k else 0
            return tensors[k][tuple(v - begin if d == a else v for d, v in enumerate(i))]

        found = of(len(tensors) - 1)
        for k in reversed(range(len(tensors) - 1)):
            found = T.if_then_else(i[a] < ends[k], of(k), found)
        return found

    shape = [*sizes[0][:a], ends[-1], *sizes[0][a + 1 :]]
    return te.compute(shape, element, name="concat")


@operator("split")
def split(x: Tensor, *, sections: int | Sequence[Dim], axis: int = 0) -> tuple[Tensor, ...]:
    """Equal parts along an axis, as many as ``sections`` says, or parts that begin at 0 and at the given places."""
    size = dims(x)
    a = axis_of(axis, len(size))
    places: list[Dim]
    if isinstance(sections, int):
        (whole,) = numbers(size[a : a + 1], f"{x.name} along its axis {a}")
        if sections < 1 or whole % sections:
            raise GraphError(f"{whole} elements do not make {sections} equal parts")
        places = [k * whole // sections for k in range(sections + 1)]
    else:
        places = [0, *map(normal, sections), size[a]]
        if not all(never_negative(n - m) for m, n in pairwise(places)):
            raise GraphError(f"the places {shape_text(places[1:-1])} do not ascend within {dim_text(size[a])}")

    def part(number: int, first: Dim, end: Dim) -> Tensor:
        shape = [*size[:a], normal(end - first), *size[a + 1 :]]
        return te.compute(
            shape, lambda *i: x[tuple(v + first if d == a else v for d, v in enumerate(i))], name=f"split_{number}"
        )

    return tuple(part(k, m, n) for k, (m, n) in enumerate(pairwise(places)))


@operator("strided_slice")
def strided_slice(
    x: Tensor,
    *,
    axes: Sequence[int],
    begin: Sequence[Dim],
    end: Sequence[Dim],
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Elements ``begin:end:stride`` along each of the axes, by Python's rules for slices."""
    size = dims(x)
    chosen: list[tuple[Dim, int, Dim]] = [(0, 1, n) for n in size]
    for a, b, e, s in zip(axes, begin, end, strides or [1] * len(axes), strict=True):
        k = axis_of(a, len(size))
        if s == 0:
            raise GraphError("a stride is not 0")
        chosen[k] = _sliced(size[k], normal(b), normal(e), s)
    return te.compute(
        [n for _, _, n in chosen],
        lambda *i: x[tuple(v * step + first for v, (first, step, _) in zip(i, chosen, strict=True))],
        name="slice",
    )


def _sliced(size: Dim, begin: Dim, end: Dim, stride: int) -> tuple[Dim, int, Dim]:
    """Where a slice begins, its stride, and how many elements it has."""
    if isinstance(size, int) and isinstance(begin, int) and isinstance(end, int):
        r = range(size)[begin:end:stride]
        return r.start, r.step, len(r)
    if stride != 1:
        raise GraphError(f"{dim_text(size)} elements are sliced with a stride of 1 only; {remedy((size, begin, end))}")

    from_end = isinstance(begin, int) and begin < 0
    first = greater(normal(size + begin), 0) if from_end else begin
    if isinstance(end, int):
        last = size if end >= MOST else normal(size + end) if end < 0 else smaller(end, size)
    else:
        last = smaller(end, size)
    for place in (begin, end):
        if not isinstance(place, int) and not never_negative(place):
            raise GraphError(f"whether {dim_text(place)} counts from the end depends on sizes; {remedy([place])}")
    if from_end and last is size:
        return first, 1, smaller(size, -begin)
    return first, 1, greater(normal(last - first), 0)  # where that is not 0, the first one is within


@operator("nn.pad")
def pad(x: Tensor, *, pad_width: Sequence[int], pad_value: float = 0.0, pad_mode: str = "constant") -> Tensor:
    """More elements before and after each dimension, in this order: constant, nearest, mirrored or repeated ones."""
    size = dims(x)
    if len(pad_width) != 2 * len(size):
        raise GraphError(f"pad_width has two numbers for each of {len(size)} dimensions, not {list(pad_width)}")
    before, after = list(pad_width[::2]), list(pad_width[1::2])
    if pad_mode not in ("constant", "edge", "reflect", "wrap"):
        raise GraphError(f"pad_mode is constant, edge, reflect or wrap, not {pad_mode!r}")
    shape = [normal(n + p + q) for n, p, q in zip(size, before, after, strict=True)]
    if not all(never_negative(n) for n in shape):
        raise GraphError(f"{shape_text(size)} with {list(pad_width)} around has a negative extent")
    if pad_mode == "constant":
        return surrounded(x, before, after, const(pad_value, x.dtype), name="pad")
    numbers([n for n, p, q in zip(size, before, after, strict=True) if p or q], "what is padded with elements")

    def near(*i: Var) -> Expr:
        found: list[Expr] = []
        for v, n, p, q in zip(i, size, before, after, strict=True):
            if isinstance(n, Expr):
                found.append(v)
                continue
            k = v - p
            if pad_mode == "wrap":
                found.append(T.floormod(k, const(max(n, 1))))
                continue
            if pad_mode == "reflect":
                if n > 1 and max(p, q) >= n:  # there and back, several times
                    k = T.floormod(k, const(2 * (n - 1)))
                k = T.max(k, 0 - k)
                k = T.min(k, 2 * (n - 1) - k)
            found.append(T.min(T.max(k, const(0)), const(n - 1)))
        return x[tuple(found)]

    return te.compute(shape, near, name="pad")


def surrounded(x: Tensor, before: Sequence[int], after: Sequence[int], value: Expr, name: str = "padded") -> Tensor:
    """The last dimensions with ``value`` around them, or cut off where numbers are negative; x if nothing changes."""
    if not any((*before, *after)):
        return x
    size = dims(x)
    first = len(size) - len(before)

    def element(*i: Var) -> Expr:
        inside: list[Expr] = []
        for v, n, p, q in zip(i[first:], size[first:], before, after, strict=True):
            inside += ([v >= p] if p > 0 else []) + ([v < p + n] if q > 0 else [])
        own = x[(*i[:first], *(v - p for v, p in zip(i[first:], before, strict=True)))]
        return T.if_then_else(te.all(*inside), own, value) if inside else own

    around = (normal(n + p + q) for n, p, q in zip(size[first:], before, after, strict=True))
    return te.compute([*size[:first], *around], element, name=name)


def element_at(indices: Tensor, where: Sequence[Expr], size: Dim) -> Expr:
    """An index among ``size`` elements: one beyond the end means the last one, a negative one counts from the end."""
    place = near_int32(indices[tuple(where)])
    return T.min(T.max(T.Select(place < 0, place + size, place), const(0)), const(size - 1))


@operator("take")
def take(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """Slices of x along an axis; an index beyond the end means the last one, a negative one counts from the end.

    Of an axis without elements zeros are taken.
    """
    size, many = dims(x), dims(indices)
    a = axis_of(axis, len(size))

    def element(*i: Var) -> Expr:
        if size[a] == 0:
            return const(0, x.dtype)
        inside = element_at(indices, i[a : a + len(many)], size[a])
        found: Expr = x[(*i[:a], inside, *i[a + len(many) :])]
        return T.if_then_else(const(0) < size[a], found, const(0, x.dtype)) if isinstance(size[a], Expr) else found

    return te.compute([*size[:a], *many, *size[a + 1 :]], element, name="take")


@operator("broadcast_to")
def broadcast_to(x: Tensor, *, shape: Sequence[Dim]) -> Tensor:
    """x repeated along dimensions of extent 1, and along new ones in front."""
    size, shape = dims(x), list(TensorType(tuple(map(normal, shape)), x.dtype).dims)  # none is too large
    if broadcast_shape(size, shape) != shape:
        raise GraphError(f"{shape_text(size)} cannot be repeated to {shape_text(shape)}")
    return te.compute(shape, lambda *i: at(x, i), name="broadcast")


@operator("nn.upsampling")
def upsampling(x: Tensor, *, scale_h: int = 2, scale_w: int = 2) -> Tensor:
    """Each element of x[n, c, h, w] repeated (the nearest neighbour)."""
    n, c, h, w = dims(x)
    return te.compute(
        (n, c, h * scale_h, w * scale_w), lambda b, k, i, j: x[b, k, i // scale_h, j // scale_w], name="upsampling"
    )
