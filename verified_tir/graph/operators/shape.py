"""Operators that move elements: reshape, transpose, concat, split, slice, pad, take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from verified_tir import te
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.elementwise import broadcast_shape, extents
from verified_tir.graph.operators.registry import operator
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
def reshape(x: Tensor, *, shape: Sequence[int]) -> Tensor:
    """The elements in row-major order in another shape; one extent may be -1, an extent 0 stays."""
    old = extents(x)
    new = [old[k] if e == 0 and k < len(old) else int(e) for k, e in enumerate(shape)]
    if new.count(-1) > 1:
        raise GraphError(f"only one extent may be left open, not {list(shape)}")
    if -1 in new:
        rest = math.prod(e for e in new if e != -1)
        if rest == 0 or math.prod(old) % rest:
            raise GraphError(f"{old} cannot take the shape {list(shape)}")
        new[new.index(-1)] = math.prod(old) // rest
    if math.prod(new) != math.prod(old) or any(e < 0 for e in new):
        raise GraphError(f"{old} cannot take the shape {list(shape)}")
    result: Tensor = te.compute(new, lambda *i: x[tuple(_from_flat(_flat(i, new), old))], name="reshape")
    return result


def _flat(indices: Sequence[Expr], shape: Sequence[int]) -> Expr:
    found: Expr = const(0)
    for i, n in zip(indices, shape, strict=True):
        found = i if found is const(0) else found * n + i
    return found


def _from_flat(flat: Expr, shape: Sequence[int]) -> list[Expr]:
    found: list[Expr] = []
    for k, n in enumerate(shape):
        below = math.prod(shape[k + 1 :])
        whole = flat if below == 1 else flat // below
        found.append(const(0) if n == 1 else whole if all(e == 1 for e in shape[:k]) else whole % n)
    return found


@operator("flatten")
def flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    """Two dimensions: those before ``axis`` together, and the others together."""
    size = extents(x)
    return reshape(x, shape=[math.prod(size[:axis]), math.prod(size[axis:])])


@operator("expand_dims")
def expand_dims(x: Tensor, *, axis: Sequence[int]) -> Tensor:
    """New dimensions of extent 1 at the given places of the result."""
    size = extents(x)
    new = sorted(axis_of(a, len(size) + len(axis)) for a in axis)
    for a in new:
        size.insert(a, 1)
    return reshape(x, shape=size) if 0 not in size else _same_elements(x, size)


@operator("squeeze")
def squeeze(x: Tensor, *, axis: Sequence[int] | None = None) -> Tensor:
    """Without the given dimensions of extent 1, or without any."""
    size = extents(x)
    gone = {k for k, e in enumerate(size) if e == 1} if axis is None else {axis_of(a, len(size)) for a in axis}
    if any(size[k] != 1 for k in gone):
        raise GraphError(f"only dimensions of extent 1 go away, not {sorted(gone)} of {size}")
    kept = [k for k in range(len(size)) if k not in gone]
    result: Tensor = te.compute(
        [size[k] for k in kept],
        lambda *i: x[tuple(i[kept.index(k)] if k in kept else const(0) for k in range(len(size)))],
        name="squeeze",
    )
    return result


@operator("empty")
def empty(x: Tensor, *, shape: Sequence[int]) -> Tensor:
    """No elements, as x has none, in another shape."""
    if math.prod(extents(x)) or math.prod(shape):
        raise GraphError(f"{extents(x)} and {list(shape)} are not both empty")
    return _same_elements(x, shape)


def _same_elements(x: Tensor, shape: Sequence[int]) -> Tensor:
    """An empty tensor of another shape."""
    rank = len(extents(x))
    result: Tensor = te.compute(shape, lambda *i: x[tuple(const(0) for _ in range(rank))], name="reshape")
    return result


@operator("permute_dims")
def permute_dims(x: Tensor, *, axes: Sequence[int] | None = None) -> Tensor:
    """Dimension k of the result is dimension ``axes[k]``; all reversed if none are given."""
    size = extents(x)
    order = list(reversed(range(len(size)))) if axes is None else [axis_of(a, len(size)) for a in axes]
    if sorted(order) != list(range(len(size))):
        raise GraphError(f"{list(axes or ())} is no order of {len(size)} dimensions")
    result: Tensor = te.compute(
        [size[a] for a in order], lambda *i: x[tuple(i[order.index(k)] for k in range(len(size)))], name="transpose"
    )
    return result


@operator("concat")
def concat(*tensors: Tensor, axis: int = 0) -> Tensor:
    """The tensors one after the other along an axis."""
    if not tensors:
        raise GraphError("concat takes a tensor at least")
    sizes = [extents(t) for t in tensors]
    a = axis_of(axis, len(sizes[0]))
    for s in sizes[1:]:
        if len(s) != len(sizes[0]) or any(m != n for k, (m, n) in enumerate(zip(s, sizes[0], strict=True)) if k != a):
            raise GraphError(f"shapes {sizes[0]} and {s} do not go together along axis {axis}")
    ends = [sum(s[a] for s in sizes[: k + 1]) for k in range(len(sizes))]

    def element(*i: Var) -> Expr:
        def of(k: int) -> Expr:
            begin = ends[k] - sizes[k][a]
            found: Expr = tensors[k][tuple(v - begin if d == a else v for d, v in enumerate(i))]
            return found

        found = of(len(tensors) - 1)
        for k in reversed(range(len(tensors) - 1)):
            found = T.if_then_else(i[a] < ends[k], of(k), found)
        return found

    shape = [*sizes[0][:a], ends[-1], *sizes[0][a + 1 :]]
    result: Tensor = te.compute(shape, element, name="concat")
    return result


@operator("split")
def split(x: Tensor, *, sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Equal parts along an axis, as many as ``sections`` says, or parts that begin at 0 and at the given places."""
    size = extents(x)
    a = axis_of(axis, len(size))
    if isinstance(sections, int):
        if sections < 1 or size[a] % sections:
            raise GraphError(f"{size[a]} elements do not make {sections} equal parts")
        places = [k * size[a] // sections for k in range(sections + 1)]
    else:
        places = [0, *sections, size[a]]
        if any(m > n for m, n in pairwise(places)):
            raise GraphError(f"the places {list(sections)} do not ascend within {size[a]}")

    def part(number: int, first: int, end: int) -> Tensor:
        shape = [*size[:a], end - first, *size[a + 1 :]]
        made: Tensor = te.compute(
            shape, lambda *i: x[tuple(v + first if d == a else v for d, v in enumerate(i))], name=f"split_{number}"
        )
        return made

    return tuple(part(k, m, n) for k, (m, n) in enumerate(pairwise(places)))


@operator("strided_slice")
def strided_slice(
    x: Tensor,
    *,
    axes: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Elements ``begin:end:stride`` along each of the axes, by Python's rules for slices."""
    size = extents(x)
    chosen = [range(n) for n in size]
    for a, b, e, s in zip(axes, begin, end, strides or [1] * len(axes), strict=True):
        k = axis_of(a, len(size))
        if s == 0:
            raise GraphError("a stride is not 0")
        chosen[k] = range(size[k])[b:e:s]
    result: Tensor = te.compute(
        [len(r) for r in chosen],
        lambda *i: x[tuple(v * r.step + r.start for v, r in zip(i, chosen, strict=True))],
        name="slice",
    )
    return result


@operator("nn.pad")
def pad(x: Tensor, *, pad_width: Sequence[int], pad_value: float = 0.0, pad_mode: str = "constant") -> Tensor:
    """More elements before and after each dimension, in this order: constant, nearest, mirrored or repeated ones."""
    size = extents(x)
    if len(pad_width) != 2 * len(size):
        raise GraphError(f"pad_width has two numbers for each of {len(size)} dimensions, not {list(pad_width)}")
    before, after = list(pad_width[::2]), list(pad_width[1::2])
    if pad_mode not in ("constant", "edge", "reflect", "wrap"):
        raise GraphError(f"pad_mode is constant, edge, reflect or wrap, not {pad_mode!r}")
    shape = [n + p + q for n, p, q in zip(size, before, after, strict=True)]
    if any(n < 0 for n in shape):
        raise GraphError(f"{size} with {list(pad_width)} around has a negative extent")

    def constant(*i: Var) -> Expr:
        inside = []
        for v, n, p, q in zip(i, size, before, after, strict=True):
            inside += [v >= p] if p > 0 else []
            inside += [v < p + n] if q > 0 else []
        element: Expr = x[tuple(v - p for v, p in zip(i, before, strict=True))]
        return T.if_then_else(te.all(*inside), element, const(pad_value, x.dtype)) if inside else element

    def near(*i: Var) -> Expr:
        found: list[Expr] = []
        for v, n, p in zip(i, size, before, strict=True):
            k = v - p
            if pad_mode == "wrap":
                found.append(T.floormod(k, const(max(n, 1))))
                continue
            if pad_mode == "reflect":
                k = T.max(k, 0 - k)
                k = T.min(k, 2 * (n - 1) - k)
            found.append(T.min(T.max(k, const(0)), const(n - 1)))
        element: Expr = x[tuple(found)]
        return element

    result: Tensor = te.compute(shape, constant if pad_mode == "constant" else near, name="pad")
    return result


def element_at(indices: Tensor, at: Sequence[Expr], size: int) -> Expr:
    """An index among ``size`` elements: one beyond the end means the last one, a negative one counts from the end."""
    place = T.cast(indices[tuple(at)], "int32")
    return T.min(T.max(T.Select(place < 0, place + size, place), const(0)), const(size - 1))


@operator("take")
def take(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """Slices of x along an axis; an index beyond the end means the last one, a negative one counts from the end."""
    size, many = extents(x), extents(indices)
    a = axis_of(axis, len(size))

    def element(*i: Var) -> Expr:
        inside = element_at(indices, i[a : a + len(many)], size[a])
        found: Expr = x[(*i[:a], inside, *i[a + len(many) :])]
        return found

    result: Tensor = te.compute([*size[:a], *many, *size[a + 1 :]], element, name="take")
    return result


@operator("broadcast_to")
def broadcast_to(x: Tensor, *, shape: Sequence[int]) -> Tensor:
    """x repeated along dimensions of extent 1, and along new ones in front."""
    size = extents(x)
    if broadcast_shape(size, shape) != list(shape):
        raise GraphError(f"{size} cannot be repeated to {list(shape)}")
    extra = len(shape) - len(size)
    result: Tensor = te.compute(
        shape,
        lambda *i: x[tuple(const(0) if n == 1 else v for v, n in zip(i[extra:], size, strict=True))],
        name="broadcast",
    )
    return result


@operator("nn.upsampling")
def upsampling(x: Tensor, *, scale_h: int = 2, scale_w: int = 2) -> Tensor:
    """Each element of x[n, c, h, w] repeated (the nearest neighbour)."""
    n, c, h, w = extents(x)
    result: Tensor = te.compute(
        (n, c, h * scale_h, w * scale_w), lambda b, k, i, j: x[b, k, i // scale_h, j // scale_w], name="upsampling"
    )
    return result
