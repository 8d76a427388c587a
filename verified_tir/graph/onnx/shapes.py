"""ONNX operators that move elements: parts, shapes, axes, what is put together or around."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.registry import conversion
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import Dim, normal, numbers, shape_text

TOGETHER = 32
"""So many parts are put together at once."""


@conversion("Concat")
def _concat(c: Converter) -> Value:
    parts = c.values()
    while len(parts) > TOGETHER:  # an element of many parts is a choice that is nested as deep as there are parts
        groups = [parts[k : k + TOGETHER] for k in range(0, len(parts), TOGETHER)]
        parts = [c.op("concat", *some, axis=c.attributes["axis"]) if len(some) > 1 else some[0] for some in groups]
    return c.op("concat", *parts, axis=c.attributes["axis"])


@conversion("Split")
def _split(c: Converter) -> Sequence[Value]:
    x = c.value(0)
    axis = c.attributes.get("axis", 0)
    parts = c.sizes(1, "split")
    count = len(c.node.output)
    if c.attributes.get("num_outputs", count) != count:
        raise c.fail(f"it has {count} results, and num_outputs is {c.attributes['num_outputs']}")
    if parts is None:
        (size,) = numbers(x.dims[axis:][:1], f"{x.name} along its axis {axis}")
        each = -(-size // count)
        parts = [min(each, size - k * each) for k in range(count)]
    return c.results("split", x, sections=tuple(map(normal, accumulate(parts[:-1]))), axis=axis)


@conversion("Slice")
def _slice(c: Converter) -> Value:
    x = c.value(0)
    starts, ends = c.sizes(1, "starts"), c.sizes(2, "ends")
    assert starts is not None and ends is not None
    axes = c.numbers(3, "axes") or list(range(len(starts)))
    steps = c.numbers(4, "steps") or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise c.fail(
            f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} steps do not go together"
        )
    if len({axis_of(a, x.rank) for a in axes}) != len(axes):
        raise c.fail(f"an axis stands twice in {axes}")
    begin = [_clamped(b, x.dims[a], s) for b, a, s in zip(starts, axes, steps, strict=True)]
    return c.op("strided_slice", x, axes=tuple(axes), begin=tuple(begin), end=tuple(ends), strides=tuple(steps))


def _clamped(start: Dim, size: Dim, step: int) -> Dim:
    """Where a slice begins: going backwards from below the first element, at that, and not nowhere as in Python."""
    if step > 0 or not isinstance(start, int) or not isinstance(size, int):
        return start
    return max(start, -size)


@conversion("Reshape")
def _reshape(c: Converter) -> Value:
    x, shape = c.value(0), c.sizes(1, "shape")
    assert shape is not None
    if c.attributes.get("allowzero", 0) and 0 in shape:
        if -1 in shape or x.type.size:
            raise c.fail(f"{shape_text(x.dims)} cannot take the shape {shape_text(shape)}")
        return c.op("empty", x, shape=tuple(shape))
    return c.op("reshape", x, shape=tuple(shape))


@conversion("Transpose")
def _transpose(c: Converter) -> Value:
    axes = c.attributes.get("perm")
    return c.op("permute_dims", c.value(0), axes=None if axes is None else tuple(axes))


@conversion("Squeeze", "Unsqueeze")
def _squeeze(c: Converter) -> Value:
    axes = c.numbers(1, "axes", number=True)
    rank = c.value(0).rank
    if axes is not None:
        all_of = rank if c.node.op_type == "Squeeze" else rank + len(axes)
        if len({axis_of(a, all_of) for a in axes}) != len(axes):
            raise c.fail(f"an axis stands twice in {axes}")
    name = "squeeze" if c.node.op_type == "Squeeze" else "expand_dims"
    return c.op(name, c.value(0), axis=None if axes is None else tuple(axes))


@conversion("Expand")
def _expand(c: Converter) -> Value:
    from verified_tir.graph.operators.elementwise import broadcast_shape

    x, shape = c.value(0), c.sizes(1, "shape")
    assert shape is not None
    return c.op("broadcast_to", x, shape=tuple(broadcast_shape(x.dims, shape)))


@conversion("Gather")
def _gather(c: Converter) -> Value:
    x, axis = c.value(0), c.attributes.get("axis", 0)
    known = c.reader.arrays.get(c.node.input[1])
    size = x.dims[axis_of(axis, x.rank)]
    if isinstance(size, int) and known is not None and known.size and not (-size <= known.min() and known.max() < size):
        raise c.fail(f"its indices are {known.min()} to {known.max()}, and there are {size} elements")
    if size == 0 and 0 not in c.value(1).dims:
        raise c.fail("there are no elements to be taken")
    return c.op("take", x, c.value(1), axis=axis)


@conversion("Pad")
def _pad(c: Converter) -> Value:
    x, pads = c.value(0), c.numbers(1, "pads")
    assert pads is not None
    rank = x.rank
    found = c.numbers(3, "axes")
    axes = list(range(rank)) if found is None else [axis_of(a, rank) for a in found]
    if len(pads) != 2 * len(axes) or len(set(axes)) != len(axes):
        raise c.fail(f"pads are two numbers for each axis of {axes}, each of which stands once; they are {pads}")
    some, pads = pads, [0] * (2 * rank)
    for k, axis in enumerate(axes):
        pads[axis], pads[axis + rank] = some[k], some[k + len(axes)]
    value = c.number(2, "value")
    fill = float(c.attributes.get("value", 0.0)) if value is None else value
    width = tuple(pads[k + side * rank] for k in range(rank) for side in (0, 1))
    return c.op("nn.pad", x, pad_width=width, pad_value=fill, pad_mode=c.attributes.get("mode", "constant"))
