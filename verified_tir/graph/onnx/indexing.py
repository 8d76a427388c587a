"""ONNX operators on bits, on places of elements, and those that only move elements in blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from verified_tir.graph.ir import LARGEST, Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.registry import conversion
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import numbers


@conversion("BitShift")
def _shift(c: Converter) -> Value:
    direction = c.attributes["direction"]
    if direction not in ("LEFT", "RIGHT"):
        raise c.fail(f"direction is LEFT or RIGHT, not {direction}")
    return c.op("shift", c.value(0), c.value(1), left=direction == "LEFT")


@conversion("Mod")
def _mod(c: Converter) -> Value:
    x, truncated = c.value(0), c.attributes.get("fmod", 0)
    if np.dtype(x.dtype).kind in "iu":
        return c.op("mod", x, c.value(1), truncated=bool(truncated))
    return c.op("float_mod", x, c.value(1), truncated=bool(truncated))


@conversion("EyeLike")
def _eye(c: Converter) -> Value:
    rows, columns = c.value(0).shape
    given = c.attributes.get("dtype", 0)
    dtype = c.reader.dtype(given, c.name) if given else c.value(0).dtype
    return c.builder.constant(np.eye(rows, columns, int(c.attributes.get("k", 0))).astype(dtype), "eye")


# -- places ------------------------------------------------------------------------------------------------------------


@conversion("ScatterElements", "Scatter")
def _scatter_elements(c: Converter) -> Value:
    x = c.value(0)
    axis = axis_of(c.attributes.get("axis", 0), x.rank)
    indices = c.indices(1, x.shape[axis])
    return c.op("scatter_elements", x, indices, c.value(2), axis=axis,
                reduction=c.attributes.get("reduction", "none"))  # fmt: skip


def _slices(c: Converter, x: Value, common: int = 0) -> Value:
    """Indices whose last dimension says where slices of x are."""
    shape = c.reader.shape(c.node.input[1])
    deep = shape[-1] if shape else 0
    if not 1 <= deep <= x.rank - common:
        raise c.fail(f"indices have 1 to {x.rank - common} numbers each, not {deep}")
    return c.indices(1, *x.shape[common : common + deep])


@conversion("ScatterND")
def _scatter_nd(c: Converter) -> Value:
    x = c.value(0)
    return c.op("scatter_nd", x, _slices(c, x), c.value(2), reduction=c.attributes.get("reduction", "none"))


@conversion("GatherND")
def _gather_nd(c: Converter) -> Value:
    x, common = c.value(0), int(c.attributes.get("batch_dims", 0))
    return c.op("gather_nd", x, _slices(c, x, common), batch_dims=common)


@conversion("OneHot")
def _one_hot(c: Converter) -> Value:
    depth = c.number(1, "depth")
    if not 1 <= depth <= LARGEST or depth != int(depth):
        raise c.fail(f"depth is a number of classes, not {depth}")
    indices = c.value(0)
    if np.dtype(indices.dtype).kind not in "iu":
        indices = c.op("astype", indices, dtype="int64")
    return c.op("one_hot", indices, c.value(2), depth=int(depth), axis=c.attributes.get("axis", -1))


@conversion("TopK")
def _topk(c: Converter) -> Sequence[Value]:
    x, a = c.value(0), c.attributes
    if "k" in a:
        k = int(a["k"])
    else:
        k = int(c.number(1, "k"))
    a.get("sorted")  # in order is one of the orders that "not sorted" allows
    return c.results("topk", x, k=k, axis=a.get("axis", -1), largest=a.get("largest", True))


@conversion("ReverseSequence")
def _reverse_sequence(c: Converter) -> Value:
    x, lengths = c.value(0), c.value(1)
    batch, time = c.attributes.get("batch_axis", 1), c.attributes.get("time_axis", 0)
    if {batch, time} != {0, 1} or x.rank < 2:
        raise c.fail(f"one of the first two axes is that of batches, the other of time; they are {batch} and {time}")
    if lengths.dims != (x.dims[batch],):
        raise c.fail(f"there is a length for each of {x.dims[batch]} batches, and they are {lengths.type}")
    return c.op("reverse_sequence", x, lengths, batch_axis=batch, time_axis=time)


@conversion("Compress")
def _compress(c: Converter) -> Value:
    x, kept = c.value(0), c.array(1, "condition")
    assert kept is not None
    axis = c.attributes.get("axis")
    if axis is None:
        x, axis = c.op("reshape", x, shape=(x.type.size,)), 0
    places = np.flatnonzero(kept).astype(np.int64)
    if places.size and places[-1] >= x.shape[axis]:
        raise c.fail(f"it takes element {places[-1]} of {x.shape[axis]}")
    return c.op("take", x, c.builder.constant(places, "kept"), axis=axis)


# -- blocks ------------------------------------------------------------------------------------------------------------


@conversion("DepthToSpace")
def _depth_to_space(c: Converter) -> Value:
    x, b, mode = c.value(0), int(c.attributes["blocksize"]), c.attributes.get("mode", "DCR")
    n, (depth, h, w) = x.dims[0], numbers(x.dims[1:], f"{x.name} behind its first dimension")
    if b < 1 or depth % (b * b) or mode not in ("DCR", "CRD"):
        raise c.fail(f"{depth} channels are not {b}·{b} times as many, or {mode} is neither DCR nor CRD")
    rest = depth // (b * b)
    if mode == "DCR":
        x = c.op("permute_dims", c.op("reshape", x, shape=(n, b, b, rest, h, w)), axes=(0, 3, 4, 1, 5, 2))
    else:
        x = c.op("permute_dims", c.op("reshape", x, shape=(n, rest, b, b, h, w)), axes=(0, 1, 4, 2, 5, 3))
    return c.op("reshape", x, shape=(n, rest, h * b, w * b))


@conversion("SpaceToDepth")
def _space_to_depth(c: Converter) -> Value:
    x, b, mode = c.value(0), int(c.attributes["blocksize"]), c.attributes.get("mode", "DCR")
    n, (depth, h, w) = x.dims[0], numbers(x.dims[1:], f"{x.name} behind its first dimension")
    if b < 1 or h % b or w % b or mode not in ("DCR", "CRD"):
        raise c.fail(f"{h} by {w} is not made of blocks of {b} by {b}, or {mode} is neither DCR nor CRD")
    x = c.op("reshape", x, shape=(n, depth, h // b, b, w // b, b))
    x = c.op("permute_dims", x, axes=(0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return c.op("reshape", x, shape=(n, b * b * depth, h // b, w // b))
